// RUN: recur-opt %s | recur-opt | FileCheck %s
// RUN: recur-opt --mlir-print-op-generic %s | recur-opt | FileCheck %s

!global = !tile.tile<?x20xbf16, global>
!rows = !tile.tile<64x20xf32, local, [32, 1]>
!square = !tile.tile<64x64xf32, local, [64, 1]>
!turned = !tile.tile<20x64xf32, local, [64, 1]>
!numbers = !tile.tile<64xf32, local, [1]>

// CHECK-LABEL: tile.kernel @everything required 1 workspace 4096 {
tile.kernel @everything required 1 workspace 4096 {
^bb0(%x: !global, %y: !global, %tokens: i64):
  %zero = arith.constant 0 : i64
  %inner = arith.constant 20 : i64
  // CHECK: tile.alloc at 64 : <64x20xf32, local, [32, 1]>
  %a = tile.alloc at 64 : !rows
  %b = tile.alloc : !rows
  %A = tile.alloc : !square
  %t = tile.alloc : !turned
  %s = tile.alloc : !numbers
  // CHECK: tile.alloc : <64x64xbf16, shared, [64, 1], swizzle 128>
  %shared = tile.alloc : !tile.tile<64x64xbf16, shared, [64, 1], swizzle 128>
  // CHECK: tile.alloc : <64x64xf32, registers, [64, 1]>
  %registers = tile.alloc : !tile.tile<64x64xf32, registers, [64, 1]>
  // CHECK: tile.load %{{.*}}[%{{.*}}] rows %{{.*}} into %{{.*}} : <?x20xbf16, global> into <64x20xf32, local, [32, 1]>
  tile.load %x[%zero] rows %tokens into %a : !global into !rows
  // CHECK: tile.load %{{.*}}[%{{.*}}] rows %{{.*}} into %{{.*}} ahead :
  tile.load %x[%zero] rows %tokens into %a ahead : !global into !rows
  // CHECK: tile.view %{{.*}}[%{{.*}}] offset 3 : <64x20xf32, local, [32, 1]> to <1x20xf32, local, [32, 1]>
  %row = tile.view %a[%zero] offset 3 : !rows to !tile.tile<1x20xf32, local, [32, 1]>
  // CHECK: tile.map %{{.*}}, %{{.*}} into %{{.*}} rows %{{.*}} dims [array<i64: 0>, array<i64: 0, 1>]
  tile.map %s, %a into %b rows %tokens dims [array<i64: 0>, array<i64: 0, 1>] : !numbers, !rows into !rows {
  ^bb0(%u: f32, %v: f32):
    // CHECK: tile.index 1
    %column = tile.index 1
    %w = arith.mulf %u, %v : f32
    tile.yield %w : f32
  }
  // CHECK: tile.map into %{{.*}} rows %{{.*}} dims [] into <64x20xf32, local, [32, 1]> {
  tile.map into %b rows %tokens dims [] into !rows {
    %number = arith.constant 1.0 : f32
    tile.yield %number : f32
  }
  // CHECK: tile.scan %{{.*}} all %{{.*}} reverse rows %{{.*}} dims [array<i64: 0, 1>] start 1.000000e+00
  tile.scan %a all %b reverse rows %tokens dims [array<i64: 0, 1>] start 1.0 : !rows all !rows {
  ^bb0(%u: f32, %running: f32):
    %next = arith.mulf %u, %running : f32
    tile.yield %next, %running : f32, f32
  }
  // CHECK: tile.reduce max %{{.*}} into %{{.*}} rows %{{.*}} over [1] of [64, 20]
  tile.reduce max %a into %s rows %tokens over [1] of [64, 20] dims [array<i64: 0, 1>] : !rows into !numbers {
  ^bb0(%u: f32):
    tile.yield %u : f32
  }
  // CHECK: tile.transpose %{{.*}} rows %{{.*}} into %{{.*}}
  tile.transpose %a rows %tokens into %t : !rows into !turned
  // CHECK: tile.product %{{.*}}, %{{.*}} into %{{.*}} rows %{{.*}} inner %{{.*}} result_triangle [1, 1]
  tile.product %a, %t into %A rows %tokens inner %inner result_triangle [1, 1] : !rows, !turned into !square
  // CHECK: tile.product {{.*}} inner %{{.*}} ahead %{{.*}}[%{{.*}}] rows 64 : {{.*}} ahead !tile.tile<?x20xbf16, global>
  tile.product %A, %a into %b rows %tokens inner %tokens ahead %x[%zero] rows 64 : !square, !rows into !rows ahead !global
  // CHECK: tile.product {{.*}} ahead %{{.*}}[%{{.*}}] rows 64 written %{{.*}}[%{{.*}}] rows 32 : {{.*}} ahead !tile.tile<?x20xbf16, global> written !tile.tile<?x20xbf16, global>
  tile.product %A, %a into %b rows %tokens inner %tokens ahead %x[%zero] rows 64 written %x[%zero] rows 32 : !square, !rows into !rows ahead !global written !global
  // CHECK: tile.pair %{{.*}} scaled_rows %{{.*}} rows %{{.*}} into %{{.*}} : <64x20xf32, local, [32, 1]> scaled_rows
  %pairs = tile.alloc : !tile.tile<32x20x2xbf16, local, [64, 2, 1]>
  tile.pair %a scaled_rows %s rows %tokens into %pairs : !rows scaled_rows !numbers into !tile.tile<32x20x2xbf16, local, [64, 2, 1]>
  %rounded = tile.alloc : !tile.tile<64x64xbf16, local, [64, 1]>
  %columns = tile.alloc : !tile.tile<32x64x2xbf16, local, [128, 2, 1]>
  // CHECK: tile.pair transposed %{{.*}} rows %{{.*}} into
  tile.pair transposed %rounded rows %tokens into %columns : !tile.tile<64x64xbf16, local, [64, 1]> into !tile.tile<32x64x2xbf16, local, [128, 2, 1]>
  // CHECK: tile.product %{{.*}} : <64x64xbf16, local, [64, 1]>, <32x20x2xbf16, local, [64, 2, 1]>
  tile.product %rounded, %pairs into %b rows %tokens inner %tokens : !tile.tile<64x64xbf16, local, [64, 1]>, !tile.tile<32x20x2xbf16, local, [64, 2, 1]> into !rows
  // CHECK: tile.product transposed %{{.*}} : <32x64x2xbf16
  tile.product transposed %columns, %pairs into %b rows %tokens inner %tokens : !tile.tile<32x64x2xbf16, local, [128, 2, 1]>, !tile.tile<32x20x2xbf16, local, [64, 2, 1]> into !rows
  // CHECK: tile.product transposed %{{.*}}, %{{.*}} into %{{.*}} rows %{{.*}} inner %{{.*}} plus %{{.*}} scaled_rows %{{.*}} left_triangle [1, 1]
  tile.product transposed %A, %a into %b rows %tokens inner %tokens plus %b scaled_rows %s left_triangle [1, 1] : !square, !rows into !rows plus !rows scaled_rows !numbers
  // CHECK: tile.solve %{{.*}}, %{{.*}} rows %{{.*}}
  tile.solve %A, %b rows %tokens : !square, !rows
  // CHECK: tile.eliminate %{{.*}} rows %{{.*}} : <64x64xf32, local, [64, 1]>
  tile.eliminate %A rows %tokens : !square
  // CHECK: tile.scaled_solve %{{.*}}, %{{.*}} scales %{{.*}} into %{{.*}} rows %{{.*}}
  tile.scaled_solve %A, %a scales %a into %b rows %tokens : !square, !rows scales !rows into !rows
  // CHECK: tile.invert %{{.*}} into %{{.*}} rows %{{.*}} : <64x64xf32, local, [64, 1]> into <64x64xbf16, local, [64, 1]>
  tile.invert %A into %rounded rows %tokens : !square into !tile.tile<64x64xbf16, local, [64, 1]>
  // CHECK: tile.invert %{{.*}} into %{{.*}} rows %{{.*}} scaled_columns %{{.*}} : {{.*}} scaled_columns
  tile.invert %A into %rounded rows %tokens scaled_columns %s : !square into !tile.tile<64x64xbf16, local, [64, 1]> scaled_columns !numbers
  %exchanged = tile.alloc : !tile.tile<64x64xf32, shared, [68, 1]>
  // CHECK: tile.invert %{{.*}} into %{{.*}} rows %{{.*}} exchanged : {{.*}} into <64x64xf32, shared, [68, 1]>
  tile.invert %A into %exchanged rows %tokens exchanged : !square into !tile.tile<64x64xf32, shared, [68, 1]>
  // CHECK: tile.product left_exchanged %{{.*}}, %{{.*}} into %{{.*}} rows %{{.*}} inner %{{.*}} left_triangle [1, 1]
  tile.product left_exchanged %exchanged, %a into %b rows %tokens inner %tokens left_triangle [1, 1] : !tile.tile<64x64xf32, shared, [68, 1]>, !rows into !rows
  // CHECK: tile.product tf32 %{{.*}}, %{{.*}} into %{{.*}} rows %{{.*}} inner %{{.*}}
  tile.product tf32 %exchanged, %exchanged into %exchanged rows %tokens inner %tokens : !tile.tile<64x64xf32, shared, [68, 1]>, !tile.tile<64x64xf32, shared, [68, 1]> into !tile.tile<64x64xf32, shared, [68, 1]>
  // CHECK: tile.scaled_dots %{{.*}}, %{{.*}} scales %{{.*}} into %{{.*}} rows %{{.*}} block 16 points [1] of [0]
  tile.scaled_dots %a, %b scales %a into %A rows %tokens block 16 points [1] of [0] : !rows, !rows scales !rows into !square
  %channels = tile.alloc : !tile.tile<32x16xbf16, local, [16, 1]>
  %scaled = tile.alloc : !tile.tile<16x16xbf16, local, [16, 1]>
  %dots = tile.alloc : !tile.tile<32x32xf32, local, [32, 1]>
  // CHECK: tile.scaled_dots rounded %{{.*}}, %{{.*}} scales logarithms %{{.*}} into %{{.*}} work %{{.*}} rows %{{.*}} block 32 points [1] of [0]
  tile.scaled_dots rounded %channels, %channels scales logarithms %channels into %dots work %scaled rows %tokens block 32 points [1] of [0] : !tile.tile<32x16xbf16, local, [16, 1]>, !tile.tile<32x16xbf16, local, [16, 1]> scales !tile.tile<32x16xbf16, local, [16, 1]> into !tile.tile<32x32xf32, local, [32, 1]> work !tile.tile<16x16xbf16, local, [16, 1]>
  // CHECK: tile.scaled_sums solve %{{.*}}, %{{.*}} scales %{{.*}} into %{{.*}} rows %{{.*}} points [-1] of [0]
  tile.scaled_sums solve %A, %b scales %s into %b rows %tokens points [-1] of [0] : !square, !rows scales !numbers into !rows
  %dq = tile.alloc : !rows
  %dk = tile.alloc : !rows
  %da = tile.alloc : !rows
  %w = tile.alloc : !tile.tile<16x20xf32, local, [32, 1]>
  // CHECK: tile.scaled_cotangents %{{.*}}, %{{.*}}, %{{.*}} scales %{{.*}} into %{{.*}}, %{{.*}}, %{{.*}} work %{{.*}} rows %{{.*}} block 16 points [1] of [0] :
  tile.scaled_cotangents %A, %a, %b scales %a into %dq, %dk, %da work %w rows %tokens block 16 points [1] of [0] : !square, !rows, !rows scales !rows into !rows, !rows, !rows work !tile.tile<16x20xf32, local, [32, 1]>
  // CHECK: tile.scaled_cotangents linear %{{.*}} block 16 points [-1] of [0] : {{.*}} scales {{.*}} into {{.*}} work
  tile.scaled_cotangents linear %A, %a, %b scales %a into %dq, %dk, %da work %w rows %tokens block 16 points [-1] of [0] : !square, !rows, !rows scales !rows into !rows, !rows, !rows work !tile.tile<16x20xf32, local, [32, 1]>
  // CHECK: tile.store %{{.*}} rows %{{.*}} to %{{.*}}[%{{.*}}] : <64x20xf32, local, [32, 1]> to <?x20xbf16, global>
  tile.store %b rows %tokens to %y[%zero] : !rows to !global
}

// What is decided once registers are counted.
// CHECK-LABEL: tile.kernel @relieved required 0 workspace 0 threads 128 shared 1024 occupancy 2 in_turn unlisted {
tile.kernel @relieved required 0 workspace 0 threads 128 shared 1024 occupancy 2 in_turn unlisted {
^bb0(%x: !tile.tile<?x16xf32, global>, %n: i64):
}

// Two kernels side by side: the second awaits what the first leaves.
// CHECK-LABEL: tile.kernel @leaves required 0 workspace 0 threads 128 shared 1024 teams 3 {
tile.kernel @leaves required 0 workspace 0 threads 128 shared 1024 teams 3 {
^bb0(%x: !tile.tile<?x16xf32, global>, %n: i64):
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  scf.parallel (%at) = (%zero) to (%zero) step (%one) {
  }
}
// CHECK-LABEL: tile.kernel @takes required 0 workspace 0 threads 256 shared 4096 awaits [0] {
tile.kernel @takes required 0 workspace 0 threads 256 shared 4096 awaits [0] {
^bb0(%x: !tile.tile<?x16xf32, global>, %n: i64):
}

// Parts of the value channels, of which the last has fewer than others. Rows of a tile may be larger than the array's.
// CHECK-LABEL: tile.kernel @parts required 0 workspace 0 threads 256 shared 4096 awaits [0] channels [96] {
tile.kernel @parts required 0 workspace 0 threads 256 shared 4096 awaits [0] channels [96] {
^bb0(%x: !tile.tile<?x64xf32, global>, %n: i64):
  %padded = tile.alloc : !tile.tile<16x80xf32, shared, [84, 1]>
  // CHECK: tile.load %arg0[%arg1] rows %arg1 into %0 : <?x64xf32, global> into <16x80xf32, shared, [84, 1]>
  tile.load %x[%n] rows %n into %padded : !tile.tile<?x64xf32, global> into !tile.tile<16x80xf32, shared, [84, 1]>
  // CHECK: tile.store %0 rows %arg1 to %arg0[%arg1] : <16x80xf32, shared, [84, 1]> to <?x64xf32, global>
  tile.store %padded rows %n to %x[%n] : !tile.tile<16x80xf32, shared, [84, 1]> to !tile.tile<?x64xf32, global>
}

// The plan of a CTA of one team: local tiles of bf16 are in no pairs.
// CHECK-LABEL: tile.kernel @team required 0 workspace 2048 threads 256 shared 4096 {
tile.kernel @team required 0 workspace 2048 threads 256 shared 4096 {
^bb0(%n: i64):
  %a = tile.alloc at 0 : !tile.tile<16x16xbf16, local, [16, 1]>
  %b = tile.alloc at 0 : !tile.tile<8x16xbf16, shared, [16, 1]>
  %c = tile.alloc at 1024 : !tile.tile<16x8xf32, shared, [8, 1]>
  // CHECK: tile.product %{{.*}}, right_transposed %{{.*}} into %{{.*}} rows %arg0 inner %arg0 : <16x16xbf16, local, [16, 1]>, <8x16xbf16, shared, [16, 1]> into <16x8xf32, shared, [8, 1]>
  tile.product %a, right_transposed %b into %c rows %n inner %n : !tile.tile<16x16xbf16, local, [16, 1]>, !tile.tile<8x16xbf16, shared, [16, 1]> into !tile.tile<16x8xf32, shared, [8, 1]>
}

// CHECK-LABEL: tile.kernel @cut
// CHECK: %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} = tile.segment %{{.*}} by 64 initial %{{.*}} final %{{.*}} remains %{{.*}} : <?x2x3xf32, global>, !tile.tile<?x3xf32, global>
tile.kernel @cut required 0 workspace 0 threads 32 shared 0 {
^bb0(%remains: !tile.tile<?x3xf32, global>, %initial: !tile.tile<?x2x3xf32, global>, %final: !tile.tile<?x2x3xf32, global>, %tokens: i64):
  %begin, %first, %end, %start, %store = tile.segment %tokens by 64 initial %initial final %final remains %remains : !tile.tile<?x2x3xf32, global>, !tile.tile<?x3xf32, global>
}

// CHECK-LABEL: tile.kernel @summaries
// CHECK: tile.segment %{{.*}} by 64 initial %{{.*}} final %{{.*}} summaries made of 2 maps [0] : <?x2x3xf32, global>
tile.kernel @summaries required 0 workspace 0 threads 32 shared 0 {
^bb0(%v: !tile.tile<?x2xf32, global>, %s: !tile.tile<?x2x3xf32, global>, %tokens: i64):
  %begin, %first, %end, %start, %store = tile.segment %tokens by 64 initial %s final %s summaries made of 2 maps [0] : !tile.tile<?x2x3xf32, global>
}

// CHECK-LABEL: tile.kernel @forgetting
// CHECK: tile.segment %{{.*}} by 64 initial %{{.*}} final %{{.*}} summaries taken maps [] forgets : <?x2x3xf32, global>
tile.kernel @forgetting required 0 workspace 0 threads 32 shared 0 {
^bb0(%s: !tile.tile<?x2x3xf32, global>, %tokens: i64):
  %begin, %first, %end, %start, %store = tile.segment %tokens by 64 initial %s final %s summaries taken maps [] forgets : !tile.tile<?x2x3xf32, global>
}

// CHECK-LABEL: tile.kernel @summarised
// CHECK: tile.segment %{{.*}} by 64 initial %{{.*}} final %{{.*}} summaries taken : <?x2x3xf32, global>
tile.kernel @summarised required 0 workspace 0 threads 32 shared 0 {
^bb0(%s: !tile.tile<?x2x3xf32, global>, %tokens: i64):
  %begin, %first, %end, %start, %store = tile.segment %tokens by 64 initial %s final %s summaries taken : !tile.tile<?x2x3xf32, global>
}

// CHECK-LABEL: tile.kernel @systems
tile.kernel @systems required 3 workspace 0 threads 128 shared 115200 {
^bb0(%q: !tile.tile<?x64xbf16, global>, %k: !tile.tile<?x64xbf16, global>, %G: !tile.tile<?x64x64xf32, global>, %n: i64):
  %zero = arith.constant 0 : i64
  %b = tile.alloc at 0 : !tile.tile<64xf32, shared, [1]>
  %d = tile.alloc at 256 : !tile.tile<64xf32, shared, [1]>
  %r = tile.alloc at 512 : !tile.tile<1x64xf32, shared, [68, 1]>
  %w = tile.alloc at 1024 : !tile.tile<10112xf32, shared, [1]>
  %x = tile.alloc at 1024 : !tile.tile<64x64xf32, shared, [68, 1]>
  // CHECK: tile.conjugate_gradients %{{.*}}, %{{.*}}[%{{.*}}] gains %{{.*}} decays %{{.*}} state %{{.*}}[%{{.*}}] ridge %{{.*}} into %{{.*}} work %{{.*}} rows %{{.*}} iterations 30
  tile.conjugate_gradients %q, %k[%zero] gains %b decays %d state %G[%zero] ridge %r into %x work %w rows %n iterations 30 : !tile.tile<?x64xbf16, global>, !tile.tile<?x64xbf16, global> gains !tile.tile<64xf32, shared, [1]> decays !tile.tile<64xf32, shared, [1]> state !tile.tile<?x64x64xf32, global> ridge !tile.tile<1x64xf32, shared, [68, 1]> into !tile.tile<64x64xf32, shared, [68, 1]> work !tile.tile<10112xf32, shared, [1]>
  // CHECK: tile.conjugate_gradients %{{.*}}, %{{.*}}[%{{.*}}] state
  tile.conjugate_gradients %q, %k[%zero] state %G[%zero] ridge %r into %x work %w rows %n iterations 1 : !tile.tile<?x64xbf16, global>, !tile.tile<?x64xbf16, global> state !tile.tile<?x64x64xf32, global> ridge !tile.tile<1x64xf32, shared, [68, 1]> into !tile.tile<64x64xf32, shared, [68, 1]> work !tile.tile<10112xf32, shared, [1]>
}

// CHECK: tile.kernel @transposed required 1 workspace 0 {
// CHECK-NEXT: ^bb0(%{{.*}}: !tile.tile<?x4x8xf32, global, transposed>, %{{.*}}: i64):
tile.kernel @transposed required 1 workspace 0 {
^bb0(%S: !tile.tile<?x4x8xf32, global, transposed>, %tokens: i64):
}

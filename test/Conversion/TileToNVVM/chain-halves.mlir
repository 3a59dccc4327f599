// RUN: recur-opt %s --chunk-choose-factors=f16 --convert-chunk-to-tile="threads=256" | FileCheck %s --check-prefix=TILES
// RUN: recur-opt %s --chunk-choose-factors=f16 --convert-chunk-to-tile="threads=256" --convert-tile-to-nvvm --cse | FileCheck %s
// RUN: recur-opt %s --chunk-choose-factors=f16 --convert-chunk-to-tile="threads=256" | sed 's/^\( *tile.kernel @delta .*\) {$/\1 attributes {tile.adds_rests} {/' | recur-opt --convert-tile-to-nvvm --cse | FileCheck %s --check-prefix=RESTS

// The plan has rows of f16 as bf16, and what goes back to the caller is rounded to f16 once. The state begins and ends
// as bf16, and is f32 between.
// TILES-LABEL: tile.kernel @halves
// TILES: tile.load %arg3[{{.*}} : <?x64x32xbf16, global> into <1x64x32xf32, shared,
// TILES: tile.load %arg0[{{.*}} : <?x32xf16, global> into <16x32xbf16, shared,
// TILES: tile.load %arg2[{{.*}} : <?x64xf16, global> into <16x64xbf16, shared,
// TILES: tile.load %arg1[{{.*}} : <?x32xf16, global> into <16x32xbf16, shared,
// TILES: tile.store %{{.*}} to %arg4[{{.*}} : <16x64xf32, shared, {{.*}}> to <?x64xf16, global>
// TILES: tile.store %{{.*}} to %arg5[{{.*}} : <1x64x32xf32, shared, {{.*}}> to <?x64x32xbf16, global>

// The state's warps multiply rows of f16 as they lie, by a state that is rounded to f16 too, and look while they do
// whether f16 has digits for it.
// CHECK-LABEL: llvm.func @halves
// CHECK-COUNT-16: arith.extf %{{.*}} : bf16 to f32
// CHECK: wgmma.wait_group.sync.aligned 0
// CHECK-COUNT-8: cvt.rn.satfinite.f16x2.f32
// CHECK: wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16
// CHECK-COUNT-16: math.absf
// CHECK: %[[LACKS:.*]] = llvm.call_intrinsic "llvm.nvvm.vote.any.sync"
// CHECK: wgmma.wait_group.sync.aligned 0
// A warp whose numbers need it adds the product of what rounding left, of rows by powers of two, and rounds nothing
// else: two factors of 16 keys, for 16 tokens.
// CHECK-NEXT: llvm.extractvalue
// CHECK: scf.if %[[LACKS]] -> (f32, f32, f32, f32, f32, f32, f32, f32)
// CHECK-COUNT-4: nvvm.shfl.sync bfly
// CHECK-COUNT-4: llvm.fptrunc %{{.*}} : vector<2xf32> to vector<2xf16>
// CHECK-COUNT-2: nvvm.mma.sync
// CHECK-COUNT-4: llvm.fptrunc %{{.*}} : vector<2xf32> to vector<2xf16>
// CHECK-COUNT-2: nvvm.mma.sync
// CHECK-NOT: fptrunc
// Only then does the state change. What it advances by are data, which lack nothing.
// CHECK: wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16
// CHECK-NOT: math.absf
// CHECK-COUNT-4: llvm.fptrunc %{{.*}} : vector<2xf32> to vector<2xf16>
// CHECK: nvvm.stmatrix {{.*}}layout = #nvvm.mma_layout<col>
// CHECK-COUNT-16: arith.truncf %{{.*}} : f32 to bf16

// The warp that announces a chunk leaves its rows alone.
// CHECK-NOT: fptrunc
// CHECK: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK-NOT: fptrunc
// CHECK: llvm.return
chunk.program @halves {} chunk 16 {
  %q = chunk.input "q" stored f16 : tensor<16x32xf32>
  %k = chunk.input "k" stored f16 : tensor<16x32xf32>
  %v = chunk.input "v" stored f16 : tensor<16x64xf32>
  %d = chunk.take "d" : tensor<1xf32>
  %S = chunk.state "S" stored bf16 : tensor<64x32xf32>
  %x = chunk.read %q, %S : tensor<16x32xf32>, tensor<64x32xf32>
  %o = chunk.map add %v, %x : tensor<16x64xf32>, tensor<16x64xf32>
  %S1 = chunk.advance %S, %v, %k columns(%d : tensor<1xf32>) : tensor<64x32xf32>, tensor<16x64xf32>, tensor<16x32xf32>
  chunk.next %S, %S1 : tensor<64x32xf32>
  chunk.output "o" %o stored f16 : tensor<16x64xf32>
}

// Two products read the state in f16, and what the first gives goes on while the second runs: nobody adds anything, or
// branches. Sizes are summed up meanwhile, and the vote of the guarded product asks for them as well.
// CHECK-LABEL: llvm.func @delta
// CHECK-COUNT-8: cvt.rn.satfinite.f16x2.f32
// CHECK: wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16
// CHECK-COUNT-16: math.absf
// CHECK-NOT: wgmma.wait_group
// CHECK: wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16
// CHECK: wgmma.wait_group.sync.aligned 1;
// CHECK: arith.subf
// CHECK-NOT: scf.if
// CHECK: wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16
// CHECK: bar.red.or.pred
// CHECK: wgmma.wait_group.sync.aligned 1;
// CHECK-NOT: scf.if
// CHECK: wgmma.wait_group.sync.aligned 0;
// Where f16 lacks digits of the state, or something is no number, the chunk is done again from its beginning: each product
// ends before another begins, and what rounding left is added to it by each warp that has any.
// CHECK: scf.if %{{.*}} -> (f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32)
// CHECK: wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16
// CHECK: vote.any.sync
// CHECK: wgmma.wait_group.sync.aligned 0;
// CHECK: scf.if
// CHECK-COUNT-4: nvvm.mma.sync
// CHECK: wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16
// CHECK: wgmma.wait_group.sync.aligned 0;
// CHECK: scf.if
// CHECK-COUNT-4: nvvm.mma.sync
// CHECK: wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16
// CHECK: wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16
// CHECK: stmatrix
// CHECK: } else {
// Else values advance the state, of which f16 may lack digits as well: the chain asks meanwhile, and adds to the state
// what rounding left when no product runs any more. Matrices of the tokens meet values of bf16.
// CHECK: cvt.rn.satfinite.f16x2.f32
// CHECK: wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16
// CHECK: vote.any.sync
// CHECK: wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16
// CHECK: wgmma.wait_group.sync.aligned 1;
// CHECK-NOT: scf.if
// CHECK: wgmma.wait_group.sync.aligned 0;
// CHECK: scf.if %{{.*}} -> (f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32)
// CHECK-COUNT-4: nvvm.mma.sync
// CHECK: stmatrix

// A chain that has no registers for that finishes both products that read the state before anything else begins, by one
// decision of each warp.
// RESTS-LABEL: llvm.func @delta
// RESTS-COUNT-8: cvt.rn.satfinite.f16x2.f32
// RESTS: wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16
// RESTS: vote.any.sync
// RESTS-NOT: wgmma.wait_group
// RESTS: wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16
// RESTS: wgmma.wait_group.sync.aligned 1;
// RESTS-NOT: scf.if
// RESTS: wgmma.wait_group.sync.aligned 0;
// RESTS: scf.if %{{.*}} -> (f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32)
// RESTS-COUNT-8: nvvm.mma.sync
// RESTS: arith.subf
// RESTS: wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16
// RESTS: bar.red.or.pred
// RESTS: wgmma.wait_group.sync.aligned 0;
// RESTS: wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16
chunk.program @delta {} chunk 16 {
  %q = chunk.input "q" stored f16 : tensor<16x32xf32>
  %k = chunk.input "k" stored f16 : tensor<16x32xf32>
  %v = chunk.input "v" stored f16 : tensor<16x64xf32>
  %T = chunk.take "T" rounded triangle [1, 1] : tensor<16x16xf32>
  %A = chunk.take "A" rounded triangle [1, 1] : tensor<16x16xf32>
  %S = chunk.state "S" : tensor<64x32xf32>
  %x = chunk.read %k, %S : tensor<16x32xf32>, tensor<64x32xf32>
  %y = chunk.map sub %v, %x : tensor<16x64xf32>, tensor<16x64xf32>
  %u = chunk.apply %T, %y : tensor<16x16xf32>, tensor<16x64xf32>
  %p = chunk.read %q, %S : tensor<16x32xf32>, tensor<64x32xf32>
  %a = chunk.apply %A, %u : tensor<16x16xf32>, tensor<16x64xf32>
  %o = chunk.map add %p, %a : tensor<16x64xf32>, tensor<16x64xf32>
  chunk.output "o" %o stored f16 : tensor<16x64xf32>
  %S1 = chunk.advance %S, %u, %k : tensor<64x32xf32>, tensor<16x64xf32>, tensor<16x32xf32>
  chunk.next %S, %S1 : tensor<64x32xf32>
}

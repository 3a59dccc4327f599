// RUN: recur-opt %s --convert-tile-to-nvvm | FileCheck %s

// Factors of f32 are split in two numbers of tf32, which make three products.
// CHECK-LABEL: llvm.func @wide
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.nvvm.f2tf32.rna"
// CHECK-COUNT-3: nvvm.mma.sync {{.*}} multiplicandAPtxType = #nvvm.mma_type<tf32>{{.*}} shape = #nvvm.shape<m = 16, n = 8, k = 8>
// CHECK-NOT: nvvm.mma.sync
// CHECK: llvm.return
tile.kernel @wide required 0 workspace 0 threads 32 shared 16384 {
^bb0(%n: i64):
  %k = arith.constant 8 : i64
  %a = tile.alloc at 0 : !tile.tile<16x8xf32, shared, [8, 1]>
  %b = tile.alloc at 1024 : !tile.tile<8x8xf32, shared, [8, 1]>
  %c = tile.alloc at 2048 : !tile.tile<16x8xf32, shared, [8, 1]>
  tile.product %a, %b into %c rows %n inner %k : !tile.tile<16x8xf32, shared, [8, 1]>, !tile.tile<8x8xf32, shared, [8, 1]> into !tile.tile<16x8xf32, shared, [8, 1]>
}

// Where the product says so they are rounded, which makes one.
// CHECK-LABEL: llvm.func @rounded
// CHECK-COUNT-6: arith.mulf {{.*}} : f32
// CHECK-NOT: f2tf32
// CHECK: nvvm.mma.sync {{.*}} multiplicandAPtxType = #nvvm.mma_type<tf32>{{.*}} shape = #nvvm.shape<m = 16, n = 8, k = 8>
// CHECK-NOT: nvvm.mma.sync
// CHECK: llvm.return
tile.kernel @rounded required 0 workspace 0 threads 32 shared 16384 {
^bb0(%n: i64):
  %k = arith.constant 8 : i64
  %a = tile.alloc at 0 : !tile.tile<16x8xf32, shared, [8, 1]>
  %b = tile.alloc at 1024 : !tile.tile<8x8xf32, shared, [8, 1]>
  %c = tile.alloc at 2048 : !tile.tile<16x8xf32, shared, [8, 1]>
  tile.product tf32 %a, %b into %c rows %n inner %k : !tile.tile<16x8xf32, shared, [8, 1]>, !tile.tile<8x8xf32, shared, [8, 1]> into !tile.tile<16x8xf32, shared, [8, 1]>
}

// Of an inner size that is known when the kernel runs, the last step is masked.
// CHECK-LABEL: llvm.func @halves
// CHECK: nvvm.mma.sync {{.*}} multiplicandAPtxType = #nvvm.mma_type<bf16>{{.*}} shape = #nvvm.shape<m = 16, n = 8, k = 16>
// CHECK: arith.select
// CHECK: nvvm.mma.sync {{.*}} multiplicandAPtxType = #nvvm.mma_type<bf16>{{.*}} shape = #nvvm.shape<m = 16, n = 8, k = 16>
// CHECK-NOT: nvvm.mma.sync
// CHECK: llvm.return
tile.kernel @halves required 0 workspace 0 threads 32 shared 16384 {
^bb0(%n: i64):
  %a = tile.alloc at 0 : !tile.tile<16x16xbf16, shared, [16, 1]>
  %b = tile.alloc at 1024 : !tile.tile<8x16xbf16, shared, [16, 1]>
  %c = tile.alloc at 2048 : !tile.tile<16x8xf32, shared, [8, 1]>
  tile.product %a, right_transposed %b into %c rows %n inner %n : !tile.tile<16x16xbf16, shared, [16, 1]>, !tile.tile<8x16xbf16, shared, [16, 1]> into !tile.tile<16x8xf32, shared, [8, 1]>
}

// On the diagonal what is not finite is put to zero for the matrix units, and where a warp has met any, what it gives to
// the rows that see it is added.
// CHECK-LABEL: llvm.func @causal
// CHECK-COUNT-3: nvvm.mma.sync
// CHECK: arith.cmpf olt
// CHECK: arith.select
// CHECK-COUNT-3: nvvm.mma.sync
// CHECK: %[[ALL:.*]] = llvm.call_intrinsic "llvm.nvvm.vote.all.sync"
// CHECK: scf.if %[[ALL]]
// CHECK: } else {
// CHECK: scf.for
// CHECK: %[[SEES:.*]] = arith.cmpi slt
// CHECK: %[[SUM:.*]] = llvm.intr.fma(%{{.*}}, %{{.*}}, %[[BEFORE:arg[0-9]+]])
// CHECK: %[[ADDED:.*]] = arith.select %[[SEES]], %[[SUM]], %[[BEFORE]]
// CHECK: arith.select %{{.*}}, %[[BEFORE]], %[[ADDED]]
tile.kernel @causal required 0 workspace 0 threads 32 shared 16384 {
^bb0(%n: i64):
  %a = tile.alloc at 0 : !tile.tile<16x16xf32, shared, [16, 1]>
  %b = tile.alloc at 1024 : !tile.tile<16x8xf32, shared, [8, 1]>
  %c = tile.alloc at 2048 : !tile.tile<16x8xf32, shared, [8, 1]>
  tile.product %a, %b into %c rows %n inner %n left_triangle [1, 1] : !tile.tile<16x16xf32, shared, [16, 1]>, !tile.tile<16x8xf32, shared, [8, 1]> into !tile.tile<16x8xf32, shared, [8, 1]>
}

// Factors of 16 bits in rows of whole 16 bytes are read as matrices: a left factor that is transposed across, as is a
// right factor that is not.
// CHECK-LABEL: llvm.func @matrices
// CHECK: nvvm.ldmatrix %{{.*}} {{.*}}layout = #nvvm.mma_layout<col>, num = 4 : i32
// CHECK: nvvm.ldmatrix %{{.*}} {{.*}}layout = #nvvm.mma_layout<col>, num = 4 : i32
// CHECK: nvvm.mma.sync
// CHECK: llvm.return
tile.kernel @matrices required 0 workspace 0 threads 32 shared 16384 {
^bb0(%n: i64):
  %k = arith.constant 16 : i64
  %m = arith.constant 16 : i64
  %a = tile.alloc at 0 : !tile.tile<16x16xbf16, shared, [24, 1]>
  %b = tile.alloc at 1024 : !tile.tile<16x16xbf16, shared, [24, 1]>
  %c = tile.alloc at 2048 : !tile.tile<16x16xf32, shared, [16, 1]>
  tile.product transposed %a, %b into %c rows %m inner %k : !tile.tile<16x16xbf16, shared, [24, 1]>, !tile.tile<16x16xbf16, shared, [24, 1]> into !tile.tile<16x16xf32, shared, [16, 1]>
}

// A product of one row is no work for the matrix units: a warp's lanes share the sums of eight columns, of which each
// keeps half where two lanes meet; or a thread has a column.
// CHECK-LABEL: llvm.func @row
// CHECK-NOT: nvvm.mma.sync
// CHECK-COUNT-32: llvm.intr.fma
// CHECK-COUNT-9: nvvm.shfl.sync bfly
// CHECK-NOT: nvvm.shfl.sync
// CHECK: llvm.return
tile.kernel @row required 0 workspace 0 threads 64 shared 16384 {
^bb0(%n: i64):
  %k = arith.constant 64 : i64
  %a = tile.alloc at 0 : !tile.tile<1x64xf32, shared, [64, 1]>
  %b = tile.alloc at 1024 : !tile.tile<6x64xf32, shared, [64, 1]>
  %c = tile.alloc at 4096 : !tile.tile<1x6xf32, shared, [8, 1]>
  tile.product %a, right_transposed %b into %c rows %n inner %k : !tile.tile<1x64xf32, shared, [64, 1]>, !tile.tile<6x64xf32, shared, [64, 1]> into !tile.tile<1x6xf32, shared, [8, 1]>
}
// CHECK-LABEL: llvm.func @columns
// CHECK-NOT: nvvm.mma.sync
// CHECK-NOT: nvvm.shfl.sync
// CHECK-COUNT-8: llvm.intr.fma
// CHECK: llvm.return
tile.kernel @columns required 0 workspace 0 threads 64 shared 16384 {
^bb0(%n: i64):
  %k = arith.constant 16 : i64
  %a = tile.alloc at 0 : !tile.tile<1x16xf32, shared, [16, 1]>
  %b = tile.alloc at 1024 : !tile.tile<16x6xf32, shared, [8, 1]>
  %c = tile.alloc at 4096 : !tile.tile<1x6xf32, shared, [8, 1]>
  tile.product %a, %b into %c rows %n inner %k : !tile.tile<1x16xf32, shared, [16, 1]>, !tile.tile<16x6xf32, shared, [8, 1]> into !tile.tile<1x6xf32, shared, [8, 1]>
}

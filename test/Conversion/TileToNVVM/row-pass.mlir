// RUN: recur-opt %s --chunk-store=types=bf16 --chunk-choose-factors --convert-chunk-to-tile="threads=256" | FileCheck %s --check-prefix=PLAN
// RUN: recur-opt %s --chunk-store=types=bf16 --chunk-choose-factors --convert-chunk-to-tile="threads=256" --convert-tile-to-nvvm --cse | FileCheck %s

// A convolution over two tokens, its silu and its norm: 16 lanes have a row, 8 columns each, and go through eight rows.
// Four rows of bf16 are loaded while four are computed, and the row before is still there; what 16 lanes add up goes
// over in four exchanges. There is nothing in shared memory, and no barrier.
// PLAN-LABEL: tile.kernel @convolved required 2 workspace 0 threads 128 shared 0
// CHECK-LABEL: llvm.func @convolved
// CHECK-NOT: ptr<3>
// CHECK-NOT: nvvm.barrier
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK: scf.for {{.*}} -> (vector<8xbf16>, vector<8xbf16>, vector<8xbf16>, vector<8xbf16>, f32, f32, f32, f32, f32, f32, f32, f32)
// CHECK-COUNT-4: nvvm.shfl.sync bfly {{.*}} : f32 -> f32
// CHECK: llvm.store %{{.*}}, %{{.*}} {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<1>
// CHECK-NOT: nvvm.barrier
// CHECK: llvm.return
chunk.program @convolved {} chunk 64 {
  %k = chunk.input "k" : tensor<64x128xf32>
  %w = chunk.param "w" : tensor<1x2x128xf32>
  %k_back1 = chunk.initial "k_back1" : tensor<128xf32>
  %held = chunk.held %k[1], %k_back1 : tensor<64x128xf32>, tensor<128xf32>
  %before = chunk.previous %held, %k : tensor<128xf32>, tensor<64x128xf32>
  %w0 = chunk.extract %w[0] : tensor<1x2x128xf32>
  %w1 = chunk.extract %w[1] : tensor<1x2x128xf32>
  %0 = chunk.map mul %w0, %before : tensor<1x128xf32>, tensor<64x128xf32>
  %1 = chunk.map mul %w1, %k : tensor<1x128xf32>, tensor<64x128xf32>
  %2 = chunk.map add %0, %1 : tensor<64x128xf32>, tensor<64x128xf32>
  %3 = chunk.map sigmoid %2 : tensor<64x128xf32>
  %4 = chunk.map mul %2, %3 : tensor<64x128xf32>, tensor<64x128xf32>
  %5 = chunk.map dot %4, %4 : tensor<64x128xf32>, tensor<64x128xf32>
  %6 = chunk.map sqrt %5 : tensor<64xf32>
  %7 = chunk.map div %4, %6 : tensor<64x128xf32>, tensor<64xf32>
  chunk.give "key" rounded %7 : tensor<64x128xf32>
}

// Numbers alone have a thread each, and what has nothing to do with each other is one behind the other. Of 100 channels
// a lane has 4, and lanes beyond the 25th none.
// PLAN-LABEL: tile.kernel @gates
// PLAN-SAME: threads 128 shared 0
// CHECK-LABEL: llvm.func @gates
// CHECK: nvvm.shfl.sync bfly
// CHECK-NOT: nvvm.barrier
// CHECK: llvm.return
chunk.program @gates {} chunk 64 {
  %a = chunk.input "a" : tensor<64xf32>
  %x = chunk.input "x" : tensor<64x100xf32>
  %A = chunk.param "A" : tensor<1xf32>
  %0 = chunk.map exp %A : tensor<1xf32>
  %1 = chunk.map softplus %a : tensor<64xf32>
  %2 = chunk.map mul %0, %1 : tensor<1xf32>, tensor<64xf32>
  %3 = chunk.map dot %x, %x : tensor<64x100xf32>, tensor<64x100xf32>
  %4 = chunk.map div %x, %3 : tensor<64x100xf32>, tensor<64xf32>
  chunk.give "gate" %2 : tensor<64xf32>
  chunk.give "x" %4 : tensor<64x100xf32>
}

// A product over tokens is for a team.
// PLAN-LABEL: tile.kernel @product
// PLAN-NOT: shared 0 {
chunk.program @product {} chunk 64 {
  %q = chunk.input "q" : tensor<64x128xf32>
  %k = chunk.input "k" : tensor<64x128xf32>
  %0 = chunk.interaction %q, %k strict : tensor<64x128xf32>, tensor<64x128xf32>
  chunk.give "interactions" %0 : tensor<64x64xf32>
}

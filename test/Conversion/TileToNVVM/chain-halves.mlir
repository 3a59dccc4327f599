// RUN: recur-opt %s --chunk-choose-factors=f16 --convert-chunk-to-tile="threads=256" | FileCheck %s --check-prefix=TILES
// RUN: recur-opt %s --chunk-choose-factors=f16 --convert-chunk-to-tile="threads=256" --convert-tile-to-nvvm --cse | FileCheck %s

// Rows of f16 become bf16, and what goes back to the caller is rounded to f16 once. The state begins and ends as bf16, and
// is f32 between.
// TILES-LABEL: tile.kernel @halves
// TILES: tile.load %arg3[{{.*}} : <?x64x32xbf16, global> into <1x64x32xf32, shared,
// TILES: tile.load %arg0[{{.*}} : <?x32xf16, global> into <16x32xbf16, shared,
// TILES: tile.load %arg2[{{.*}} : <?x64xf16, global> into <16x64xbf16, shared,
// TILES: tile.load %arg1[{{.*}} : <?x32xf16, global> into <16x32xbf16, shared,
// TILES: tile.store %{{.*}} to %arg4[{{.*}} : <16x64xf32, shared, {{.*}}> to <?x64xf16, global>
// TILES: tile.store %{{.*}} to %arg5[{{.*}} : <1x64x32xf32, shared, {{.*}}> to <?x64x32xbf16, global>

// The state's warps have a plan of bf16 alone: the warp that announces a chunk converts its rows, before the matrix units
// may read them.
// CHECK-LABEL: llvm.func @halves
// CHECK-COUNT-16: arith.extf %{{.*}} : bf16 to f32
// CHECK: wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16
// CHECK: wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16
// CHECK-COUNT-4: llvm.fptrunc %{{.*}} : vector<2xf32> to vector<2xf16>
// CHECK: stmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// CHECK-COUNT-16: arith.truncf %{{.*}} : f32 to bf16
// CHECK-COUNT-3: llvm.fptrunc %{{.*}} : vector<8xf32> to vector<8xbf16>
// CHECK-NOT: fptrunc
// CHECK: fence.proxy.async.shared::cta
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

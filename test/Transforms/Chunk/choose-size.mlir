// RUN: recur-opt %s --split-input-file --chunk-choose-size=chunk=16 | FileCheck %s
// RUN: recur-opt %s --split-input-file --chunk-choose-size=flops-per-byte=0 | FileCheck %s --check-prefix=COST

// Rows and writes, micro-steps, regions: all follow.
// CHECK-LABEL: chunk.program @resized {} chunk 16 {
// CHECK: %[[V0:[a-z0-9_]+]] = chunk.constant 2.000000e+00 : tensor<1xf32>
// CHECK: %[[V1:[a-z0-9_]+]] = chunk.broadcast %[[V0]] : tensor<1xf32> to tensor<16x3xf32>
// CHECK: %[[V2:[a-z0-9_]+]] = chunk.interleave %k, %[[V1]] : tensor<16x3xf32>, tensor<16x3xf32>
// CHECK: %[[V3:[a-z0-9_]+]] = chunk.interaction %[[V2]], %q points [0, 1] of [0] : tensor<32x3xf32>, tensor<16x3xf32>
// CHECK: %[[V4:[a-z0-9_]+]] = chunk.apply %[[V3]], %v : tensor<32x16xf32>, tensor<16x2xf32>
// CHECK: %[[V5:[a-z0-9_]+]] = chunk.deinterleave %[[V4]] 1 of 2 : tensor<32x2xf32>
// CHECK: chunk.output "o" %[[V5]] : tensor<16x2xf32>
// COST-LABEL: chunk.program @resized {} chunk 16 {
// COST: %[[V0:[a-z0-9_]+]] = chunk.constant 2.000000e+00 : tensor<1xf32>
// COST: %[[V1:[a-z0-9_]+]] = chunk.broadcast %[[V0]] : tensor<1xf32> to tensor<16x3xf32>
// COST: %[[V2:[a-z0-9_]+]] = chunk.interleave %k, %[[V1]] : tensor<16x3xf32>, tensor<16x3xf32>
// COST: %[[V3:[a-z0-9_]+]] = chunk.interaction %[[V2]], %q points [0, 1] of [0] : tensor<32x3xf32>, tensor<16x3xf32>
// COST: %[[V4:[a-z0-9_]+]] = chunk.apply %[[V3]], %v : tensor<32x16xf32>, tensor<16x2xf32>
// COST: %[[V5:[a-z0-9_]+]] = chunk.deinterleave %[[V4]] 1 of 2 : tensor<32x2xf32>
// COST: chunk.output "o" %[[V5]] : tensor<16x2xf32>
chunk.program @resized {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %q = chunk.input "q" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %b = chunk.input "b" : tensor<8xf32>
  %g = chunk.input "g" : tensor<8xf32>
  %c = chunk.constant 2.0 : tensor<1xf32>
  %cs = chunk.broadcast %c : tensor<1xf32> to tensor<8x3xf32>
  %r = chunk.interleave %k, %cs : tensor<8x3xf32>, tensor<8x3xf32>
  %A = chunk.interaction %r, %q points [0, 1] of [0] : tensor<16x3xf32>, tensor<8x3xf32>
  %y = chunk.apply %A, %v : tensor<16x8xf32>, tensor<8x2xf32>
  %o = chunk.deinterleave %y 1 of 2 : tensor<16x2xf32>
  chunk.output "o" %o : tensor<8x2xf32>
}

// -----

// Chunks of one token stay.
// CHECK-LABEL: chunk.program @one {} chunk 1 {
// CHECK: chunk.output "x" %x : tensor<1xf32>
// COST-LABEL: chunk.program @one {} chunk 1 {
// COST: chunk.output "x" %x : tensor<1xf32>
chunk.program @one {} chunk 1 {
  %x = chunk.input "x" : tensor<1xf32>
  chunk.output "x" %x : tensor<1xf32>
}

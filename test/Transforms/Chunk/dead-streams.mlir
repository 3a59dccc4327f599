// RUN: recur-opt %s --split-input-file --chunk-dead-streams | FileCheck %s

// A result that nothing uses takes along what only it needed.
// CHECK-LABEL: chunk.program @loop {} chunk 8 {
// CHECK: %A = chunk.state "A" : tensor<f32>
// CHECK: %[[V0:[a-z0-9_]+]]:2 = chunk.token_loop (%[[V1:[a-z0-9_]+]] = %x : tensor<8xf32>) carry (%[[V2:[a-z0-9_]+]] = %A : tensor<f32>) -> (tensor<8xf32>, tensor<f32>) {
// CHECK: %[[V3:[a-z0-9_]+]] = chunk.map tanh %[[V2]] : tensor<1xf32>
// CHECK: %[[V4:[a-z0-9_]+]] = chunk.map add %[[V3]], %[[V1]] : tensor<1xf32>, tensor<1xf32>
// CHECK: chunk.yield %[[V4]], %[[V4]] : tensor<1xf32>, tensor<1xf32>
// CHECK: chunk.output "o" %[[V0]]#0 : tensor<8xf32>
// CHECK: chunk.next %A, %[[V0]]#1 : tensor<f32>
chunk.program @loop {} chunk 8 {
  %x = chunk.input "x" : tensor<8xf32>
  %y = chunk.input "y" : tensor<8xf32>
  %A = chunk.state "A" : tensor<f32>
  %l:3 = chunk.token_loop (%x1 = %x : tensor<8xf32>, %y1 = %y : tensor<8xf32>) carry (%a = %A : tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<f32>) {
    %b = chunk.map tanh %a : tensor<1xf32>
    %c = chunk.map add %b, %x1 : tensor<1xf32>, tensor<1xf32>
    %d = chunk.map mul %c, %y1 : tensor<1xf32>, tensor<1xf32>
    chunk.yield %c, %d, %c : tensor<1xf32>, tensor<1xf32>, tensor<1xf32>
  }
  chunk.output "o" %l#0 : tensor<8xf32>
  chunk.next %A, %l#2 : tensor<f32>
}

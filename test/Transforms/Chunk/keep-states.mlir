// RUN: recur-opt %s --chunk-keep-states --canonicalize | FileCheck %s

// What only an output asks for is not computed.
// CHECK-LABEL: chunk.program @sum {} chunk 8 {
// CHECK-LABEL: chunk.program @sum_states {} chunk 8 keeps {
// CHECK-NEXT: %x = chunk.input "x" : tensor<8xf32>
// CHECK-NEXT: %A = chunk.state "A" : tensor<f32>
// CHECK-NEXT: %all, %last = chunk.scan %A, %x : tensor<f32>, tensor<8xf32>
// CHECK-NEXT: chunk.next %A, %last : tensor<f32>
// CHECK-NEXT: }
// CHECK-NOT: chunk.program
chunk.program @sum {} chunk 8 {
  %x = chunk.input "x" : tensor<8xf32>
  %A = chunk.state "A" : tensor<f32>
  %all, %last = chunk.scan %A, %x : tensor<f32>, tensor<8xf32>
  %o = chunk.map mul %all, %all : tensor<8xf32>, tensor<8xf32>
  chunk.output "o" %o : tensor<8xf32>
  chunk.next %A, %last : tensor<f32>
}

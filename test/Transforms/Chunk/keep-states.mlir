// RUN: recur-opt %s --split-input-file --chunk-keep-states --canonicalize | FileCheck %s

// What only an output asks for is not computed.
// CHECK-LABEL: chunk.program @sum {} chunk 8 {
// CHECK-LABEL: chunk.program @sum_states {} chunk 8 keeps {
// CHECK-NEXT: %x = chunk.input "x" : tensor<8xf32>
// CHECK-NEXT: %A = chunk.state "A" : tensor<f32>
// CHECK-NEXT: %all, %last = chunk.scan %A, %x : tensor<f32>, tensor<8xf32>
// CHECK-NEXT: chunk.next %A, %last : tensor<f32>
// CHECK-NEXT: }
chunk.program @sum {} chunk 8 {
  %x = chunk.input "x" : tensor<8xf32>
  %A = chunk.state "A" : tensor<f32>
  %all, %last = chunk.scan %A, %x : tensor<f32>, tensor<8xf32>
  %o = chunk.map mul %all, %all : tensor<8xf32>, tensor<8xf32>
  chunk.output "o" %o : tensor<8xf32>
  chunk.next %A, %last : tensor<f32>
}

// -----

// Of two states the gradient takes B, which needs no A: A stays what it is.
// CHECK-LABEL: chunk.program @two_states {} chunk 8 keeps {
// CHECK-NEXT: %x = chunk.input "x" : tensor<8xf32>
// CHECK-NEXT: %A = chunk.state "A" : tensor<f32>
// CHECK-NEXT: %B = chunk.state "B" : tensor<f32>
// CHECK-NEXT: %[[ALL:.*]], %[[LAST:.*]] = chunk.scan %B, %x : tensor<f32>, tensor<8xf32>
// CHECK-NEXT: chunk.next %A, %A : tensor<f32>
// CHECK-NEXT: chunk.next %B, %[[LAST]] : tensor<f32>
// CHECK-NEXT: }
chunk.program @two {} chunk 8 {
  %x = chunk.input "x" : tensor<8xf32>
  %A = chunk.state "A" : tensor<f32>
  %B = chunk.state "B" : tensor<f32>
  %all, %last = chunk.scan %A, %x : tensor<f32>, tensor<8xf32>
  %all1, %last1 = chunk.scan %B, %x : tensor<f32>, tensor<8xf32>
  %o = chunk.map mul %all, %all1 : tensor<8xf32>, tensor<8xf32>
  chunk.output "o" %o : tensor<8xf32>
  chunk.next %A, %last : tensor<f32>
  chunk.next %B, %last1 : tensor<f32>
}
chunk.program @two_gradient {} chunk 8 backward {
  %x = chunk.input "x" : tensor<8xf32>
  %B = chunk.kept "B" : tensor<f32>
  %cotangent.o = chunk.input "cotangent.o" : tensor<8xf32>
  %all1, %last1 = chunk.scan %B, %x : tensor<f32>, tensor<8xf32>
  %0 = chunk.map mul %cotangent.o, %all1 : tensor<8xf32>, tensor<8xf32>
  chunk.output "gradient.x" %0 : tensor<8xf32>
}

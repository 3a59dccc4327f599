// RUN: recur-opt %s --pass-pipeline='builtin.module(chunk.program(chunk-leave-out-gradients{wanted=y}))' | FileCheck %s --check-prefix=OUTPUT
// RUN: recur-opt %s --pass-pipeline='builtin.module(chunk.program(chunk-leave-out-gradients{wanted=A}))' | FileCheck %s --check-prefix=STATE
// RUN: recur-opt %s --pass-pipeline='builtin.module(chunk.program(chunk-leave-out-gradients{wanted=x,p}))' | FileCheck %s --check-prefix=BOTH

// The gradient of y takes no cotangent of the state, so that none is carried; what comes in stays.
// OUTPUT-LABEL: chunk.program @sum_gradient {} chunk 8 backward {
// OUTPUT-NEXT: %x = chunk.input "x" : tensor<8xf32>
// OUTPUT-NEXT: %y = chunk.input "y" : tensor<8xf32>
// OUTPUT-NEXT: %p = chunk.param "p" : tensor<1xf32>
// OUTPUT-NEXT: %A = chunk.kept "A" : tensor<f32>
// OUTPUT-NEXT: %cotangent.o = chunk.input "cotangent.o" : tensor<8xf32>
// OUTPUT-NEXT: %all, %last = chunk.scan %A, %x : tensor<f32>, tensor<8xf32>
// OUTPUT-NEXT: %[[Y:.*]] = chunk.map mul %cotangent.o, %all : tensor<8xf32>, tensor<8xf32>
// OUTPUT-NEXT: chunk.output "gradient.y" %[[Y]] : tensor<8xf32>
// OUTPUT-NEXT: }

// That of the state alone takes no state that was kept.
// STATE-LABEL: chunk.program @sum_gradient {} chunk 8 backward {
// STATE-NOT: chunk.kept
// STATE: %gradient.A = chunk.state "gradient.A" : tensor<f32>
// STATE-NOT: chunk.state
// STATE: %all, %first = chunk.reverse_scan %gradient.A
// STATE-NOT: chunk.output
// STATE: chunk.next %gradient.A, %first : tensor<f32>
// STATE-NEXT: }

// What is carried for another gradient stays, though it is not wanted for itself.
// BOTH-LABEL: chunk.program @sum_gradient {} chunk 8 backward {
// BOTH-DAG: %gradient.p = chunk.state "gradient.p"
// BOTH-DAG: %gradient.A = chunk.state "gradient.A"
// BOTH: chunk.output "gradient.x"
// BOTH-NOT: chunk.output
// BOTH: chunk.next %gradient.p
// BOTH: chunk.next %gradient.A
chunk.program @sum_gradient {} chunk 8 backward {
  %x = chunk.input "x" : tensor<8xf32>
  %y = chunk.input "y" : tensor<8xf32>
  %p = chunk.param "p" : tensor<1xf32>
  %gradient.p = chunk.state "gradient.p" : tensor<f32>
  %A = chunk.kept "A" : tensor<f32>
  %gradient.A = chunk.state "gradient.A" : tensor<f32>
  %cotangent.o = chunk.input "cotangent.o" : tensor<8xf32>
  %all, %last = chunk.scan %A, %x : tensor<f32>, tensor<8xf32>
  %0 = chunk.map mul %cotangent.o, %all : tensor<8xf32>, tensor<8xf32>
  %1 = chunk.map mul %cotangent.o, %y : tensor<8xf32>, tensor<8xf32>
  %2 = chunk.map mul %1, %p : tensor<8xf32>, tensor<1xf32>
  %all_0, %first = chunk.reverse_scan %gradient.A, %2 : tensor<f32>, tensor<8xf32>
  %3 = chunk.map mul %1, %all : tensor<8xf32>, tensor<8xf32>
  %4 = chunk.sum_tokens %3 : tensor<8xf32>
  %5 = chunk.reshape_state %gradient.p : tensor<f32> to tensor<1xf32>
  %6 = chunk.map add %5, %4 : tensor<1xf32>, tensor<1xf32>
  %7 = chunk.reshape_state %6 : tensor<1xf32> to tensor<f32>
  chunk.output "gradient.x" %all_0 : tensor<8xf32>
  chunk.output "gradient.y" %0 : tensor<8xf32>
  chunk.next %gradient.p, %7 : tensor<f32>
  chunk.next %gradient.A, %first : tensor<f32>
}

// RUN: recur-opt %s --split-input-file --chunk-differentiate --chunk-keep-states --canonicalize --cse --chunk-kept-types | FileCheck %s

// Products alone read the state, so it is left as their factor.
// CHECK-LABEL: chunk.program @attention_states
// CHECK: chunk.state "S" kept bf16 : tensor<16x16xf32>
// CHECK-LABEL: chunk.program @attention_gradient
// CHECK: chunk.kept "S" stored bf16 : tensor<16x16xf32>
chunk.program @attention {K = 16 : i64, V = 16 : i64} chunk 16 factors bf16 {
  %q = chunk.input "q" stored bf16 : tensor<16x16xf32>
  %k = chunk.input "k" stored bf16 : tensor<16x16xf32>
  %v = chunk.input "v" stored bf16 : tensor<16x16xf32>
  %S = chunk.state "S" : tensor<16x16xf32>
  %o = chunk.read %q, %S : tensor<16x16xf32>, tensor<16x16xf32>
  %S1 = chunk.advance %S, %v, %k : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
  chunk.output "o" %o stored bf16 : tensor<16x16xf32>
  chunk.next %S, %S1 : tensor<16x16xf32>
}

// -----

// Factors of f32 are of f32 states.
// CHECK-LABEL: chunk.program @precise_states
// CHECK: chunk.state "S" : tensor<16x16xf32>
// CHECK-LABEL: chunk.program @precise_gradient
// CHECK: chunk.kept "S" : tensor<16x16xf32>
chunk.program @precise {K = 16 : i64, V = 16 : i64} chunk 16 {
  %q = chunk.input "q" : tensor<16x16xf32>
  %k = chunk.input "k" : tensor<16x16xf32>
  %v = chunk.input "v" : tensor<16x16xf32>
  %S = chunk.state "S" : tensor<16x16xf32>
  %o = chunk.read %q, %S : tensor<16x16xf32>, tensor<16x16xf32>
  %S1 = chunk.advance %S, %v, %k : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
  chunk.output "o" %o : tensor<16x16xf32>
  chunk.next %S, %S1 : tensor<16x16xf32>
}

// -----

// What a scan begins with is no factor.
// CHECK-LABEL: chunk.program @sum_states
// CHECK: chunk.state "A" : tensor<f32>
// CHECK-LABEL: chunk.program @sum_gradient
// CHECK: chunk.kept "A" : tensor<f32>
chunk.program @sum {} chunk 8 factors bf16 {
  %x = chunk.input "x" : tensor<8xf32>
  %A = chunk.state "A" : tensor<f32>
  %all, %last = chunk.scan %A, %x : tensor<f32>, tensor<8xf32>
  %o = chunk.map mul %all, %all : tensor<8xf32>, tensor<8xf32>
  chunk.output "o" %o : tensor<8xf32>
  chunk.next %A, %last : tensor<f32>
}

// RUN: recur-opt %s --split-input-file --chunk-separate-states --chunk-phases --canonicalize | FileCheck %s
// RUN: recur-opt %s --split-input-file --chunk-phases | FileCheck %s --check-prefix=WHOLE

// A delta rule: what is solved with is free of the state, the chain reads and advances, outputs come late. Keys are
// fewer than tokens, so that nothing is rounded.
// CHECK-LABEL: chunk.program @delta_early {} chunk 8 exact {
// CHECK: %[[L:.*]] = chunk.interaction %k, %k strict
// CHECK: %[[Y:.*]] = chunk.solve %[[L]], %v : tensor<8x8xf32>, tensor<8x2xf32>
// CHECK: chunk.give "{{[0-9]}}" %[[Y]] : tensor<8x2xf32>
// CHECK: %[[W:.*]] = chunk.solve %[[L]], %{{.*}} : tensor<8x8xf32>, tensor<8x3xf32>
// CHECK: chunk.give "{{[0-9]}}" %[[W]] : tensor<8x3xf32>
// CHECK-LABEL: chunk.program @delta_chain {} chunk 8 exact {
// CHECK-DAG: %[[TY:.*]] = chunk.take "{{[0-9]}}" : tensor<8x2xf32>
// CHECK-DAG: %[[TW:.*]] = chunk.take "{{[0-9]}}" : tensor<8x3xf32>
// CHECK: %[[X:.*]] = chunk.read %[[TW]], %S : tensor<8x3xf32>, tensor<2x3xf32>
// CHECK: %[[U:.*]] = chunk.map add %[[TY]], %[[X]] : tensor<8x2xf32>, tensor<8x2xf32>
// CHECK: %[[S:.*]] = chunk.advance %S, %[[U]], %k
// CHECK: chunk.next %S, %[[S]] : tensor<2x3xf32>
// CHECK-DAG: chunk.give "S" whole %S : tensor<2x3xf32>
// CHECK-DAG: chunk.give "{{[0-9]}}" %[[U]] : tensor<8x2xf32>
// CHECK-LABEL: chunk.program @delta_late {} chunk 8 exact {
// CHECK: %S = chunk.take "S" whole : tensor<2x3xf32>
// CHECK: %[[TU:.*]] = chunk.take "{{[0-9]}}" : tensor<8x2xf32>
// CHECK: %[[A:.*]] = chunk.interaction %q, %k inclusive
// CHECK: chunk.apply %[[A]], %[[TU]]
// CHECK: chunk.output "o"

// With the state in the solve, there are none.
// WHOLE-LABEL: chunk.program @delta {} chunk 8 {
// WHOLE-NOT: chunk.program @delta_
chunk.program @delta {} chunk 8 {
  %q = chunk.input "q" : tensor<8x3xf32>
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  %L = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
  %x = chunk.read %k, %S : tensor<8x3xf32>, tensor<2x3xf32>
  %y = chunk.map sub %v, %x : tensor<8x2xf32>, tensor<8x2xf32>
  %u = chunk.solve %L, %y : tensor<8x8xf32>, tensor<8x2xf32>
  %S1 = chunk.advance %S, %u, %k : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  %A = chunk.interaction %q, %k inclusive : tensor<8x3xf32>, tensor<8x3xf32>
  %past = chunk.read %q, %S : tensor<8x3xf32>, tensor<2x3xf32>
  %present = chunk.apply %A, %u : tensor<8x8xf32>, tensor<8x2xf32>
  %o = chunk.map add %past, %present : tensor<8x2xf32>, tensor<8x2xf32>
  chunk.output "o" %o : tensor<8x2xf32>
  chunk.next %S, %S1 : tensor<2x3xf32>
}

// -----

// A state that a scan carries goes token by token.
// CHECK-LABEL: chunk.program @scanned {} chunk 8 {
// CHECK-NOT: chunk.program
chunk.program @scanned {} chunk 8 {
  %x = chunk.input "x" : tensor<8x3xf32>
  %z = chunk.state "z" : tensor<3xf32>
  %all, %last = chunk.scan %z, %x : tensor<3xf32>, tensor<8x3xf32>
  chunk.output "o" %all : tensor<8x3xf32>
  chunk.next %z, %last : tensor<3xf32>
}

// -----

// What is written to B went through a matrix of the tokens after it was read from A.
// CHECK-LABEL: chunk.program @fed {} chunk 8 {
// CHECK-NOT: chunk.program
chunk.program @fed {} chunk 8 {
  %q = chunk.input "q" : tensor<8x3xf32>
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %A = chunk.state "A" : tensor<2x3xf32>
  %B = chunk.state "B" : tensor<2x3xf32>
  %A1 = chunk.advance %A, %v, %k : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  %L = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
  %x = chunk.read %k, %A : tensor<8x3xf32>, tensor<2x3xf32>
  %y = chunk.apply %L, %x : tensor<8x8xf32>, tensor<8x2xf32>
  %B1 = chunk.advance %B, %y, %k : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  %o = chunk.read %q, %B : tensor<8x3xf32>, tensor<2x3xf32>
  chunk.output "o" %o : tensor<8x2xf32>
  chunk.next %A, %A1 : tensor<2x3xf32>
  chunk.next %B, %B1 : tensor<2x3xf32>
}

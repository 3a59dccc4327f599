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

// What is written to B is read from A by rows that a matrix of the tokens was multiplied with: both states have one chain.
// CHECK-LABEL: chunk.program @fed_early {} chunk 8 exact {
// CHECK: %[[L:.*]] = chunk.interaction %k, %k strict
// CHECK: %[[W:.*]] = chunk.apply %[[L]], %k
// CHECK: chunk.give "[[NAME:[0-9]]]" %[[W]] : tensor<8x3xf32>
// CHECK-LABEL: chunk.program @fed_chain {} chunk 8 exact {
// CHECK: %[[TW:.*]] = chunk.take "[[NAME]]" : tensor<8x3xf32>
// CHECK: chunk.advance %A, %v, %k
// CHECK: %[[X:.*]] = chunk.read %[[TW]], %A : tensor<8x3xf32>, tensor<2x3xf32>
// CHECK: chunk.advance %B, %[[X]], %k
// CHECK-LABEL: chunk.program @fed_late {} chunk 8 exact {
// CHECK: %B = chunk.take "B" whole
// CHECK: chunk.read %q, %B
// WHOLE-LABEL: chunk.program @fed {} chunk 8 {
// WHOLE-NOT: chunk.program @fed_
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

// -----

// States that a chunk turns into each other by cosines and sines of each key channel; what its last token writes is left
// as two vectors, of which the chain makes the product.
// CHECK-LABEL: chunk.program @turned_early {} chunk 8 exact {
// CHECK: chunk.give "{{[0-9]}}" %{{.*}} : tensor<1x4xf32>
// CHECK-NOT: tensor<1x2x4xf32>
// CHECK-LABEL: chunk.program @turned_chain {} chunk 8 exact {
// CHECK: %[[OUTER:.*]] = chunk.map outer %{{.*}}, %{{.*}} : tensor<1x2xf32>, tensor<1x4xf32>
// CHECK: chunk.map scale_cols
// CHECK: chunk.map add %{{.*}}, %[[OUTER]]
// CHECK: chunk.next %A
// CHECK: chunk.next %B
chunk.program @turned {} chunk 8 {
  %k = chunk.input "k" : tensor<8x4xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %t = chunk.input "t" : tensor<8x4xf32>
  %A = chunk.state "A" : tensor<2x4xf32>
  %B = chunk.state "B" : tensor<2x4xf32>
  %t1 = chunk.last %t : tensor<8x4xf32>
  %angle = chunk.reshape_state %t1 : tensor<4xf32> to tensor<1x4xf32>
  %c = chunk.map cos %angle : tensor<1x4xf32>
  %s = chunk.map sin %angle : tensor<1x4xf32>
  %v1 = chunk.last %v : tensor<8x2xf32>
  %value = chunk.reshape_state %v1 : tensor<2xf32> to tensor<1x2xf32>
  %k1 = chunk.last %k : tensor<8x4xf32>
  %key = chunk.reshape_state %k1 : tensor<4xf32> to tensor<1x4xf32>
  %last = chunk.map outer %value, %key : tensor<1x2xf32>, tensor<1x4xf32>
  %A1 = chunk.advance %A, %v, %k : tensor<2x4xf32>, tensor<8x2xf32>, tensor<8x4xf32>
  %A2 = chunk.reshape_state %A1 : tensor<2x4xf32> to tensor<1x2x4xf32>
  %B2 = chunk.reshape_state %B : tensor<2x4xf32> to tensor<1x2x4xf32>
  %A3 = chunk.map scale_cols %A2, %c : tensor<1x2x4xf32>, tensor<1x4xf32>
  %B3 = chunk.map scale_cols %B2, %s : tensor<1x2x4xf32>, tensor<1x4xf32>
  %A4 = chunk.map sub %A3, %B3 : tensor<1x2x4xf32>, tensor<1x2x4xf32>
  %A5 = chunk.map add %A4, %last : tensor<1x2x4xf32>, tensor<1x2x4xf32>
  %A6 = chunk.reshape_state %A5 : tensor<1x2x4xf32> to tensor<2x4xf32>
  %A7 = chunk.map scale_cols %A2, %s : tensor<1x2x4xf32>, tensor<1x4xf32>
  %B7 = chunk.map scale_cols %B2, %c : tensor<1x2x4xf32>, tensor<1x4xf32>
  %B8 = chunk.map add %A7, %B7 : tensor<1x2x4xf32>, tensor<1x2x4xf32>
  %B9 = chunk.reshape_state %B8 : tensor<1x2x4xf32> to tensor<2x4xf32>
  %o = chunk.read %k, %B : tensor<8x4xf32>, tensor<2x4xf32>
  chunk.output "o" %o : tensor<8x2xf32>
  chunk.next %A, %A6 : tensor<2x4xf32>
  chunk.next %B, %B9 : tensor<2x4xf32>
}

// -----

// The chain takes an inverse that it applies to what it reads of two states.
// CHECK-LABEL: chunk.program @inverted_early {} chunk 8 exact {
// CHECK: %[[T:.*]] = chunk.inverse
// CHECK: chunk.give "[[NAME:[0-9]]]" %[[T]] : tensor<8x8xf32>
// CHECK-LABEL: chunk.program @inverted_chain {} chunk 8 exact {
// CHECK: %[[TT:.*]] = chunk.take "[[NAME]]" triangle [1, 1] : tensor<8x8xf32>
// CHECK: chunk.read %k, %A
// CHECK: chunk.read %k, %B
// CHECK: chunk.apply %[[TT]]
// CHECK-LABEL: chunk.program @inverted_late {} chunk 8 exact {
// CHECK: chunk.map mul
// CHECK: chunk.output "o"
chunk.program @inverted {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %A = chunk.state "A" : tensor<2x3xf32>
  %B = chunk.state "B" : tensor<2x3xf32>
  %L = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
  %T = chunk.inverse %L : tensor<8x8xf32>
  %x = chunk.read %k, %A : tensor<8x3xf32>, tensor<2x3xf32>
  %y = chunk.map sub %v, %x : tensor<8x2xf32>, tensor<8x2xf32>
  %z = chunk.read %k, %B : tensor<8x3xf32>, tensor<2x3xf32>
  %w = chunk.map sub %y, %z : tensor<8x2xf32>, tensor<8x2xf32>
  %u = chunk.apply %T, %w : tensor<8x8xf32>, tensor<8x2xf32>
  %A1 = chunk.advance %A, %u, %k : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  %B1 = chunk.advance %B, %u, %k : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  %q = chunk.map mul %z, %u : tensor<8x2xf32>, tensor<8x2xf32>
  chunk.output "o" %q : tensor<8x2xf32>
  chunk.next %A, %A1 : tensor<2x3xf32>
  chunk.next %B, %B1 : tensor<2x3xf32>
}

// -----

// What a delay starts with is a constant in the shape of a key, which has no rows of tokens: what is early and what is
// late make it both.
// CHECK-LABEL: chunk.program @started_early
// CHECK: chunk.previous
// CHECK-NOT: chunk.give "{{[0-9]}}" %{{.*}} : tensor<3xf32>
// CHECK-LABEL: chunk.program @started_late
// CHECK: %[[ZERO:.*]] = chunk.constant 0.000000e+00 : tensor<1x3xf32>
// CHECK: %[[START:.*]] = chunk.reshape_state %[[ZERO]] : tensor<1x3xf32> to tensor<3xf32>
// CHECK: chunk.previous %[[START]]
chunk.program @started {} chunk 8 {
  %zero = chunk.constant 0.0 : tensor<1x3xf32>
  %start = chunk.reshape_state %zero : tensor<1x3xf32> to tensor<3xf32>
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  %L = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
  %w = chunk.solve %L, %k : tensor<8x8xf32>, tensor<8x3xf32>
  %b = chunk.previous %start, %w : tensor<3xf32>, tensor<8x3xf32>
  %S1 = chunk.advance %S, %v, %b : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  %c = chunk.previous %start, %k : tensor<3xf32>, tensor<8x3xf32>
  %o = chunk.read %c, %S : tensor<8x3xf32>, tensor<2x3xf32>
  chunk.output "o" %o : tensor<8x2xf32>
  chunk.next %S, %S1 : tensor<2x3xf32>
}

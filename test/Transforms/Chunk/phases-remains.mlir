// RUN: recur-opt %s --split-input-file --chunk-phases=outputs-in-chain | FileCheck %s

// What bounds a state that nobody else needs has a phase of its own; the chain takes it.
// CHECK-LABEL: chunk.program @own_remains {} chunk 8 {
// CHECK: %b = chunk.input "b" : tensor<8xf32>
// CHECK: %[[TOTAL:.*]] = chunk.cumulative_decay total linear(%b) : tensor<8xf32>
// CHECK: chunk.give "[[NAME:[0-9]+]]" %[[TOTAL]] : tensor<1xf32>
// CHECK-LABEL: chunk.program @own_early
// CHECK-NOT: linear(
// CHECK-LABEL: chunk.program @own_chain
// CHECK: %[[TAKEN:.*]] = chunk.take "[[NAME]]" : tensor<1xf32>
// CHECK: chunk.remains "S" %[[TAKEN]] : tensor<1xf32>
chunk.program @own {} chunk 8 {
  %q = chunk.input "q" : tensor<8x16xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %g = chunk.input "g" : tensor<8xf32>
  %b = chunk.input "b" : tensor<8xf32>
  %S = chunk.state "S" : tensor<2x16xf32>
  %d = chunk.cumulative_decay total log(%g) : tensor<8xf32>
  %c = chunk.cumulative_decay total linear(%b) : tensor<8xf32>
  %o = chunk.read %q, %S : tensor<8x16xf32>, tensor<2x16xf32>
  chunk.output "o" %o : tensor<8x2xf32>
  %S1 = chunk.advance %S, %v, %q columns(%d : tensor<1xf32>) : tensor<2x16xf32>, tensor<8x2xf32>, tensor<8x16xf32>
  chunk.remains "S" %c : tensor<1xf32>
  chunk.next %S, %S1 : tensor<2x16xf32>
}

// -----

// What the chain has anyway is left once.
// CHECK-NOT: _remains
// CHECK-LABEL: chunk.program @shared_chain
// CHECK: %[[TAKEN:.*]] = chunk.take "{{.*}}" : tensor<1xf32>
// CHECK: chunk.advance %S, %v, %q columns(%[[TAKEN]] : tensor<1xf32>)
// CHECK: chunk.remains "S" %[[TAKEN]] : tensor<1xf32>
chunk.program @shared {} chunk 8 {
  %q = chunk.input "q" : tensor<8x16xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %g = chunk.input "g" : tensor<8xf32>
  %S = chunk.state "S" : tensor<2x16xf32>
  %d = chunk.cumulative_decay total log(%g) : tensor<8xf32>
  %o = chunk.read %q, %S : tensor<8x16xf32>, tensor<2x16xf32>
  chunk.output "o" %o : tensor<8x2xf32>
  %S1 = chunk.advance %S, %v, %q columns(%d : tensor<1xf32>) : tensor<2x16xf32>, tensor<8x2xf32>, tensor<8x16xf32>
  chunk.remains "S" %d : tensor<1xf32>
  chunk.next %S, %S1 : tensor<2x16xf32>
}

// -----

// A bound that states enter is none that can be found before them.
// CHECK-LABEL: chunk.program @dependent_chain
// CHECK-NOT: chunk.remains
chunk.program @dependent {} chunk 8 {
  %q = chunk.input "q" : tensor<8x16xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %g = chunk.input "g" : tensor<8xf32>
  %S = chunk.state "S" : tensor<2x16xf32>
  %d = chunk.cumulative_decay total log(%g) : tensor<8xf32>
  %o = chunk.read %q, %S : tensor<8x16xf32>, tensor<2x16xf32>
  %x = chunk.extract %o[0] : tensor<8x2xf32>
  %c = chunk.cumulative_decay total linear(%x) : tensor<8xf32>
  chunk.output "o" %o : tensor<8x2xf32>
  %S1 = chunk.advance %S, %v, %q columns(%d : tensor<1xf32>) : tensor<2x16xf32>, tensor<8x2xf32>, tensor<8x16xf32>
  chunk.remains "S" %c : tensor<1xf32>
  chunk.next %S, %S1 : tensor<2x16xf32>
}

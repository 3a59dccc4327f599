// RUN: recur-opt %s --split-input-file --chunk-phases=interactions-in-chain | FileCheck %s

// Writes read no state and decays are one number a token: the chain is the whole program, interactions and running decays
// included. What bounds the state is found before it as well, for chains that begin within a sequence.
// CHECK-LABEL: chunk.program @all_remains {} chunk 8 {
// CHECK-NEXT: %g = chunk.input "g" : tensor<8xf32>
// CHECK-NEXT: %[[BOUND:.*]] = chunk.cumulative_decay total log(%g) : tensor<8xf32>
// CHECK-NEXT: chunk.give "[[NAME:[0-9]+]]" %[[BOUND]] : tensor<1xf32>
// CHECK-LABEL: chunk.program @all_chain {} chunk 8 {
// CHECK: %[[TAKEN:.*]] = chunk.take "[[NAME]]" : tensor<1xf32>
// CHECK: %[[TOTAL:.*]] = chunk.cumulative_decay total log(%g) : tensor<8xf32>
// CHECK: %[[A:.*]] = chunk.interaction %q, %k inclusive decay log(%g : tensor<8xf32>)
// CHECK: chunk.apply %[[A]], %v
// CHECK: chunk.output "o"
// CHECK: chunk.advance %S, %v, %k columns(%[[TOTAL]] : tensor<1xf32>)
// CHECK: chunk.remains "S" %[[TAKEN]] : tensor<1xf32>
// CHECK-NOT: chunk.program
chunk.program @all {} chunk 8 {
  %q = chunk.input "q" : tensor<8x16xf32>
  %k = chunk.input "k" : tensor<8x16xf32>
  %v = chunk.input "v" : tensor<8x4xf32>
  %g = chunk.input "g" : tensor<8xf32>
  %S = chunk.state "S" : tensor<4x16xf32>
  %d = chunk.cumulative_decay total log(%g) : tensor<8xf32>
  %A = chunk.interaction %q, %k inclusive decay log(%g : tensor<8xf32>) : tensor<8x16xf32>, tensor<8x16xf32>
  %past = chunk.read %q, %S : tensor<8x16xf32>, tensor<4x16xf32>
  %present = chunk.apply %A, %v : tensor<8x8xf32>, tensor<8x4xf32>
  %o = chunk.map add %past, %present : tensor<8x4xf32>, tensor<8x4xf32>
  chunk.output "o" %o : tensor<8x4xf32>
  %S1 = chunk.advance %S, %v, %k columns(%d : tensor<1xf32>) : tensor<4x16xf32>, tensor<8x4xf32>, tensor<8x16xf32>
  chunk.remains "S" %d : tensor<1xf32>
  chunk.next %S, %S1 : tensor<4x16xf32>
}

// -----

// A decay that a head always has is a number of each token as well, whatever params it is made of.
// CHECK-LABEL: chunk.program @constant_remains {} chunk 8 {
// CHECK-LABEL: chunk.program @constant_chain {} chunk 8 {
// CHECK: %[[STEPS:.*]] = chunk.broadcast %{{.*}} : tensor<1xf32> to tensor<8xf32>
// CHECK: chunk.interaction %q, %k inclusive decay log(%[[STEPS]] : tensor<8xf32>)
// CHECK: chunk.output "o"
// CHECK-NOT: chunk.program
chunk.program @constant {} chunk 8 {
  %q = chunk.input "q" : tensor<8x16xf32>
  %k = chunk.input "k" : tensor<8x16xf32>
  %v = chunk.input "v" : tensor<8x4xf32>
  %p = chunk.param "p" : tensor<1xf32>
  %S = chunk.state "S" : tensor<4x16xf32>
  %n = chunk.map neg %p : tensor<1xf32>
  %g = chunk.broadcast %n : tensor<1xf32> to tensor<8xf32>
  %d = chunk.cumulative_decay total log(%g) : tensor<8xf32>
  %A = chunk.interaction %q, %k inclusive decay log(%g : tensor<8xf32>) : tensor<8x16xf32>, tensor<8x16xf32>
  %past = chunk.read %q, %S : tensor<8x16xf32>, tensor<4x16xf32>
  %present = chunk.apply %A, %v : tensor<8x8xf32>, tensor<8x4xf32>
  %o = chunk.map add %past, %present : tensor<8x4xf32>, tensor<8x4xf32>
  chunk.output "o" %o : tensor<8x4xf32>
  %S1 = chunk.advance %S, %v, %k columns(%d : tensor<1xf32>) : tensor<4x16xf32>, tensor<8x4xf32>, tensor<8x16xf32>
  chunk.remains "S" %d : tensor<1xf32>
  chunk.next %S, %S1 : tensor<4x16xf32>
}

// -----

// Decays of each channel are more than a chain makes besides its state, and so is an inverse.
// CHECK-LABEL: chunk.program @channels {} chunk 8 {
// CHECK-LABEL: chunk.program @erases {} chunk 8 {
// CHECK-NOT: chunk.program
chunk.program @channels {} chunk 8 {
  %q = chunk.input "q" : tensor<8x16xf32>
  %k = chunk.input "k" : tensor<8x16xf32>
  %v = chunk.input "v" : tensor<8x4xf32>
  %g = chunk.input "g" : tensor<8x16xf32>
  %S = chunk.state "S" : tensor<4x16xf32>
  %A = chunk.interaction %q, %k inclusive decay log(%g : tensor<8x16xf32>) : tensor<8x16xf32>, tensor<8x16xf32>
  %o = chunk.apply %A, %v : tensor<8x8xf32>, tensor<8x4xf32>
  chunk.output "o" %o : tensor<8x4xf32>
  %S1 = chunk.advance %S, %v, %k : tensor<4x16xf32>, tensor<8x4xf32>, tensor<8x16xf32>
  chunk.next %S, %S1 : tensor<4x16xf32>
}
chunk.program @erases {} chunk 8 {
  %k = chunk.input "k" : tensor<8x16xf32>
  %v = chunk.input "v" : tensor<8x4xf32>
  %S = chunk.state "S" : tensor<4x16xf32>
  %K = chunk.interaction %k, %k strict : tensor<8x16xf32>, tensor<8x16xf32>
  %T = chunk.inverse %K : tensor<8x8xf32>
  %x = chunk.read %k, %S : tensor<8x16xf32>, tensor<4x16xf32>
  %y = chunk.map sub %v, %x : tensor<8x4xf32>, tensor<8x4xf32>
  %u = chunk.apply %T, %y : tensor<8x8xf32>, tensor<8x4xf32>
  chunk.output "o" %x : tensor<8x4xf32>
  %S1 = chunk.advance %S, %u, %k : tensor<4x16xf32>, tensor<8x4xf32>, tensor<8x16xf32>
  chunk.next %S, %S1 : tensor<4x16xf32>
}

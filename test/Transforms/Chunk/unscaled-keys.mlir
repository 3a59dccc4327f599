// RUN: recur-opt %s --split-input-file --chunk-unscaled-keys | FileCheck %s

// CHECK-LABEL: chunk.program @normalised
// CHECK: %[[I:.*]] = chunk.map div %{{.*}}, %n : tensor<1xf32>, tensor<8xf32>
// CHECK: %[[R:.*]] = chunk.map mul %[[I]], %k : tensor<8xf32>, tensor<8x3xf32>
// CHECK: %[[X:.*]] = chunk.read %[[R]], %S
// CHECK: %[[Y:.*]] = chunk.map sub %v, %[[X]]
// CHECK: %[[A:.*]] = chunk.interaction %k, %k strict
// CHECK: %[[SQUARE:.*]] = chunk.map mul %[[I]], %[[I]] : tensor<8xf32>, tensor<8xf32>
// CHECK: %[[L:.*]] = chunk.map mul %[[SQUARE]], %[[A]] : tensor<8xf32>, tensor<8x8xf32>
// CHECK: %[[Z:.*]] = chunk.map mul %[[I]], %[[Y]] : tensor<8xf32>, tensor<8x2xf32>
// CHECK: %[[U:.*]] = chunk.solve %[[L]], %[[Z]]
// CHECK: chunk.advance %S, %[[U]], %k
chunk.program @normalised {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %n = chunk.input "n" : tensor<8xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  %u = chunk.map div %k, %n : tensor<8x3xf32>, tensor<8xf32>
  %x = chunk.read %u, %S : tensor<8x3xf32>, tensor<2x3xf32>
  %y = chunk.map sub %v, %x : tensor<8x2xf32>, tensor<8x2xf32>
  %A = chunk.interaction %u, %u strict : tensor<8x3xf32>, tensor<8x3xf32>
  %U = chunk.solve %A, %y : tensor<8x8xf32>, tensor<8x2xf32>
  %S1 = chunk.advance %S, %U, %u : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  chunk.next %S, %S1 : tensor<2x3xf32>
}

// -----

// Gains, decays and queries of their own length: one number is left for each matrix and each value, and keys that decay
// channel by channel are scaled by nothing else.
// CHECK-LABEL: chunk.program @gated
// CHECK: chunk.interaction %q, %k inclusive decay log(%g : tensor<8x3xf32>)
// CHECK: chunk.map mul %{{.*}}, %{{.*}} : tensor<8xf32>, tensor<8x8xf32>
// CHECK: %[[OWN:.*]] = chunk.interaction %k, %k strict decay log(%g : tensor<8x3xf32>)
// CHECK: chunk.map mul %{{.*}}, %[[OWN]] : tensor<8xf32>, tensor<8x8xf32>
// CHECK-NOT: tensor<8x8xf32>
// CHECK: %[[U:.*]] = chunk.solve
// CHECK: chunk.apply %{{.*}}, %[[U]]
// CHECK: %[[DECAYED:.*]] = chunk.map mul %{{.*}}, %k : tensor<8x3xf32>, tensor<8x3xf32>
// CHECK: chunk.advance %S, %[[U]], %[[DECAYED]]
chunk.program @gated {} chunk 8 {
  %q = chunk.input "q" : tensor<8x3xf32>
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %g = chunk.input "g" : tensor<8x3xf32>
  %b = chunk.input "b" : tensor<8xf32>
  %n = chunk.input "n" : tensor<8xf32>
  %m = chunk.input "m" : tensor<8xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  %through = chunk.cumulative_decay through log(%g) : tensor<8x3xf32>
  %after = chunk.cumulative_decay after log(%g) : tensor<8x3xf32>
  %total = chunk.cumulative_decay total log(%g) : tensor<8x3xf32>
  %u = chunk.map div %k, %n : tensor<8x3xf32>, tensor<8xf32>
  %w = chunk.map mul %m, %q : tensor<8xf32>, tensor<8x3xf32>
  %Aq = chunk.interaction %w, %u inclusive decay log(%g : tensor<8x3xf32>) : tensor<8x3xf32>, tensor<8x3xf32>
  %A = chunk.interaction %u, %u strict decay log(%g : tensor<8x3xf32>) : tensor<8x3xf32>, tensor<8x3xf32>
  %L = chunk.map mul %b, %A : tensor<8xf32>, tensor<8x8xf32>
  %r = chunk.map mul %through, %u : tensor<8x3xf32>, tensor<8x3xf32>
  %x = chunk.read %r, %S : tensor<8x3xf32>, tensor<2x3xf32>
  %y = chunk.map sub %v, %x : tensor<8x2xf32>, tensor<8x2xf32>
  %z = chunk.map mul %b, %y : tensor<8xf32>, tensor<8x2xf32>
  %U = chunk.solve %L, %z : tensor<8x8xf32>, tensor<8x2xf32>
  %o = chunk.apply %Aq, %U : tensor<8x8xf32>, tensor<8x2xf32>
  chunk.output "o" %o : tensor<8x2xf32>
  %e = chunk.map mul %after, %u : tensor<8x3xf32>, tensor<8x3xf32>
  %S1 = chunk.advance %S, %U, %e columns(%total : tensor<1x3xf32>) : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  chunk.next %S, %S1 : tensor<2x3xf32>
}

// -----

// What is solved for is wanted as it is, so it cannot be scaled.
// CHECK-LABEL: chunk.program @shown
// CHECK: %[[U:.*]] = chunk.map div %k, %n
// CHECK: chunk.interaction %[[U]], %[[U]] strict
chunk.program @shown {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %n = chunk.input "n" : tensor<8xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  %u = chunk.map div %k, %n : tensor<8x3xf32>, tensor<8xf32>
  %A = chunk.interaction %u, %u strict : tensor<8x3xf32>, tensor<8x3xf32>
  %U = chunk.solve %A, %v : tensor<8x8xf32>, tensor<8x2xf32>
  chunk.output "o" %U : tensor<8x2xf32>
  %S1 = chunk.advance %S, %U, %u : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  chunk.next %S, %S1 : tensor<2x3xf32>
}

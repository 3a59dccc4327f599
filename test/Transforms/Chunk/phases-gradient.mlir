// RUN: recur-opt %s --split-input-file --chunk-phases=outputs-in-chain | FileCheck %s

// The gradient of a delta rule whose queries a param scales. The chain goes from the last chunk to the first; it applies the inverse
// transposed and leaves what it gives of each chunk once. The late phase scales that again, takes the states that were
// kept, and leaves a chunk's share of the param's gradient, which is added up last.
// CHECK-LABEL: chunk.program @delta_early {} chunk 8 backward {
// CHECK: %[[T:.*]] = chunk.inverse
// CHECK: chunk.give "[[NT:.*]]" rounded %[[T]] : tensor<8x8xf32>
// CHECK-LABEL: chunk.program @delta_chain {} chunk 8 backward {
// CHECK-DAG: %[[TT:.*]] = chunk.take "[[NT]]" rounded triangle [1, 1] : tensor<8x8xf32>
// CHECK: %[[X:.*]] = chunk.read %k, %gradient.S
// CHECK: %[[U:.*]] = chunk.apply_transposed %[[TT]], %[[X]]
// CHECK: %[[W:.*]] = chunk.map mul %{{.*}}, %[[U]]
// CHECK: chunk.advance %gradient.S, %[[W]], %k
// CHECK-DAG: chunk.give "[[NU:[0-9]+]]" rounded %[[U]]
// CHECK-DAG: chunk.give "gradient.S" whole rounded %gradient.S
// CHECK-LABEL: chunk.program @delta_late {} chunk 8 backward {
// CHECK-DAG: %[[DS:.*]] = chunk.take "gradient.S" whole rounded
// CHECK-DAG: %[[LU:.*]] = chunk.take "[[NU]]" rounded
// CHECK-DAG: %S = chunk.kept "S"
// CHECK: chunk.map mul %b, %[[LU]]
// CHECK: %[[SUM:.*]] = chunk.sum_tokens
// CHECK: chunk.give "[[NS:[0-9]+]]" %[[SUM]]
// CHECK-LABEL: chunk.program @delta_sums {} chunk 8 backward {
// CHECK: %[[SHARE:.*]] = chunk.take "[[NS]]" : tensor<1x16xf32>
// CHECK: chunk.map add %{{.*}}, %[[SHARE]]
// CHECK: chunk.next %gradient.p
chunk.program @delta {} chunk 8 backward {
  %q = chunk.input "q" : tensor<8x16xf32>
  %k = chunk.input "k" : tensor<8x16xf32>
  %b = chunk.input "b" : tensor<8xf32>
  %d = chunk.input "cotangent.o" : tensor<8x8xf32>
  %S = chunk.kept "S" : tensor<8x16xf32>
  %dS = chunk.state "gradient.S" : tensor<8x16xf32>
  %dp = chunk.state "gradient.p" : tensor<16xf32>
  %K = chunk.interaction %k, %k strict : tensor<8x16xf32>, tensor<8x16xf32>
  %L = chunk.map mul %b, %K : tensor<8xf32>, tensor<8x8xf32>
  %T = chunk.inverse %L : tensor<8x8xf32>
  %x = chunk.read %k, %dS : tensor<8x16xf32>, tensor<8x16xf32>
  %u = chunk.apply_transposed %T, %x : tensor<8x8xf32>, tensor<8x8xf32>
  %w = chunk.map mul %b, %u : tensor<8xf32>, tensor<8x8xf32>
  %dS1 = chunk.advance %dS, %w, %k : tensor<8x16xf32>, tensor<8x8xf32>, tensor<8x16xf32>
  %y = chunk.read left %w, %S : tensor<8x8xf32>, tensor<8x16xf32>
  %z = chunk.read left %d, %dS : tensor<8x8xf32>, tensor<8x16xf32>
  %dk = chunk.map add %y, %z : tensor<8x16xf32>, tensor<8x16xf32>
  %s = chunk.map mul %dk, %q : tensor<8x16xf32>, tensor<8x16xf32>
  %sum = chunk.sum_tokens %s : tensor<8x16xf32>
  %row = chunk.reshape_state %dp : tensor<16xf32> to tensor<1x16xf32>
  %more = chunk.map add %row, %sum : tensor<1x16xf32>, tensor<1x16xf32>
  %dp1 = chunk.reshape_state %more : tensor<1x16xf32> to tensor<16xf32>
  chunk.output "gradient.k" %dk : tensor<8x16xf32>
  chunk.next %dS, %dS1 : tensor<8x16xf32>
  chunk.next %dp, %dp1 : tensor<16xf32>
}

// -----

// A cotangent of decays that is late takes the pairs of an interaction with it, so that they are made once and by
// products.
// CHECK-LABEL: chunk.program @decays_late {} chunk 8 backward {
// CHECK: chunk.interaction %q, %k inclusive decay
// CHECK: chunk.decay_cotangent %{{.*}}, %q, %k inclusive decay
chunk.program @decays {} chunk 8 backward {
  %q = chunk.input "q" : tensor<8x16xf32>
  %k = chunk.input "k" : tensor<8x16xf32>
  %g = chunk.input "g" : tensor<8xf32>
  %d = chunk.input "cotangent.o" : tensor<8x8xf32>
  %dS = chunk.state "gradient.S" : tensor<8x16xf32>
  %A = chunk.interaction %q, %k inclusive decay log(%g : tensor<8xf32>) : tensor<8x16xf32>, tensor<8x16xf32>
  %e = chunk.apply_transposed %A, %d : tensor<8x8xf32>, tensor<8x8xf32>
  %x = chunk.read %k, %dS : tensor<8x16xf32>, tensor<8x16xf32>
  %u = chunk.map add %e, %x : tensor<8x8xf32>, tensor<8x8xf32>
  %dS1 = chunk.advance %dS, %u, %q : tensor<8x16xf32>, tensor<8x8xf32>, tensor<8x16xf32>
  %D = chunk.interaction %d, %u inclusive : tensor<8x8xf32>, tensor<8x8xf32>
  %dg = chunk.decay_cotangent %D, %q, %k inclusive decay log(%g : tensor<8xf32>) : tensor<8x8xf32>, tensor<8x16xf32>, tensor<8x16xf32>
  chunk.output "gradient.g" %dg : tensor<8xf32>
  chunk.next %dS, %dS1 : tensor<8x16xf32>
}

// -----

// The cotangent of a matrix under a decay of the tokens meets the decay once: the interaction has it, products take that,
// and the decay's own cotangent takes it times what the rows and the writes make without a decay, by a triangle of ones.
// What scales rows that are there scales the matrix instead.
// CHECK-LABEL: chunk.program @once_late {} chunk 8 backward {
// CHECK: %[[M:.*]] = chunk.interaction %cotangent.o, %v inclusive decay log(%g : tensor<8xf32>)
// CHECK: %[[Z:.*]] = chunk.map mul %c, %[[M]] : tensor<8xf32>, tensor<8x8xf32>
// CHECK-NOT: chunk.decay_cotangent
// CHECK: %[[QK:.*]] = chunk.interaction %q, %k inclusive : tensor<8x16xf32>, tensor<8x16xf32>
// CHECK: %[[P:.*]] = chunk.map mul %[[Z]], %[[QK]]
// CHECK: %[[BEHIND:.*]] = chunk.interaction %[[ONES:.*]], %[[ONES]] inclusive : tensor<8x1xf32>, tensor<8x1xf32>
// CHECK: %[[BEFORE:.*]] = chunk.interaction %[[ONES]], %[[ONES]] before : tensor<8x1xf32>, tensor<8x1xf32>
// CHECK: %[[SUMS:.*]] = chunk.apply_transposed %[[BEHIND]], %[[P]]
// CHECK: %[[G:.*]] = chunk.map dot %[[BEFORE]], %[[SUMS]]
// CHECK: %[[Q:.*]] = chunk.apply %[[Z]], %k
// CHECK: chunk.output "gradient.q" %[[Q]]
// CHECK: chunk.output "gradient.g" %[[G]]
chunk.program @once {} chunk 8 backward {
  %one = chunk.constant 1.0 : tensor<8x1xf32>
  %q = chunk.input "q" : tensor<8x16xf32>
  %k = chunk.input "k" : tensor<8x16xf32>
  %v = chunk.input "v" : tensor<8x8xf32>
  %c = chunk.input "c" : tensor<8xf32>
  %g = chunk.input "g" : tensor<8xf32>
  %d = chunk.input "cotangent.o" : tensor<8x8xf32>
  %dS = chunk.state "gradient.S" : tensor<8x16xf32>
  %x = chunk.map mul %c, %d : tensor<8xf32>, tensor<8x8xf32>
  %m = chunk.interaction %x, %v inclusive : tensor<8x8xf32>, tensor<8x8xf32>
  %dg = chunk.decay_cotangent %m, %q, %k inclusive decay log(%g : tensor<8xf32>) : tensor<8x8xf32>, tensor<8x16xf32>, tensor<8x16xf32>
  %e = chunk.interaction %one, %one inclusive decay log(%g : tensor<8xf32>) : tensor<8x1xf32>, tensor<8x1xf32>
  %z = chunk.map mul %e, %m : tensor<8x8xf32>, tensor<8x8xf32>
  %dq = chunk.apply %z, %k : tensor<8x8xf32>, tensor<8x16xf32>
  %dv = chunk.read %k, %dS : tensor<8x16xf32>, tensor<8x16xf32>
  %dS1 = chunk.advance %dS, %x, %q : tensor<8x16xf32>, tensor<8x8xf32>, tensor<8x16xf32>
  chunk.output "gradient.q" %dq : tensor<8x16xf32>
  chunk.output "gradient.v" %dv : tensor<8x8xf32>
  chunk.output "gradient.g" %dg : tensor<8xf32>
  chunk.next %dS, %dS1 : tensor<8x16xf32>
}

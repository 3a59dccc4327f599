// RUN: recur-opt %s --split-input-file --chunk-phases=outputs-in-chain --canonicalize | FileCheck %s

// A delta rule: the inverse and the interaction of queries are left as matrices, which the chain applies between reads and
// the advance. It loads rows of inputs itself, and takes gains side by side. Nothing is late.
// CHECK-LABEL: chunk.program @delta_early {} chunk 8 {
// CHECK-NOT: chunk.input "v"
// CHECK: chunk.give "[[B:.*]]" %b : tensor<8xf32>
// CHECK: %[[T:.*]] = chunk.inverse
// CHECK: chunk.give "[[NT:.*]]" rounded %[[T]] : tensor<8x8xf32>
// CHECK: %[[A:.*]] = chunk.interaction %q, %k inclusive
// CHECK: chunk.give "[[NA:.*]]" rounded %[[A]] : tensor<8x8xf32>
// CHECK-LABEL: chunk.program @delta_chain {} chunk 8 {
// CHECK-DAG: %[[TT:.*]] = chunk.take "[[NT]]" rounded triangle [1, 1] : tensor<8x8xf32>
// CHECK-DAG: %[[TA:.*]] = chunk.take "[[NA]]" rounded triangle [1, 1] : tensor<8x8xf32>
// CHECK-DAG: %[[TB:.*]] = chunk.take "[[B]]" : tensor<8xf32>
// CHECK: %[[X:.*]] = chunk.read %k, %S
// CHECK: %[[Y:.*]] = chunk.map sub %v, %[[X]]
// CHECK: %[[Z:.*]] = chunk.map mul %[[TB]], %[[Y]]
// CHECK: %[[U:.*]] = chunk.apply %[[TT]], %[[Z]]
// CHECK: chunk.advance %S, %[[U]], %k
// CHECK: %[[P:.*]] = chunk.read %q, %S
// CHECK: %[[Q:.*]] = chunk.apply %[[TA]], %[[U]]
// CHECK: %[[O:.*]] = chunk.map add %[[P]], %[[Q]]
// CHECK: chunk.output "o" %[[O]]
// CHECK-NOT: chunk.program
chunk.program @delta {} chunk 8 {
  %q = chunk.input "q" : tensor<8x16xf32>
  %k = chunk.input "k" : tensor<8x16xf32>
  %v = chunk.input "v" : tensor<8x4xf32>
  %b = chunk.input "b" : tensor<8xf32>
  %S = chunk.state "S" : tensor<4x16xf32>
  %K = chunk.interaction %k, %k strict : tensor<8x16xf32>, tensor<8x16xf32>
  %L = chunk.map mul %b, %K : tensor<8xf32>, tensor<8x8xf32>
  %T = chunk.inverse %L : tensor<8x8xf32>
  %x = chunk.read %k, %S : tensor<8x16xf32>, tensor<4x16xf32>
  %y = chunk.map sub %v, %x : tensor<8x4xf32>, tensor<8x4xf32>
  %z = chunk.map mul %b, %y : tensor<8xf32>, tensor<8x4xf32>
  %u = chunk.apply %T, %z : tensor<8x8xf32>, tensor<8x4xf32>
  %S1 = chunk.advance %S, %u, %k : tensor<4x16xf32>, tensor<8x4xf32>, tensor<8x16xf32>
  %A = chunk.interaction %q, %k inclusive : tensor<8x16xf32>, tensor<8x16xf32>
  %past = chunk.read %q, %S : tensor<8x16xf32>, tensor<4x16xf32>
  %present = chunk.apply %A, %u : tensor<8x8xf32>, tensor<8x4xf32>
  %o = chunk.map add %past, %present : tensor<8x4xf32>, tensor<8x4xf32>
  chunk.output "o" %o : tensor<8x4xf32>
  chunk.next %S, %S1 : tensor<4x16xf32>
}

// -----

// Rows of an input that are scaled for nothing but passes of the chain are scaled there; those that are written are not.
// CHECK-LABEL: chunk.program @scaled_early {} chunk 8 {
// CHECK-NOT: chunk.map mul %{{.*}}, %v
// CHECK: chunk.inverse
// CHECK-LABEL: chunk.program @scaled_chain {} chunk 8 {
// CHECK-DAG: %[[B:.*]] = chunk.take "{{.*}}" : tensor<8xf32>
// CHECK: %[[V:.*]] = chunk.map mul %[[B]], %v
// CHECK: chunk.map sub %[[V]], %{{.*}}
chunk.program @scaled {} chunk 8 {
  %k = chunk.input "k" : tensor<8x16xf32>
  %v = chunk.input "v" : tensor<8x4xf32>
  %b = chunk.input "b" : tensor<8xf32>
  %S = chunk.state "S" : tensor<4x16xf32>
  %L = chunk.interaction %k, %k strict : tensor<8x16xf32>, tensor<8x16xf32>
  %T = chunk.inverse %L : tensor<8x8xf32>
  %x = chunk.read %k, %S : tensor<8x16xf32>, tensor<4x16xf32>
  %w = chunk.map mul %b, %v : tensor<8xf32>, tensor<8x4xf32>
  %y = chunk.map sub %w, %x : tensor<8x4xf32>, tensor<8x4xf32>
  %u = chunk.apply %T, %y : tensor<8x8xf32>, tensor<8x4xf32>
  %S1 = chunk.advance %S, %u, %k : tensor<4x16xf32>, tensor<8x4xf32>, tensor<8x16xf32>
  chunk.output "o" %x : tensor<8x4xf32>
  chunk.next %S, %S1 : tensor<4x16xf32>
}

// -----

// What no state enters is done early whatever it is: values that a chunk's tokens gather of each other are left as rows.
// A sum over channels is not the chain's, but late.
// CHECK-LABEL: chunk.program @gathered_early {} chunk 8 {
// CHECK: %[[Y:.*]] = chunk.apply %{{.*}}, %v
// CHECK: chunk.give "[[NY:.*]]" rounded %[[Y]] : tensor<8x4xf32>
// CHECK-LABEL: chunk.program @gathered_chain {} chunk 8 {
// CHECK: %[[TY:.*]] = chunk.take "[[NY]]" rounded : tensor<8x4xf32>
// CHECK: %[[O:.*]] = chunk.map add %{{.*}}, %[[TY]]
// CHECK: chunk.give "[[NO:.*]]" rounded %[[O]] : tensor<8x4xf32>
// CHECK-LABEL: chunk.program @gathered_late {} chunk 8 {
// CHECK: %[[TO:.*]] = chunk.take "[[NO]]" rounded : tensor<8x4xf32>
// CHECK: %[[N:.*]] = chunk.map sum %[[TO]]
// CHECK: chunk.output "n" %[[N]]
chunk.program @gathered {} chunk 8 {
  %q = chunk.input "q" : tensor<8x16xf32>
  %k = chunk.input "k" : tensor<8x16xf32>
  %v = chunk.input "v" : tensor<8x4xf32>
  %S = chunk.state "S" : tensor<4x16xf32>
  %S1 = chunk.advance %S, %v, %k : tensor<4x16xf32>, tensor<8x4xf32>, tensor<8x16xf32>
  %A = chunk.interaction %q, %k inclusive : tensor<8x16xf32>, tensor<8x16xf32>
  %past = chunk.read %q, %S : tensor<8x16xf32>, tensor<4x16xf32>
  %present = chunk.apply %A, %v : tensor<8x8xf32>, tensor<8x4xf32>
  %o = chunk.map add %past, %present : tensor<8x4xf32>, tensor<8x4xf32>
  %n = chunk.map sum %o : tensor<8x4xf32>
  chunk.output "n" %n : tensor<8xf32>
  chunk.next %S, %S1 : tensor<4x16xf32>
}

// -----

// Keys that are fewer than tokens are not rounded, and two states are not one chain.
// CHECK-LABEL: chunk.program @exact {} chunk 8 {
// CHECK-NOT: chunk.program @exact_
// CHECK-LABEL: chunk.program @two {} chunk 8 {
// CHECK-NOT: chunk.program @two_
chunk.program @exact {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  %o = chunk.read %k, %S : tensor<8x3xf32>, tensor<2x3xf32>
  chunk.output "o" %o : tensor<8x2xf32>
  %S1 = chunk.advance %S, %v, %k : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  chunk.next %S, %S1 : tensor<2x3xf32>
}
chunk.program @two {} chunk 8 {
  %k = chunk.input "k" : tensor<8x16xf32>
  %v = chunk.input "v" : tensor<8x4xf32>
  %R = chunk.state "R" : tensor<4x16xf32>
  %S = chunk.state "S" : tensor<4x16xf32>
  %o = chunk.read %k, %S : tensor<8x16xf32>, tensor<4x16xf32>
  chunk.output "o" %o : tensor<8x4xf32>
  %R1 = chunk.advance %R, %v, %k : tensor<4x16xf32>, tensor<8x4xf32>, tensor<8x16xf32>
  %S1 = chunk.advance %S, %v, %k : tensor<4x16xf32>, tensor<8x4xf32>, tensor<8x16xf32>
  chunk.next %R, %R1 : tensor<4x16xf32>
  chunk.next %S, %S1 : tensor<4x16xf32>
}

// -----

// Rows that only the chain takes are scaled as soon as their decay is there, which is then needed no longer while the
// interactions are computed.
// CHECK-LABEL: chunk.program @channels_early {} chunk 8 {
// CHECK: %[[G:.*]] = chunk.cumulative_decay through log(%g)
// CHECK-NEXT: %[[K:.*]] = chunk.map mul %[[G]], %k
// CHECK-NEXT: chunk.give "{{.*}}" rounded %[[K]]
// CHECK-NEXT: %[[Q:.*]] = chunk.map mul %[[G]], %q
// CHECK-NEXT: chunk.give "{{.*}}" rounded %[[Q]]
// CHECK: chunk.interaction %k, %k strict
// CHECK: chunk.interaction %q, %k inclusive
// CHECK-LABEL: chunk.program @channels_chain {} chunk 8 {
chunk.program @channels {} chunk 8 {
  %q = chunk.input "q" : tensor<8x16xf32>
  %k = chunk.input "k" : tensor<8x16xf32>
  %v = chunk.input "v" : tensor<8x4xf32>
  %g = chunk.input "g" : tensor<8x16xf32>
  %S = chunk.state "S" : tensor<4x16xf32>
  %G = chunk.cumulative_decay through log(%g) : tensor<8x16xf32>
  %kG = chunk.map mul %G, %k : tensor<8x16xf32>, tensor<8x16xf32>
  %K = chunk.interaction %k, %k strict decay log(%g : tensor<8x16xf32>) : tensor<8x16xf32>, tensor<8x16xf32>
  %T = chunk.inverse %K : tensor<8x8xf32>
  %x = chunk.read %kG, %S : tensor<8x16xf32>, tensor<4x16xf32>
  %y = chunk.map sub %v, %x : tensor<8x4xf32>, tensor<8x4xf32>
  %u = chunk.apply %T, %y : tensor<8x8xf32>, tensor<8x4xf32>
  %total = chunk.cumulative_decay total log(%g) : tensor<8x16xf32>
  %after = chunk.cumulative_decay after log(%g) : tensor<8x16xf32>
  %kA = chunk.map mul %after, %k : tensor<8x16xf32>, tensor<8x16xf32>
  %S1 = chunk.advance %S, %u, %kA columns(%total : tensor<1x16xf32>) : tensor<4x16xf32>, tensor<8x4xf32>, tensor<8x16xf32>
  %qG = chunk.map mul %G, %q : tensor<8x16xf32>, tensor<8x16xf32>
  %A = chunk.interaction %q, %k inclusive decay log(%g : tensor<8x16xf32>) : tensor<8x16xf32>, tensor<8x16xf32>
  %past = chunk.read %qG, %S : tensor<8x16xf32>, tensor<4x16xf32>
  %present = chunk.apply %A, %u : tensor<8x8xf32>, tensor<8x4xf32>
  %o = chunk.map add %past, %present : tensor<8x4xf32>, tensor<8x4xf32>
  chunk.output "o" %o : tensor<8x4xf32>
  chunk.next %S, %S1 : tensor<4x16xf32>
}

// RUN: recur-opt %s --split-input-file --chunk-separate-states | FileCheck %s

// Rows of two micro-steps, scaled, of two reads: all of it goes into the rows that are read.
// CHECK-LABEL: chunk.program @steps
// CHECK: %[[L:.*]] = chunk.interaction
// CHECK: %[[R0:.*]] = chunk.map mul %b, %k0
// CHECK: %[[R1:.*]] = chunk.map mul %b, %k1
// CHECK: %[[N0:.*]] = chunk.map neg %[[R0]]
// CHECK: %[[N1:.*]] = chunk.map neg %[[R1]]
// CHECK-DAG: %[[V:.*]] = chunk.interleave %v0, %v1 : tensor<8x2xf32>, tensor<8x2xf32>
// CHECK-DAG: %[[K:.*]] = chunk.interleave %[[N0]], %[[N1]] : tensor<8x3xf32>, tensor<8x3xf32>
// CHECK-DAG: %[[Y:.*]] = chunk.solve %[[L]], %[[V]] : tensor<16x16xf32>, tensor<16x2xf32>
// CHECK-DAG: %[[W:.*]] = chunk.solve %[[L]], %[[K]] : tensor<16x16xf32>, tensor<16x3xf32>
// CHECK: %[[X:.*]] = chunk.read %[[W]], %S : tensor<16x3xf32>, tensor<2x3xf32>
// CHECK: %[[U:.*]] = chunk.map add %[[Y]], %[[X]] : tensor<16x2xf32>, tensor<16x2xf32>
// CHECK: chunk.advance %S, %[[U]], %{{.*}}
chunk.program @steps {} chunk 8 {
  %b = chunk.input "b" : tensor<8xf32>
  %k0 = chunk.input "k0" : tensor<8x3xf32>
  %k1 = chunk.input "k1" : tensor<8x3xf32>
  %v0 = chunk.input "v0" : tensor<8x2xf32>
  %v1 = chunk.input "v1" : tensor<8x2xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  %k = chunk.interleave %k0, %k1 : tensor<8x3xf32>, tensor<8x3xf32>
  %L = chunk.interaction %k, %k points [0, 1] of [0, 1] : tensor<16x3xf32>, tensor<16x3xf32>
  %x0 = chunk.read %k0, %S : tensor<8x3xf32>, tensor<2x3xf32>
  %x1 = chunk.read %k1, %S : tensor<8x3xf32>, tensor<2x3xf32>
  %s0 = chunk.map mul %b, %x0 : tensor<8xf32>, tensor<8x2xf32>
  %s1 = chunk.map mul %b, %x1 : tensor<8xf32>, tensor<8x2xf32>
  %y0 = chunk.map sub %v0, %s0 : tensor<8x2xf32>, tensor<8x2xf32>
  %y1 = chunk.map sub %v1, %s1 : tensor<8x2xf32>, tensor<8x2xf32>
  %y = chunk.interleave %y0, %y1 : tensor<8x2xf32>, tensor<8x2xf32>
  %u = chunk.solve %L, %y : tensor<16x16xf32>, tensor<16x2xf32>
  %S1 = chunk.advance %S, %u, %k : tensor<2x3xf32>, tensor<16x2xf32>, tensor<16x3xf32>
  chunk.next %S, %S1 : tensor<2x3xf32>
}

// -----

// Where no matrix of the tokens takes part a read is as cheap in the chain, and where channels are scaled the rows that
// are read cannot take that along.
// CHECK-LABEL: chunk.program @stays
// CHECK: %[[X:.*]] = chunk.read %k, %S
// CHECK: %[[Y:.*]] = chunk.map sub %v, %[[X]]
// CHECK: %[[S:.*]] = chunk.map mul %c, %[[Y]]
// CHECK: %[[U:.*]] = chunk.solve %{{.*}}, %[[S]]
// CHECK: chunk.advance %S, %[[U]], %k
// CHECK: chunk.advance %{{.*}}, %[[Y]], %k
chunk.program @stays {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %c = chunk.input "c" : tensor<8x2xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  %L = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
  %x = chunk.read %k, %S : tensor<8x3xf32>, tensor<2x3xf32>
  %y = chunk.map sub %v, %x : tensor<8x2xf32>, tensor<8x2xf32>
  %s = chunk.map mul %c, %y : tensor<8x2xf32>, tensor<8x2xf32>
  %u = chunk.solve %L, %s : tensor<8x8xf32>, tensor<8x2xf32>
  %S1 = chunk.advance %S, %u, %k : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  %S2 = chunk.advance %S1, %y, %k : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  chunk.next %S, %S2 : tensor<2x3xf32>
}

// -----

// Two states are written the same values, each scaled for itself: they are read once, and scaled then.
// CHECK-LABEL: chunk.program @coupled
// CHECK: %[[Y:.*]] = chunk.solve %{{.*}}, %v
// CHECK: %[[X:.*]] = chunk.read %{{.*}}, %A
// CHECK: %[[YX:.*]] = chunk.map add %[[Y]], %[[X]]
// CHECK: %[[Z:.*]] = chunk.read %{{.*}}, %B
// CHECK: %[[U:.*]] = chunk.map add %[[YX]], %[[Z]]
// CHECK-NOT: chunk.read
// CHECK: %[[G:.*]] = chunk.map mul %g, %[[U]]
// CHECK: chunk.advance %A, %[[G]], %k
// CHECK: %[[H:.*]] = chunk.map mul %h, %[[U]]
// CHECK: chunk.advance %B, %[[H]], %k
chunk.program @coupled {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %g = chunk.input "g" : tensor<8xf32>
  %h = chunk.input "h" : tensor<8xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %A = chunk.state "A" : tensor<2x3xf32>
  %B = chunk.state "B" : tensor<2x3xf32>
  %L = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
  %x = chunk.read %k, %A : tensor<8x3xf32>, tensor<2x3xf32>
  %y = chunk.map sub %v, %x : tensor<8x2xf32>, tensor<8x2xf32>
  %z = chunk.read %k, %B : tensor<8x3xf32>, tensor<2x3xf32>
  %a = chunk.map mul %h, %z : tensor<8xf32>, tensor<8x2xf32>
  %b = chunk.map sub %y, %a : tensor<8x2xf32>, tensor<8x2xf32>
  %u = chunk.solve %L, %b : tensor<8x8xf32>, tensor<8x2xf32>
  %ug = chunk.map mul %g, %u : tensor<8xf32>, tensor<8x2xf32>
  %A1 = chunk.advance %A, %ug, %k : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  %uh = chunk.map mul %h, %u : tensor<8xf32>, tensor<8x2xf32>
  %B1 = chunk.advance %B, %uh, %k : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  chunk.next %A, %A1 : tensor<2x3xf32>
  chunk.next %B, %B1 : tensor<2x3xf32>
}

// -----

// An inverse stays applied to what was read of two states: each is read with the same rows, as they came.
// CHECK-LABEL: chunk.program @inverted
// CHECK: %[[T:.*]] = chunk.inverse
// CHECK: chunk.read %k, %A
// CHECK: chunk.read %k, %B
// CHECK: %[[U:.*]] = chunk.apply %[[T]]
// CHECK: chunk.advance %A, %[[U]], %k
// CHECK: chunk.advance %B, %[[U]], %k
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
  chunk.next %A, %A1 : tensor<2x3xf32>
  chunk.next %B, %B1 : tensor<2x3xf32>
}

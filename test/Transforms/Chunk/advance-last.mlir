// RUN: recur-opt %s --chunk-advance-last | FileCheck %s
// RUN: recur-opt %s --chunk-advance-last=chains=false | FileCheck %s --check-prefix=PLAIN

// CHECK-LABEL: chunk.program @read_after
// CHECK: %[[O:.*]] = chunk.read %q, %S : tensor<8x3xf32>, tensor<2x3xf32>
// CHECK-NEXT: chunk.output "o" %[[O]] : tensor<8x2xf32>
// CHECK-NEXT: %[[NEXT:.*]] = chunk.advance %S, %v, %k : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
// CHECK-NEXT: chunk.next %S, %[[NEXT]] : tensor<2x3xf32>
chunk.program @read_after {} chunk 8 {
  %q = chunk.input "q" : tensor<8x3xf32>
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  %S1 = chunk.advance %S, %v, %k : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  chunk.next %S, %S1 : tensor<2x3xf32>
  %o = chunk.read %q, %S : tensor<8x3xf32>, tensor<2x3xf32>
  chunk.output "o" %o : tensor<8x2xf32>
}

// What is read of the state after the chunk keeps its place behind the advance.
// CHECK-LABEL: chunk.program @read_what_it_became
// CHECK: %[[NEXT:.*]] = chunk.advance %S
// CHECK-NEXT: %[[O:.*]] = chunk.read %q, %[[NEXT]]
// CHECK-NEXT: chunk.output "o" %[[O]]
// CHECK-NEXT: chunk.next %S, %[[NEXT]]
chunk.program @read_what_it_became {} chunk 8 {
  %q = chunk.input "q" : tensor<8x3xf32>
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  %S1 = chunk.advance %S, %v, %k : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  chunk.next %S, %S1 : tensor<2x3xf32>
  %o = chunk.read %q, %S1 : tensor<8x3xf32>, tensor<2x3xf32>
  chunk.output "o" %o : tensor<8x2xf32>
}

// A state that changes in two steps changes when it has been read.
// CHECK-LABEL: chunk.program @chain
// CHECK: %[[O:.*]] = chunk.read %q, %S :
// CHECK-NEXT: chunk.output "o" %[[O]]
// CHECK-NEXT: %[[FIRST:.*]] = chunk.advance %S, %v, %k
// CHECK-NEXT: %[[SECOND:.*]] = chunk.advance %[[FIRST]], %v, %q
// CHECK-NEXT: chunk.next %S, %[[SECOND]]
// Without the option the first step stays where it is.
// PLAIN-LABEL: chunk.program @chain
// PLAIN: chunk.advance %S, %v, %k
// PLAIN-NEXT: chunk.read %q, %S
// PLAIN: chunk.advance
// PLAIN-NEXT: chunk.next
chunk.program @chain {} chunk 8 {
  %q = chunk.input "q" : tensor<8x3xf32>
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  %S1 = chunk.advance %S, %v, %k : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  %S2 = chunk.advance %S1, %v, %q : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  chunk.next %S, %S2 : tensor<2x3xf32>
  %o = chunk.read %q, %S : tensor<8x3xf32>, tensor<2x3xf32>
  chunk.output "o" %o : tensor<8x2xf32>
}

// A state that goes on from another one changes when both have been read, and the other after it.
// CHECK-LABEL: chunk.program @goes_on
// CHECK: chunk.output "o"
// CHECK-NEXT: %[[S1:.*]] = chunk.advance %S, %v, %k
// CHECK-NEXT: chunk.reshape_state %[[S1]]
// CHECK-NEXT: chunk.reshape_state %Z
// CHECK-NEXT: %[[SUM:.*]] = chunk.map add
// CHECK-NEXT: %[[S2:.*]] = chunk.reshape_state %[[SUM]]
// CHECK-NEXT: %[[Z1:.*]] = chunk.advance %Z, %v, %k
// CHECK-NEXT: chunk.next %S, %[[S2]]
// CHECK-NEXT: chunk.next %Z, %[[Z1]]
// PLAIN-LABEL: chunk.program @goes_on
// PLAIN: chunk.advance %S
// PLAIN: chunk.output "o"
chunk.program @goes_on {} chunk 8 {
  %q = chunk.input "q" : tensor<8x3xf32>
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  %Z = chunk.state "Z" : tensor<2x3xf32>
  %S1 = chunk.advance %S, %v, %k : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  %a = chunk.reshape_state %S1 : tensor<2x3xf32> to tensor<1x2x3xf32>
  %b = chunk.reshape_state %Z : tensor<2x3xf32> to tensor<1x2x3xf32>
  %sum = chunk.map add %a, %b : tensor<1x2x3xf32>, tensor<1x2x3xf32>
  %S2 = chunk.reshape_state %sum : tensor<1x2x3xf32> to tensor<2x3xf32>
  %Z1 = chunk.advance %Z, %v, %k : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  chunk.next %S, %S2 : tensor<2x3xf32>
  chunk.next %Z, %Z1 : tensor<2x3xf32>
  %o = chunk.read %q, %S : tensor<8x3xf32>, tensor<2x3xf32>
  chunk.output "o" %o : tensor<8x2xf32>
}

// So does one whose columns are scaled, and to which the product of two vectors is added.
// CHECK-LABEL: chunk.program @turns
// CHECK: chunk.output "o"
// CHECK-NEXT: %[[S1:.*]] = chunk.advance %S, %v, %k
// CHECK-NEXT: %[[MATRIX:.*]] = chunk.reshape_state %[[S1]]
// CHECK-NEXT: %[[SCALED:.*]] = chunk.map scale_cols %[[MATRIX]], %[[C:.*]] :
// CHECK-NEXT: %[[OUTER:.*]] = chunk.map outer
// CHECK-NEXT: %[[SUM:.*]] = chunk.map add %[[SCALED]], %[[OUTER]]
// CHECK-NEXT: %[[S2:.*]] = chunk.reshape_state %[[SUM]]
// CHECK-NEXT: chunk.next %S, %[[S2]]
// PLAIN-LABEL: chunk.program @turns
// PLAIN: chunk.map add
// PLAIN: chunk.output "o"
chunk.program @turns {} chunk 8 {
  %q = chunk.input "q" : tensor<8x3xf32>
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  %S1 = chunk.advance %S, %v, %k : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  %k1 = chunk.last %k : tensor<8x3xf32>
  %c = chunk.reshape_state %k1 : tensor<3xf32> to tensor<1x3xf32>
  %v1 = chunk.last %v : tensor<8x2xf32>
  %w = chunk.reshape_state %v1 : tensor<2xf32> to tensor<1x2xf32>
  %a = chunk.reshape_state %S1 : tensor<2x3xf32> to tensor<1x2x3xf32>
  %scaled = chunk.map scale_cols %a, %c : tensor<1x2x3xf32>, tensor<1x3xf32>
  %outer = chunk.map outer %w, %c : tensor<1x2xf32>, tensor<1x3xf32>
  %sum = chunk.map add %scaled, %outer : tensor<1x2x3xf32>, tensor<1x2x3xf32>
  %S2 = chunk.reshape_state %sum : tensor<1x2x3xf32> to tensor<2x3xf32>
  chunk.next %S, %S2 : tensor<2x3xf32>
  %o = chunk.read %q, %S : tensor<8x3xf32>, tensor<2x3xf32>
  chunk.output "o" %o : tensor<8x2xf32>
}

// RUN: recur-opt %s --split-input-file --chunk-trail-states --canonicalize | FileCheck %s
// RUN: recur-opt %s --split-input-file --chunk-trail-states --canonicalize --chunk-phases | FileCheck %s --check-prefix=PHASES

// The cotangent of a state that scaled keys goes back behind the rest. What is finished there takes the products' share, and makes the key again.
// CHECK-LABEL: chunk.program @scaled {} chunk 8 backward {
// CHECK-NOT: chunk.state "gradient.A"
// CHECK: %[[D:.*]] = chunk.read left %v, %gradient.S
// CHECK-NOT: chunk.output "gradient.k"
// CHECK: chunk.output "gradient.v"
// CHECK-NOT: chunk.next %gradient.A
// CHECK: %{{.*}}, %[[FIRST:.*]] = chunk.reverse_scan %{{.*}}, %[[D]] decay log(%g : tensor<8xf32>) : tensor<3xf32>, tensor<8x3xf32>
// CHECK: %[[ROW:.*]] = chunk.reshape_state %[[FIRST]] : tensor<3xf32> to tensor<1x3xf32>
// CHECK: chunk.give "gradient.A.offset" %[[ROW]] : tensor<1x3xf32>
// CHECK: %[[TOTAL:.*]] = chunk.cumulative_decay total log(%g) : tensor<8xf32>
// CHECK: chunk.give "gradient.A.map" %[[TOTAL]] : tensor<1xf32>
// CHECK: chunk.give "trail.0" %[[D]] : tensor<8x3xf32>
// CHECK-LABEL: chunk.program @scaled_carry {} chunk 8 backward {
// CHECK: %gradient.A = chunk.state "gradient.A" : tensor<3xf32>
// CHECK: %[[OFFSET:.*]] = chunk.take "gradient.A.offset" : tensor<1x3xf32>
// CHECK: %[[MAP:.*]] = chunk.take "gradient.A.map" : tensor<1xf32>
// CHECK: %{{.*}}, %[[NEXT:.*]] = chunk.scan %gradient.A, %[[OFFSET]] decay linear(%[[MAP]] : tensor<1xf32>) : tensor<3xf32>, tensor<1x3xf32>
// CHECK: chunk.next %gradient.A, %[[NEXT]] : tensor<3xf32>
// CHECK: chunk.give "gradient.A" whole %gradient.A : tensor<3xf32>
// CHECK-LABEL: chunk.program @scaled_behind {} chunk 8 backward exact {
// CHECK-NOT: chunk.state
// CHECK-DAG: %[[OWN:.*]] = chunk.take "trail.0" : tensor<8x3xf32>
// CHECK-DAG: %[[END:.*]] = chunk.take "gradient.A" whole : tensor<3xf32>
// CHECK: %[[ALL:.*]], %{{.*}} = chunk.reverse_scan %[[END]], %[[OWN]] decay log(%g : tensor<8xf32>)
// CHECK: %[[AGAIN:.*]] = chunk.map mul %k, %k
// CHECK: %[[DK:.*]] = chunk.map mul %[[ALL]], %[[AGAIN]]
// CHECK: chunk.output "gradient.k" %[[DK]]

// What is left has a chain, and what it leaves for behind is late.
// PHASES-LABEL: chunk.program @scaled_chain {} chunk 8 backward
// PHASES-LABEL: chunk.program @scaled_late {} chunk 8 backward
// PHASES: chunk.give "gradient.A.offset"
// PHASES: chunk.give "gradient.A.map"
// PHASES: chunk.give "trail.0"
// PHASES-LABEL: chunk.program @scaled_carry {} chunk 8 backward
// PHASES-LABEL: chunk.program @scaled_behind {} chunk 8 backward
chunk.program @scaled {} chunk 8 backward {
  %q = chunk.input "q" : tensor<8x3xf32>
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %g = chunk.input "g" : tensor<8xf32>
  %d = chunk.input "cotangent.o" : tensor<8x2xf32>
  %A = chunk.state "gradient.A" : tensor<3xf32>
  %S = chunk.state "gradient.S" : tensor<2x3xf32>
  %dk = chunk.read left %v, %S : tensor<8x2xf32>, tensor<2x3xf32>
  %dv = chunk.read %k, %S : tensor<8x3xf32>, tensor<2x3xf32>
  %S1 = chunk.advance %S, %d, %q : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  %all, %first = chunk.reverse_scan %A, %dk decay log(%g : tensor<8xf32>) : tensor<3xf32>, tensor<8x3xf32>
  %kk = chunk.map mul %k, %k : tensor<8x3xf32>, tensor<8x3xf32>
  %r = chunk.map mul %all, %kk : tensor<8x3xf32>, tensor<8x3xf32>
  chunk.output "gradient.k" %r : tensor<8x3xf32>
  chunk.output "gradient.v" %dv : tensor<8x2xf32>
  chunk.next %A, %first : tensor<3xf32>
  chunk.next %S, %S1 : tensor<2x3xf32>
}

// -----

// Of two that trail, one needs the other: it is carried behind that. A param's share that needs both is added up last.
// CHECK-LABEL: chunk.program @two {} chunk 8 backward {
// CHECK-NOT: chunk.state
// CHECK: chunk.give "gradient.A.offset"
// CHECK-NOT: chunk.give "gradient.A.map"
// CHECK-LABEL: chunk.program @two_carry {} chunk 8 backward {
// CHECK: chunk.state "gradient.A"
// CHECK-LABEL: chunk.program @two_behind {} chunk 8 backward {
// CHECK: chunk.take "gradient.A" whole
// CHECK: chunk.give "gradient.B.offset"
// CHECK-LABEL: chunk.program @two_behind_carry {} chunk 8 backward {
// CHECK: chunk.state "gradient.B"
// CHECK-LABEL: chunk.program @two_behind_behind {} chunk 8 backward {
// CHECK-DAG: chunk.state "gradient.p" : tensor<f32>
// CHECK-DAG: chunk.take "gradient.B" whole
// CHECK: chunk.output "gradient.x"

// PHASES-LABEL: chunk.program @two_behind_behind_late {} chunk 8 backward
// PHASES-NOT: chunk.state
// PHASES: chunk.sum_tokens
// PHASES-LABEL: chunk.program @two_behind_behind_sums {} chunk 8 backward
// PHASES: chunk.state "gradient.p"
chunk.program @two {} chunk 8 backward {
  %x = chunk.input "x" : tensor<8xf32>
  %d = chunk.input "cotangent.o" : tensor<8xf32>
  %p = chunk.state "gradient.p" : tensor<f32>
  %A = chunk.state "gradient.A" : tensor<f32>
  %B = chunk.state "gradient.B" : tensor<f32>
  %a, %a0 = chunk.reverse_scan %A, %d : tensor<f32>, tensor<8xf32>
  %ax = chunk.map mul %a, %x : tensor<8xf32>, tensor<8xf32>
  %b, %b0 = chunk.reverse_scan %B, %ax : tensor<f32>, tensor<8xf32>
  %share = chunk.sum_tokens %b : tensor<8xf32>
  %p0 = chunk.reshape_state %p : tensor<f32> to tensor<1xf32>
  %p1 = chunk.map add %p0, %share : tensor<1xf32>, tensor<1xf32>
  %p2 = chunk.reshape_state %p1 : tensor<1xf32> to tensor<f32>
  chunk.output "gradient.x" %b : tensor<8xf32>
  chunk.next %p, %p2 : tensor<f32>
  chunk.next %A, %a0 : tensor<f32>
  chunk.next %B, %b0 : tensor<f32>
}

// -----

// A matrix's cotangent that reads the scan's needs it on the way: the scan stays.
// CHECK-LABEL: chunk.program @needed {} chunk 8 backward {
// CHECK: chunk.state "gradient.A"
// CHECK: chunk.state "gradient.S"
// CHECK-NOT: chunk.program
chunk.program @needed {} chunk 8 backward {
  %v = chunk.input "v" : tensor<8x2xf32>
  %d = chunk.input "cotangent.o" : tensor<8x3xf32>
  %A = chunk.state "gradient.A" : tensor<3xf32>
  %S = chunk.state "gradient.S" : tensor<2x3xf32>
  %all, %first = chunk.reverse_scan %A, %d : tensor<3xf32>, tensor<8x3xf32>
  %S1 = chunk.advance %S, %v, %all : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  %r = chunk.read left %v, %S : tensor<8x2xf32>, tensor<2x3xf32>
  chunk.output "gradient.k" %r : tensor<8x3xf32>
  chunk.next %A, %first : tensor<3xf32>
  chunk.next %S, %S1 : tensor<2x3xf32>
}

// -----

// The cotangent of a matrix that decays loses no digits where systems have the vector's, whichever of its products has the decay; one that
// only adds up does, and its program stays whole.
// CHECK-LABEL: chunk.program @decaying {} chunk 8 backward {
// CHECK: chunk.give "gradient.A.offset"
// CHECK-LABEL: chunk.program @decaying_carry
// CHECK-LABEL: chunk.program @adding {} chunk 8 backward {
// CHECK: chunk.state "gradient.A"
// CHECK-NOT: chunk.program
chunk.program @decaying {} chunk 8 backward {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %g = chunk.input "g" : tensor<8xf32>
  %A0 = chunk.kept "A" : tensor<3xf32>
  %A = chunk.state "gradient.A" : tensor<3xf32>
  %S = chunk.state "gradient.S" : tensor<2x3xf32>
  %a, %last = chunk.scan %A0, %k : tensor<3xf32>, tensor<8x3xf32>
  %L = chunk.interaction %k, %a strict : tensor<8x3xf32>, tensor<8x3xf32>
  %u = chunk.solve_transposed %L, %v : tensor<8x8xf32>, tensor<8x2xf32>
  %w = chunk.solve %L, %v : tensor<8x8xf32>, tensor<8x2xf32>
  %total = chunk.cumulative_decay total log(%g) : tensor<8xf32>
  %S1 = chunk.advance %S, %v, %k columns(%total : tensor<1xf32>) : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  %S2 = chunk.advance %S1, %u, %k : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  %d = chunk.read left %w, %S : tensor<8x2xf32>, tensor<2x3xf32>
  %all, %first = chunk.reverse_scan %A, %d : tensor<3xf32>, tensor<8x3xf32>
  chunk.output "gradient.k" %all : tensor<8x3xf32>
  chunk.next %A, %first : tensor<3xf32>
  chunk.next %S, %S2 : tensor<2x3xf32>
}
chunk.program @adding {} chunk 8 backward {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %A0 = chunk.kept "A" : tensor<3xf32>
  %A = chunk.state "gradient.A" : tensor<3xf32>
  %S = chunk.state "gradient.S" : tensor<2x3xf32>
  %a, %last = chunk.scan %A0, %k : tensor<3xf32>, tensor<8x3xf32>
  %L = chunk.interaction %k, %a strict : tensor<8x3xf32>, tensor<8x3xf32>
  %w = chunk.solve %L, %v : tensor<8x8xf32>, tensor<8x2xf32>
  %S1 = chunk.advance %S, %v, %k : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  %d = chunk.read left %w, %S : tensor<8x2xf32>, tensor<2x3xf32>
  %all, %first = chunk.reverse_scan %A, %d : tensor<3xf32>, tensor<8x3xf32>
  chunk.output "gradient.k" %all : tensor<8x3xf32>
  chunk.next %A, %first : tensor<3xf32>
  chunk.next %S, %S1 : tensor<2x3xf32>
}

// -----

// What two tokens' delays give back is carried together. What the chunk behind gives back of its first row is all of it, but
// where the sequence ends with a chunk of one token: then what it gives back of its second row is what comes from behind it.
// What a delay and the weights make of a row is made again behind: one array of rows is left.
// CHECK-LABEL: chunk.program @delays {} chunk 8 backward {
// CHECK-NOT: chunk.state "gradient.x
// CHECK: %[[D:.*]] = chunk.read left %v, %gradient.S
// CHECK: %[[OWN2:.*]] = chunk.map mul %[[D]], %w
// CHECK: %[[ALL2:.*]], %{{.*}} = chunk.following %{{.*}}, %[[OWN2]] : tensor<3xf32>, tensor<8x3xf32>
// CHECK: %{{.*}}, %[[FIRST1:.*]] = chunk.following %{{.*}}, %[[ALL2]] : tensor<3xf32>, tensor<8x3xf32>
// CHECK: %[[ROW1:.*]] = chunk.reshape_state %[[FIRST1]] : tensor<3xf32> to tensor<1x3xf32>
// CHECK: chunk.give "gradient.x1.offset" %[[ROW1]] : tensor<1x3xf32>
// CHECK: %[[ONE:.*]] = chunk.previous %{{.*}}, %{{.*}} : tensor<f32>, tensor<8xf32>
// CHECK: %[[LAST:.*]] = chunk.last %[[ONE]] : tensor<8xf32>
// CHECK: %[[HAS:.*]] = chunk.reshape_state %[[LAST]] : tensor<f32> to tensor<1xf32>
// CHECK: chunk.give "gradient.x1.tokens.1" %[[HAS]] : tensor<1xf32>
// CHECK: chunk.give "gradient.x2.offset"
// CHECK-NOT: chunk.give "gradient.x2.map"
// CHECK: chunk.give "trail.0" %[[D]] : tensor<8x3xf32>
// CHECK-NOT: chunk.give
// CHECK-LABEL: chunk.program @delays_carry {} chunk 8 backward {
// CHECK-DAG: %[[X1:.*]] = chunk.state "gradient.x1" : tensor<3xf32>
// CHECK-DAG: %[[X2:.*]] = chunk.state "gradient.x2" : tensor<3xf32>
// CHECK: %[[OFFSET:.*]] = chunk.take "gradient.x1.offset" : tensor<1x3xf32>
// CHECK: %[[HAS:.*]] = chunk.take "gradient.x1.tokens.1" : tensor<1xf32>
// CHECK: %[[END:.*]] = chunk.reshape_state %[[X2]] : tensor<3xf32> to tensor<1x3xf32>
// CHECK: %[[WITH:.*]] = chunk.map add %[[OFFSET]], %[[END]]
// CHECK: %[[ROW:.*]] = chunk.map select %[[HAS]], %[[WITH]], %[[OFFSET]]
// CHECK: %[[NEXT:.*]] = chunk.reshape_state %[[ROW]] : tensor<1x3xf32> to tensor<3xf32>
// CHECK: chunk.next %[[X1]], %[[NEXT]] : tensor<3xf32>
// CHECK: chunk.give "gradient.x1" whole %[[X1]] : tensor<3xf32>
// CHECK: %[[OFFSET2:.*]] = chunk.take "gradient.x2.offset" : tensor<1x3xf32>
// CHECK: %[[NEXT2:.*]] = chunk.reshape_state %[[OFFSET2]] : tensor<1x3xf32> to tensor<3xf32>
// CHECK: chunk.next %[[X2]], %[[NEXT2]] : tensor<3xf32>
// CHECK-LABEL: chunk.program @delays_behind {} chunk 8 backward exact {
// CHECK-DAG: chunk.take "gradient.x1" whole : tensor<3xf32>
// CHECK-DAG: chunk.take "gradient.x2" whole : tensor<3xf32>
// CHECK: chunk.output "gradient.x"
// CHECK-NOT: chunk.program

// The chain has no delays.
// PHASES-LABEL: chunk.program @delays_chain {} chunk 8 backward
// PHASES-NOT: chunk.state "gradient.x
// PHASES-LABEL: chunk.program @delays_late {} chunk 8 backward
// PHASES: chunk.give "gradient.x1.offset"
// PHASES-LABEL: chunk.program @delays_carry {} chunk 8 backward
chunk.program @delays {} chunk 8 backward {
  %zero = chunk.constant 0.0 : tensor<3xf32>
  %zeros = chunk.constant 0.0 : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %q = chunk.input "q" : tensor<8x3xf32>
  %w = chunk.param "w" : tensor<1x3xf32>
  %d = chunk.input "cotangent.o" : tensor<8x2xf32>
  %S = chunk.state "gradient.S" : tensor<2x3xf32>
  %x1 = chunk.state "gradient.x1" : tensor<3xf32>
  %x2 = chunk.state "gradient.x2" : tensor<3xf32>
  %dk = chunk.read left %v, %S : tensor<8x2xf32>, tensor<2x3xf32>
  %S1 = chunk.advance %S, %d, %q : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  %own2 = chunk.map mul %dk, %w : tensor<8x3xf32>, tensor<1x3xf32>
  %all2, %first2 = chunk.following %zero, %own2 : tensor<3xf32>, tensor<8x3xf32>
  %end2, %no2 = chunk.following %x2, %zeros : tensor<3xf32>, tensor<8x3xf32>
  %sum2 = chunk.map add %all2, %end2 : tensor<8x3xf32>, tensor<8x3xf32>
  %all1, %first1 = chunk.following %zero, %sum2 : tensor<3xf32>, tensor<8x3xf32>
  %end1, %no1 = chunk.following %x1, %zeros : tensor<3xf32>, tensor<8x3xf32>
  %sum1 = chunk.map add %all1, %end1 : tensor<8x3xf32>, tensor<8x3xf32>
  %r = chunk.map add %sum1, %dk : tensor<8x3xf32>, tensor<8x3xf32>
  chunk.output "gradient.x" %r : tensor<8x3xf32>
  chunk.next %S, %S1 : tensor<2x3xf32>
  chunk.next %x1, %first1 : tensor<3xf32>
  chunk.next %x2, %first2 : tensor<3xf32>
}

// -----

// What something scales on its way from one delay to the next is carried behind that one.
// CHECK-LABEL: chunk.program @mixed {} chunk 8 backward {
// CHECK-NOT: chunk.give "gradient.x1.offset"
// CHECK: chunk.give "gradient.x2.offset"
// CHECK-LABEL: chunk.program @mixed_carry {} chunk 8 backward {
// CHECK-LABEL: chunk.program @mixed_behind {} chunk 8 backward {
// CHECK: chunk.take "gradient.x2" whole
// CHECK: chunk.give "gradient.x1.offset"
// CHECK-LABEL: chunk.program @mixed_behind_carry {} chunk 8 backward {
// CHECK-LABEL: chunk.program @mixed_behind_behind {} chunk 8 backward {
// CHECK: chunk.take "gradient.x1" whole
// CHECK: chunk.output "gradient.x"
chunk.program @mixed {} chunk 8 backward {
  %zero = chunk.constant 0.0 : tensor<3xf32>
  %zeros = chunk.constant 0.0 : tensor<8x3xf32>
  %g = chunk.input "g" : tensor<8x3xf32>
  %d = chunk.input "cotangent.o" : tensor<8x3xf32>
  %x1 = chunk.state "gradient.x1" : tensor<3xf32>
  %x2 = chunk.state "gradient.x2" : tensor<3xf32>
  %all2, %first2 = chunk.following %zero, %d : tensor<3xf32>, tensor<8x3xf32>
  %end2, %no2 = chunk.following %x2, %zeros : tensor<3xf32>, tensor<8x3xf32>
  %sum2 = chunk.map add %all2, %end2 : tensor<8x3xf32>, tensor<8x3xf32>
  %scaled = chunk.map mul %sum2, %g : tensor<8x3xf32>, tensor<8x3xf32>
  %all1, %first1 = chunk.following %zero, %scaled : tensor<3xf32>, tensor<8x3xf32>
  %end1, %no1 = chunk.following %x1, %zeros : tensor<3xf32>, tensor<8x3xf32>
  %sum1 = chunk.map add %all1, %end1 : tensor<8x3xf32>, tensor<8x3xf32>
  chunk.output "gradient.x" %sum1 : tensor<8x3xf32>
  chunk.next %x1, %first1 : tensor<3xf32>
  chunk.next %x2, %first2 : tensor<3xf32>
}

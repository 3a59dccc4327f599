// RUN: recur-opt %s -dgps-normalize -canonicalize -cse | FileCheck %s

// The read of the undecayed state, times the decay, is a read of the decayed state.
// CHECK-LABEL: @post
dgps.recurrence @post {} {
  %k = dgps.input "k" : <6>
  %v = dgps.input "v" : <4>
  %g = dgps.input "g" : <scalar>
  %beta = dgps.input "beta" : <scalar>
  %S = dgps.state "S" : <4x6>
  %a = dgps.exp %g : <scalar>
  %r = dgps.matvec %S, %k : <4x6>, <6>
  %ar = dgps.mul %a, %r : <scalar>, <4>
  %e = dgps.sub %v, %ar : <4>, <4>
  %w = dgps.outer %e, %k : <4>, <6>
  %bw = dgps.mul %beta, %w : <scalar>, <4x6>
  %aS = dgps.mul %a, %S : <scalar>, <4x6>
  %S1 = dgps.add %aS, %bw : <4x6>, <4x6>
  // CHECK:      %[[A:.*]] = dgps.exp %g : <scalar>
  // CHECK-NEXT: %[[SB:.*]] = dgps.mul %[[A]], %S : <scalar>, <4x6>
  // CHECK-NEXT: %[[R:.*]] = dgps.matvec %[[SB]], %k : <4x6>, <6>
  // CHECK-NEXT: %[[E:.*]] = dgps.sub %v, %[[R]] : <4>, <4>
  // CHECK-NEXT: %[[U:.*]] = dgps.mul %beta, %[[E]] : <scalar>, <4>
  // CHECK-NEXT: %[[W:.*]] = dgps.outer %[[U]], %k : <4>, <6>
  // CHECK-NEXT: %[[S1:.*]] = dgps.add %[[SB]], %[[W]] : <4x6>, <4x6>
  // CHECK:      dgps.next %S, %[[S1]] : <4x6>
  %o = dgps.matvec %S1, %k : <4x6>, <6>
  dgps.output "o" %o : <4>
  dgps.next %S, %S1 : <4x6>
}

// The decay of a sigmoid, which is taken in log space, is one again by canonicalization; a read that the decay does not divide stays undecayed.
// CHECK-LABEL: @pre
dgps.recurrence @pre {} {
  %k = dgps.input "k" : <6>
  %b = dgps.input "b" : <6>
  %f = dgps.input "f" : <6>
  %S = dgps.state "S" : <4x6>
  %d = dgps.sigmoid %f : <6>
  %r = dgps.matvec %S, %k : <4x6>, <6>
  %w = dgps.outer %r, %b : <4>, <6>
  %dS = dgps.scale_cols %S, %d : <4x6>, <6>
  %S1 = dgps.sub %dS, %w : <4x6>, <4x6>
  // CHECK:      %[[D:.*]] = dgps.sigmoid %f : <6>
  // CHECK-NEXT: %[[SB:.*]] = dgps.scale_cols %S, %[[D]] : <4x6>, <6>
  // CHECK-NEXT: %[[R:.*]] = dgps.matvec %S, %k : <4x6>, <6>
  // CHECK-NEXT: %[[U:.*]] = dgps.neg %[[R]] : <4>
  // CHECK-NEXT: %[[W:.*]] = dgps.outer %[[U]], %b : <4>, <6>
  // CHECK-NEXT: %[[S1:.*]] = dgps.add %[[SB]], %[[W]] : <4x6>, <4x6>
  // CHECK-NEXT: dgps.next %S, %[[S1]] : <4x6>
  dgps.next %S, %S1 : <4x6>
}

// A state without normal form is left as it is.
// CHECK-LABEL: @general
dgps.recurrence @general {} {
  %S = dgps.state "S" : <4x6>
  // CHECK:      %[[T:.*]] = dgps.tanh %S : <4x6>
  // CHECK-NEXT: dgps.next %S, %[[T]] : <4x6>
  %t = dgps.tanh %S : <4x6>
  dgps.next %S, %t : <4x6>
}

// RUN: recur-opt %s -canonicalize | FileCheck %s

// CHECK-LABEL: @identities
dgps.recurrence @identities {} {
  %x = dgps.input "x" : <4>
  %zero = dgps.constant 0.0 : <scalar>
  %one = dgps.constant 1.0 : <4>
  // CHECK: dgps.output "a" %x : <4>
  %a = dgps.add %x, %zero : <4>, <scalar>
  dgps.output "a" %a : <4>
  // CHECK: dgps.output "b" %x : <4>
  %b = dgps.mul %one, %x : <4>, <4>
  dgps.output "b" %b : <4>
  // CHECK: dgps.output "c" %x : <4>
  %c = dgps.div %x, %one : <4>, <4>
  dgps.output "c" %c : <4>
  // CHECK: dgps.output "d" %x : <4>
  %d = dgps.sub %x, %zero : <4>, <scalar>
  dgps.output "d" %d : <4>
  // CHECK: dgps.output "e" %x : <4>
  %n = dgps.neg %x : <4>
  %e = dgps.neg %n : <4>
  dgps.output "e" %e : <4>
  // CHECK: dgps.output "f" %x : <4>
  %f = dgps.max %x, %x : <4>, <4>
  dgps.output "f" %f : <4>
}

// A scalar that a constant of ones gives a shape to keeps its product, and x * 0 keeps an infinity in x visible.
// CHECK-LABEL: @not_identities
dgps.recurrence @not_identities {} {
  %s = dgps.input "s" : <scalar>
  %x = dgps.input "x" : <4>
  %one = dgps.constant 1.0 : <4>
  %zero = dgps.constant 0.0 : <scalar>
  // CHECK: %[[A:.*]] = dgps.mul %s, %{{.*}} : <scalar>, <4>
  // CHECK: dgps.output "a" %[[A]] : <4>
  %a = dgps.mul %s, %one : <scalar>, <4>
  dgps.output "a" %a : <4>
  // CHECK: %[[B:.*]] = dgps.mul %x, %{{.*}} : <4>, <scalar>
  // CHECK: dgps.output "b" %[[B]] : <4>
  %b = dgps.mul %x, %zero : <4>, <scalar>
  dgps.output "b" %b : <4>
}

// CHECK-LABEL: @constants
dgps.recurrence @constants {} {
  %four = dgps.constant 4.0 : <scalar>
  %zero = dgps.constant 0.0 : <scalar>
  // CHECK-DAG: %[[HALF:.*]] = dgps.constant 5.000000e-01 : <scalar>
  // CHECK-DAG: %[[TWELVE:.*]] = dgps.constant 1.200000e+01 : <scalar>
  // CHECK-DAG: %[[ZERO:.*]] = dgps.constant 0.000000e+00 : <scalar>
  // CHECK: dgps.output "a" %[[HALF]] : <scalar>
  %root = dgps.sqrt %four : <scalar>
  %one = dgps.exp %zero : <scalar>
  %a = dgps.div %one, %root : <scalar>, <scalar>
  dgps.output "a" %a : <scalar>
  // CHECK: dgps.output "b" %[[TWELVE]] : <scalar>
  %fours = dgps.constant 4.0 : <3>
  %b = dgps.sum %fours : <3>
  dgps.output "b" %b : <scalar>
  // What is not finite is left to run time.
  // CHECK: %[[C:.*]] = dgps.log %[[ZERO]] : <scalar>
  // CHECK: dgps.output "c" %[[C]] : <scalar>
  %c = dgps.log %zero : <scalar>
  dgps.output "c" %c : <scalar>
}

// The difference of one and an exponential loses all digits near zero.
// CHECK-LABEL: @cancellation
dgps.recurrence @cancellation {} {
  %g = dgps.input "g" : <3>
  %one = dgps.constant 1.0 : <scalar>
  %minus = dgps.constant -1.0 : <scalar>
  %e = dgps.exp %g : <3>
  // CHECK: %[[M:.*]] = dgps.expm1 %g : <3>
  // CHECK: %[[A:.*]] = dgps.neg %[[M]] : <3>
  // CHECK: dgps.output "a" %[[A]] : <3>
  %a = dgps.sub %one, %e : <scalar>, <3>
  dgps.output "a" %a : <3>
  // CHECK: %[[B:.*]] = dgps.expm1 %g : <3>
  // CHECK: dgps.output "b" %[[B]] : <3>
  %b = dgps.sub %e, %one : <3>, <scalar>
  dgps.output "b" %b : <3>
  // CHECK: %[[C:.*]] = dgps.expm1 %g : <3>
  // CHECK: dgps.output "c" %[[C]] : <3>
  %c = dgps.add %minus, %e : <scalar>, <3>
  dgps.output "c" %c : <3>
}

// CHECK-LABEL: @logistic
dgps.recurrence @logistic {} {
  %f = dgps.input "f" : <3>
  %one = dgps.constant 1.0 : <scalar>
  // CHECK: %[[A:.*]] = dgps.sigmoid %f : <3>
  // CHECK: dgps.output "a" %[[A]] : <3>
  %n = dgps.neg %f : <3>
  %e = dgps.exp %n : <3>
  %s = dgps.add %one, %e : <scalar>, <3>
  %a = dgps.div %one, %s : <scalar>, <3>
  dgps.output "a" %a : <3>
}

// CHECK-LABEL: @signs
dgps.recurrence @signs {} {
  %x = dgps.input "x" : <3>
  %y = dgps.input "y" : <3>
  %minus = dgps.constant -1.0 : <scalar>
  %zero = dgps.constant 0.0 : <scalar>
  %n = dgps.neg %y : <3>
  // CHECK: %[[A:.*]] = dgps.sub %x, %y : <3>, <3>
  // CHECK: dgps.output "a" %[[A]] : <3>
  %a = dgps.add %n, %x : <3>, <3>
  dgps.output "a" %a : <3>
  // CHECK: %[[B:.*]] = dgps.add %x, %y : <3>, <3>
  // CHECK: dgps.output "b" %[[B]] : <3>
  %b = dgps.sub %x, %n : <3>, <3>
  dgps.output "b" %b : <3>
  // CHECK: %[[C:.*]] = dgps.neg %x : <3>
  // CHECK: dgps.output "c" %[[C]] : <3>
  %c = dgps.mul %x, %minus : <3>, <scalar>
  dgps.output "c" %c : <3>
  // CHECK: %[[D:.*]] = dgps.neg %x : <3>
  // CHECK: dgps.output "d" %[[D]] : <3>
  %d = dgps.sub %zero, %x : <scalar>, <3>
  dgps.output "d" %d : <3>
}

// What a recurrence takes is its interface, used or not.
// CHECK-LABEL: @unused
dgps.recurrence @unused {} {
  // CHECK-NEXT: dgps.input "x" : <3>
  %x = dgps.input "x" : <3>
  // CHECK-NEXT: dgps.param "p" : <3>
  %p = dgps.param "p" : <3>
}

// A part of what was put together is that part, and the whole of one thing is it.
// CHECK-LABEL: @parts
// CHECK-NEXT: %[[G:.*]] = dgps.constant 2.000000e+00 : <5>
dgps.recurrence @parts {} {
  %s = dgps.input "s" : <scalar>
  %x = dgps.input "x" : <4>
  %y = dgps.input "y" : <4>
  %xsy = dgps.concat %x, %s, %y : !dgps.real<4>, !dgps.real<scalar>, !dgps.real<4> to <9>
  %rows = dgps.concat %x, %y : !dgps.real<4>, !dgps.real<4> to <2x4>
  // CHECK: dgps.output "a" %y : <4>
  %a = dgps.slice %xsy[5 for 4] : <9>
  dgps.output "a" %a : <4>
  // CHECK: dgps.output "b" %s : <scalar>
  %b = dgps.extract %xsy[4] : <9>
  dgps.output "b" %b : <scalar>
  // CHECK: dgps.output "c" %y : <4>
  %c = dgps.extract %rows[1] : <2x4>
  dgps.output "c" %c : <4>
  // CHECK: dgps.output "d" %x : <4>
  %d = dgps.slice %x[0 for 4] : <4>
  dgps.output "d" %d : <4>
  // CHECK: dgps.output "e" %x : <4>
  %e = dgps.concat %x : !dgps.real<4> to <4>
  dgps.output "e" %e : <4>
  // A part that is another's in part is not taken apart.
  // CHECK: %[[F:.*]] = dgps.slice %{{.*}}[3 for 2] : <9>
  // CHECK: dgps.output "f" %[[F]] : <2>
  %f = dgps.slice %xsy[3 for 2] : <9>
  dgps.output "f" %f : <2>
  // CHECK: dgps.output "g" %[[G]] : <5>
  %two = dgps.constant 2.0 : <scalar>
  %twos = dgps.constant 2.0 : <4>
  %g = dgps.concat %twos, %two : !dgps.real<4>, !dgps.real<scalar> to <5>
  dgps.output "g" %g : <5>
}

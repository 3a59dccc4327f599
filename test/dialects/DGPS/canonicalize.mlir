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
  // An element of a part is one of the whole, and one of the whole is one of a part.
  // CHECK: %[[H:.*]] = dgps.extract %x[3] : <4>
  // CHECK: dgps.output "h" %[[H]] : <scalar>
  %end = dgps.slice %x[1 for 3] : <4>
  %h = dgps.extract %end[2] : <3>
  dgps.output "h" %h : <scalar>
  // CHECK: %[[I:.*]] = dgps.extract %y[2] : <4>
  // CHECK: dgps.output "i" %[[I]] : <scalar>
  %i = dgps.extract %xsy[7] : <9>
  dgps.output "i" %i : <scalar>
}

// Numbers of a token scale products of vectors, and none of their factors.
// CHECK-LABEL: @numbers_last
dgps.recurrence @numbers_last {} {
  %k = dgps.input "k" : <4>
  %b = dgps.input "b" : <scalar>
  // CHECK: %[[SQUARE:.*]] = dgps.mul %k, %k : <4>, <4>
  // CHECK: %[[A:.*]] = dgps.mul %b, %[[SQUARE]] : <scalar>, <4>
  // CHECK: dgps.output "a" %[[A]] : <4>
  %bk = dgps.mul %b, %k : <scalar>, <4>
  %a = dgps.mul %bk, %k : <4>, <4>
  dgps.output "a" %a : <4>
  // CHECK: %[[B:.*]] = dgps.div %k, %b : <4>, <scalar>
  // CHECK: dgps.output "b" %[[B]] : <4>
  %one = dgps.constant 1.0 : <scalar>
  %reciprocal = dgps.div %one, %b : <scalar>, <scalar>
  %divided = dgps.mul %k, %reciprocal : <4>, <scalar>
  dgps.output "b" %divided : <4>
  // CHECK: %[[DOT:.*]] = dgps.dot %k, %k : <4>
  // CHECK: %[[C:.*]] = dgps.mul %b, %[[DOT]] : <scalar>, <scalar>
  // CHECK: dgps.output "c" %[[C]] : <scalar>
  %kb = dgps.mul %k, %b : <4>, <scalar>
  %kbk = dgps.mul %kb, %k : <4>, <4>
  %c = dgps.sum %kbk : <4>
  dgps.output "c" %c : <scalar>
}

// CHECK-LABEL: @factors
dgps.recurrence @factors {} {
  %x = dgps.input "x" : <3>
  %y = dgps.input "y" : <3>
  %c = dgps.input "c" : <scalar>
  // CHECK: %[[SUM:.*]] = dgps.add %x, %y : <3>, <3>
  // CHECK: %[[A:.*]] = dgps.mul %c, %[[SUM]] : <scalar>, <3>
  // CHECK: dgps.output "a" %[[A]] : <3>
  %cx = dgps.mul %c, %x : <scalar>, <3>
  %yc = dgps.mul %y, %c : <3>, <scalar>
  %a = dgps.add %cx, %yc : <3>, <3>
  dgps.output "a" %a : <3>
  // CHECK: %[[REST:.*]] = dgps.sub %{{.*}}, %c : <scalar>, <scalar>
  // CHECK: %[[B:.*]] = dgps.mul %[[REST]], %x : <scalar>, <3>
  // CHECK: dgps.output "b" %[[B]] : <3>
  %xc = dgps.mul %x, %c : <3>, <scalar>
  %b = dgps.sub %x, %xc : <3>, <3>
  dgps.output "b" %b : <3>
  // A product that something else takes stays.
  // CHECK: %[[KEPT:.*]] = dgps.mul %x, %y : <3>, <3>
  // CHECK: dgps.output "kept" %[[KEPT]] : <3>
  // CHECK: %[[C:.*]] = dgps.add %[[KEPT]], %x : <3>, <3>
  // CHECK: dgps.output "d" %[[C]] : <3>
  %kept = dgps.mul %x, %y : <3>, <3>
  dgps.output "kept" %kept : <3>
  %d = dgps.add %kept, %x : <3>, <3>
  dgps.output "d" %d : <3>
}

// CHECK-LABEL: @exponentials
dgps.recurrence @exponentials {} {
  %x = dgps.input "x" : <3>
  %y = dgps.input "y" : <3>
  // CHECK: %[[SUM:.*]] = dgps.sub %x, %y : <3>, <3>
  // CHECK: %[[A:.*]] = dgps.exp %[[SUM]] : <3>
  // CHECK: dgps.output "a" %[[A]] : <3>
  %n = dgps.neg %y : <3>
  %ex = dgps.exp %x : <3>
  %en = dgps.exp %n : <3>
  %a = dgps.mul %ex, %en : <3>, <3>
  dgps.output "a" %a : <3>
  // CHECK: %[[B:.*]] = dgps.sigmoid %x : <3>
  // CHECK: dgps.output "b" %[[B]] : <3>
  %m = dgps.neg %x : <3>
  %s = dgps.softplus %m : <3>
  %l = dgps.neg %s : <3>
  %b = dgps.exp %l : <3>
  dgps.output "b" %b : <3>
  // CHECK: %[[S:.*]] = dgps.sigmoid %x : <3>
  // CHECK: %[[C:.*]] = dgps.mul %[[S]], %y : <3>, <3>
  // CHECK: dgps.output "c" %[[C]] : <3>
  %one = dgps.constant 1.0 : <scalar>
  %em = dgps.exp %m : <3>
  %t = dgps.add %one, %em : <scalar>, <3>
  %c = dgps.div %y, %t : <3>, <3>
  dgps.output "c" %c : <3>
  // CHECK: %[[D:.*]] = dgps.abs %x : <3>
  // CHECK: dgps.output "d" %[[D]] : <3>
  %d = dgps.max %m, %x : <3>, <3>
  dgps.output "d" %d : <3>
}

// An exponential that several products take is in each of them, if nothing else takes it.
// CHECK-LABEL: @shared_exponentials
dgps.recurrence @shared_exponentials {} {
  %x = dgps.input "x" : <3>
  %y = dgps.input "y" : <3>
  %z = dgps.input "z" : <3>
  // CHECK: %[[XY:.*]] = dgps.add %x, %y : <3>, <3>
  // CHECK: %[[A:.*]] = dgps.exp %[[XY]] : <3>
  // CHECK: dgps.output "a" %[[A]] : <3>
  // CHECK: %[[XZ:.*]] = dgps.add %x, %z : <3>, <3>
  // CHECK: %[[B:.*]] = dgps.exp %[[XZ]] : <3>
  // CHECK: dgps.output "b" %[[B]] : <3>
  %ex = dgps.exp %x : <3>
  %ey = dgps.exp %y : <3>
  %ez = dgps.exp %z : <3>
  %a = dgps.mul %ex, %ey : <3>, <3>
  dgps.output "a" %a : <3>
  %b = dgps.mul %ex, %ez : <3>, <3>
  dgps.output "b" %b : <3>
}

// CHECK-LABEL: @kept_exponential
dgps.recurrence @kept_exponential {} {
  %x = dgps.input "x" : <3>
  %y = dgps.input "y" : <3>
  // CHECK: %[[X:.*]] = dgps.exp %x : <3>
  // CHECK: %[[Y:.*]] = dgps.exp %y : <3>
  // CHECK: %[[A:.*]] = dgps.mul %[[X]], %[[Y]] : <3>, <3>
  // CHECK: dgps.output "a" %[[A]] : <3>
  // CHECK: dgps.output "kept" %[[X]] : <3>
  %ex = dgps.exp %x : <3>
  %ey = dgps.exp %y : <3>
  %a = dgps.mul %ex, %ey : <3>, <3>
  dgps.output "a" %a : <3>
  dgps.output "kept" %ex : <3>
}

// A difference takes a sign in.
// CHECK-LABEL: @differences
dgps.recurrence @differences {} {
  %x = dgps.input "x" : <3>
  %y = dgps.input "y" : <3>
  %z = dgps.input "z" : <3>
  %w = dgps.input "w" : <3>
  // CHECK: %[[D:.*]] = dgps.sub %z, %y : <3>, <3>
  // CHECK: %[[P:.*]] = dgps.mul %x, %[[D]] : <3>, <3>
  // CHECK: %[[A:.*]] = dgps.add %w, %[[P]] : <3>, <3>
  // CHECK: dgps.output "a" %[[A]] : <3>
  %d = dgps.sub %y, %z : <3>, <3>
  %p = dgps.mul %z, %d : <3>, <3>
  %q = dgps.sub %y, %z : <3>, <3>
  %xq = dgps.mul %x, %q : <3>, <3>
  %a = dgps.sub %w, %xq : <3>, <3>
  dgps.output "a" %a : <3>
  // CHECK: %[[E:.*]] = dgps.sub %z, %y : <3>, <3>
  // CHECK: %[[B:.*]] = dgps.mul %z, %[[E]] : <3>, <3>
  // CHECK: dgps.output "b" %[[B]] : <3>
  %b = dgps.neg %p : <3>
  dgps.output "b" %b : <3>
  // CHECK: %[[M:.*]] = dgps.mul %y, %z : <3>, <3>
  // CHECK: %[[C:.*]] = dgps.sub %x, %[[M]] : <3>, <3>
  // CHECK: dgps.output "c" %[[C]] : <3>
  %n = dgps.neg %y : <3>
  %nz = dgps.mul %n, %z : <3>, <3>
  %c = dgps.add %x, %nz : <3>, <3>
  dgps.output "c" %c : <3>
}

// Vectors are scaled rather than matrices.
// CHECK-LABEL: @matrices
dgps.recurrence @matrices {} {
  %S = dgps.state "S" : <2x3>
  %u = dgps.input "u" : <2>
  %v = dgps.input "v" : <3>
  %w = dgps.input "w" : <3>
  %s = dgps.input "s" : <scalar>
  %ones = dgps.constant 1.0 : <3>
  // CHECK: %[[A:.*]] = dgps.mul %s, %S : <scalar>, <2x3>
  // CHECK: dgps.output "a" %[[A]] : <2x3>
  %all = dgps.mul %s, %ones : <scalar>, <3>
  %a = dgps.scale_cols %S, %all : <2x3>, <3>
  dgps.output "a" %a : <2x3>
  // CHECK: %[[B:.*]] = dgps.scale_rows %u, %S : <2>, <2x3>
  // CHECK: dgps.output "b" %[[B]] : <2x3>
  %rows = dgps.outer %u, %ones : <2>, <3>
  %b = dgps.mul %rows, %S : <2x3>, <2x3>
  dgps.output "b" %b : <2x3>
  // CHECK: %[[SU:.*]] = dgps.mul %s, %u : <scalar>, <2>
  // CHECK: %[[C:.*]] = dgps.outer %[[SU]], %v : <2>, <3>
  // CHECK: dgps.output "c" %[[C]] : <2x3>
  %uv = dgps.outer %u, %v : <2>, <3>
  %c = dgps.mul %s, %uv : <scalar>, <2x3>
  dgps.output "c" %c : <2x3>
  // CHECK: %[[VW:.*]] = dgps.mul %v, %w : <3>, <3>
  // CHECK: %[[D:.*]] = dgps.outer %u, %[[VW]] : <2>, <3>
  // CHECK: dgps.output "d" %[[D]] : <2x3>
  %written = dgps.outer %u, %v : <2>, <3>
  %d = dgps.scale_cols %written, %w : <2x3>, <3>
  dgps.output "d" %d : <2x3>
  // CHECK: %[[SUM:.*]] = dgps.add %v, %w : <3>, <3>
  // CHECK: %[[E:.*]] = dgps.outer %u, %[[SUM]] : <2>, <3>
  // CHECK: dgps.output "e" %[[E]] : <2x3>
  %one = dgps.outer %u, %v : <2>, <3>
  %other = dgps.outer %u, %w : <2>, <3>
  %e = dgps.add %one, %other : <2x3>, <2x3>
  dgps.output "e" %e : <2x3>
  dgps.next %S, %S : <2x3>
}

// CHECK-LABEL: @reads
dgps.recurrence @reads {} {
  %S = dgps.state "S" : <2x3>
  %q = dgps.input "q" : <3>
  %k = dgps.input "k" : <3>
  %w = dgps.input "w" : <3>
  %s = dgps.input "s" : <scalar>
  // CHECK: %[[READ:.*]] = dgps.matvec %S, %q : <2x3>, <3>
  // CHECK: %[[A:.*]] = dgps.mul %s, %[[READ]] : <scalar>, <2>
  // CHECK: dgps.output "a" %[[A]] : <2>
  %scaled = dgps.mul %s, %S : <scalar>, <2x3>
  %a = dgps.matvec %scaled, %q : <2x3>, <3>
  dgps.output "a" %a : <2>
  // CHECK: %[[WQ:.*]] = dgps.mul %w, %q : <3>, <3>
  // CHECK: %[[B:.*]] = dgps.matvec %S, %[[WQ]] : <2x3>, <3>
  // CHECK: dgps.output "b" %[[B]] : <2>
  %columns = dgps.scale_cols %S, %w : <2x3>, <3>
  %b = dgps.matvec %columns, %q : <2x3>, <3>
  dgps.output "b" %b : <2>
  // CHECK: %[[SK:.*]] = dgps.mul %s, %k : <scalar>, <3>
  // CHECK: %[[ROWS:.*]] = dgps.sub %q, %[[SK]] : <3>, <3>
  // CHECK: %[[C:.*]] = dgps.matvec %S, %[[ROWS]] : <2x3>, <3>
  // CHECK: dgps.output "c" %[[C]] : <2>
  %one = dgps.matvec %S, %q : <2x3>, <3>
  %sk = dgps.mul %s, %k : <scalar>, <3>
  %other = dgps.matvec %S, %sk : <2x3>, <3>
  %c = dgps.sub %one, %other : <2>, <2>
  dgps.output "c" %c : <2>
  dgps.next %S, %S : <2x3>
}

// Many rows of a state, each times a weight, are added up by one product; what else is in the sum stays.
// CHECK-LABEL: @sum_of_rows
dgps.recurrence @sum_of_rows {} {
  // CHECK: %[[ONES:.*]] = dgps.constant 1.000000e+00 : <10>
  %S = dgps.state "S" : <10x3>
  %w = dgps.param "w" : <12x3>
  %u = dgps.param "u" : <10>
  %x = dgps.input "x" : <3>
  %w0 = dgps.extract %w[1] : <12x3>
  %s0 = dgps.extract %S[0] : <10x3>
  %p0 = dgps.mul %w0, %s0 : <3>, <3>
  %a0 = dgps.add %x, %p0 : <3>, <3>
  %w1 = dgps.extract %w[2] : <12x3>
  %s1 = dgps.extract %S[1] : <10x3>
  %p1 = dgps.mul %w1, %s1 : <3>, <3>
  %a1 = dgps.add %a0, %p1 : <3>, <3>
  %w2 = dgps.extract %w[3] : <12x3>
  %s2 = dgps.extract %S[2] : <10x3>
  %p2 = dgps.mul %w2, %s2 : <3>, <3>
  %a2 = dgps.add %a1, %p2 : <3>, <3>
  %w3 = dgps.extract %w[4] : <12x3>
  %s3 = dgps.extract %S[3] : <10x3>
  %p3 = dgps.mul %w3, %s3 : <3>, <3>
  %a3 = dgps.add %a2, %p3 : <3>, <3>
  %w4 = dgps.extract %w[5] : <12x3>
  %s4 = dgps.extract %S[4] : <10x3>
  %p4 = dgps.mul %w4, %s4 : <3>, <3>
  %a4 = dgps.add %a3, %p4 : <3>, <3>
  %w5 = dgps.extract %w[6] : <12x3>
  %s5 = dgps.extract %S[5] : <10x3>
  %p5 = dgps.mul %w5, %s5 : <3>, <3>
  %a5 = dgps.add %a4, %p5 : <3>, <3>
  %w6 = dgps.extract %w[7] : <12x3>
  %s6 = dgps.extract %S[6] : <10x3>
  %p6 = dgps.mul %w6, %s6 : <3>, <3>
  %a6 = dgps.add %a5, %p6 : <3>, <3>
  %w7 = dgps.extract %w[8] : <12x3>
  %s7 = dgps.extract %S[7] : <10x3>
  %p7 = dgps.mul %w7, %s7 : <3>, <3>
  %a7 = dgps.add %a6, %p7 : <3>, <3>
  %w8 = dgps.extract %w[9] : <12x3>
  %s8 = dgps.extract %S[8] : <10x3>
  %p8 = dgps.mul %w8, %s8 : <3>, <3>
  %a8 = dgps.add %a7, %p8 : <3>, <3>
  %w9 = dgps.extract %w[10] : <12x3>
  %s9 = dgps.extract %S[9] : <10x3>
  %p9 = dgps.mul %w9, %s9 : <3>, <3>
  %a9 = dgps.add %a8, %p9 : <3>, <3>
  // CHECK: %[[W:.*]] = dgps.slice %w[1 for 10] : <12x3>
  // CHECK: %[[TERMS:.*]] = dgps.mul %[[W]], %S : <10x3>, <10x3>
  // CHECK: %[[SUM:.*]] = dgps.vecmat %[[ONES]], %[[TERMS]] : <10>, <10x3>
  // CHECK: %[[ALL:.*]] = dgps.add %x, %[[SUM]] : <3>, <3>
  // CHECK: dgps.output "a" %[[ALL]] : <3>
  dgps.output "a" %a9 : <3>
  %u0 = dgps.extract %u[0] : <10>
  %q0 = dgps.mul %s0, %u0 : <3>, <scalar>
  %u1 = dgps.extract %u[1] : <10>
  %q1 = dgps.mul %s1, %u1 : <3>, <scalar>
  %b1 = dgps.add %q0, %q1 : <3>, <3>
  %u2 = dgps.extract %u[2] : <10>
  %q2 = dgps.mul %s2, %u2 : <3>, <scalar>
  %b2 = dgps.add %b1, %q2 : <3>, <3>
  %u3 = dgps.extract %u[3] : <10>
  %q3 = dgps.mul %s3, %u3 : <3>, <scalar>
  %b3 = dgps.add %b2, %q3 : <3>, <3>
  %u4 = dgps.extract %u[4] : <10>
  %q4 = dgps.mul %s4, %u4 : <3>, <scalar>
  %b4 = dgps.add %b3, %q4 : <3>, <3>
  %u5 = dgps.extract %u[5] : <10>
  %q5 = dgps.mul %s5, %u5 : <3>, <scalar>
  %b5 = dgps.add %b4, %q5 : <3>, <3>
  %u6 = dgps.extract %u[6] : <10>
  %q6 = dgps.mul %s6, %u6 : <3>, <scalar>
  %b6 = dgps.add %b5, %q6 : <3>, <3>
  %u7 = dgps.extract %u[7] : <10>
  %q7 = dgps.mul %s7, %u7 : <3>, <scalar>
  %b7 = dgps.add %b6, %q7 : <3>, <3>
  %u8 = dgps.extract %u[8] : <10>
  %q8 = dgps.mul %s8, %u8 : <3>, <scalar>
  %b8 = dgps.add %b7, %q8 : <3>, <3>
  %u9 = dgps.extract %u[9] : <10>
  %q9 = dgps.mul %s9, %u9 : <3>, <scalar>
  %b9 = dgps.add %b8, %q9 : <3>, <3>
  // CHECK: %[[PLAIN:.*]] = dgps.vecmat %u, %S : <10>, <10x3>
  // CHECK: dgps.output "b" %[[PLAIN]] : <3>
  dgps.output "b" %b9 : <3>
  // Few of them, or with a gap between, stay as they are.
  // CHECK-NOT: dgps.vecmat
  %c1 = dgps.add %p0, %p1 : <3>, <3>
  %c2 = dgps.add %c1, %p2 : <3>, <3>
  %c3 = dgps.add %c2, %p3 : <3>, <3>
  %c4 = dgps.add %c3, %p4 : <3>, <3>
  %c6 = dgps.add %c4, %p6 : <3>, <3>
  %c7 = dgps.add %c6, %p7 : <3>, <3>
  %c8 = dgps.add %c7, %p8 : <3>, <3>
  %c9 = dgps.add %c8, %p9 : <3>, <3>
  dgps.output "c" %c9 : <3>
  dgps.next %S, %S : <10x3>
}

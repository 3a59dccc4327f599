// The recurrences of RandomDataTest.cpp: what their equations demand of random data.

// What exponentials make decays of.
dgps.recurrence @log_decays {} {
  %g = dgps.input "g" : <4>
  %h = dgps.input "h" : <scalar>
  %free = dgps.input "free" : <scalar>
  %m = dgps.neg %h : <scalar>
  %a = dgps.exp %g : <4>
  %b = dgps.exp %m : <scalar>
}

// -exp(l) * softplus(x) is negative as it is; softplus(x) * A is negative if A is.
dgps.recurrence @signs {} {
  %x = dgps.input "x" : <scalar>
  %A = dgps.input "A" : <scalar>
  %s = dgps.softplus %x : <scalar>
  %p = dgps.mul %s, %A : <scalar>, <scalar>
  %a = dgps.exp %p : <scalar>
  %n = dgps.neg %s : <scalar>
  %b = dgps.exp %n : <scalar>
}

// A divisor that a state adds up.
dgps.recurrence @divisor {} {
  %k = dgps.input "k" : <4>
  %b = dgps.input "b" : <scalar>
  %ridge = dgps.param "ridge" : <4>
  %A = dgps.state "A" : <4>
  %kk = dgps.mul %k, %k : <4>, <4>
  %bkk = dgps.mul %b, %kk : <scalar>, <4>
  %A1 = dgps.add %A, %bkk : <4>, <4>
  %d = dgps.add %A1, %ridge : <4>, <4>
  %o = dgps.div %k, %d : <4>, <4>
  dgps.output "o" %o : <4>
  dgps.next %A, %A1 : <4>
}

// What conjugate gradients solve with.
dgps.recurrence @conjugate_gradients {} {
  %k = dgps.input "k" : <3>
  %b = dgps.input "b" : <scalar>
  %ridge = dgps.param "ridge" : <scalar>
  %G = dgps.state "G" : <3x3>
  %bk = dgps.mul %b, %k : <scalar>, <3>
  %kk = dgps.outer %bk, %k : <3>, <3>
  %G1 = dgps.add %G, %kk : <3x3>, <3x3>
  %y = dgps.cg %G1, %k ridge %ridge iterations 3 : <3x3>, <3>, <scalar>
  dgps.output "y" %y : <3>
  dgps.next %G, %G1 : <3x3>
}

// A matrix whose quadratic form is divided by.
dgps.recurrence @quadratic_form {} {
  %k = dgps.input "k" : <3>
  %one = dgps.constant 1.0 : <scalar>
  %P = dgps.state "P" : <3x3>
  %u = dgps.matvec %P, %k : <3x3>, <3>
  %ku = dgps.dot %k, %u : <3>
  %d = dgps.add %one, %ku : <scalar>, <scalar>
  %uu = dgps.outer %u, %u : <3>, <3>
  %w = dgps.div %uu, %d : <3x3>, <scalar>
  %P1 = dgps.sub %P, %w : <3x3>, <3x3>
  dgps.output "u" %u : <3>
  dgps.next %P, %P1 : <3x3>
}

// The gated delta rule, with a preconditioner.
dgps.recurrence @gated_delta_rule {} {
  %k = dgps.input "k" : <4>
  %v = dgps.input "v" : <3>
  %a = dgps.input "a" : <4>
  %b = dgps.input "b" : <scalar>
  %S = dgps.state "S" : <3x4>
  %r = dgps.matvec %S, %k : <3x4>, <4>
  %e = dgps.sub %v, %r : <3>, <3>
  %u = dgps.mul %b, %e : <scalar>, <3>
  %w = dgps.mul %a, %k : <4>, <4>
  %t = dgps.outer %u, %w : <3>, <4>
  %S1 = dgps.add %S, %t : <3x4>, <3x4>
  dgps.output "o" %r : <3>
  dgps.next %S, %S1 : <3x4>
}

// The state doubles or more at every other token.
dgps.recurrence @wild {} {
  %x = dgps.input "x" : <scalar>
  %S = dgps.state "S" : <scalar>
  %two = dgps.constant 2.0 : <scalar>
  %a = dgps.mul %two, %x : <scalar>, <scalar>
  %S1 = dgps.mul %a, %S : <scalar>, <scalar>
  %S2 = dgps.add %S1, %x : <scalar>, <scalar>
  dgps.output "o" %S2 : <scalar>
  dgps.next %S, %S2 : <scalar>
}

// The state doubles at every token.
dgps.recurrence @untamable {} {
  %S = dgps.state "S" : <scalar>
  %two = dgps.constant 2.0 : <scalar>
  %S1 = dgps.mul %two, %S : <scalar>, <scalar>
  dgps.output "o" %S1 : <scalar>
  dgps.next %S, %S1 : <scalar>
}

// A decay, a radicand, and a value that heads share.
dgps.recurrence @shared_values {} {
  %g = dgps.input "g" : <4>
  %r = dgps.input "r" : <scalar>
  %v = dgps.input "v" shared : <4>
  %a = dgps.exp %g : <4>
  %s = dgps.sqrt %r : <scalar>
}

// An input alone.
dgps.recurrence @one_input {} {
  %x = dgps.input "x" : <4>
}

// The recurrences of DualTest.cpp, whose derivatives are judged.

// Functions of one operand, of both signs, or of positive numbers where it has to be positive; all that is drawn is in
// [0.2, 1.2].
dgps.recurrence @functions {} {
  %a = dgps.input "a" : <5>
  %half = dgps.constant 5.000000e-01 : <scalar>
  %below = dgps.sub %half, %a : <scalar>, <5>
  %square = dgps.mul %below, %below : <5>, <5>
  %positive = dgps.add %square, %half : <5>, <scalar>
  %neg = dgps.neg %a : <5>
  %neg_of = dgps.neg %below : <5>
  dgps.output "neg" %neg : <5>
  dgps.output "neg_of" %neg_of : <5>
  %exp = dgps.exp %a : <5>
  %exp_of = dgps.exp %below : <5>
  dgps.output "exp" %exp : <5>
  dgps.output "exp_of" %exp_of : <5>
  %expm1 = dgps.expm1 %a : <5>
  %expm1_of = dgps.expm1 %below : <5>
  dgps.output "expm1" %expm1 : <5>
  dgps.output "expm1_of" %expm1_of : <5>
  %abs = dgps.abs %a : <5>
  %abs_of = dgps.abs %below : <5>
  dgps.output "abs" %abs : <5>
  dgps.output "abs_of" %abs_of : <5>
  %sigmoid = dgps.sigmoid %a : <5>
  %sigmoid_of = dgps.sigmoid %below : <5>
  dgps.output "sigmoid" %sigmoid : <5>
  dgps.output "sigmoid_of" %sigmoid_of : <5>
  %sin = dgps.sin %a : <5>
  %sin_of = dgps.sin %below : <5>
  dgps.output "sin" %sin : <5>
  dgps.output "sin_of" %sin_of : <5>
  %cos = dgps.cos %a : <5>
  %cos_of = dgps.cos %below : <5>
  dgps.output "cos" %cos : <5>
  dgps.output "cos_of" %cos_of : <5>
  %tanh = dgps.tanh %a : <5>
  %tanh_of = dgps.tanh %below : <5>
  dgps.output "tanh" %tanh : <5>
  dgps.output "tanh_of" %tanh_of : <5>
  %softplus = dgps.softplus %a : <5>
  %softplus_of = dgps.softplus %below : <5>
  dgps.output "softplus" %softplus : <5>
  dgps.output "softplus_of" %softplus_of : <5>
  %erf = dgps.erf %a : <5>
  %erf_of = dgps.erf %below : <5>
  dgps.output "erf" %erf : <5>
  dgps.output "erf_of" %erf_of : <5>
  %elu = dgps.elu %a : <5>
  %elu_of = dgps.elu %below : <5>
  dgps.output "elu" %elu : <5>
  dgps.output "elu_of" %elu_of : <5>
  %log = dgps.log %a : <5>
  %log_of = dgps.log %positive : <5>
  dgps.output "log" %log : <5>
  dgps.output "log_of" %log_of : <5>
  %sqrt = dgps.sqrt %a : <5>
  %sqrt_of = dgps.sqrt %positive : <5>
  dgps.output "sqrt" %sqrt : <5>
  dgps.output "sqrt_of" %sqrt_of : <5>
}

// Ops of several operands.
dgps.recurrence @operands {} {
  %a = dgps.input "a" : <3>
  %b = dgps.input "b" : <3>
  %c = dgps.param "c" : <scalar>
  %aa = dgps.outer %a, %a : <3>, <3>
  %bb = dgps.outer %b, %b : <3>, <3>
  %M = dgps.add %aa, %bb : <3x3>, <3x3>
  %add = dgps.add %a, %b : <3>, <3>
  dgps.output "add" %add : <3>
  %sub = dgps.sub %a, %b : <3>, <3>
  dgps.output "sub" %sub : <3>
  %mul = dgps.mul %c, %b : <scalar>, <3>
  dgps.output "mul" %mul : <3>
  %div = dgps.div %a, %c : <3>, <scalar>
  dgps.output "div" %div : <3>
  %max = dgps.max %a, %b : <3>, <3>
  dgps.output "max" %max : <3>
  %min = dgps.min %a, %b : <3>, <3>
  dgps.output "min" %min : <3>
  %matvec = dgps.matvec %M, %a : <3x3>, <3>
  dgps.output "matvec" %matvec : <3>
  %vecmat = dgps.vecmat %a, %M : <3>, <3x3>
  dgps.output "vecmat" %vecmat : <3>
  %softmax = dgps.softmax %a : <3>
  dgps.output "softmax" %softmax : <3>
  %row = dgps.extract %M[1] : <3x3>
  dgps.output "row" %row : <3>
  %solved = dgps.cg %M, %a ridge %b iterations 40 : <3x3>, <3>, <3>
  dgps.output "solved" %solved : <3>
  %dot = dgps.dot %vecmat, %a : <3>
  %sum = dgps.sum %M : <3x3>
  %wide = dgps.broadcast %sum : <3>
  %cols = dgps.scale_cols %M, %matvec : <3x3>, <3>
  %rows = dgps.scale_rows %wide, %cols : <3>, <3x3>
  dgps.output "dot" %dot : <scalar>
  dgps.output "rows" %rows : <3x3>
}

// States of two kinds, from token to token.
dgps.recurrence @delta {} {
  %k = dgps.input "k" shared : <4>
  %v = dgps.input "v" : <3>
  %g = dgps.input "g" : <4>
  %mu = dgps.param "mu" : <scalar>
  %S = dgps.state "S" : <3x4>
  %m = dgps.state "m" : <scalar>
  %negative = dgps.neg %g : <4>
  %decay = dgps.exp %negative : <4>
  %Sd = dgps.scale_cols %S, %decay : <3x4>, <4>
  %past = dgps.matvec %Sd, %k : <3x4>, <4>
  %new = dgps.sub %v, %past : <3>, <3>
  %gain = dgps.sigmoid %mu : <scalar>
  %u = dgps.mul %gain, %new : <scalar>, <3>
  %write = dgps.outer %u, %k : <3>, <4>
  %S1 = dgps.add %Sd, %write : <3x4>, <3x4>
  %sum = dgps.sum %v : <3>
  %moved = dgps.sub %m, %mu : <scalar>, <scalar>
  %m1 = dgps.max %moved, %sum : <scalar>, <scalar>
  %o = dgps.matvec %S1, %k : <3x4>, <4>
  %p = dgps.mul %m1, %o : <scalar>, <3>
  dgps.output "p" %p : <3>
  dgps.next %S, %S1 : <3x4>
  dgps.next %m, %m1 : <scalar>
}

// What has a corner or an infinity somewhere.
dgps.recurrence @corners {} {
  %a = dgps.input "a" : <3>
  %b = dgps.input "b" : <3>
  %abs = dgps.abs %a : <3>
  dgps.output "abs" %abs : <3>
  %sqrt = dgps.sqrt %a : <3>
  dgps.output "sqrt" %sqrt : <3>
  %softplus = dgps.softplus %a : <3>
  dgps.output "softplus" %softplus : <3>
  %exp = dgps.exp %a : <3>
  dgps.output "exp" %exp : <3>
  %tanh = dgps.tanh %a : <3>
  dgps.output "tanh" %tanh : <3>
  %stop = dgps.stop %a : <3>
  dgps.output "stop" %stop : <3>
  %max = dgps.max %a, %b : <3>, <3>
  dgps.output "max" %max : <3>
  %min = dgps.min %a, %b : <3>, <3>
  dgps.output "min" %min : <3>
  // A zero that is computed, on either side.
  %one = dgps.constant 1.000000e+00 : <scalar>
  %zero = dgps.sub %one, %one : <scalar>, <scalar>
  %relu = dgps.max %a, %zero : <3>, <scalar>
  %relu_swapped = dgps.max %zero, %a : <scalar>, <3>
  dgps.output "relu" %relu : <3>
  dgps.output "relu_swapped" %relu_swapped : <3>
  // A constant, which does not move, beside an infinity.
  %two = dgps.constant 2.000000e+00 : <scalar>
  %twice = dgps.mul %two, %a : <scalar>, <3>
  %again = dgps.div %twice, %two : <3>, <scalar>
  %exp_again = dgps.exp %again : <3>
  dgps.output "exp_again" %exp_again : <3>
  // A system that is singular where b is zero.
  %none = dgps.constant 0.000000e+00 : <scalar>
  %M = dgps.outer %b, %b : <3>, <3>
  %solved = dgps.cg %M, %a ridge %none iterations 3 : <3x3>, <3>, <scalar>
  dgps.output "solved" %solved : <3>
}

dgps.recurrence @copy {} {
  %x = dgps.input "x" : <scalar>
  %S = dgps.state "S" : <scalar>
  dgps.output "o" %x : <scalar>
  dgps.next %S, %x : <scalar>
}

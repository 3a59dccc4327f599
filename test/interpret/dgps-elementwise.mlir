// The meaning of elementwise dgps ops: each element by itself, in float64.
// RUN: recur-opt --interpret %s >/dev/null

dgps.recurrence @neg {} { %a = dgps.input "a" : <4>
  %r = dgps.neg %a : <4>
  dgps.output "r" %r : <4> }
check.run @neg (a = [[0, 2, -3, inf]]) gives (r = [[0, -2, 3, -inf]])

dgps.recurrence @exp {} { %a = dgps.input "a" : <5>
  %r = dgps.exp %a : <5>
  dgps.output "r" %r : <5> }
check.run @exp (a = [[0, 1, -inf, 710, nan]]) gives (r = [[1, 2.718281828459045, 0, inf, nan]])

// What is small stays: 1.0e-20 is not lost beside 1.
dgps.recurrence @expm1 {} { %a = dgps.input "a" : <4>
  %r = dgps.expm1 %a : <4>
  dgps.output "r" %r : <4> }
check.run @expm1 (a = [[0, 1, 1.0e-20, -inf]]) gives (r = [[0, 1.718281828459045, 1.0e-20, -1]])

dgps.recurrence @log {} { %a = dgps.input "a" : <4>
  %r = dgps.log %a : <4>
  dgps.output "r" %r : <4> }
check.run @log (a = [[1, 2.718281828459045, 0, -1]]) gives (r = [[0, 1, -inf, nan]])

dgps.recurrence @sqrt {} { %a = dgps.input "a" : <4>
  %r = dgps.sqrt %a : <4>
  dgps.output "r" %r : <4> }
check.run @sqrt (a = [[0, 4, 2.25, -1]]) gives (r = [[0, 2, 1.5, nan]])

dgps.recurrence @abs {} { %a = dgps.input "a" : <4>
  %r = dgps.abs %a : <4>
  dgps.output "r" %r : <4> }
check.run @abs (a = [[0, -4, 2, -inf]]) gives (r = [[0, 4, 2, inf]])

// tanh(log 2) = (2 - 1/2) / (2 + 1/2)
dgps.recurrence @tanh {} { %a = dgps.input "a" : <4>
  %r = dgps.tanh %a : <4>
  dgps.output "r" %r : <4> }
check.run @tanh (a = [[0, 0.6931471805599453, -1000, 1000]]) gives (r = [[0, 0.6, -1, 1]])

// Without overflow: 1 / (1 + exp(-x)) at log 3 and -log 3, and far out.
dgps.recurrence @sigmoid {} { %a = dgps.input "a" : <9>
  %r = dgps.sigmoid %a : <9>
  dgps.output "r" %r : <9> }
check.run @sigmoid (a = [[0, 1.0986122886681098, -1.0986122886681098, 1000, -1000, -inf, inf, nan, -700]])
  gives (r = [[0.5, 0.75, 0.25, 1, 0, 0, 1, nan, 9.8596765437597708e-305]])

// Where 1 + exp(x) rounds to 1, the tail is still there.
dgps.recurrence @softplus {} { %a = dgps.input "a" : <8>
  %r = dgps.softplus %a : <8>
  dgps.output "r" %r : <8> }
check.run @softplus (a = [[0, 1.0986122886681098, 1000, -1000, inf, -inf, nan, -50]])
  gives (r = [[0.6931471805599453, 1.3862943611198906, 1000, 0, inf, 0, nan, 1.9287498479639178e-22]])

dgps.recurrence @erf {} { %a = dgps.input "a" : <6>
  %r = dgps.erf %a : <6>
  dgps.output "r" %r : <6> }
check.run @erf (a = [[0, 1, -0.5, 1.0e-20, inf, -inf]]) gives (r = [[0, 0.8427007929497149, -0.5204998778130465, 1.1283791670955126e-20, 1, -1]])

dgps.recurrence @floor {} { %a = dgps.input "a" : <7>
  %r = dgps.floor %a : <7>
  dgps.output "r" %r : <7> }
check.run @floor (a = [[0, 1.5, -1.5, -2, 1.0e20, inf, nan]]) gives (r = [[0, 1, -2, -2, 1.0e20, inf, nan]])

// What is not taken does not matter; what is no number is not above zero.
dgps.recurrence @select {} { %c = dgps.input "c" : <5>
  %a = dgps.input "a" : <5>
  %b = dgps.input "b" : <scalar>
  %r = dgps.select %c, %a, %b : <5>, <5>, <scalar>
  dgps.output "r" %r : <5> }
check.run @select (c = [[1, 0, -1, nan, 1.0e-300]], a = [[1, nan, inf, 4, 5]], b = [7]) gives (r = [[1, 7, 7, 7, 5]])

dgps.recurrence @elu {} { %a = dgps.input "a" : <5>
  %r = dgps.elu %a : <5>
  dgps.output "r" %r : <5> }
check.run @elu (a = [[2, 0, -0.6931471805599453, -1.0e-20, -inf]]) gives (r = [[2, 0, -0.5, -1.0e-20, -1]])

dgps.recurrence @stop {} { %a = dgps.input "a" : <4>
  %r = dgps.stop %a : <4>
  dgps.output "r" %r : <4> }
check.run @stop (a = [[2, 0, -inf, nan]]) gives (r = [[2, 0, -inf, nan]])

dgps.recurrence @binary {} {
  %a = dgps.input "a" : <3>
  %b = dgps.input "b" : <3>
  %sum = dgps.add %a, %b : <3>, <3>
  %difference = dgps.sub %a, %b : <3>, <3>
  %product = dgps.mul %a, %b : <3>, <3>
  %quotient = dgps.div %a, %b : <3>, <3>
  dgps.output "sum" %sum : <3>
  dgps.output "difference" %difference : <3>
  dgps.output "product" %product : <3>
  dgps.output "quotient" %quotient : <3>
}
check.run @binary (a = [[1, 2, inf], [3, -2, 0]], b = [[10, -2, inf], [4, 0, 0]])
  gives (sum = [[11, 0, inf], [7, -2, 0]], difference = [[-9, 4, nan], [-1, -2, 0]],
         product = [[10, -4, inf], [12, 0, 0]], quotient = [[0.1, -1, nan], [0.75, -inf, nan]])

// A NaN is never the smaller or the larger: it is the result.
dgps.recurrence @extremes {} {
  %a = dgps.input "a" : <4>
  %b = dgps.input "b" : <4>
  %most = dgps.max %a, %b : <4>, <4>
  %least = dgps.min %a, %b : <4>, <4>
  dgps.output "most" %most : <4>
  dgps.output "least" %least : <4>
}
check.run @extremes (a = [[1, 2, nan, 1]], b = [[2, -3, 1, nan]])
  gives (most = [[2, 2, nan, nan]], least = [[1, -3, nan, nan]])

// A scalar goes with any shape.
dgps.recurrence @scalars {} {
  %s = dgps.input "s" : <scalar>
  %v = dgps.input "v" : <3>
  %m = dgps.input "m" : <2x2>
  %before = dgps.sub %s, %v : <scalar>, <3>
  %behind = dgps.div %m, %s : <2x2>, <scalar>
  %both = dgps.mul %s, %s : <scalar>, <scalar>
  dgps.output "before" %before : <3>
  dgps.output "behind" %behind : <2x2>
  dgps.output "both" %both : <scalar>
}
check.run @scalars (s = [2], v = [[1, 2, 3]], m = [[[1, 2], [3, 4]]])
  gives (before = [[1, 0, -1]], behind = [[[0.5, 1], [1.5, 2]]], both = [4])

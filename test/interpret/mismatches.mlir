// A check that does not hold says where, and what was found.
// RUN: recur-opt --interpret --split-input-file --verify-diagnostics %s

dgps.recurrence @sum {} {
  %x = dgps.input "x" : <2>
  %S = dgps.state "S" : <2>
  %S1 = dgps.add %S, %x : <2>, <2>
  dgps.output "o" %S1 : <2>
  dgps.next %S, %S1 : <2>
}
// expected-error @+1 {{'check.run' op gives 'o'[1, 0] = 4, not 5}}
check.run @sum (x = [[1, 2], [3, 4]]) gives (o = [[1, 2], [5, 6]])
// expected-error @+1 {{'check.run' op gives 'S'[1] = 6, not NaN}}
check.run @sum (x = [[1, 2], [3, 4]]) gives (S = [4, nan])
// expected-error @+1 {{'check.run' op gives 'o'[0, 0] = 1, not 1.5}}
check.run @sum (x = [[1, 2]]) gives (o = [[1.5, 2]]) within 0.1
check.run @sum (x = [[1, 2]]) gives (o = [[1.5, 2]]) within 0.5
// expected-error @+1 {{'check.run' op gives 'o' of shape [1, 1, 1, 2], not [1, 2, 1, 2]}}
check.run @sum (x = [[1, 2]]) gives (o = [[1, 2], [3, 4]])
// expected-error @+1 {{'check.run' op gives 'y', which is no input, param or state}}
check.run @sum (y = [[1, 2]]) gives (o = [[1, 2]])
// expected-error @+1 {{'check.run' op wants 'p', which is neither an output nor a state}}
check.run @sum (x = [[1, 2]]) gives (p = [[1, 2]])
// expected-error @+1 {{'check.run' op fails: input 'x' is missing}}
check.run @sum (S = [1, 2]) gives (o = [[1, 2]])
check.run @sum (S = [1, 2]) fails "input 'x' is missing"
// expected-error @+1 {{'check.run' op runs, but should fail: input 'x' is missing}}
check.run @sum (x = [[1, 2]]) fails "input 'x' is missing"
// expected-error @+1 {{'check.run' op finds no program 'product' to run}}
check.run @product (x = [[1, 2]]) gives (o = [[1, 2]])
// expected-error @+1 {{'check.run' op expects the names of the arrays that the program takes}}
check.run @sum ([[1, 2]]) gives (o = [[1, 2]])

// -----

// expected-error @+1 {{holds no check.run to interpret}}
module {}

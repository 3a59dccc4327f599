// RUN: recur-opt %s | recur-opt | FileCheck %s
// RUN: recur-opt --mlir-print-op-generic %s | recur-opt | FileCheck %s
dgps.recurrence @sum {} {
  %x = dgps.input "x" : <2>
  %S = dgps.state "S" : <2>
  %S1 = dgps.add %S, %x : <2>, <2>
  dgps.output "o" %S1 : <2>
  dgps.next %S, %S1 : <2>
}
// CHECK: check.run @sum (x = {{\[}}[1, 2], [3, 4]], S = [10, 20]) gives (o = {{\[}}[11, 22], [14, 26]], S = [14, 26])
check.run @sum (x = [[1, 2], [3, 4]], S = [10, 20]) gives (o = [[11, 22], [14, 26]], S = [14, 26])
// CHECK: check.run @sum tokens 1 (x = {{\[}}[-5.000000e-01, inf]]) gives (S = [nan, -inf]) within 1.000000e-03
check.run @sum tokens 1 (x = [[-0.5, inf]]) gives (S = [nan, -inf]) within 1.0e-3
// CHECK: check.run @sum sizes [1, 2, 1] rounding bf16 (x = []) fails "text"
check.run @sum sizes [1, 2, 1] rounding bf16 (x = []) fails "text"
// CHECK: check.run @kernel ({{\[}}[1, 2]], []) gives ({{\[}}[1, 2]], [])
check.run @kernel ([[1, 2]], []) gives ([[1, 2]], [])

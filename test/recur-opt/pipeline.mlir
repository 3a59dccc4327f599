// A pass pipeline runs over the dialect: the state is decayed once, although the text says it twice.
// RUN: recur-opt %s --pass-pipeline='builtin.module(dgps.recurrence(canonicalize,cse))' | FileCheck %s

// CHECK-LABEL: dgps.recurrence @twice
// CHECK:      dgps.exp
// CHECK-NOT:  dgps.exp
// CHECK:      dgps.next
dgps.recurrence @twice {K = 4 : i64} {
  %g = dgps.input "g" : <>
  %S = dgps.state "S" : <4>
  %a = dgps.exp %g : <>
  %b = dgps.exp %g : <>
  %once = dgps.mul %a, %S : <>, <4>
  %again = dgps.mul %b, %S : <>, <4>
  %sum = dgps.add %once, %again : <4>, <4>
  dgps.output "o" %sum : <4>
  dgps.next %S, %sum : <4>
}

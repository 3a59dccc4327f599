// How a recurrence goes over tokens, sequences, heads, groups and states.
// RUN: recur-opt --interpret %s >/dev/null

// The sum of x so far, times the head's p.
dgps.recurrence @running_sum {} {
  %x = dgps.input "x" : <scalar>
  %p = dgps.param "p" : <scalar>
  %A = dgps.state "A" : <scalar>
  %A1 = dgps.add %A, %x : <scalar>, <scalar>
  %o = dgps.mul %p, %A1 : <scalar>, <scalar>
  dgps.output "o" %o : <scalar>
  dgps.next %A, %A1 : <scalar>
}
// Each of two sequences and two heads has a state of its own.
check.run @running_sum sizes [2, 2, 2] (x = [[[1, 10], [2, 20]], [[3, 30], [4, 40]]], p = [1, -1])
  gives (o = [[[1, -10], [3, -30]], [[3, -30], [7, -70]]], A = [[3, 30], [7, 70]])
// An initial state is where it starts.
check.run @running_sum sizes [1, 2, 2] (x = [[[1, 10]]], p = [1, 1], A = [[100, 1000]]) gives (o = [[[101, 1010]]], A = [[101, 1010]])
// Without tokens the final state is the initial one.
check.run @running_sum tokens 0 (x = [], p = 1, A = 100) gives (o = [], A = 100)
// What does not fit is said.
check.run @running_sum (x = [1, 2]) fails "param 'p' is missing"
check.run @running_sum (x = [1, 2], p = [1, 2]) fails "param 'p' has shape [1, 2], and [1] is expected"
check.run @running_sum sizes [1, 1, 0] (x = [[[1]]], p = [1]) fails "Hq, which is 0, does not divide H, which is 1"
check.run @running_sum sizes [-1, 1, 1] (x = [[[1]]], p = [1]) fails "the sizes B, T, H and Hq cannot be negative"

// Heads of a group share its input.
dgps.recurrence @shared_copy {} {
  %q = dgps.input "q" shared : <scalar>
  dgps.output "o" %q : <scalar>
}
check.run @shared_copy sizes [1, 4, 2] (q = [[[1, 2], [3, 4]]]) gives (o = [[[1, 1, 2, 2], [3, 3, 4, 4]]])

// States change at once: none sees the other's next value.
dgps.recurrence @swap {} {
  %A = dgps.state "A" : <scalar>
  %B = dgps.state "B" : <scalar>
  dgps.output "a" %A : <scalar>
  dgps.output "b" %B : <scalar>
  dgps.next %A, %B : <scalar>
  dgps.next %B, %A : <scalar>
}
check.run @swap tokens 3 (A = 1, B = 2) gives (a = [1, 2, 1], b = [2, 1, 2], A = 2, B = 1)

// An output that stands before the update reads the state as it was.
dgps.recurrence @attention {K = 3 : i64, V = 2 : i64} {
  %v = dgps.input "v" : <2>
  %k = dgps.input "k" : <3>
  %S = dgps.state "S" : <2x3>
  %before = dgps.matvec %S, %k : <2x3>, <3>
  dgps.output "before" %before : <2>
  %w = dgps.outer %v, %k : <2>, <3>
  %S1 = dgps.add %S, %w : <2x3>, <2x3>
  %ones = dgps.constant 1.0 : <3>
  %after = dgps.matvec %S1, %ones : <2x3>, <3>
  dgps.output "after" %after : <2>
  dgps.next %S, %S1 : <2x3>
}
check.run @attention (v = [[1, 2], [3, 4]], k = [[1, 0, 0], [0, 1, 0]])
  gives (before = [[0, 0], [0, 0]], after = [[1, 2], [4, 6]], S = [[1, 3, 0], [2, 4, 0]])

// What cannot fit in memory is refused.
dgps.recurrence @big {} {
  %a = dgps.constant 1.0 : <1000000x1000000>
}
check.run @big () fails "the values of one token need more than 8 GiB; give smaller dims"

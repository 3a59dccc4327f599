// The recurrences of DGPSRunTest.cpp and DataTest.cpp.

// o = the sum of x so far, times the head's p.
dgps.recurrence @running_sum {} {
  %x = dgps.input "x" : <scalar>
  %p = dgps.param "p" : <scalar>
  %A = dgps.state "A" : <scalar>
  %A1 = dgps.add %A, %x : <scalar>, <scalar>
  %o = dgps.mul %p, %A1 : <scalar>, <scalar>
  dgps.output "o" %o : <scalar>
  dgps.next %A, %A1 : <scalar>
}

// More than fits in memory, for one token and for many.
dgps.recurrence @big_value {} {
  %a = dgps.constant 1.0 : <1000000x1000000>
}
dgps.recurrence @many_values {} {
  %a = dgps.constant 1.0 : <scalar>
  dgps.output "o" %a : <scalar>
}

// Something of each kind, for the sizes that are found in shapes.
dgps.recurrence @shared_heads {} {
  %q = dgps.input "q" shared : <8>
  %v = dgps.input "v" : <6>
  %p = dgps.param "p" : <scalar>
  %S = dgps.state "S" : <6x8>
  dgps.next %S, %S : <6x8>
}

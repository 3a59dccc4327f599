// RUN: not recur-opt %s --convert-dgps-to-chunk=chunk=0 2>&1 | FileCheck %s
// CHECK: error: a chunk needs at least 1 token, but the option 'chunk' is 0
dgps.recurrence @copy {} {
  %x = dgps.input "x" : <scalar>
  dgps.output "o" %x : <scalar>
}

// Each stage that recurc goes through is a pipeline of recur-opt, with the same passes.
// RUN: recur-opt %s --pass-pipeline='builtin.module(to-recurrence)' | FileCheck %s
// RUN: recur-opt %s --to-recurrence | FileCheck %s

// CHECK-LABEL: dgps.recurrence @twice
// CHECK-NEXT:    %x = dgps.input "x" : <scalar>
// CHECK-NEXT:    %[[Y:.*]] = dgps.exp %x : <scalar>
// CHECK-NEXT:    dgps.output "a" %[[Y]] : <scalar>
// CHECK-NEXT:    dgps.output "b" %[[Y]] : <scalar>
// CHECK-NEXT:  }
dgps.recurrence @twice {} {
  %x = dgps.input "x" : <scalar>
  %unused = dgps.constant 1.0 : <scalar>
  %a = dgps.exp %x : <scalar>
  %b = dgps.exp %x : <scalar>
  dgps.output "a" %a : <scalar>
  dgps.output "b" %b : <scalar>
}

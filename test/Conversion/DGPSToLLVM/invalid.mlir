// RUN: not recur-opt %s --convert-dgps-to-llvm=dtype=f64 2>&1 | FileCheck %s
// CHECK: error: the dtype is f32, bf16 or f16, not 'f64'
dgps.recurrence @copy {} {
  %x = dgps.input "x" : <scalar>
  dgps.output "o" %x : <scalar>
}

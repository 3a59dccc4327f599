// RUN: recur-opt %s --dgps-store=types=bf16,g=f32,S=f16 | FileCheck %s
// RUN: recur-opt %s --dgps-store | FileCheck %s --check-prefix=F32
// RUN: not recur-opt %s --dgps-store=types=f64 2>&1 | FileCheck %s --check-prefix=F64
// RUN: not recur-opt %s --dgps-store=types=bf16,f16 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not recur-opt %s --dgps-store=types=g=f16,g=f16 2>&1 | FileCheck %s --check-prefix=NAMED-TWICE
// RUN: not recur-opt %s --dgps-store=types==f16 2>&1 | FileCheck %s --check-prefix=NAMELESS
// F64: error: --dtype: unknown value 'f64'; known are f32, bf16, f16
// TWICE: error: --dtype: the type of all arrays is given twice; others have theirs by name, as in bf16,g=f32
// NAMED-TWICE: error: --dtype: the type of 'g' is given twice
// NAMELESS: error: --dtype: '=f16' names no array; give types as in bf16,g=f32

// CHECK-LABEL: dgps.recurrence @typed
dgps.recurrence @typed {} {
  // CHECK: dgps.input "k" shared stored bf16 : <8>
  // F32: dgps.input "k" shared : <8>
  %k = dgps.input "k" shared : <8>
  // CHECK: dgps.input "g" : <scalar>
  %g = dgps.input "g" : <scalar>
  // What says its type keeps it.
  // CHECK: dgps.param "mu" stored f16 : <scalar>
  // F32: dgps.param "mu" stored f16 : <scalar>
  %mu = dgps.param "mu" stored f16 : <scalar>
  // CHECK: dgps.state "S" stored f16 : <8>
  // F32: dgps.state "S" : <8>
  %S = dgps.state "S" : <8>
  // CHECK: dgps.state "n" : <scalar>
  %n = dgps.state "n" : <scalar>
  %decay = dgps.exp %g : <scalar>
  %old = dgps.mul %decay, %S : <scalar>, <8>
  %new = dgps.add %old, %k : <8>, <8>
  // CHECK: dgps.output "o" %{{.*}} stored bf16 : <8>
  dgps.output "o" %new : <8>
  dgps.next %S, %new : <8>
  dgps.next %n, %mu : <scalar>
}

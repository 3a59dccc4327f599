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

// What the plan of a core computes in one pass and that of a CTA would in two is left together for a CTA.
// RUN: recur-opt --to-tile=target=x86-64-v4 --dump-pass-pipeline %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=CORE
// RUN: recur-opt --to-tile=target=sm_90a --dump-pass-pipeline %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=CTA --implicit-check-not=spread-scales
// CORE: chunk-decay-reads
// CORE: chunk-spread-scales
// CORE: convert-chunk-to-tile
// CTA: chunk-decay-reads
// CTA: convert-chunk-to-tile

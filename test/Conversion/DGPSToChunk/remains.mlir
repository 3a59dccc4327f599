// RUN: recur-opt %s --split-input-file --convert-dgps-to-chunk="chunk=16 remains=true" --canonicalize --cse | FileCheck %s
// RUN: recur-opt %s --split-input-file --convert-dgps-to-chunk=chunk=16 | FileCheck %s --check-prefix=WITHOUT --implicit-check-not=chunk.remains
// WITHOUT: chunk.program

// Of a decay and a key that is erased: the decay, times the norm of I - beta k k^T, (|x| + |2 - x|) / 2 for x = beta |k|^2.
// CHECK-LABEL: chunk.program @delta
// CHECK-DAG: %[[HALF:.*]] = chunk.constant 5.000000e-01 : tensor<1xf32>
// CHECK-DAG: %[[TWO:.*]] = chunk.constant 2.000000e+00 : tensor<1xf32>
// CHECK: chunk.next %S
// CHECK: %[[SQUARE:.*]] = chunk.map dot %k, %k : tensor<16x8xf32>, tensor<16x8xf32>
// CHECK: %[[X:.*]] = chunk.map mul %beta, %[[SQUARE]] : tensor<16xf32>, tensor<16xf32>
// CHECK: %[[RADIUS:.*]] = chunk.map abs %[[X]] : tensor<16xf32>
// CHECK: %[[ALONG:.*]] = chunk.map sub %[[TWO]], %[[X]] : tensor<1xf32>, tensor<16xf32>
// CHECK: %[[DISTANCE:.*]] = chunk.map abs %[[ALONG]] : tensor<16xf32>
// CHECK: %[[SUM:.*]] = chunk.map add %[[RADIUS]], %[[DISTANCE]] : tensor<16xf32>, tensor<16xf32>
// CHECK: %[[NORM:.*]] = chunk.map mul %[[HALF]], %[[SUM]] : tensor<1xf32>, tensor<16xf32>
// CHECK: %[[LOG:.*]] = chunk.map log %[[NORM]] : tensor<16xf32>
// CHECK: %[[STEP:.*]] = chunk.map add %g, %[[LOG]] : tensor<16xf32>, tensor<16xf32>
// CHECK: %[[TOTAL:.*]] = chunk.cumulative_decay total log(%[[STEP]]) : tensor<16xf32>
// CHECK: chunk.remains "S" %[[TOTAL]] : tensor<1xf32>
dgps.recurrence @delta {} {
  %k = dgps.input "k" : <8>
  %v = dgps.input "v" : <4>
  %g = dgps.input "g" : <scalar>
  %beta = dgps.input "beta" : <scalar>
  %S = dgps.state "S" : <4x8>
  %a = dgps.exp %g : <scalar>
  %D = dgps.mul %a, %S : <scalar>, <4x8>
  %x = dgps.matvec %D, %k : <4x8>, <8>
  %y = dgps.sub %v, %x : <4>, <4>
  %u = dgps.mul %beta, %y : <scalar>, <4>
  %w = dgps.outer %u, %k : <4>, <8>
  %S1 = dgps.add %D, %w : <4x8>, <4x8>
  dgps.output "o" %x : <4>
  dgps.next %S, %S1 : <4x8>
}

// -----

// A key over its length is at most one long, and the norm is largest at an end: the bound takes the gain alone.
// CHECK-LABEL: chunk.program @normalized
// CHECK: chunk.next %S
// CHECK-NOT: chunk.map dot
// CHECK: %[[RADIUS:.*]] = chunk.map abs %beta : tensor<16xf32>
// CHECK: %[[ALONG:.*]] = chunk.map sub %{{.*}}, %beta : tensor<1xf32>, tensor<16xf32>
// CHECK: %[[DISTANCE:.*]] = chunk.map abs %[[ALONG]] : tensor<16xf32>
// CHECK: chunk.map add %[[RADIUS]], %[[DISTANCE]] : tensor<16xf32>, tensor<16xf32>
// CHECK: chunk.remains "S"
dgps.recurrence @normalized {} {
  %x = dgps.input "x" : <8>
  %v = dgps.input "v" : <4>
  %g = dgps.input "g" : <scalar>
  %beta = dgps.input "beta" : <scalar>
  %S = dgps.state "S" : <4x8>
  %xx = dgps.dot %x, %x : <8>
  %epsilon = dgps.constant 1.0e-6 : <scalar>
  %square = dgps.add %xx, %epsilon : <scalar>, <scalar>
  %length = dgps.sqrt %square : <scalar>
  %k = dgps.div %x, %length : <8>, <scalar>
  %a = dgps.exp %g : <scalar>
  %D = dgps.mul %a, %S : <scalar>, <4x8>
  %y = dgps.matvec %D, %k : <4x8>, <8>
  %z = dgps.sub %v, %y : <4>, <4>
  %u = dgps.mul %beta, %z : <scalar>, <4>
  %w = dgps.outer %u, %k : <4>, <8>
  %S1 = dgps.add %D, %w : <4x8>, <4x8>
  dgps.output "o" %y : <4>
  dgps.next %S, %S1 : <4x8>
}

// -----

// With something taken away under the root it may be longer.
// CHECK-LABEL: chunk.program @longer
// CHECK: chunk.next %S
// CHECK: chunk.map dot
// CHECK: chunk.remains "S"
dgps.recurrence @longer {} {
  %x = dgps.input "x" : <8>
  %v = dgps.input "v" : <4>
  %g = dgps.input "g" : <scalar>
  %S = dgps.state "S" : <4x8>
  %xx = dgps.dot %x, %x : <8>
  %epsilon = dgps.constant -1.0e-6 : <scalar>
  %square = dgps.add %xx, %epsilon : <scalar>, <scalar>
  %length = dgps.sqrt %square : <scalar>
  %k = dgps.div %x, %length : <8>, <scalar>
  %a = dgps.exp %g : <scalar>
  %D = dgps.mul %a, %S : <scalar>, <4x8>
  %y = dgps.matvec %D, %k : <4x8>, <8>
  %z = dgps.sub %v, %y : <4>, <4>
  %w = dgps.outer %z, %k : <4>, <8>
  %S1 = dgps.add %D, %w : <4x8>, <4x8>
  dgps.output "o" %y : <4>
  dgps.next %S, %S1 : <4x8>
}

// -----

// Decays of channels are the bounds, and those that the state is advanced with.
// CHECK-LABEL: chunk.program @channels
// CHECK: %[[TOTAL:.*]] = chunk.cumulative_decay total log(%g) : tensor<16x8xf32>
// CHECK: chunk.advance %S, %v, %{{.*}} columns(%[[TOTAL]] : tensor<1x8xf32>)
// CHECK: chunk.remains "S" %[[TOTAL]] : tensor<1x8xf32>
dgps.recurrence @channels {} {
  %k = dgps.input "k" : <8>
  %v = dgps.input "v" : <4>
  %g = dgps.input "g" : <8>
  %S = dgps.state "S" : <4x8>
  %a = dgps.exp %g : <8>
  %D = dgps.scale_cols %S, %a : <4x8>, <8>
  %w = dgps.outer %v, %k : <4>, <8>
  %S1 = dgps.add %D, %w : <4x8>, <4x8>
  %o = dgps.matvec %S1, %k : <4x8>, <8>
  dgps.output "o" %o : <4>
  dgps.next %S, %S1 : <4x8>
}

// RUN: recur-opt %s --split-input-file --convert-dgps-to-chunk=chunk=16 --canonicalize --cse --chunk-dead-streams | FileCheck %s --implicit-check-not=chunk.interaction --implicit-check-not=chunk.solve

// Each element has a decay of its own: the matrices are only formed for one token at a time.
// CHECK-LABEL: chunk.program @mamba1 {K = 8 : i64, V = 4 : i64} chunk 16 {
// CHECK-DAG: %[[C0:.*]] = chunk.constant 1.000000e+00 : tensor<1x8xf32>
// CHECK: %S = chunk.state "S" : tensor<4x8xf32>
// CHECK: %[[V1:[a-z0-9_]+]] = chunk.map softplus %dt : tensor<16x4xf32>
// CHECK: %[[V2:[a-z0-9_]+]] = chunk.map mul %[[V1]], %x : tensor<16x4xf32>, tensor<16x4xf32>
// CHECK: %[[V3:[a-z0-9_]+]]:2 = chunk.token_loop (%[[V4:[a-z0-9_]+]] = %[[V1]] : tensor<16x4xf32>, %[[V5:[a-z0-9_]+]] = %[[V2]] : tensor<16x4xf32>, %[[V6:[a-z0-9_]+]] = %B : tensor<16x8xf32>, %[[V7:[a-z0-9_]+]] = %C : tensor<16x8xf32>) carry (%[[V8:[a-z0-9_]+]] = %S : tensor<4x8xf32>) -> (tensor<16x4xf32>, tensor<4x8xf32>) {
// CHECK: %[[V9:[a-z0-9_]+]] = chunk.map outer %[[V4]], %[[C0]] : tensor<1x4xf32>, tensor<1x8xf32>
// CHECK: %[[V10:[a-z0-9_]+]] = chunk.map mul %[[V9]], %A : tensor<1x4x8xf32>, tensor<1x4x8xf32>
// CHECK: %[[V11:[a-z0-9_]+]] = chunk.map exp %[[V10]] : tensor<1x4x8xf32>
// CHECK: %[[V12:[a-z0-9_]+]] = chunk.map mul %[[V11]], %[[V8]] : tensor<1x4x8xf32>, tensor<1x4x8xf32>
// CHECK: %[[V13:[a-z0-9_]+]] = chunk.map outer %[[V5]], %[[V6]] : tensor<1x4xf32>, tensor<1x8xf32>
// CHECK: %[[V14:[a-z0-9_]+]] = chunk.map add %[[V12]], %[[V13]] : tensor<1x4x8xf32>, tensor<1x4x8xf32>
// CHECK: %[[V15:[a-z0-9_]+]] = chunk.map matvec %[[V14]], %[[V7]] : tensor<1x4x8xf32>, tensor<1x8xf32>
// CHECK: chunk.yield %[[V15]], %[[V14]] : tensor<1x4xf32>, tensor<1x4x8xf32>
// CHECK: %[[V16:[a-z0-9_]+]] = chunk.map mul %D, %x : tensor<1x4xf32>, tensor<16x4xf32>
// CHECK: %[[V17:[a-z0-9_]+]] = chunk.map add %[[V3]]#0, %[[V16]] : tensor<16x4xf32>, tensor<16x4xf32>
// CHECK: chunk.output "y" %[[V17]] : tensor<16x4xf32>
// CHECK: chunk.next %S, %[[V3]]#1 : tensor<4x8xf32>
dgps.recurrence @mamba1 {K = 8 : i64, V = 4 : i64} {
  %0 = dgps.constant 1.000000e+00 : <8>
  %x = dgps.input "x" : <4>
  %dt = dgps.input "dt" : <4>
  %B = dgps.input "B" : <8>
  %C = dgps.input "C" : <8>
  %A = dgps.param "A" : <4x8>
  %D = dgps.param "D" : <4>
  %S = dgps.state "S" : <4x8>
  %1 = dgps.softplus %dt : <4>
  %2 = dgps.outer %1, %0 : <4>, <8>
  %3 = dgps.mul %2, %A : <4x8>, <4x8>
  %4 = dgps.exp %3 : <4x8>
  %5 = dgps.mul %4, %S : <4x8>, <4x8>
  %6 = dgps.mul %1, %x : <4>, <4>
  %7 = dgps.outer %6, %B : <4>, <8>
  %8 = dgps.add %5, %7 : <4x8>, <4x8>
  %9 = dgps.matvec %8, %C : <4x8>, <8>
  %10 = dgps.mul %D, %x : <4>, <4>
  %11 = dgps.add %9, %10 : <4>, <4>
  dgps.output "y" %11 : <4>
  dgps.next %S, %8 : <4x8>
}

// -----

// States that read each other advance in one loop.
// CHECK-LABEL: chunk.program @pair {} chunk 16 {
// CHECK: %A = chunk.state "A" : tensor<4xf32>
// CHECK: %B = chunk.state "B" : tensor<4xf32>
// CHECK: %[[V0:[a-z0-9_]+]]:3 = chunk.token_loop (%[[V1:[a-z0-9_]+]] = %x : tensor<16x4xf32>) carry (%[[V2:[a-z0-9_]+]] = %A : tensor<4xf32>, %[[V3:[a-z0-9_]+]] = %B : tensor<4xf32>) -> (tensor<16x4xf32>, tensor<4xf32>, tensor<4xf32>) {
// CHECK: %[[V4:[a-z0-9_]+]] = chunk.map tanh %[[V3]] : tensor<1x4xf32>
// CHECK: %[[V5:[a-z0-9_]+]] = chunk.map add %[[V2]], %[[V4]] : tensor<1x4xf32>, tensor<1x4xf32>
// CHECK: %[[V6:[a-z0-9_]+]] = chunk.map sigmoid %[[V5]] : tensor<1x4xf32>
// CHECK: %[[V7:[a-z0-9_]+]] = chunk.map mul %[[V6]], %[[V1]] : tensor<1x4xf32>, tensor<1x4xf32>
// CHECK: chunk.yield %[[V7]], %[[V5]], %[[V7]] : tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>
// CHECK: chunk.output "o" %[[V0]]#0 : tensor<16x4xf32>
// CHECK: chunk.next %A, %[[V0]]#1 : tensor<4xf32>
// CHECK: chunk.next %B, %[[V0]]#2 : tensor<4xf32>
dgps.recurrence @pair {} {
  %x = dgps.input "x" : <4>
  %A = dgps.state "A" : <4>
  %B = dgps.state "B" : <4>
  %t = dgps.tanh %B : <4>
  %A1 = dgps.add %A, %t : <4>, <4>
  %s = dgps.sigmoid %A1 : <4>
  %B1 = dgps.mul %s, %x : <4>, <4>
  dgps.output "o" %B1 : <4>
  dgps.next %A, %A1 : <4>
  dgps.next %B, %B1 : <4>
}

// -----

// A delta state that is used as a whole matrix advances in a loop.
// CHECK-LABEL: chunk.program @whole {} chunk 16 {
// CHECK: %S = chunk.state "S" : tensor<2x3xf32>
// CHECK: %[[V0:[a-z0-9_]+]]:2 = chunk.token_loop (%[[V1:[a-z0-9_]+]] = %v : tensor<16x2xf32>, %[[V2:[a-z0-9_]+]] = %k : tensor<16x3xf32>) carry (%[[V3:[a-z0-9_]+]] = %S : tensor<2x3xf32>) -> (tensor<16x2xf32>, tensor<2x3xf32>) {
// CHECK: %[[V4:[a-z0-9_]+]] = chunk.map outer %[[V1]], %[[V2]] : tensor<1x2xf32>, tensor<1x3xf32>
// CHECK: %[[V5:[a-z0-9_]+]] = chunk.map add %[[V3]], %[[V4]] : tensor<1x2x3xf32>, tensor<1x2x3xf32>
// CHECK: %[[V6:[a-z0-9_]+]] = chunk.map tanh %[[V5]] : tensor<1x2x3xf32>
// CHECK: %[[V7:[a-z0-9_]+]] = chunk.map matvec %[[V6]], %[[V2]] : tensor<1x2x3xf32>, tensor<1x3xf32>
// CHECK: chunk.yield %[[V7]], %[[V5]] : tensor<1x2xf32>, tensor<1x2x3xf32>
// CHECK: chunk.output "o" %[[V0]]#0 : tensor<16x2xf32>
// CHECK: chunk.next %S, %[[V0]]#1 : tensor<2x3xf32>
dgps.recurrence @whole {} {
  %k = dgps.input "k" : <3>
  %v = dgps.input "v" : <2>
  %S = dgps.state "S" : <2x3>
  %w = dgps.outer %v, %k : <2>, <3>
  %S1 = dgps.add %S, %w : <2x3>, <2x3>
  %t = dgps.tanh %S1 : <2x3>
  %o = dgps.matvec %t, %k : <2x3>, <3>
  dgps.output "o" %o : <2>
  dgps.next %S, %S1 : <2x3>
}

// -----

// A state that is multiplied with itself, and divided by a product with another key than its own, so that it is no inverse;
// the state that is read with what it gives keeps its chunk form.
// CHECK-LABEL: chunk.program @other_key {K = 8 : i64, V = 4 : i64} chunk 16 {
// CHECK-DAG: %[[C0:.*]] = chunk.constant 1.000000e+00 : tensor<1xf32>
// CHECK: %P = chunk.state "P" : tensor<8x8xf32>
// CHECK: %C = chunk.state "C" : tensor<4x8xf32>
// CHECK: %[[V1:[a-z0-9_]+]]:2 = chunk.token_loop (%[[V2:[a-z0-9_]+]] = %k : tensor<16x8xf32>, %[[V3:[a-z0-9_]+]] = %q : tensor<16x8xf32>) carry (%[[V4:[a-z0-9_]+]] = %P : tensor<8x8xf32>) -> (tensor<16x8xf32>, tensor<8x8xf32>) {
// CHECK: %[[V5:[a-z0-9_]+]] = chunk.map matvec %[[V4]], %[[V2]] : tensor<1x8x8xf32>, tensor<1x8xf32>
// CHECK: %[[V6:[a-z0-9_]+]] = chunk.map outer %[[V5]], %[[V5]] : tensor<1x8xf32>, tensor<1x8xf32>
// CHECK: %[[V7:[a-z0-9_]+]] = chunk.map dot %[[V3]], %[[V5]] : tensor<1x8xf32>, tensor<1x8xf32>
// CHECK: %[[V8:[a-z0-9_]+]] = chunk.map add %[[V7]], %[[C0]] : tensor<1xf32>, tensor<1xf32>
// CHECK: %[[V9:[a-z0-9_]+]] = chunk.map div %[[V6]], %[[V8]] : tensor<1x8x8xf32>, tensor<1xf32>
// CHECK: %[[V10:[a-z0-9_]+]] = chunk.map sub %[[V4]], %[[V9]] : tensor<1x8x8xf32>, tensor<1x8x8xf32>
// CHECK: %[[V11:[a-z0-9_]+]] = chunk.map matvec %[[V10]], %[[V3]] : tensor<1x8x8xf32>, tensor<1x8xf32>
// CHECK: chunk.yield %[[V11]], %[[V10]] : tensor<1x8xf32>, tensor<1x8x8xf32>
// CHECK: %[[V12:[a-z0-9_]+]] = chunk.advance %C, %v, %k : tensor<4x8xf32>, tensor<16x4xf32>, tensor<16x8xf32>
// CHECK: %[[V13:[a-z0-9_]+]] = chunk.read %[[V1]]#0, %C : tensor<16x8xf32>, tensor<4x8xf32>
// CHECK: %[[V14:[a-z0-9_]+]] = chunk.interaction %[[V1]]#0, %k inclusive : tensor<16x8xf32>, tensor<16x8xf32>
// CHECK: %[[V15:[a-z0-9_]+]] = chunk.apply %[[V14]], %v : tensor<16x16xf32>, tensor<16x4xf32>
// CHECK: %[[V16:[a-z0-9_]+]] = chunk.map add %[[V13]], %[[V15]] : tensor<16x4xf32>, tensor<16x4xf32>
// CHECK: chunk.output "o" %[[V16]] : tensor<16x4xf32>
// CHECK: chunk.next %P, %[[V1]]#1 : tensor<8x8xf32>
// CHECK: chunk.next %C, %[[V12]] : tensor<4x8xf32>
dgps.recurrence @other_key {K = 8 : i64, V = 4 : i64} {
  %0 = dgps.constant 1.000000e+00 : <scalar>
  %q = dgps.input "q" : <8>
  %k = dgps.input "k" : <8>
  %v = dgps.input "v" : <4>
  %P = dgps.state "P" : <8x8>
  %C = dgps.state "C" : <4x8>
  %1 = dgps.matvec %P, %k : <8x8>, <8>
  %2 = dgps.outer %1, %1 : <8>, <8>
  %3 = dgps.dot %q, %1 : <8>
  %4 = dgps.add %3, %0 : <scalar>, <scalar>
  %5 = dgps.div %2, %4 : <8x8>, <scalar>
  %6 = dgps.sub %P, %5 : <8x8>, <8x8>
  %7 = dgps.outer %v, %k : <4>, <8>
  %8 = dgps.add %C, %7 : <4x8>, <4x8>
  %9 = dgps.matvec %6, %q : <8x8>, <8>
  %10 = dgps.matvec %8, %9 : <4x8>, <8>
  dgps.output "o" %10 : <4>
  dgps.next %P, %6 : <8x8>
  dgps.next %C, %8 : <4x8>
}

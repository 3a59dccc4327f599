// RUN: recur-opt %s --split-input-file --convert-dgps-to-chunk=chunk=16 --canonicalize --cse --chunk-dead-streams | FileCheck %s --implicit-check-not=chunk.interaction --implicit-check-not=chunk.solve

// The output reads the state before the token and adds a bonus for the token itself.
// CHECK-LABEL: chunk.program @rwkv6 {K = 8 : i64, V = 4 : i64} chunk 16 {
// CHECK: %S = chunk.state "S" : tensor<4x8xf32>
// CHECK: %[[V0:[a-z0-9_]+]] = chunk.cumulative_decay total log(%w) : tensor<16x8xf32>
// CHECK: %[[V1:[a-z0-9_]+]] = chunk.cumulative_decay after log(%w) : tensor<16x8xf32>
// CHECK: %[[V2:[a-z0-9_]+]] = chunk.map mul %[[V1]], %k : tensor<16x8xf32>, tensor<16x8xf32>
// CHECK: %[[V3:[a-z0-9_]+]] = chunk.advance %S, %v, %[[V2]] columns(%[[V0]] : tensor<1x8xf32>) : tensor<4x8xf32>, tensor<16x4xf32>, tensor<16x8xf32>
// CHECK: %[[V4:[a-z0-9_]+]] = chunk.cumulative_decay before log(%w) : tensor<16x8xf32>
// CHECK: %[[V5:[a-z0-9_]+]] = chunk.map mul %[[V4]], %r : tensor<16x8xf32>, tensor<16x8xf32>
// CHECK: %[[V6:[a-z0-9_]+]] = chunk.read %[[V5]], %S : tensor<16x8xf32>, tensor<4x8xf32>
// CHECK: %[[V7:[a-z0-9_]+]] = chunk.interaction %r, %k before decay log(%w : tensor<16x8xf32>) : tensor<16x8xf32>, tensor<16x8xf32>
// CHECK: %[[V8:[a-z0-9_]+]] = chunk.apply %[[V7]], %v : tensor<16x16xf32>, tensor<16x4xf32>
// CHECK: %[[V9:[a-z0-9_]+]] = chunk.map add %[[V6]], %[[V8]] : tensor<16x4xf32>, tensor<16x4xf32>
// CHECK: %[[V10:[a-z0-9_]+]] = chunk.map mul %u, %k : tensor<1x8xf32>, tensor<16x8xf32>
// CHECK: %[[V11:[a-z0-9_]+]] = chunk.map dot %r, %[[V10]] : tensor<16x8xf32>, tensor<16x8xf32>
// CHECK: %[[V12:[a-z0-9_]+]] = chunk.map mul %[[V11]], %v : tensor<16xf32>, tensor<16x4xf32>
// CHECK: %[[V13:[a-z0-9_]+]] = chunk.map add %[[V9]], %[[V12]] : tensor<16x4xf32>, tensor<16x4xf32>
// CHECK: chunk.output "o" %[[V13]] : tensor<16x4xf32>
// CHECK: chunk.next %S, %[[V3]] : tensor<4x8xf32>
dgps.recurrence @rwkv6 {K = 8 : i64, V = 4 : i64} {
  %r = dgps.input "r" : <8>
  %k = dgps.input "k" : <8>
  %v = dgps.input "v" : <4>
  %w = dgps.input "w" : <8>
  %u = dgps.param "u" : <8>
  %S = dgps.state "S" : <4x8>
  %0 = dgps.matvec %S, %r : <4x8>, <8>
  %1 = dgps.mul %u, %k : <8>, <8>
  %2 = dgps.dot %r, %1 : <8>
  %3 = dgps.mul %2, %v : <scalar>, <4>
  %4 = dgps.add %0, %3 : <4>, <4>
  dgps.output "o" %4 : <4>
  %5 = dgps.exp %w : <8>
  %6 = dgps.scale_cols %S, %5 : <4x8>, <8>
  %7 = dgps.outer %v, %k : <4>, <8>
  %8 = dgps.add %6, %7 : <4x8>, <4x8>
  dgps.next %S, %8 : <4x8>
}

// -----

// Conjugate gradients: the matrix is applied by one more linear attention, and never formed.
// CHECK-LABEL: chunk.program @mesa_net {K = 8 : i64, V = 4 : i64} chunk 16 {
// CHECK: %G = chunk.state "G" : tensor<8x8xf32>
// CHECK: %S = chunk.state "S" : tensor<4x8xf32>
// CHECK: %[[V0:[a-z0-9_]+]] = chunk.map mul %beta, %k : tensor<16xf32>, tensor<16x8xf32>
// CHECK: %[[V1:[a-z0-9_]+]] = chunk.cumulative_decay total log(%g) : tensor<16xf32>
// CHECK: %[[V2:[a-z0-9_]+]] = chunk.cumulative_decay after log(%g) : tensor<16xf32>
// CHECK: %[[V3:[a-z0-9_]+]] = chunk.map mul %[[V2]], %k : tensor<16xf32>, tensor<16x8xf32>
// CHECK: %[[V4:[a-z0-9_]+]] = chunk.advance %G, %[[V0]], %[[V3]] columns(%[[V1]] : tensor<1xf32>) : tensor<8x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>
// CHECK: %[[V5:[a-z0-9_]+]] = chunk.map mul %beta, %v : tensor<16xf32>, tensor<16x4xf32>
// CHECK: %[[V6:[a-z0-9_]+]] = chunk.advance %S, %[[V5]], %[[V3]] columns(%[[V1]] : tensor<1xf32>) : tensor<4x8xf32>, tensor<16x4xf32>, tensor<16x8xf32>
// CHECK: %[[V7:[a-z0-9_]+]] = chunk.cumulative_decay through log(%g) : tensor<16xf32>
// CHECK: %[[V8:[a-z0-9_]+]] = chunk.cg %q ridge %ridge iterations 30 : tensor<16x8xf32>, tensor<1x8xf32> {
// CHECK: ^bb0(%[[V9:[a-z0-9_]+]]: tensor<16x8xf32>):
// CHECK: %[[V10:[a-z0-9_]+]] = chunk.map mul %[[V7]], %[[V9]] : tensor<16xf32>, tensor<16x8xf32>
// CHECK: %[[V11:[a-z0-9_]+]] = chunk.read %[[V10]], %G : tensor<16x8xf32>, tensor<8x8xf32>
// CHECK: %[[V12:[a-z0-9_]+]] = chunk.interaction %[[V9]], %k inclusive decay log(%g : tensor<16xf32>) : tensor<16x8xf32>, tensor<16x8xf32>
// CHECK: %[[V13:[a-z0-9_]+]] = chunk.apply %[[V12]], %[[V0]] : tensor<16x16xf32>, tensor<16x8xf32>
// CHECK: %[[V14:[a-z0-9_]+]] = chunk.map add %[[V11]], %[[V13]] : tensor<16x8xf32>, tensor<16x8xf32>
// CHECK: chunk.yield %[[V14]] : tensor<16x8xf32>
// CHECK: %[[V15:[a-z0-9_]+]] = chunk.map mul %[[V7]], %[[V8]] : tensor<16xf32>, tensor<16x8xf32>
// CHECK: %[[V16:[a-z0-9_]+]] = chunk.read %[[V15]], %S : tensor<16x8xf32>, tensor<4x8xf32>
// CHECK: %[[V17:[a-z0-9_]+]] = chunk.interaction %[[V8]], %k inclusive decay log(%g : tensor<16xf32>) : tensor<16x8xf32>, tensor<16x8xf32>
// CHECK: %[[V18:[a-z0-9_]+]] = chunk.apply %[[V17]], %[[V5]] : tensor<16x16xf32>, tensor<16x4xf32>
// CHECK: %[[V19:[a-z0-9_]+]] = chunk.map add %[[V16]], %[[V18]] : tensor<16x4xf32>, tensor<16x4xf32>
// CHECK: chunk.output "o" %[[V19]] : tensor<16x4xf32>
// CHECK: chunk.next %G, %[[V4]] : tensor<8x8xf32>
// CHECK: chunk.next %S, %[[V6]] : tensor<4x8xf32>
dgps.recurrence @mesa_net {K = 8 : i64, V = 4 : i64} {
  %q = dgps.input "q" : <8>
  %k = dgps.input "k" : <8>
  %v = dgps.input "v" : <4>
  %g = dgps.input "g" : <scalar>
  %beta = dgps.input "beta" : <scalar>
  %ridge = dgps.param "ridge" : <8>
  %G = dgps.state "G" : <8x8>
  %S = dgps.state "S" : <4x8>
  %0 = dgps.exp %g : <scalar>
  %1 = dgps.mul %0, %G : <scalar>, <8x8>
  %2 = dgps.outer %k, %k : <8>, <8>
  %3 = dgps.mul %beta, %2 : <scalar>, <8x8>
  %4 = dgps.add %1, %3 : <8x8>, <8x8>
  %5 = dgps.mul %0, %S : <scalar>, <4x8>
  %6 = dgps.outer %v, %k : <4>, <8>
  %7 = dgps.mul %beta, %6 : <scalar>, <4x8>
  %8 = dgps.add %5, %7 : <4x8>, <4x8>
  %9 = dgps.cg %4, %q ridge %ridge iterations 30 : <8x8>, <8>, <8>
  %10 = dgps.matvec %8, %9 : <4x8>, <8>
  dgps.output "o" %10 : <4>
  dgps.next %G, %4 : <8x8>
  dgps.next %S, %8 : <4x8>
}

// -----

// A state of one value channel is the only row of a matrix. A decay of unknown sign stays as it is.
// CHECK-LABEL: chunk.program @vector_delta {K = 8 : i64} chunk 16 {
// CHECK-DAG: %[[C0:.*]] = chunk.constant 1.000000e+00 : tensor<16x1xf32>
// CHECK: %w = chunk.state "w" : tensor<8xf32>
// CHECK: %[[V1:[a-z0-9_]+]] = chunk.reshape_state %w : tensor<8xf32> to tensor<1x8xf32>
// CHECK: %[[V2:[a-z0-9_]+]] = chunk.map mul %v, %[[C0]] : tensor<16xf32>, tensor<16x1xf32>
// CHECK: %[[V3:[a-z0-9_]+]] = chunk.cumulative_decay through linear(%a) : tensor<16xf32>
// CHECK: %[[V4:[a-z0-9_]+]] = chunk.map mul %[[V3]], %k : tensor<16xf32>, tensor<16x8xf32>
// CHECK: %[[V5:[a-z0-9_]+]] = chunk.read %[[V4]], %[[V1]] : tensor<16x8xf32>, tensor<1x8xf32>
// CHECK: %[[V6:[a-z0-9_]+]] = chunk.interaction %k, %k strict decay linear(%a : tensor<16xf32>) : tensor<16x8xf32>, tensor<16x8xf32>
// CHECK: %[[V7:[a-z0-9_]+]] = chunk.map sub %[[V2]], %[[V5]] : tensor<16x1xf32>, tensor<16x1xf32>
// CHECK: %[[V8:[a-z0-9_]+]] = chunk.solve %[[V6]], %[[V7]] : tensor<16x16xf32>, tensor<16x1xf32>
// CHECK: %[[V9:[a-z0-9_]+]] = chunk.cumulative_decay total linear(%a) : tensor<16xf32>
// CHECK: %[[V10:[a-z0-9_]+]] = chunk.cumulative_decay after linear(%a) : tensor<16xf32>
// CHECK: %[[V11:[a-z0-9_]+]] = chunk.map mul %[[V10]], %k : tensor<16xf32>, tensor<16x8xf32>
// CHECK: %[[V12:[a-z0-9_]+]] = chunk.advance %[[V1]], %[[V8]], %[[V11]] columns(%[[V9]] : tensor<1xf32>) : tensor<1x8xf32>, tensor<16x1xf32>, tensor<16x8xf32>
// CHECK: %[[V13:[a-z0-9_]+]] = chunk.reshape_state %[[V12]] : tensor<1x8xf32> to tensor<8xf32>
// CHECK: %[[V14:[a-z0-9_]+]] = chunk.apply %[[V6]], %[[V8]] : tensor<16x16xf32>, tensor<16x1xf32>
// CHECK: %[[V15:[a-z0-9_]+]] = chunk.map add %[[V5]], %[[V14]] : tensor<16x1xf32>, tensor<16x1xf32>
// CHECK: %[[V16:[a-z0-9_]+]] = chunk.extract %[[V15]][0] : tensor<16x1xf32>
// CHECK: chunk.output "p" %[[V16]] : tensor<16xf32>
// CHECK: chunk.next %w, %[[V13]] : tensor<8xf32>
dgps.recurrence @vector_delta {K = 8 : i64} {
  %k = dgps.input "k" : <8>
  %v = dgps.input "v" : <scalar>
  %a = dgps.input "a" : <scalar>
  %w = dgps.state "w" : <8>
  %wd = dgps.mul %a, %w : <scalar>, <8>
  %p = dgps.dot %wd, %k : <8>
  %e = dgps.sub %v, %p : <scalar>, <scalar>
  %u = dgps.mul %e, %k : <scalar>, <8>
  %w1 = dgps.add %wd, %u : <8>, <8>
  dgps.output "p" %p : <scalar>
  dgps.next %w, %w1 : <8>
}

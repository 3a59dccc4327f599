// RUN: recur-opt %s --split-input-file --convert-dgps-to-chunk=chunk=16 --canonicalize --cse --chunk-dead-streams | FileCheck %s --implicit-check-not=chunk.interaction --implicit-check-not=chunk.solve
// RUN: recur-opt %s --split-input-file --convert-dgps-to-chunk="chunk=16 declared" | FileCheck %s --check-prefix=DECLARED

// One interaction, and no solve: nothing is erased.
// CHECK-LABEL: chunk.program @linear_attention {K = 8 : i64, V = 4 : i64} chunk 16 {
// CHECK-DAG: %[[C0:.*]] = chunk.constant 0.35355339059327373 : tensor<1xf32>
// CHECK: %S = chunk.state "S" : tensor<4x8xf32>
// CHECK: %[[V1:[a-z0-9_]+]] = chunk.advance %S, %v, %k : tensor<4x8xf32>, tensor<16x4xf32>, tensor<16x8xf32>
// CHECK: %[[V2:[a-z0-9_]+]] = chunk.read %q, %S : tensor<16x8xf32>, tensor<4x8xf32>
// CHECK: %[[V3:[a-z0-9_]+]] = chunk.interaction %q, %k inclusive : tensor<16x8xf32>, tensor<16x8xf32>
// CHECK: %[[V4:[a-z0-9_]+]] = chunk.apply %[[V3]], %v : tensor<16x16xf32>, tensor<16x4xf32>
// CHECK: %[[V5:[a-z0-9_]+]] = chunk.map add %[[V2]], %[[V4]] : tensor<16x4xf32>, tensor<16x4xf32>
// CHECK: %[[V6:[a-z0-9_]+]] = chunk.map mul %[[C0]], %[[V5]] : tensor<1xf32>, tensor<16x4xf32>
// CHECK: chunk.output "o" %[[V6]] : tensor<16x4xf32>
// CHECK: chunk.next %S, %[[V1]] : tensor<4x8xf32>
dgps.recurrence @linear_attention {K = 8 : i64, V = 4 : i64} {
  %0 = dgps.constant 0.35355339059327373 : <scalar>
  %q = dgps.input "q" : <8>
  %k = dgps.input "k" : <8>
  %v = dgps.input "v" : <4>
  %S = dgps.state "S" : <4x8>
  %1 = dgps.outer %v, %k : <4>, <8>
  %2 = dgps.add %S, %1 : <4x8>, <4x8>
  %3 = dgps.matvec %2, %q : <4x8>, <8>
  %4 = dgps.mul %3, %0 : <4>, <scalar>
  dgps.output "o" %4 : <4>
  dgps.next %S, %2 : <4x8>
}

// -----

// The gated delta rule: I + L, the right-hand side, U, the state after the chunk, the outputs.
// CHECK-LABEL: chunk.program @gated_delta_net {K = 8 : i64, V = 4 : i64} chunk 16 {
// CHECK-DAG: %[[C0:.*]] = chunk.constant 0.35355339059327373 : tensor<1xf32>
// CHECK: %S = chunk.state "S" : tensor<4x8xf32>
// CHECK: %[[V1:[a-z0-9_]+]] = chunk.cumulative_decay through log(%g) : tensor<16xf32>
// CHECK: %[[V2:[a-z0-9_]+]] = chunk.map mul %[[V1]], %k : tensor<16xf32>, tensor<16x8xf32>
// CHECK: %[[V3:[a-z0-9_]+]] = chunk.read %[[V2]], %S : tensor<16x8xf32>, tensor<4x8xf32>
// CHECK: %[[V4:[a-z0-9_]+]] = chunk.interaction %k, %k strict decay log(%g : tensor<16xf32>) : tensor<16x8xf32>, tensor<16x8xf32>
// CHECK: %[[V5:[a-z0-9_]+]] = chunk.map mul %beta, %[[V4]] : tensor<16xf32>, tensor<16x16xf32>
// CHECK: %[[V6:[a-z0-9_]+]] = chunk.map sub %v, %[[V3]] : tensor<16x4xf32>, tensor<16x4xf32>
// CHECK: %[[V7:[a-z0-9_]+]] = chunk.map mul %beta, %[[V6]] : tensor<16xf32>, tensor<16x4xf32>
// CHECK: %[[V8:[a-z0-9_]+]] = chunk.solve %[[V5]], %[[V7]] : tensor<16x16xf32>, tensor<16x4xf32>
// CHECK: %[[V9:[a-z0-9_]+]] = chunk.cumulative_decay total log(%g) : tensor<16xf32>
// CHECK: %[[V10:[a-z0-9_]+]] = chunk.cumulative_decay after log(%g) : tensor<16xf32>
// CHECK: %[[V11:[a-z0-9_]+]] = chunk.map mul %[[V10]], %k : tensor<16xf32>, tensor<16x8xf32>
// CHECK: %[[V12:[a-z0-9_]+]] = chunk.advance %S, %[[V8]], %[[V11]] columns(%[[V9]] : tensor<1xf32>) : tensor<4x8xf32>, tensor<16x4xf32>, tensor<16x8xf32>
// CHECK: %[[V13:[a-z0-9_]+]] = chunk.map mul %[[V1]], %q : tensor<16xf32>, tensor<16x8xf32>
// CHECK: %[[V14:[a-z0-9_]+]] = chunk.read %[[V13]], %S : tensor<16x8xf32>, tensor<4x8xf32>
// CHECK: %[[V15:[a-z0-9_]+]] = chunk.interaction %q, %k inclusive decay log(%g : tensor<16xf32>) : tensor<16x8xf32>, tensor<16x8xf32>
// CHECK: %[[V16:[a-z0-9_]+]] = chunk.apply %[[V15]], %[[V8]] : tensor<16x16xf32>, tensor<16x4xf32>
// CHECK: %[[V17:[a-z0-9_]+]] = chunk.map add %[[V14]], %[[V16]] : tensor<16x4xf32>, tensor<16x4xf32>
// CHECK: %[[V18:[a-z0-9_]+]] = chunk.map mul %[[C0]], %[[V17]] : tensor<1xf32>, tensor<16x4xf32>
// CHECK: chunk.output "o" %[[V18]] : tensor<16x4xf32>
// CHECK: chunk.next %S, %[[V12]] : tensor<4x8xf32>
dgps.recurrence @gated_delta_net {K = 8 : i64, V = 4 : i64} {
  %0 = dgps.constant 0.35355339059327373 : <scalar>
  %q = dgps.input "q" shared : <8>
  %k = dgps.input "k" shared : <8>
  %v = dgps.input "v" : <4>
  %g = dgps.input "g" : <scalar>
  %beta = dgps.input "beta" : <scalar>
  %S = dgps.state "S" : <4x8>
  %1 = dgps.exp %g : <scalar>
  %2 = dgps.mul %1, %S : <scalar>, <4x8>
  %3 = dgps.matvec %2, %k : <4x8>, <8>
  %4 = dgps.sub %v, %3 : <4>, <4>
  %5 = dgps.outer %4, %k : <4>, <8>
  %6 = dgps.mul %beta, %5 : <scalar>, <4x8>
  %7 = dgps.add %2, %6 : <4x8>, <4x8>
  %8 = dgps.matvec %7, %q : <4x8>, <8>
  %9 = dgps.mul %8, %0 : <4>, <scalar>
  dgps.output "o" %9 : <4>
  dgps.next %S, %7 : <4x8>
}

// -----

// Untied keys: the write that reads and the one that does not are streams of their own, and each meets both readers:
// four interactions. The read is of the state before the token's decay.
// CHECK-LABEL: chunk.program @dplr {K = 8 : i64, V = 4 : i64} chunk 16 {
// CHECK-DAG: %[[C0:.*]] = chunk.constant 0.35355339059327373 : tensor<1xf32>
// CHECK: %S = chunk.state "S" : tensor<4x8xf32>
// CHECK: %[[V1:[a-z0-9_]+]] = chunk.cumulative_decay before log(%g) : tensor<16x8xf32>
// CHECK: %[[V2:[a-z0-9_]+]] = chunk.map mul %[[V1]], %a : tensor<16x8xf32>, tensor<16x8xf32>
// CHECK: %[[V3:[a-z0-9_]+]] = chunk.read %[[V2]], %S : tensor<16x8xf32>, tensor<4x8xf32>
// CHECK: %[[V4:[a-z0-9_]+]] = chunk.interaction %a, %k before decay log(%g : tensor<16x8xf32>) : tensor<16x8xf32>, tensor<16x8xf32>
// CHECK: %[[V5:[a-z0-9_]+]] = chunk.apply %[[V4]], %v : tensor<16x16xf32>, tensor<16x4xf32>
// CHECK: %[[V6:[a-z0-9_]+]] = chunk.map add %[[V3]], %[[V5]] : tensor<16x4xf32>, tensor<16x4xf32>
// CHECK: %[[V7:[a-z0-9_]+]] = chunk.interaction %a, %b before decay log(%g : tensor<16x8xf32>) : tensor<16x8xf32>, tensor<16x8xf32>
// CHECK: %[[V8:[a-z0-9_]+]] = chunk.map neg %[[V7]] : tensor<16x16xf32>
// CHECK: %[[V9:[a-z0-9_]+]] = chunk.solve %[[V8]], %[[V6]] : tensor<16x16xf32>, tensor<16x4xf32>
// CHECK: %[[V10:[a-z0-9_]+]] = chunk.cumulative_decay total log(%g) : tensor<16x8xf32>
// CHECK: %[[V11:[a-z0-9_]+]] = chunk.cumulative_decay after log(%g) : tensor<16x8xf32>
// CHECK: %[[V12:[a-z0-9_]+]] = chunk.map mul %[[V11]], %b : tensor<16x8xf32>, tensor<16x8xf32>
// CHECK: %[[V13:[a-z0-9_]+]] = chunk.advance %S, %[[V9]], %[[V12]] columns(%[[V10]] : tensor<1x8xf32>) : tensor<4x8xf32>, tensor<16x4xf32>, tensor<16x8xf32>
// CHECK: %[[V14:[a-z0-9_]+]] = chunk.map mul %[[V11]], %k : tensor<16x8xf32>, tensor<16x8xf32>
// CHECK: %[[V15:[a-z0-9_]+]] = chunk.advance %[[V13]], %v, %[[V14]] : tensor<4x8xf32>, tensor<16x4xf32>, tensor<16x8xf32>
// CHECK: %[[V16:[a-z0-9_]+]] = chunk.cumulative_decay through log(%g) : tensor<16x8xf32>
// CHECK: %[[V17:[a-z0-9_]+]] = chunk.map mul %[[V16]], %q : tensor<16x8xf32>, tensor<16x8xf32>
// CHECK: %[[V18:[a-z0-9_]+]] = chunk.read %[[V17]], %S : tensor<16x8xf32>, tensor<4x8xf32>
// CHECK: %[[V19:[a-z0-9_]+]] = chunk.interaction %q, %b inclusive decay log(%g : tensor<16x8xf32>) : tensor<16x8xf32>, tensor<16x8xf32>
// CHECK: %[[V20:[a-z0-9_]+]] = chunk.apply %[[V19]], %[[V9]] : tensor<16x16xf32>, tensor<16x4xf32>
// CHECK: %[[V21:[a-z0-9_]+]] = chunk.map add %[[V18]], %[[V20]] : tensor<16x4xf32>, tensor<16x4xf32>
// CHECK: %[[V22:[a-z0-9_]+]] = chunk.interaction %q, %k inclusive decay log(%g : tensor<16x8xf32>) : tensor<16x8xf32>, tensor<16x8xf32>
// CHECK: %[[V23:[a-z0-9_]+]] = chunk.apply %[[V22]], %v : tensor<16x16xf32>, tensor<16x4xf32>
// CHECK: %[[V24:[a-z0-9_]+]] = chunk.map add %[[V21]], %[[V23]] : tensor<16x4xf32>, tensor<16x4xf32>
// CHECK: %[[V25:[a-z0-9_]+]] = chunk.map mul %[[C0]], %[[V24]] : tensor<1xf32>, tensor<16x4xf32>
// CHECK: chunk.output "o" %[[V25]] : tensor<16x4xf32>
// CHECK: chunk.next %S, %[[V15]] : tensor<4x8xf32>
dgps.recurrence @dplr {K = 8 : i64, V = 4 : i64} {
  %0 = dgps.constant 0.35355339059327373 : <scalar>
  %q = dgps.input "q" : <8>
  %k = dgps.input "k" : <8>
  %v = dgps.input "v" : <4>
  %a = dgps.input "a" : <8>
  %b = dgps.input "b" : <8>
  %g = dgps.input "g" : <8>
  %S = dgps.state "S" : <4x8>
  %1 = dgps.exp %g : <8>
  %2 = dgps.scale_cols %S, %1 : <4x8>, <8>
  %3 = dgps.matvec %S, %a : <4x8>, <8>
  %4 = dgps.outer %3, %b : <4>, <8>
  %5 = dgps.add %2, %4 : <4x8>, <4x8>
  %6 = dgps.outer %v, %k : <4>, <8>
  %7 = dgps.add %5, %6 : <4x8>, <4x8>
  %8 = dgps.matvec %7, %q : <4x8>, <8>
  %9 = dgps.mul %8, %0 : <4>, <scalar>
  dgps.output "o" %9 : <4>
  dgps.next %S, %7 : <4x8>
}

// -----

// Two steps a token are two rows a token: one triangle of twice the height.
// CHECK-LABEL: chunk.program @delta_product {K = 8 : i64, N = 2 : i64, V = 4 : i64} chunk 16 {
// CHECK-DAG: %[[C0:.*]] = chunk.constant 0.35355339059327373 : tensor<1xf32>
// CHECK: %S = chunk.state "S" : tensor<4x8xf32>
// CHECK: %[[V1:[a-z0-9_]+]] = chunk.extract %k[0] : tensor<16x2x8xf32>
// CHECK: %[[V2:[a-z0-9_]+]] = chunk.extract %k[1] : tensor<16x2x8xf32>
// CHECK: %[[V3:[a-z0-9_]+]] = chunk.interleave %[[V1]], %[[V2]] : tensor<16x8xf32>, tensor<16x8xf32>
// CHECK: %[[V4:[a-z0-9_]+]] = chunk.extract %v[0] : tensor<16x2x4xf32>
// CHECK: %[[V5:[a-z0-9_]+]] = chunk.extract %v[1] : tensor<16x2x4xf32>
// CHECK: %[[V6:[a-z0-9_]+]] = chunk.interleave %[[V4]], %[[V5]] : tensor<16x4xf32>, tensor<16x4xf32>
// CHECK: %[[V7:[a-z0-9_]+]] = chunk.extract %beta[0] : tensor<16x2xf32>
// CHECK: %[[V8:[a-z0-9_]+]] = chunk.extract %beta[1] : tensor<16x2xf32>
// CHECK: %[[V9:[a-z0-9_]+]] = chunk.read %[[V3]], %S : tensor<32x8xf32>, tensor<4x8xf32>
// CHECK: %[[V10:[a-z0-9_]+]] = chunk.interaction %[[V3]], %[[V3]] points [0, 1] of [0, 1] : tensor<32x8xf32>, tensor<32x8xf32>
// CHECK: %[[V11:[a-z0-9_]+]] = chunk.interleave %[[V7]], %[[V8]] : tensor<16xf32>, tensor<16xf32>
// CHECK: %[[V12:[a-z0-9_]+]] = chunk.map mul %[[V11]], %[[V10]] : tensor<32xf32>, tensor<32x32xf32>
// CHECK: %[[V13:[a-z0-9_]+]] = chunk.map sub %[[V6]], %[[V9]] : tensor<32x4xf32>, tensor<32x4xf32>
// CHECK: %[[V14:[a-z0-9_]+]] = chunk.map mul %[[V11]], %[[V13]] : tensor<32xf32>, tensor<32x4xf32>
// CHECK: %[[V15:[a-z0-9_]+]] = chunk.solve %[[V12]], %[[V14]] : tensor<32x32xf32>, tensor<32x4xf32>
// CHECK: %[[V16:[a-z0-9_]+]] = chunk.advance %S, %[[V15]], %[[V3]] : tensor<4x8xf32>, tensor<32x4xf32>, tensor<32x8xf32>
// CHECK: %[[V17:[a-z0-9_]+]] = chunk.read %q, %S : tensor<16x8xf32>, tensor<4x8xf32>
// CHECK: %[[V18:[a-z0-9_]+]] = chunk.interaction %q, %[[V3]] points [2] of [0, 1] : tensor<16x8xf32>, tensor<32x8xf32>
// CHECK: %[[V19:[a-z0-9_]+]] = chunk.apply %[[V18]], %[[V15]] : tensor<16x32xf32>, tensor<32x4xf32>
// CHECK: %[[V20:[a-z0-9_]+]] = chunk.map add %[[V17]], %[[V19]] : tensor<16x4xf32>, tensor<16x4xf32>
// CHECK: %[[V21:[a-z0-9_]+]] = chunk.map mul %[[C0]], %[[V20]] : tensor<1xf32>, tensor<16x4xf32>
// CHECK: chunk.output "o" %[[V21]] : tensor<16x4xf32>
// CHECK: chunk.next %S, %[[V16]] : tensor<4x8xf32>
dgps.recurrence @delta_product {K = 8 : i64, N = 2 : i64, V = 4 : i64} {
  %0 = dgps.constant 0.35355339059327373 : <scalar>
  %q = dgps.input "q" : <8>
  %k = dgps.input "k" : <2x8>
  %v = dgps.input "v" : <2x4>
  %beta = dgps.input "beta" : <2>
  %S = dgps.state "S" : <4x8>
  %1 = dgps.extract %beta[0] : <2>
  %2 = dgps.extract %v[0] : <2x4>
  %3 = dgps.extract %k[0] : <2x8>
  %4 = dgps.matvec %S, %3 : <4x8>, <8>
  %5 = dgps.sub %2, %4 : <4>, <4>
  %6 = dgps.outer %5, %3 : <4>, <8>
  %7 = dgps.mul %1, %6 : <scalar>, <4x8>
  %8 = dgps.add %S, %7 : <4x8>, <4x8>
  %9 = dgps.extract %beta[1] : <2>
  %10 = dgps.extract %v[1] : <2x4>
  %11 = dgps.extract %k[1] : <2x8>
  %12 = dgps.matvec %8, %11 : <4x8>, <8>
  %13 = dgps.sub %10, %12 : <4>, <4>
  %14 = dgps.outer %13, %11 : <4>, <8>
  %15 = dgps.mul %9, %14 : <scalar>, <4x8>
  %16 = dgps.add %8, %15 : <4x8>, <4x8>
  %17 = dgps.matvec %16, %q : <4x8>, <8>
  %18 = dgps.mul %17, %0 : <4>, <scalar>
  dgps.output "o" %18 : <4>
  dgps.next %S, %16 : <4x8>
}

// -----

// The write key is the read key times a statistic of the keys so far: still two interactions.
// CHECK-LABEL: chunk.program @pgdn {K = 8 : i64, V = 4 : i64} chunk 16 {
// CHECK-DAG: %[[C0:.*]] = chunk.constant 0.35355339059327373 : tensor<1xf32>
// CHECK-DAG: %[[C1:.*]] = chunk.constant 1.000000e+00 : tensor<1xf32>
// CHECK-DAG: %[[C2:.*]] = chunk.constant -0.40546510810816438 : tensor<1xf32>
// CHECK-DAG: %[[C3:.*]] = chunk.constant 9.9999999999999995E-7 : tensor<1xf32>
// CHECK: %A = chunk.state "A" : tensor<8xf32>
// CHECK: %S = chunk.state "S" : tensor<4x8xf32>
// CHECK: %[[V4:[a-z0-9_]+]] = chunk.map mul %beta_p, %k : tensor<16xf32>, tensor<16x8xf32>
// CHECK: %[[V5:[a-z0-9_]+]] = chunk.map mul %[[V4]], %k : tensor<16x8xf32>, tensor<16x8xf32>
// CHECK: %[[V6:[a-z0-9_]+]], %[[V7:[a-z0-9_]+]] = chunk.scan %A, %[[V5]] decay log(%g_p : tensor<16xf32>) : tensor<8xf32>, tensor<16x8xf32>
// CHECK: %[[V8:[a-z0-9_]+]] = chunk.map add %[[V6]], %[[C3]] : tensor<16x8xf32>, tensor<1xf32>
// CHECK: %[[V9:[a-z0-9_]+]] = chunk.map log %[[V8]] : tensor<16x8xf32>
// CHECK: %[[V10:[a-z0-9_]+]] = chunk.map sub %[[V9]], %mu : tensor<16x8xf32>, tensor<1xf32>
// CHECK: %[[V11:[a-z0-9_]+]] = chunk.map mul %[[V10]], %[[C2]] : tensor<16x8xf32>, tensor<1xf32>
// CHECK: %[[V12:[a-z0-9_]+]] = chunk.map abs %[[V10]] : tensor<16x8xf32>
// CHECK: %[[V13:[a-z0-9_]+]] = chunk.map add %[[V12]], %[[C1]] : tensor<16x8xf32>, tensor<1xf32>
// CHECK: %[[V14:[a-z0-9_]+]] = chunk.map div %[[V11]], %[[V13]] : tensor<16x8xf32>, tensor<16x8xf32>
// CHECK: %[[V15:[a-z0-9_]+]] = chunk.map exp %[[V14]] : tensor<16x8xf32>
// CHECK: %[[V16:[a-z0-9_]+]] = chunk.map mul %[[V15]], %k : tensor<16x8xf32>, tensor<16x8xf32>
// CHECK: %[[V17:[a-z0-9_]+]] = chunk.cumulative_decay through log(%g) : tensor<16xf32>
// CHECK: %[[V18:[a-z0-9_]+]] = chunk.map mul %[[V17]], %k : tensor<16xf32>, tensor<16x8xf32>
// CHECK: %[[V19:[a-z0-9_]+]] = chunk.read %[[V18]], %S : tensor<16x8xf32>, tensor<4x8xf32>
// CHECK: %[[V20:[a-z0-9_]+]] = chunk.interaction %k, %[[V16]] strict decay log(%g : tensor<16xf32>) : tensor<16x8xf32>, tensor<16x8xf32>
// CHECK: %[[V21:[a-z0-9_]+]] = chunk.map mul %beta, %[[V20]] : tensor<16xf32>, tensor<16x16xf32>
// CHECK: %[[V22:[a-z0-9_]+]] = chunk.map sub %v, %[[V19]] : tensor<16x4xf32>, tensor<16x4xf32>
// CHECK: %[[V23:[a-z0-9_]+]] = chunk.map mul %beta, %[[V22]] : tensor<16xf32>, tensor<16x4xf32>
// CHECK: %[[V24:[a-z0-9_]+]] = chunk.solve %[[V21]], %[[V23]] : tensor<16x16xf32>, tensor<16x4xf32>
// CHECK: %[[V25:[a-z0-9_]+]] = chunk.cumulative_decay total log(%g) : tensor<16xf32>
// CHECK: %[[V26:[a-z0-9_]+]] = chunk.cumulative_decay after log(%g) : tensor<16xf32>
// CHECK: %[[V27:[a-z0-9_]+]] = chunk.map mul %[[V26]], %[[V16]] : tensor<16xf32>, tensor<16x8xf32>
// CHECK: %[[V28:[a-z0-9_]+]] = chunk.advance precise %S, %[[V24]], %[[V27]] columns(%[[V25]] : tensor<1xf32>) : tensor<4x8xf32>, tensor<16x4xf32>, tensor<16x8xf32>
// CHECK: %[[V29:[a-z0-9_]+]] = chunk.map mul %[[V17]], %q : tensor<16xf32>, tensor<16x8xf32>
// CHECK: %[[V30:[a-z0-9_]+]] = chunk.read %[[V29]], %S : tensor<16x8xf32>, tensor<4x8xf32>
// CHECK: %[[V31:[a-z0-9_]+]] = chunk.interaction %q, %[[V16]] inclusive decay log(%g : tensor<16xf32>) : tensor<16x8xf32>, tensor<16x8xf32>
// CHECK: %[[V32:[a-z0-9_]+]] = chunk.apply %[[V31]], %[[V24]] : tensor<16x16xf32>, tensor<16x4xf32>
// CHECK: %[[V33:[a-z0-9_]+]] = chunk.map add %[[V30]], %[[V32]] : tensor<16x4xf32>, tensor<16x4xf32>
// CHECK: %[[V34:[a-z0-9_]+]] = chunk.map mul %[[C0]], %[[V33]] : tensor<1xf32>, tensor<16x4xf32>
// CHECK: chunk.output "o" %[[V34]] : tensor<16x4xf32>
// CHECK: chunk.next %A, %[[V7]] : tensor<8xf32>
// CHECK: chunk.next %S, %[[V28]] : tensor<4x8xf32>
dgps.recurrence @pgdn {K = 8 : i64, V = 4 : i64} {
  %0 = dgps.constant -0.40546510810816438 : <scalar>
  %1 = dgps.constant 0.35355339059327373 : <scalar>
  %2 = dgps.constant 1.000000e+00 : <scalar>
  %3 = dgps.constant 9.9999999999999995E-7 : <scalar>
  %q = dgps.input "q" : <8>
  %k = dgps.input "k" : <8>
  %v = dgps.input "v" : <4>
  %g = dgps.input "g" : <scalar>
  %beta = dgps.input "beta" : <scalar>
  %g_p = dgps.input "g_p" : <scalar>
  %beta_p = dgps.input "beta_p" : <scalar>
  %mu = dgps.param "mu" : <scalar>
  %A = dgps.state "A" : <8>
  %4 = dgps.exp %g_p : <scalar>
  %5 = dgps.mul %4, %A : <scalar>, <8>
  %6 = dgps.mul %beta_p, %k : <scalar>, <8>
  %7 = dgps.mul %6, %k : <8>, <8>
  %8 = dgps.add %5, %7 : <8>, <8>
  %9 = dgps.add %8, %3 : <8>, <scalar>
  %10 = dgps.log %9 : <8>
  %11 = dgps.sub %10, %mu : <8>, <scalar>
  %12 = dgps.mul %11, %0 : <8>, <scalar>
  %13 = dgps.abs %11 : <8>
  %14 = dgps.add %13, %2 : <8>, <scalar>
  %15 = dgps.div %12, %14 : <8>, <8>
  %16 = dgps.exp %15 : <8>
  %S = dgps.state "S" : <4x8>
  %17 = dgps.exp %g : <scalar>
  %18 = dgps.mul %17, %S : <scalar>, <4x8>
  %19 = dgps.matvec %18, %k : <4x8>, <8>
  %20 = dgps.sub %v, %19 : <4>, <4>
  %21 = dgps.mul %16, %k : <8>, <8>
  %22 = dgps.outer %20, %21 : <4>, <8>
  %23 = dgps.mul %beta, %22 : <scalar>, <4x8>
  %24 = dgps.add %18, %23 : <4x8>, <4x8>
  %25 = dgps.matvec %24, %q : <4x8>, <8>
  %26 = dgps.mul %25, %1 : <4>, <scalar>
  dgps.output "o" %26 : <4>
  dgps.next %A, %8 : <8>
  dgps.next %S, %24 : <4x8>
}

// -----

// A decay of each side: that of the value channels goes with the values.
// CHECK-LABEL: chunk.program @dfw {K = 8 : i64, V = 4 : i64} chunk 16 {
// CHECK: %S = chunk.state "S" : tensor<4x8xf32>
// CHECK: %[[V0:[a-z0-9_]+]] = chunk.map neg %a : tensor<16x8xf32>
// CHECK: %[[V1:[a-z0-9_]+]] = chunk.map softplus %[[V0]] : tensor<16x8xf32>
// CHECK: %[[V2:[a-z0-9_]+]] = chunk.map neg %[[V1]] : tensor<16x8xf32>
// CHECK: %[[V3:[a-z0-9_]+]] = chunk.map neg %b : tensor<16x4xf32>
// CHECK: %[[V4:[a-z0-9_]+]] = chunk.map softplus %[[V3]] : tensor<16x4xf32>
// CHECK: %[[V5:[a-z0-9_]+]] = chunk.map neg %[[V4]] : tensor<16x4xf32>
// CHECK: %[[V6:[a-z0-9_]+]] = chunk.cumulative_decay total log(%[[V2]]) : tensor<16x8xf32>
// CHECK: %[[V7:[a-z0-9_]+]] = chunk.cumulative_decay total log(%[[V5]]) : tensor<16x4xf32>
// CHECK: %[[V8:[a-z0-9_]+]] = chunk.cumulative_decay after log(%[[V5]]) : tensor<16x4xf32>
// CHECK: %[[V9:[a-z0-9_]+]] = chunk.map mul %[[V8]], %v : tensor<16x4xf32>, tensor<16x4xf32>
// CHECK: %[[V10:[a-z0-9_]+]] = chunk.cumulative_decay after log(%[[V2]]) : tensor<16x8xf32>
// CHECK: %[[V11:[a-z0-9_]+]] = chunk.map mul %[[V10]], %k : tensor<16x8xf32>, tensor<16x8xf32>
// CHECK: %[[V12:[a-z0-9_]+]] = chunk.advance %S, %[[V9]], %[[V11]] columns(%[[V6]] : tensor<1x8xf32>) rows(%[[V7]] : tensor<1x4xf32>) : tensor<4x8xf32>, tensor<16x4xf32>, tensor<16x8xf32>
// CHECK: %[[V13:[a-z0-9_]+]] = chunk.cumulative_decay through log(%[[V2]]) : tensor<16x8xf32>
// CHECK: %[[V14:[a-z0-9_]+]] = chunk.map mul %[[V13]], %q : tensor<16x8xf32>, tensor<16x8xf32>
// CHECK: %[[V15:[a-z0-9_]+]] = chunk.read %[[V14]], %S : tensor<16x8xf32>, tensor<4x8xf32>
// CHECK: %[[V16:[a-z0-9_]+]] = chunk.cumulative_decay through log(%[[V5]]) : tensor<16x4xf32>
// CHECK: %[[V17:[a-z0-9_]+]] = chunk.map mul %[[V16]], %[[V15]] : tensor<16x4xf32>, tensor<16x4xf32>
// CHECK: %[[V18:[a-z0-9_]+]] = chunk.interaction %q, %k inclusive decay log(%[[V2]] : tensor<16x8xf32>) : tensor<16x8xf32>, tensor<16x8xf32>
// CHECK: %[[V19:[a-z0-9_]+]] = chunk.apply %[[V18]], %v inclusive decay log(%[[V5]] : tensor<16x4xf32>) : tensor<16x16xf32>, tensor<16x4xf32>
// CHECK: %[[V20:[a-z0-9_]+]] = chunk.map add %[[V17]], %[[V19]] : tensor<16x4xf32>, tensor<16x4xf32>
// CHECK: chunk.output "o" %[[V20]] : tensor<16x4xf32>
// CHECK: chunk.next %S, %[[V12]] : tensor<4x8xf32>
dgps.recurrence @dfw {K = 8 : i64, V = 4 : i64} {
  %q = dgps.input "q" : <8>
  %k = dgps.input "k" : <8>
  %v = dgps.input "v" : <4>
  %a = dgps.input "a" : <8>
  %b = dgps.input "b" : <4>
  %S = dgps.state "S" : <4x8>
  %0 = dgps.sigmoid %b : <4>
  %1 = dgps.scale_rows %0, %S : <4>, <4x8>
  %2 = dgps.sigmoid %a : <8>
  %3 = dgps.scale_cols %1, %2 : <4x8>, <8>
  %4 = dgps.outer %v, %k : <4>, <8>
  %5 = dgps.add %3, %4 : <4x8>, <4x8>
  %6 = dgps.matvec %5, %q : <4x8>, <8>
  dgps.output "o" %6 : <4>
  dgps.next %S, %5 : <4x8>
}

// -----

// Of a state that is read from the left the program has the transpose: keys are columns of every state. As declared, it is
// read and advanced as it is.
// DECLARED-LABEL: chunk.program @abc {K = 8 : i64, M = 3 : i64, V = 4 : i64} chunk 16 {
// DECLARED: %Sk = chunk.state "Sk" : tensor<8x3xf32>
// DECLARED: chunk.advance %Sk, %k, %phi : tensor<8x3xf32>, tensor<16x8xf32>, tensor<16x3xf32>
// DECLARED: chunk.read left %q, %Sk : tensor<16x8xf32>, tensor<8x3xf32>
// CHECK-LABEL: chunk.program @abc {K = 8 : i64, M = 3 : i64, V = 4 : i64} chunk 16 {
// CHECK-DAG: %[[C0:.*]] = chunk.constant 0.35355339059327373 : tensor<1xf32>
// CHECK: %Sk = chunk.state "Sk" transposed : tensor<3x8xf32>
// CHECK: %Sv = chunk.state "Sv" : tensor<4x3xf32>
// CHECK: %[[V1:[a-z0-9_]+]] = chunk.advance %Sk, %phi, %k : tensor<3x8xf32>, tensor<16x3xf32>, tensor<16x8xf32>
// CHECK: %[[V2:[a-z0-9_]+]] = chunk.advance %Sv, %v, %phi : tensor<4x3xf32>, tensor<16x4xf32>, tensor<16x3xf32>
// CHECK: %[[V3:[a-z0-9_]+]] = chunk.read %q, %Sk : tensor<16x8xf32>, tensor<3x8xf32>
// CHECK: %[[V4:[a-z0-9_]+]] = chunk.interaction %q, %k inclusive : tensor<16x8xf32>, tensor<16x8xf32>
// CHECK: %[[V5:[a-z0-9_]+]] = chunk.apply %[[V4]], %phi : tensor<16x16xf32>, tensor<16x3xf32>
// CHECK: %[[V6:[a-z0-9_]+]] = chunk.map add %[[V3]], %[[V5]] : tensor<16x3xf32>, tensor<16x3xf32>
// CHECK: %[[V7:[a-z0-9_]+]] = chunk.map mul %[[C0]], %[[V6]] : tensor<1xf32>, tensor<16x3xf32>
// CHECK: %[[V8:[a-z0-9_]+]] = chunk.map softmax %[[V7]] : tensor<16x3xf32>
// CHECK: %[[V9:[a-z0-9_]+]] = chunk.read %[[V8]], %Sv : tensor<16x3xf32>, tensor<4x3xf32>
// CHECK: %[[V10:[a-z0-9_]+]] = chunk.interaction %[[V8]], %phi inclusive : tensor<16x3xf32>, tensor<16x3xf32>
// CHECK: %[[V11:[a-z0-9_]+]] = chunk.apply %[[V10]], %v : tensor<16x16xf32>, tensor<16x4xf32>
// CHECK: %[[V12:[a-z0-9_]+]] = chunk.map add %[[V9]], %[[V11]] : tensor<16x4xf32>, tensor<16x4xf32>
// CHECK: chunk.output "o" %[[V12]] : tensor<16x4xf32>
// CHECK: chunk.next %Sk, %[[V1]] : tensor<3x8xf32>
// CHECK: chunk.next %Sv, %[[V2]] : tensor<4x3xf32>
dgps.recurrence @abc {K = 8 : i64, M = 3 : i64, V = 4 : i64} {
  %0 = dgps.constant 0.35355339059327373 : <scalar>
  %q = dgps.input "q" : <8>
  %k = dgps.input "k" : <8>
  %v = dgps.input "v" : <4>
  %phi = dgps.input "phi" : <3>
  %Sk = dgps.state "Sk" : <8x3>
  %Sv = dgps.state "Sv" : <4x3>
  %1 = dgps.outer %k, %phi : <8>, <3>
  %2 = dgps.add %Sk, %1 : <8x3>, <8x3>
  %3 = dgps.outer %v, %phi : <4>, <3>
  %4 = dgps.add %Sv, %3 : <4x3>, <4x3>
  %5 = dgps.vecmat %q, %2 : <8>, <8x3>
  %6 = dgps.mul %5, %0 : <3>, <scalar>
  %7 = dgps.softmax %6 : <3>
  %8 = dgps.matvec %4, %7 : <4x3>, <3>
  dgps.output "o" %8 : <4>
  dgps.next %Sk, %2 : <8x3>
  dgps.next %Sv, %4 : <4x3>
}

// -----

// A delta rule on a vector whose whole is an output: before and after each token it is a sum of what was written.
// CHECK-LABEL: chunk.program @vector {} chunk
// CHECK: %[[L:.*]] = chunk.interaction %k, %k strict decay log(%a :
// CHECK: %[[U:.*]] = chunk.solve %[[L]]
// CHECK: %[[SIZE:.*]] = chunk.extract %[[U]][0]
// CHECK: %[[WRITTEN:.*]] = chunk.map mul %[[SIZE]], %k
// CHECK: %[[ALL:.*]], %{{.*}} = chunk.scan %p, %[[WRITTEN]] decay log(%a :
// CHECK: chunk.output "o" %[[ALL]]
dgps.recurrence @vector {} {
  %k = dgps.input "k" : <3>
  %a = dgps.input "a" : <3>
  %t = dgps.input "t" : <scalar>
  %p = dgps.state "p" : <3>
  %d = dgps.exp %a : <3>
  %p0 = dgps.mul %d, %p : <3>, <3>
  %seen = dgps.dot %p0, %k : <3>
  %e = dgps.sub %t, %seen : <scalar>, <scalar>
  %w = dgps.mul %e, %k : <scalar>, <3>
  %p1 = dgps.add %p0, %w : <3>, <3>
  dgps.output "o" %p1 : <3>
  dgps.next %p, %p1 : <3>
}

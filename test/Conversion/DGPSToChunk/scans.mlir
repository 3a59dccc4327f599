// RUN: recur-opt %s --split-input-file --convert-dgps-to-chunk=chunk=16 --canonicalize --cse --chunk-dead-streams | FileCheck %s --implicit-check-not=chunk.interaction --implicit-check-not=chunk.solve

// A running maximum is a tropical scan, and gives the decay of the other states in log space.
// CHECK-LABEL: chunk.program @mlstm {K = 8 : i64, V = 4 : i64} chunk 16 {
// CHECK-DAG: %[[C0:.*]] = chunk.constant 1.000000e+00 : tensor<1xf32>
// CHECK-DAG: %[[C1:.*]] = chunk.constant 0.35355339059327373 : tensor<1xf32>
// CHECK: %m = chunk.state "m" : tensor<f32>
// CHECK: %n = chunk.state "n" : tensor<8xf32>
// CHECK: %C = chunk.state "C" : tensor<4x8xf32>
// CHECK: %[[V2:[a-z0-9_]+]] = chunk.map neg %f : tensor<16xf32>
// CHECK: %[[V3:[a-z0-9_]+]] = chunk.map softplus %[[V2]] : tensor<16xf32>
// CHECK: %[[V4:[a-z0-9_]+]] = chunk.map neg %[[V3]] : tensor<16xf32>
// CHECK: %[[V5:[a-z0-9_]+]], %[[V6:[a-z0-9_]+]] = chunk.tropical_scan %m, %[[V4]], %i : tensor<f32>, tensor<16xf32>, tensor<16xf32>
// CHECK: %[[V7:[a-z0-9_]+]] = chunk.previous %m, %[[V5]] : tensor<f32>, tensor<16xf32>
// CHECK: %[[V8:[a-z0-9_]+]] = chunk.map sub %i, %[[V5]] : tensor<16xf32>, tensor<16xf32>
// CHECK: %[[V9:[a-z0-9_]+]] = chunk.map exp %[[V8]] : tensor<16xf32>
// CHECK: %[[V10:[a-z0-9_]+]] = chunk.map mul %[[V9]], %[[C1]] : tensor<16xf32>, tensor<1xf32>
// CHECK: %[[V11:[a-z0-9_]+]] = chunk.map mul %[[V10]], %k : tensor<16xf32>, tensor<16x8xf32>
// CHECK: %[[V12:[a-z0-9_]+]] = chunk.map sub %[[V7]], %[[V3]] : tensor<16xf32>, tensor<16xf32>
// CHECK: %[[V13:[a-z0-9_]+]] = chunk.map sub %[[V12]], %[[V5]] : tensor<16xf32>, tensor<16xf32>
// CHECK: %[[V14:[a-z0-9_]+]], %[[V15:[a-z0-9_]+]] = chunk.scan %n, %[[V11]] decay log(%[[V13]] : tensor<16xf32>) : tensor<8xf32>, tensor<16x8xf32>
// CHECK: %[[V16:[a-z0-9_]+]] = chunk.map mul %[[V10]], %v : tensor<16xf32>, tensor<16x4xf32>
// CHECK: %[[V17:[a-z0-9_]+]] = chunk.cumulative_decay total log(%[[V13]]) : tensor<16xf32>
// CHECK: %[[V18:[a-z0-9_]+]] = chunk.cumulative_decay after log(%[[V13]]) : tensor<16xf32>
// CHECK: %[[V19:[a-z0-9_]+]] = chunk.map mul %[[V18]], %k : tensor<16xf32>, tensor<16x8xf32>
// CHECK: %[[V20:[a-z0-9_]+]] = chunk.advance %C, %[[V16]], %[[V19]] columns(%[[V17]] : tensor<1xf32>) : tensor<4x8xf32>, tensor<16x4xf32>, tensor<16x8xf32>
// CHECK: %[[V21:[a-z0-9_]+]] = chunk.cumulative_decay through log(%[[V13]]) : tensor<16xf32>
// CHECK: %[[V22:[a-z0-9_]+]] = chunk.map mul %[[V21]], %q : tensor<16xf32>, tensor<16x8xf32>
// CHECK: %[[V23:[a-z0-9_]+]] = chunk.read %[[V22]], %C : tensor<16x8xf32>, tensor<4x8xf32>
// CHECK: %[[V24:[a-z0-9_]+]] = chunk.interaction %q, %k inclusive decay log(%[[V13]] : tensor<16xf32>) : tensor<16x8xf32>, tensor<16x8xf32>
// CHECK: %[[V25:[a-z0-9_]+]] = chunk.apply %[[V24]], %[[V16]] : tensor<16x16xf32>, tensor<16x4xf32>
// CHECK: %[[V26:[a-z0-9_]+]] = chunk.map add %[[V23]], %[[V25]] : tensor<16x4xf32>, tensor<16x4xf32>
// CHECK: %[[V27:[a-z0-9_]+]] = chunk.map dot %[[V14]], %q : tensor<16x8xf32>, tensor<16x8xf32>
// CHECK: %[[V28:[a-z0-9_]+]] = chunk.map abs %[[V27]] : tensor<16xf32>
// CHECK: %[[V29:[a-z0-9_]+]] = chunk.map neg %[[V5]] : tensor<16xf32>
// CHECK: %[[V30:[a-z0-9_]+]] = chunk.map exp %[[V29]] : tensor<16xf32>
// CHECK: %[[V31:[a-z0-9_]+]] = chunk.map max %[[V28]], %[[V30]] : tensor<16xf32>, tensor<16xf32>
// CHECK: %[[V32:[a-z0-9_]+]] = chunk.map div %[[C0]], %[[V31]] : tensor<1xf32>, tensor<16xf32>
// CHECK: %[[V33:[a-z0-9_]+]] = chunk.map mul %[[V32]], %[[V26]] : tensor<16xf32>, tensor<16x4xf32>
// CHECK: chunk.output "h" %[[V33]] : tensor<16x4xf32>
// CHECK: chunk.next %m, %[[V6]] : tensor<f32>
// CHECK: chunk.next %n, %[[V15]] : tensor<8xf32>
// CHECK: chunk.next %C, %[[V20]] : tensor<4x8xf32>
dgps.recurrence @mlstm {K = 8 : i64, V = 4 : i64} {
  %0 = dgps.constant 0.35355339059327373 : <scalar>
  %q = dgps.input "q" : <8>
  %k = dgps.input "k" : <8>
  %v = dgps.input "v" : <4>
  %i = dgps.input "i" : <scalar>
  %f = dgps.input "f" : <scalar>
  %m = dgps.state "m" : <scalar>
  %n = dgps.state "n" : <8>
  %C = dgps.state "C" : <4x8>
  %1 = dgps.neg %f : <scalar>
  %2 = dgps.softplus %1 : <scalar>
  %3 = dgps.sub %m, %2 : <scalar>, <scalar>
  %4 = dgps.max %3, %i : <scalar>, <scalar>
  %5 = dgps.sub %3, %4 : <scalar>, <scalar>
  %6 = dgps.exp %5 : <scalar>
  %7 = dgps.sub %i, %4 : <scalar>, <scalar>
  %8 = dgps.exp %7 : <scalar>
  %9 = dgps.mul %6, %C : <scalar>, <4x8>
  %10 = dgps.mul %k, %0 : <8>, <scalar>
  %11 = dgps.outer %v, %10 : <4>, <8>
  %12 = dgps.mul %8, %11 : <scalar>, <4x8>
  %13 = dgps.add %9, %12 : <4x8>, <4x8>
  %14 = dgps.mul %6, %n : <scalar>, <8>
  %15 = dgps.mul %8, %0 : <scalar>, <scalar>
  %16 = dgps.mul %15, %k : <scalar>, <8>
  %17 = dgps.add %14, %16 : <8>, <8>
  %18 = dgps.matvec %13, %q : <4x8>, <8>
  %19 = dgps.dot %17, %q : <8>
  %20 = dgps.abs %19 : <scalar>
  %21 = dgps.neg %4 : <scalar>
  %22 = dgps.exp %21 : <scalar>
  %23 = dgps.max %20, %22 : <scalar>, <scalar>
  %24 = dgps.div %18, %23 : <4>, <scalar>
  dgps.output "h" %24 : <4>
  dgps.next %m, %4 : <scalar>
  dgps.next %n, %17 : <8>
  dgps.next %C, %13 : <4x8>
}

// -----

// What a state was before the token is what it was after the one before.
// CHECK-LABEL: chunk.program @pgdn_sherman_morrison {K = 8 : i64, V = 4 : i64} chunk 16 {
// CHECK-DAG: %[[C0:.*]] = chunk.constant 1.000000e+00 : tensor<1xf32>
// CHECK: %A = chunk.state "A" : tensor<8xf32>
// CHECK: %S = chunk.state "S" : tensor<4x8xf32>
// CHECK: %[[V1:[a-z0-9_]+]] = chunk.map mul %beta, %k : tensor<16xf32>, tensor<16x8xf32>
// CHECK: %[[V2:[a-z0-9_]+]] = chunk.map mul %[[V1]], %k : tensor<16x8xf32>, tensor<16x8xf32>
// CHECK: %[[V3:[a-z0-9_]+]], %[[V4:[a-z0-9_]+]] = chunk.scan %A, %[[V2]] decay log(%g : tensor<16xf32>) : tensor<8xf32>, tensor<16x8xf32>
// CHECK: %[[V5:[a-z0-9_]+]] = chunk.previous %A, %[[V3]] : tensor<8xf32>, tensor<16x8xf32>
// CHECK: %[[V6:[a-z0-9_]+]] = chunk.map add %[[V5]], %ridge : tensor<16x8xf32>, tensor<1x8xf32>
// CHECK: %[[V7:[a-z0-9_]+]] = chunk.map div %k, %[[V6]] : tensor<16x8xf32>, tensor<16x8xf32>
// CHECK: %[[V8:[a-z0-9_]+]] = chunk.cumulative_decay through log(%g) : tensor<16xf32>
// CHECK: %[[V9:[a-z0-9_]+]] = chunk.map mul %[[V8]], %k : tensor<16xf32>, tensor<16x8xf32>
// CHECK: %[[V10:[a-z0-9_]+]] = chunk.map dot %k, %[[V7]] : tensor<16x8xf32>, tensor<16x8xf32>
// CHECK: %[[V11:[a-z0-9_]+]] = chunk.map add %[[V10]], %[[C0]] : tensor<16xf32>, tensor<1xf32>
// CHECK: %[[V12:[a-z0-9_]+]] = chunk.map div %beta, %[[V11]] : tensor<16xf32>, tensor<16xf32>
// CHECK: %[[V13:[a-z0-9_]+]] = chunk.read %[[V9]], %S : tensor<16x8xf32>, tensor<4x8xf32>
// CHECK: %[[V14:[a-z0-9_]+]] = chunk.interaction %k, %[[V7]] strict decay log(%g : tensor<16xf32>) : tensor<16x8xf32>, tensor<16x8xf32>
// CHECK: %[[V15:[a-z0-9_]+]] = chunk.map mul %[[V12]], %[[V14]] : tensor<16xf32>, tensor<16x16xf32>
// CHECK: %[[V16:[a-z0-9_]+]] = chunk.map sub %v, %[[V13]] : tensor<16x4xf32>, tensor<16x4xf32>
// CHECK: %[[V17:[a-z0-9_]+]] = chunk.map mul %[[V12]], %[[V16]] : tensor<16xf32>, tensor<16x4xf32>
// CHECK: %[[V18:[a-z0-9_]+]] = chunk.solve %[[V15]], %[[V17]] : tensor<16x16xf32>, tensor<16x4xf32>
// CHECK: %[[V19:[a-z0-9_]+]] = chunk.cumulative_decay total log(%g) : tensor<16xf32>
// CHECK: %[[V20:[a-z0-9_]+]] = chunk.cumulative_decay after log(%g) : tensor<16xf32>
// CHECK: %[[V21:[a-z0-9_]+]] = chunk.map mul %[[V20]], %[[V7]] : tensor<16xf32>, tensor<16x8xf32>
// CHECK: %[[V22:[a-z0-9_]+]] = chunk.advance precise %S, %[[V18]], %[[V21]] columns(%[[V19]] : tensor<1xf32>) : tensor<4x8xf32>, tensor<16x4xf32>, tensor<16x8xf32>
// CHECK: %[[V23:[a-z0-9_]+]] = chunk.map mul %[[V8]], %q : tensor<16xf32>, tensor<16x8xf32>
// CHECK: %[[V24:[a-z0-9_]+]] = chunk.read %[[V23]], %S : tensor<16x8xf32>, tensor<4x8xf32>
// CHECK: %[[V25:[a-z0-9_]+]] = chunk.interaction %q, %[[V7]] inclusive decay log(%g : tensor<16xf32>) : tensor<16x8xf32>, tensor<16x8xf32>
// CHECK: %[[V26:[a-z0-9_]+]] = chunk.apply %[[V25]], %[[V18]] : tensor<16x16xf32>, tensor<16x4xf32>
// CHECK: %[[V27:[a-z0-9_]+]] = chunk.map add %[[V24]], %[[V26]] : tensor<16x4xf32>, tensor<16x4xf32>
// CHECK: chunk.output "o" %[[V27]] : tensor<16x4xf32>
// CHECK: chunk.next %A, %[[V4]] : tensor<8xf32>
// CHECK: chunk.next %S, %[[V22]] : tensor<4x8xf32>
dgps.recurrence @pgdn_sherman_morrison {K = 8 : i64, V = 4 : i64} {
  %0 = dgps.constant 1.000000e+00 : <scalar>
  %q = dgps.input "q" : <8>
  %k = dgps.input "k" : <8>
  %v = dgps.input "v" : <4>
  %g = dgps.input "g" : <scalar>
  %beta = dgps.input "beta" : <scalar>
  %ridge = dgps.param "ridge" : <8>
  %A = dgps.state "A" : <8>
  %S = dgps.state "S" : <4x8>
  %1 = dgps.add %A, %ridge : <8>, <8>
  %2 = dgps.div %k, %1 : <8>, <8>
  %3 = dgps.exp %g : <scalar>
  %4 = dgps.mul %3, %A : <scalar>, <8>
  %5 = dgps.mul %beta, %k : <scalar>, <8>
  %6 = dgps.mul %5, %k : <8>, <8>
  %7 = dgps.add %4, %6 : <8>, <8>
  %8 = dgps.mul %3, %S : <scalar>, <4x8>
  %9 = dgps.matvec %8, %k : <4x8>, <8>
  %10 = dgps.sub %v, %9 : <4>, <4>
  %11 = dgps.dot %k, %2 : <8>
  %12 = dgps.add %11, %0 : <scalar>, <scalar>
  %13 = dgps.div %2, %12 : <8>, <scalar>
  %14 = dgps.outer %10, %13 : <4>, <8>
  %15 = dgps.mul %beta, %14 : <scalar>, <4x8>
  %16 = dgps.add %8, %15 : <4x8>, <4x8>
  %17 = dgps.matvec %16, %q : <4x8>, <8>
  dgps.output "o" %17 : <4>
  dgps.next %A, %7 : <8>
  dgps.next %S, %16 : <4x8>
}

// -----

// A running minimum is a scan of its own kind.
// CHECK-LABEL: chunk.program @running_minimum {} chunk 16 {
// CHECK: chunk.tropical_scan %m, %{{.*}}, %x as min : tensor<f32>, tensor<16xf32>, tensor<16xf32>
dgps.recurrence @running_minimum {} {
  %x = dgps.input "x" : <scalar>
  %m = dgps.state "m" : <scalar>
  %m1 = dgps.min %m, %x : <scalar>, <scalar>
  dgps.output "m" %m1 : <scalar>
  dgps.next %m, %m1 : <scalar>
}

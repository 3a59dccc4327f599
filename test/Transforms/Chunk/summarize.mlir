// RUN: recur-opt %s --split-input-file --chunk-summarize | FileCheck %s

// A scan: its elements scale by themselves.
// CHECK-LABEL: chunk.program @sum {} chunk 8 {
// CHECK: %A = chunk.state "A" : tensor<f32>
// CHECK: %[[V0:[a-z0-9_]+]], %[[V1:[a-z0-9_]+]] = chunk.scan %A, %x decay log(%g : tensor<8xf32>) : tensor<f32>, tensor<8xf32>
// CHECK: chunk.output "o" %[[V0]] : tensor<8xf32>
// CHECK: chunk.next %A, %[[V1]] : tensor<f32>
// CHECK-LABEL: chunk.program @sum_summary_A {} chunk 8 summary_of "A" as elementwise {
// CHECK: %A.map = chunk.state "A.map" : tensor<f32>
// CHECK: %A.offset = chunk.state "A.offset" : tensor<f32>
// CHECK: %[[V0:[a-z0-9_]+]], %[[V1:[a-z0-9_]+]] = chunk.scan %A.offset, %x decay log(%g : tensor<8xf32>) : tensor<f32>, tensor<8xf32>
// CHECK: chunk.next %A.offset, %[[V1]] : tensor<f32>
// CHECK: %[[V2:[a-z0-9_]+]] = chunk.constant 0.000000e+00 : tensor<8xf32>
// CHECK: %[[V3:[a-z0-9_]+]], %[[V4:[a-z0-9_]+]] = chunk.scan %A.map, %[[V2]] decay log(%g : tensor<8xf32>) : tensor<f32>, tensor<8xf32>
// CHECK: chunk.next %A.map, %[[V4]] : tensor<f32>
chunk.program @sum {} chunk 8 {
  %x = chunk.input "x" : tensor<8xf32>
  %g = chunk.input "g" : tensor<8xf32>
  %A = chunk.state "A" : tensor<f32>
  %all, %last = chunk.scan %A, %x decay log(%g : tensor<8xf32>) : tensor<f32>, tensor<8xf32>
  chunk.output "o" %all : tensor<8xf32>
  chunk.next %A, %last : tensor<f32>
}

// -----

// The delta rule: a map from the right.
// CHECK-LABEL: chunk.program @delta {} chunk 8 {
// CHECK: %S = chunk.state "S" : tensor<2x3xf32>
// CHECK: %[[V0:[a-z0-9_]+]] = chunk.read %k, %S : tensor<8x3xf32>, tensor<2x3xf32>
// CHECK: %[[V1:[a-z0-9_]+]] = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
// CHECK: %[[V2:[a-z0-9_]+]] = chunk.map sub %v, %[[V0]] : tensor<8x2xf32>, tensor<8x2xf32>
// CHECK: %[[V3:[a-z0-9_]+]] = chunk.solve %[[V1]], %[[V2]] : tensor<8x8xf32>, tensor<8x2xf32>
// CHECK: %[[V4:[a-z0-9_]+]] = chunk.advance %S, %[[V3]], %k : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
// CHECK: %[[V5:[a-z0-9_]+]] = chunk.read %q, %S : tensor<8x3xf32>, tensor<2x3xf32>
// CHECK: chunk.output "o" %[[V5]] : tensor<8x2xf32>
// CHECK: chunk.next %S, %[[V4]] : tensor<2x3xf32>
// CHECK-LABEL: chunk.program @delta_summary_S {} chunk 8 summary_of "S" as right {
// CHECK: %S.map = chunk.state "S.map" : tensor<3x3xf32>
// CHECK: %S.offset = chunk.state "S.offset" : tensor<2x3xf32>
// CHECK: %[[V0:[a-z0-9_]+]] = chunk.read %k, %S.offset : tensor<8x3xf32>, tensor<2x3xf32>
// CHECK: %[[V1:[a-z0-9_]+]] = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
// CHECK: %[[V2:[a-z0-9_]+]] = chunk.map sub %v, %[[V0]] : tensor<8x2xf32>, tensor<8x2xf32>
// CHECK: %[[V3:[a-z0-9_]+]] = chunk.solve %[[V1]], %[[V2]] : tensor<8x8xf32>, tensor<8x2xf32>
// CHECK: %[[V4:[a-z0-9_]+]] = chunk.advance %S.offset, %[[V3]], %k : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
// CHECK: chunk.next %S.offset, %[[V4]] : tensor<2x3xf32>
// CHECK: %[[V5:[a-z0-9_]+]] = chunk.read %k, %S.map : tensor<8x3xf32>, tensor<3x3xf32>
// CHECK: %[[V6:[a-z0-9_]+]] = chunk.map neg %[[V5]] : tensor<8x3xf32>
// CHECK: %[[V7:[a-z0-9_]+]] = chunk.solve %[[V1]], %[[V6]] : tensor<8x8xf32>, tensor<8x3xf32>
// CHECK: %[[V8:[a-z0-9_]+]] = chunk.advance %S.map, %[[V7]], %k : tensor<3x3xf32>, tensor<8x3xf32>, tensor<8x3xf32>
// CHECK: chunk.next %S.map, %[[V8]] : tensor<3x3xf32>
chunk.program @delta {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %q = chunk.input "q" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %b = chunk.input "b" : tensor<8xf32>
  %g = chunk.input "g" : tensor<8xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  %seen = chunk.read %k, %S : tensor<8x3xf32>, tensor<2x3xf32>
  %L = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
  %B = chunk.map sub %v, %seen : tensor<8x2xf32>, tensor<8x2xf32>
  %U = chunk.solve %L, %B : tensor<8x8xf32>, tensor<8x2xf32>
  %S1 = chunk.advance %S, %U, %k : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  %o = chunk.read %q, %S : tensor<8x3xf32>, tensor<2x3xf32>
  chunk.output "o" %o : tensor<8x2xf32>
  chunk.next %S, %S1 : tensor<2x3xf32>
}

// -----

// Rows that decay by themselves: scales of the rows, and a map from the right that knows nothing of them.
// CHECK-LABEL: chunk.program @rows_summary_S {} chunk 8 summary_of "S" as right {
// CHECK: %S.scales = chunk.state "S.scales" : tensor<2xf32>
// CHECK: %S.map = chunk.state "S.map" : tensor<3x3xf32>
// CHECK: %S.offset = chunk.state "S.offset" : tensor<2x3xf32>
// CHECK: chunk.next %S.offset, %{{[a-z0-9_]+}} : tensor<2x3xf32>
// CHECK: %[[TOTAL:[a-z0-9_]+]] = chunk.cumulative_decay total log(%g) : tensor<8x2xf32>
// CHECK: %[[TOKEN:[a-z0-9_]+]] = chunk.reshape_state %S.scales : tensor<2xf32> to tensor<1x2xf32>
// CHECK: %[[SCALED:[a-z0-9_]+]] = chunk.map mul %[[TOKEN]], %[[TOTAL]] : tensor<1x2xf32>, tensor<1x2xf32>
// CHECK: %[[SCALES:[a-z0-9_]+]] = chunk.reshape_state %[[SCALED]] : tensor<1x2xf32> to tensor<2xf32>
// CHECK: chunk.next %S.scales, %[[SCALES]] : tensor<2xf32>
// CHECK: %[[READ:[a-z0-9_]+]] = chunk.read %k, %S.map : tensor<8x3xf32>, tensor<3x3xf32>
// CHECK: %[[ERASED:[a-z0-9_]+]] = chunk.map neg %[[READ]] : tensor<8x3xf32>
// CHECK: %[[SOLVED:[a-z0-9_]+]] = chunk.solve %{{[a-z0-9_]+}}, %[[ERASED]] : tensor<8x8xf32>, tensor<8x3xf32>
// CHECK: %[[NEXT:[a-z0-9_]+]] = chunk.advance %S.map, %[[SOLVED]], %k : tensor<3x3xf32>, tensor<8x3xf32>, tensor<8x3xf32>
// CHECK: chunk.next %S.map, %[[NEXT]] : tensor<3x3xf32>
chunk.program @rows {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %g = chunk.input "g" : tensor<8x2xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  %through = chunk.cumulative_decay through log(%g) : tensor<8x2xf32>
  %past = chunk.read %k, %S : tensor<8x3xf32>, tensor<2x3xf32>
  %seen = chunk.map mul %through, %past : tensor<8x2xf32>, tensor<8x2xf32>
  %L = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
  %B = chunk.map sub %v, %seen : tensor<8x2xf32>, tensor<8x2xf32>
  %U = chunk.solve %L, %B strict decay log(%g : tensor<8x2xf32>) : tensor<8x8xf32>, tensor<8x2xf32>
  %total = chunk.cumulative_decay total log(%g) : tensor<8x2xf32>
  %after = chunk.cumulative_decay after log(%g) : tensor<8x2xf32>
  %written = chunk.map mul %after, %U : tensor<8x2xf32>, tensor<8x2xf32>
  %S1 = chunk.advance %S, %written, %k rows(%total : tensor<1x2xf32>) : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  chunk.output "o" %seen : tensor<8x2xf32>
  chunk.next %S, %S1 : tensor<2x3xf32>
}

// -----

// The columns, where keys are those of the rows.
// CHECK-LABEL: chunk.program @columns_summary_S {} chunk 8 summary_of "S" as left {
// CHECK: %S.scales = chunk.state "S.scales" : tensor<2xf32>
// CHECK: %S.map = chunk.state "S.map" : tensor<3x3xf32>
// CHECK: chunk.cumulative_decay total linear(%g) : tensor<8x2xf32>
// CHECK: chunk.advance %S.map, %k, %{{[a-z0-9_]+}} : tensor<3x3xf32>, tensor<8x3xf32>, tensor<8x3xf32>
chunk.program @columns {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %g = chunk.input "g" : tensor<8x2xf32>
  %S = chunk.state "S" : tensor<3x2xf32>
  %through = chunk.cumulative_decay through linear(%g) : tensor<8x2xf32>
  %past = chunk.read left %k, %S : tensor<8x3xf32>, tensor<3x2xf32>
  %seen = chunk.map mul %through, %past : tensor<8x2xf32>, tensor<8x2xf32>
  %L = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
  %B = chunk.map sub %v, %seen : tensor<8x2xf32>, tensor<8x2xf32>
  %U = chunk.solve %L, %B strict decay linear(%g : tensor<8x2xf32>) : tensor<8x8xf32>, tensor<8x2xf32>
  %total = chunk.cumulative_decay total linear(%g) : tensor<8x2xf32>
  %after = chunk.cumulative_decay after linear(%g) : tensor<8x2xf32>
  %written = chunk.map mul %after, %U : tensor<8x2xf32>, tensor<8x2xf32>
  %S1 = chunk.advance %S, %k, %written columns(%total : tensor<1x2xf32>) : tensor<3x2xf32>, tensor<8x3xf32>, tensor<8x2xf32>
  chunk.output "o" %seen : tensor<8x2xf32>
  chunk.next %S, %S1 : tensor<3x2xf32>
}

// -----

// What is erased is read before the decay: no summary, for each row has a map of its own.
// CHECK-LABEL: chunk.program @before {} chunk 8 {
// CHECK-NOT: summary_of
chunk.program @before {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %g = chunk.input "g" : tensor<8x2xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  %earlier = chunk.cumulative_decay before log(%g) : tensor<8x2xf32>
  %past = chunk.read %k, %S : tensor<8x3xf32>, tensor<2x3xf32>
  %seen = chunk.map mul %earlier, %past : tensor<8x2xf32>, tensor<8x2xf32>
  %L = chunk.interaction %k, %k before : tensor<8x3xf32>, tensor<8x3xf32>
  %B = chunk.map sub %v, %seen : tensor<8x2xf32>, tensor<8x2xf32>
  %U = chunk.solve %L, %B before decay log(%g : tensor<8x2xf32>) : tensor<8x8xf32>, tensor<8x2xf32>
  %total = chunk.cumulative_decay total log(%g) : tensor<8x2xf32>
  %after = chunk.cumulative_decay after log(%g) : tensor<8x2xf32>
  %written = chunk.map mul %after, %U : tensor<8x2xf32>, tensor<8x2xf32>
  %S1 = chunk.advance %S, %written, %k rows(%total : tensor<1x2xf32>) : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  chunk.output "o" %seen : tensor<8x2xf32>
  chunk.next %S, %S1 : tensor<2x3xf32>
}

// -----

// A running maximum: a tropical map.
// CHECK-LABEL: chunk.program @maximum {} chunk 8 {
// CHECK: %m = chunk.state "m" : tensor<f32>
// CHECK: %[[V0:[a-z0-9_]+]], %[[V1:[a-z0-9_]+]] = chunk.tropical_scan %m, %f, %i : tensor<f32>, tensor<8xf32>, tensor<8xf32>
// CHECK: chunk.output "o" %[[V0]] : tensor<8xf32>
// CHECK: chunk.next %m, %[[V1]] : tensor<f32>
// CHECK-LABEL: chunk.program @maximum_summary_m {} chunk 8 summary_of "m" as tropical {
// CHECK: %m.map = chunk.state "m.map" : tensor<f32>
// CHECK: %m.offset = chunk.state "m.offset" : tensor<f32>
// The offset starts as what changes no maximum, and stays that also where a shift is infinite the other way.
// CHECK: %[[MOST:[a-z0-9_]+]] = chunk.constant 3.4028234663852886E+38 : tensor<1xf32>
// CHECK: %[[SHIFTS:[a-z0-9_]+]] = chunk.map min %f, %[[MOST]] : tensor<8xf32>, tensor<1xf32>
// CHECK: %[[V0:[a-z0-9_]+]], %[[V1:[a-z0-9_]+]] = chunk.tropical_scan %m.offset, %[[SHIFTS]], %i : tensor<f32>, tensor<8xf32>, tensor<8xf32>
// CHECK: chunk.next %m.offset, %[[V1]] : tensor<f32>
// CHECK: %[[V2:[a-z0-9_]+]] = chunk.constant 0xFFF0000000000000 : tensor<8xf32>
// CHECK: %[[V3:[a-z0-9_]+]], %[[V4:[a-z0-9_]+]] = chunk.tropical_scan %m.map, %f, %[[V2]] : tensor<f32>, tensor<8xf32>, tensor<8xf32>
// CHECK: chunk.next %m.map, %[[V4]] : tensor<f32>
chunk.program @maximum {} chunk 8 {
  %f = chunk.input "f" : tensor<8xf32>
  %i = chunk.input "i" : tensor<8xf32>
  %m = chunk.state "m" : tensor<f32>
  %all, %last = chunk.tropical_scan %m, %f, %i : tensor<f32>, tensor<8xf32>, tensor<8xf32>
  chunk.output "o" %all : tensor<8xf32>
  chunk.next %m, %last : tensor<f32>
}

// -----

// A state that is not affine in itself: no summary.
// CHECK-LABEL: chunk.program @general {} chunk 8 {
// CHECK: %A = chunk.state "A" : tensor<f32>
// CHECK: %[[V0:[a-z0-9_]+]] = chunk.token_loop (%[[V1:[a-z0-9_]+]] = %x : tensor<8xf32>) carry (%[[V2:[a-z0-9_]+]] = %A : tensor<f32>) -> tensor<f32> {
// CHECK: %[[V3:[a-z0-9_]+]] = chunk.map tanh %[[V2]] : tensor<1xf32>
// CHECK: %[[V4:[a-z0-9_]+]] = chunk.map add %[[V3]], %[[V1]] : tensor<1xf32>, tensor<1xf32>
// CHECK: chunk.yield %[[V4]] : tensor<1xf32>
// CHECK: chunk.next %A, %[[V0]] : tensor<f32>
chunk.program @general {} chunk 8 {
  %x = chunk.input "x" : tensor<8xf32>
  %A = chunk.state "A" : tensor<f32>
  %l = chunk.token_loop (%x1 = %x : tensor<8xf32>) carry (%a = %A : tensor<f32>) -> tensor<f32> {
    %b = chunk.map tanh %a : tensor<1xf32>
    %c = chunk.map add %b, %x1 : tensor<1xf32>, tensor<1xf32>
    chunk.yield %c : tensor<1xf32>
  }
  chunk.next %A, %l : tensor<f32>
}

// -----

// A state that becomes what its token computes: a map of zero. What reads it keeps a map of its own.
// CHECK-LABEL: chunk.program @delayed {} chunk 8 {
// CHECK-LABEL: chunk.program @delayed_summary_p {} chunk 8 summary_of "p" as elementwise {
// CHECK: %p.map = chunk.state "p.map" : tensor<3xf32>
// CHECK: %p.offset = chunk.state "p.offset" : tensor<3xf32>
// CHECK: %[[KC:[a-z0-9_]+]] = chunk.map mul %k, %c : tensor<8x3xf32>, tensor<8x3xf32>
// CHECK: %[[LAST:[a-z0-9_]+]] = chunk.last %[[KC]] : tensor<8x3xf32>
// CHECK: chunk.next %p.offset, %[[LAST]] : tensor<3xf32>
// CHECK: %[[ZERO:[a-z0-9_]+]] = chunk.constant 0.000000e+00 : tensor<1x3xf32>
// CHECK: %[[NONE:[a-z0-9_]+]] = chunk.reshape_state %[[ZERO]] : tensor<1x3xf32> to tensor<3xf32>
// CHECK: chunk.next %p.map, %[[NONE]] : tensor<3xf32>
// CHECK-LABEL: chunk.program @delayed_summary_S {} chunk 8 summary_of "S" as elementwise {
// CHECK: chunk.next %S.map, %S.map : tensor<2x3xf32>
chunk.program @delayed {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %c = chunk.input "c" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %p = chunk.state "p" : tensor<3xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  %all = chunk.map mul %k, %c : tensor<8x3xf32>, tensor<8x3xf32>
  %before = chunk.previous %p, %all : tensor<3xf32>, tensor<8x3xf32>
  %S1 = chunk.advance %S, %v, %before : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  %last = chunk.last %all : tensor<8x3xf32>
  chunk.next %p, %last : tensor<3xf32>
  chunk.next %S, %S1 : tensor<2x3xf32>
}

// -----

// The read of another state's matrix mixes rows: with as many columns as rows, the sizes do not show it.
// CHECK-LABEL: chunk.program @mixed_rows
// CHECK-NOT: summary_of "S" as right
chunk.program @mixed_rows {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x3xf32>
  %M = chunk.state "M" : tensor<3x3xf32>
  %S = chunk.state "S" : tensor<3x3xf32>
  %seen = chunk.read %k, %S : tensor<8x3xf32>, tensor<3x3xf32>
  %mixed = chunk.read %seen, %M : tensor<8x3xf32>, tensor<3x3xf32>
  %S1 = chunk.advance %S, %mixed, %k : tensor<3x3xf32>, tensor<8x3xf32>, tensor<8x3xf32>
  %M1 = chunk.advance %M, %v, %k : tensor<3x3xf32>, tensor<8x3xf32>, tensor<8x3xf32>
  chunk.next %M, %M1 : tensor<3x3xf32>
  chunk.next %S, %S1 : tensor<3x3xf32>
}

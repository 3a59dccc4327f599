// RUN: recur-opt %s --split-input-file --convert-dgps-to-chunk=chunk=16 --cse | FileCheck %s --implicit-check-not=chunk.token_loop

// What the tokens read with their own keys follows from one elimination; then the state's writes are known.
// CHECK-LABEL: chunk.program @symmetric {K = 8 : i64} chunk 16 {
// CHECK: %[[PAST:[a-z0-9_]+]] = chunk.read %k, %P : tensor<16x8xf32>, tensor<8x8xf32>
// CHECK: %[[A:[a-z0-9_]+]] = chunk.interaction %k, %[[PAST]] inclusive : tensor<16x8xf32>, tensor<16x8xf32>
// CHECK: %[[F:[a-z0-9_]+]] = chunk.eliminate %[[A]], %[[A]] columns %[[ONE:[a-z0-9_]+]] diagonal %[[ONE]] : tensor<16x16xf32>, tensor<16xf32>
// CHECK: %[[U:[a-z0-9_]+]] = chunk.solve %[[F]], %[[PAST]] : tensor<16x16xf32>, tensor<16x8xf32>
// CHECK: chunk.map dot %k, %[[U]] : tensor<16x8xf32>, tensor<16x8xf32>
// CHECK: %[[W:[a-z0-9_]+]] = chunk.map mul %{{[a-z0-9_]+}}, %[[U]] : tensor<16xf32>, tensor<16x8xf32>
// CHECK: %[[NEXT:[a-z0-9_]+]] = chunk.advance %P, %[[W]], %[[U]] : tensor<8x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>
// CHECK: chunk.interaction %q, %[[U]] inclusive : tensor<16x8xf32>, tensor<16x8xf32>
// CHECK: chunk.next %P, %[[NEXT]] : tensor<8x8xf32>
dgps.recurrence @symmetric {K = 8 : i64} {
  %one = dgps.constant 1.000000e+00 : <scalar>
  %q = dgps.input "q" : <8>
  %k = dgps.input "k" : <8>
  %P = dgps.state "P" : <8x8>
  %u = dgps.matvec %P, %k : <8x8>, <8>
  %w = dgps.outer %u, %u : <8>, <8>
  %d = dgps.dot %k, %u : <8>
  %n = dgps.add %d, %one : <scalar>, <scalar>
  %c = dgps.div %w, %n : <8x8>, <scalar>
  %P1 = dgps.sub %P, %c : <8x8>, <8x8>
  %o = dgps.matvec %P1, %q : <8x8>, <8>
  dgps.output "o" %o : <8>
  dgps.next %P, %P1 : <8x8>
}

// -----

// One elimination for the reads of each side, and the decays before a token with both.
// CHECK-LABEL: chunk.program @two_sided {K = 8 : i64} chunk 16 {
// CHECK: %[[DECAY:[a-z0-9_]+]] = chunk.cumulative_decay before log(%g) : tensor<16xf32>
// CHECK: %[[COLUMNS:[a-z0-9_]+]] = chunk.map mul %[[DECAY]], %{{[a-z0-9_]+}} : tensor<16xf32>, tensor<16xf32>
// CHECK: %[[RIGHT:[a-z0-9_]+]] = chunk.read %x, %P : tensor<16x8xf32>, tensor<8x8xf32>
// CHECK: %[[LEFT:[a-z0-9_]+]] = chunk.read left %y, %P : tensor<16x8xf32>, tensor<8x8xf32>
// CHECK: %[[A:[a-z0-9_]+]] = chunk.interaction %y, %[[RIGHT]] inclusive : tensor<16x8xf32>, tensor<16x8xf32>
// CHECK: %[[B:[a-z0-9_]+]] = chunk.interaction %x, %[[LEFT]] inclusive : tensor<16x8xf32>, tensor<16x8xf32>
// CHECK: %[[FL:[a-z0-9_]+]] = chunk.eliminate %[[A]], %[[B]] columns %[[COLUMNS]] diagonal %r : tensor<16x16xf32>, tensor<16xf32>
// CHECK: %[[W0:[a-z0-9_]+]] = chunk.solve %[[FL]], %[[LEFT]] : tensor<16x16xf32>, tensor<16x8xf32>
// CHECK: %[[W:[a-z0-9_]+]] = chunk.map mul %[[DECAY]], %[[W0]] : tensor<16xf32>, tensor<16x8xf32>
// CHECK: %[[FR:[a-z0-9_]+]] = chunk.eliminate %[[B]], %[[A]] columns %[[COLUMNS]] diagonal %r : tensor<16x16xf32>, tensor<16xf32>
// CHECK: %[[U0:[a-z0-9_]+]] = chunk.solve %[[FR]], %[[RIGHT]] : tensor<16x16xf32>, tensor<16x8xf32>
// CHECK: chunk.map mul %[[DECAY]], %[[U0]] : tensor<16xf32>, tensor<16x8xf32>
// CHECK: chunk.next %P, %{{[a-z0-9_]+}} : tensor<8x8xf32>
dgps.recurrence @two_sided {K = 8 : i64} {
  %q = dgps.input "q" : <8>
  %x = dgps.input "x" : <8>
  %y = dgps.input "y" : <8>
  %r = dgps.input "r" : <scalar>
  %g = dgps.input "g" : <scalar>
  %P = dgps.state "P" : <8x8>
  %a = dgps.exp %g : <scalar>
  %u = dgps.matvec %P, %x : <8x8>, <8>
  %w = dgps.vecmat %y, %P : <8>, <8x8>
  %uw = dgps.outer %u, %w : <8>, <8>
  %d = dgps.dot %y, %u : <8>
  %n = dgps.add %d, %r : <scalar>, <scalar>
  %c = dgps.div %uw, %n : <8x8>, <scalar>
  %s = dgps.sub %P, %c : <8x8>, <8x8>
  %P1 = dgps.mul %a, %s : <scalar>, <8x8>
  %o = dgps.matvec %P1, %q : <8x8>, <8>
  dgps.output "o" %o : <8>
  dgps.next %P, %P1 : <8x8>
}

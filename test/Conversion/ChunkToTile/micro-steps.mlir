// RUN: recur-opt %s --chunk-store=types=bf16 --chunk-choose-factors --convert-chunk-to-tile="threads=256" | FileCheck %s

// The rows of an input that has one for each micro-step lie as they are interleaved: one load, in bf16, and a view. All
// dots stay in registers, and one pass masks and decays the rows of all steps: with two writes a token, row 2 t + j sees
// the columns below 2 t + j. Of sums of logarithms, which are of tokens, each row and column has its own.
// CHECK-LABEL: tile.kernel @steps
// CHECK: %[[DOTS:.*]] = tile.alloc : <32x32xf32, registers, [32, 1]>
// CHECK: %[[K:.*]] = tile.alloc at {{.*}} : <16x2x32xbf16, shared
// CHECK: tile.load %{{.*}} into %[[K]]
// CHECK-NOT: tile.load %{{.*}}16x2x32
// CHECK: %[[ROWS:.*]] = tile.view %[[K]] offset 0 : <16x2x32xbf16, shared, [{{.*}}]> to <32x32xbf16, shared, [{{.*}}, 1]>
// CHECK-NOT: tile.map %[[ROWS]]
// CHECK: tile.product %[[ROWS]], right_transposed %[[ROWS]] into %[[DOTS]] {{.*}} result_triangle [2, 2]
// CHECK: %[[SUMS:.*]] = tile.view %[[OFROWS:.*]] offset 0 : <32xf32, shared, [1]> to <16xf32, shared, [2]>
// CHECK: tile.map %[[LOGS:.*]] into %[[SUMS]]
// CHECK: tile.view %[[OFROWS]] offset 1 : <32xf32, shared, [1]> to <16xf32, shared, [2]>
// CHECK: tile.map %[[DOTS]], %[[OFROWS]], %{{.*}} into %{{.*}} dims [array<i64: 0, 1>, array<i64: 0>, array<i64: 1>]
// CHECK: tile.index 0
// CHECK: arith.divui
// CHECK: arith.remui
// CHECK: tile.index 1
// CHECK: arith.cmpi slt
// CHECK: math.exp
chunk.program @steps {} chunk 16 {
  %k = chunk.input "k" : tensor<16x2x32xf32>
  %g = chunk.input "g" : tensor<16xf32>
  %a = chunk.extract %k[0] : tensor<16x2x32xf32>
  %b = chunk.extract %k[1] : tensor<16x2x32xf32>
  %r = chunk.interleave %a, %b : tensor<16x32xf32>, tensor<16x32xf32>
  %p = chunk.interaction %r, %r points [0, 1] of [0, 1] decay log(%g : tensor<16xf32>) : tensor<32x32xf32>, tensor<32x32xf32>
  chunk.give "p" rounded %p : tensor<32x32xf32>
}

// In another order they are copied.
// CHECK-LABEL: tile.kernel @swapped
// CHECK: tile.map
// CHECK: tile.map
// CHECK: tile.store
chunk.program @swapped {} chunk 16 {
  %k = chunk.input "k" : tensor<16x2x32xf32>
  %a = chunk.extract %k[0] : tensor<16x2x32xf32>
  %b = chunk.extract %k[1] : tensor<16x2x32xf32>
  %r = chunk.interleave %b, %a : tensor<16x32xf32>, tensor<16x32xf32>
  chunk.give "r" rounded %r : tensor<32x32xf32>
}

// A scan whose running values one pass alone reads is that pass, and what of a scan nobody reads is not made.
// CHECK-LABEL: tile.kernel @scans
// CHECK-COUNT-1: tile.scan
// CHECK-SAME: all %[[MADE:.*]] rows
// CHECK: math.exp
// CHECK-NOT: tile.map
// CHECK: tile.store %[[MADE]]
// CHECK: tile.scan
// CHECK-NOT: all
// CHECK-SAME: last
chunk.program @scans {} chunk 16 {
  %z = chunk.constant 0.0 : tensor<1x32xf32>
  %s = chunk.reshape_state %z : tensor<1x32xf32> to tensor<32xf32>
  %x = chunk.input "x" : tensor<16x32xf32>
  %all, %last = chunk.scan %s, %x : tensor<32xf32>, tensor<16x32xf32>
  %e = chunk.map exp %all : tensor<16x32xf32>
  chunk.give "e" %e : tensor<16x32xf32>
  %all2, %last2 = chunk.scan %s, %e : tensor<32xf32>, tensor<16x32xf32>
  %row = chunk.reshape_state %last2 : tensor<32xf32> to tensor<1x32xf32>
  chunk.give "last" %row : tensor<1x32xf32>
}

// RUN: recur-opt %s --convert-chunk-to-tile="dtype=bf16 has-pairs=true" | FileCheck %s

// Rows are scaled as they are put in pairs, so that pass is none of the maps' that make the rows: the square is computed
// by itself.
// CHECK-LABEL: tile.kernel @computed_keys
// CHECK: tile.map %{{[0-9]+}} into %[[SQUARE:[0-9]+]] rows %{{[0-9]+}} dims [array<i64: 0, 1>]
// CHECK-NEXT: ^bb0(%[[X:.*]]: f32):
// CHECK-NEXT: arith.mulf %[[X]], %[[X]]
// CHECK: tile.pair %[[SQUARE]] scaled_rows
chunk.program @computed_keys {} chunk 16 {
  %k = chunk.input "k" : tensor<16x8xf32>
  %v = chunk.input "v" : tensor<16x8xf32>
  %g = chunk.input "g" : tensor<16xf32>
  %S = chunk.state "S" : tensor<8x8xf32>
  %total = chunk.cumulative_decay total log(%g) : tensor<16xf32>
  %after = chunk.cumulative_decay after log(%g) : tensor<16xf32>
  %square = chunk.map mul %k, %k : tensor<16x8xf32>, tensor<16x8xf32>
  %scaled = chunk.map mul %after, %square : tensor<16xf32>, tensor<16x8xf32>
  %next = chunk.advance %S, %v, %scaled columns(%total : tensor<1xf32>) : tensor<8x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>
  chunk.next %S, %next : tensor<8x8xf32>
}

// RUN: recur-opt %s --chunk-store=types=bf16 --chunk-choose-factors --chunk-advance-last --chunk-decay-reads --convert-chunk-to-tile="has-pairs=true" -split-input-file | FileCheck %s
// RUN: recur-opt %s --chunk-store=types=bf16 --chunk-choose-factors --chunk-advance-last --chunk-decay-reads --convert-chunk-to-tile="has-pairs=true has-amx=true" -split-input-file | FileCheck %s --check-prefix=AMX

// Rows are scaled as they are put in pairs, so that pass is none of the maps' that make the rows: the square is computed
// by itself.
// CHECK-LABEL: tile.kernel @computed_keys
// CHECK: tile.map %{{[0-9]+}} into %[[SQUARE:[0-9]+]] rows %{{[0-9]+}} dims [array<i64: 0, 1>]
// CHECK-NEXT: ^bb0(%[[X:.*]]: f32):
// CHECK-NEXT: arith.mulf %[[X]], %[[X]]
// CHECK: tile.pair %[[SQUARE]] scaled_rows
// AMX-LABEL: tile.kernel @computed_keys
// AMX: tile.map %{{[0-9]+}}, %{{[0-9]+}} into %[[SCALED:[0-9]+]]
// AMX: tile.transpose %[[SCALED]]
// AMX: tile.pair %{{[0-9]+}} rows
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

// -----

// AMX has its left factors in rows: keys, of which pairs of tokens lie side by side. The right one is scaled as it is put
// in pairs; a left one that is scaled is computed before, as above.
// AMX-LABEL: tile.kernel @written_keys
// AMX: tile.transpose %[[K:[0-9]+]] rows %{{[0-9]+}} into %[[KEYS:[0-9]+]] : <16x16xbf16, local, [32, 1]> into <16x16xbf16, local, [32, 1]>
// AMX: tile.pair %{{[0-9]+}} scaled_rows %{{[0-9]+}} rows %{{[0-9]+}} into %[[VALUES:[0-9]+]]
// AMX: tile.product %[[KEYS]], %[[VALUES]] into
chunk.program @written_keys {} chunk 16 {
  %q = chunk.input "q" : tensor<16x16xf32>
  %k = chunk.input "k" : tensor<16x16xf32>
  %v = chunk.input "v" : tensor<16x8xf32>
  %g = chunk.input "g" : tensor<16xf32>
  %S = chunk.state "S" : tensor<8x16xf32>
  %o = chunk.read %q, %S : tensor<16x16xf32>, tensor<8x16xf32>
  %total = chunk.cumulative_decay total log(%g) : tensor<16xf32>
  %after = chunk.cumulative_decay after log(%g) : tensor<16xf32>
  %scaled = chunk.map mul %after, %v : tensor<16xf32>, tensor<16x8xf32>
  %next = chunk.advance %S, %scaled, %k columns(%total : tensor<1xf32>) : tensor<8x16xf32>, tensor<16x8xf32>, tensor<16x16xf32>
  chunk.output "o" %o : tensor<16x8xf32>
  chunk.next %S, %next : tensor<8x16xf32>
}

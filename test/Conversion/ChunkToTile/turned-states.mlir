// RUN: recur-opt %s --chunk-advance-last --convert-chunk-to-tile=symbol=kernel | FileCheck %s
// RUN: recur-opt %s --chunk-advance-last --convert-chunk-to-tile="symbol=kernel threads=256" | FileCheck %s --check-prefix=CTA

// A state that is advanced, whose columns are then scaled and to which the product of two vectors is added, lies transposed and
// changes in place: what was over the columns is over the rows, and the other way round.
// CHECK-LABEL: tile.kernel @kernel
chunk.program @turned {} chunk 64 {
  %q = chunk.input "q" : tensor<64x30xf32>
  %k = chunk.input "k" : tensor<64x30xf32>
  %v = chunk.input "v" : tensor<64x20xf32>
  %S = chunk.state "S" : tensor<20x30xf32>
  // CHECK: scf.for
  // CHECK-NOT: tile.transpose
  %o = chunk.read %q, %S : tensor<64x30xf32>, tensor<20x30xf32>
  chunk.output "o" %o : tensor<64x20xf32>
  %S1 = chunk.advance %S, %v, %k : tensor<20x30xf32>, tensor<64x20xf32>, tensor<64x30xf32>
  %k1 = chunk.last %k : tensor<64x30xf32>
  %c = chunk.reshape_state %k1 : tensor<30xf32> to tensor<1x30xf32>
  %v1 = chunk.last %v : tensor<64x20xf32>
  %w = chunk.reshape_state %v1 : tensor<20xf32> to tensor<1x20xf32>
  %a = chunk.reshape_state %S1 : tensor<20x30xf32> to tensor<1x20x30xf32>
  %scaled = chunk.map scale_cols %a, %c : tensor<1x20x30xf32>, tensor<1x30xf32>
  %outer = chunk.map outer %w, %c : tensor<1x20xf32>, tensor<1x30xf32>
  %sum = chunk.map add %scaled, %outer : tensor<1x20x30xf32>, tensor<1x20x30xf32>
  // CHECK: tile.product transposed {{.*}} into [[STATE:%.*]] rows {{.*}} plus [[STATE]]
  // CHECK: [[MATRIX:%.*]] = tile.view [[STATE]] offset 0 : {{.*}} to <1x30x20xf32
  // CHECK: tile.map [[MATRIX]], {{.*}} into [[MATRIX]] rows {{.*}} dims [array<i64: 0, 1, 2>, array<i64: 0, 1>, array<i64: 0, 2>]
  // A CTA does it in one pass too, which takes both vectors.
  // CTA: tile.product transposed
  // CTA-NOT: tile.map
  // CTA: tile.map {{%.*}}, {{%.*}}, {{%.*}} into {{.*}} dims [array<i64: 0, 1, 2>, array<i64: 0, 2>, array<i64: 0, 1>]
  %S2 = chunk.reshape_state %sum : tensor<1x20x30xf32> to tensor<20x30xf32>
  chunk.next %S, %S2 : tensor<20x30xf32>
}

// RUN: recur-opt %s --chunk-store=types=bf16 --chunk-choose-factors --chunk-advance-last --chunk-decay-reads --convert-chunk-to-tile="threads=256" | FileCheck %s

// Where no state goes from chunk to chunk, sums that only passes over elements take stay in registers; and of two that are
// added up the second starts from what is made of the first, which is scaled before.
// CHECK-LABEL: tile.kernel @late
// CHECK: %[[O:.*]] = tile.alloc : <64x128xf32, registers, [128, 1]>
// CHECK: %[[A:.*]] = tile.alloc : <64x64xf32, registers, [64, 1]>
// CHECK-NOT: xf32, registers
// CHECK: tile.product %{{.*}}, right_transposed %{{.*}} into %[[O]] rows
// CHECK: tile.product %{{.*}}, right_transposed %{{.*}} into %[[A]] rows
// CHECK: tile.map %[[A]],
// CHECK-SAME: into <64x64xbf16, shared, [72, 1]>
// CHECK: tile.map %{{.*}}, %[[O]] into %[[O]] rows
// CHECK: arith.mulf
// CHECK: tile.product %{{.*}}, %{{.*}} into %[[O]] rows %{{.*}} inner %{{.*}} plus %[[O]] left_triangle [1, 1]
// CHECK: tile.map %[[O]] into %{{.*}} rows
// CHECK-SAME: into <64x128xbf16, shared, [136, 1]>
chunk.program @late {} chunk 64 {
  %S = chunk.take "S" whole rounded : tensor<128x128xf32>
  %u = chunk.take "U" rounded : tensor<64x128xf32>
  %half = chunk.constant 0.5 : tensor<1xf32>
  %q = chunk.input "q" : tensor<64x128xf32>
  %k = chunk.input "k" : tensor<64x128xf32>
  %g = chunk.input "g" : tensor<64xf32>
  %decay = chunk.cumulative_decay through log(%g) : tensor<64xf32>
  %scaled = chunk.map mul %decay, %q : tensor<64xf32>, tensor<64x128xf32>
  %past = chunk.read %scaled, %S : tensor<64x128xf32>, tensor<128x128xf32>
  %A = chunk.interaction %q, %k inclusive decay log(%g : tensor<64xf32>) : tensor<64x128xf32>, tensor<64x128xf32>
  %present = chunk.apply %A, %u : tensor<64x64xf32>, tensor<64x128xf32>
  %o = chunk.map add %past, %present : tensor<64x128xf32>, tensor<64x128xf32>
  %given = chunk.map mul %half, %o : tensor<1xf32>, tensor<64x128xf32>
  chunk.output "o" %given : tensor<64x128xf32>
}

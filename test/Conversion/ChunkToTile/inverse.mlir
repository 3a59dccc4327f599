// RUN: recur-opt %s --chunk-store=types=bf16 --chunk-choose-factors --convert-chunk-to-tile="threads=256" | FileCheck %s
// RUN: recur-opt %s --convert-chunk-to-tile="threads=256" | FileCheck %s --check-prefix=SOLVE
// RUN: recur-opt %s --chunk-store=types=bf16 --chunk-choose-factors --convert-chunk-to-tile | FileCheck %s --check-prefix=SOLVE

// An inverse that nothing but products of bf16 take is made as they take it, of whole blocks of 16 rows. Otherwise it is
// what an identity is solved for, and zeros stay above the diagonal as the columns are scaled.
// CHECK-LABEL: tile.kernel @blocks
// CHECK: tile.invert %[[L:.*]] into %[[T:.*]] rows %{{.*}} scaled_columns %{{.*}} : <32x32xf32, shared, [36, 1]> into <32x32xbf16, shared, [72, 1]> scaled_columns !tile.tile<32xf32, shared, [1]>
// CHECK-NOT: tile.solve
// CHECK: tile.product %[[T]], %{{.*}} left_triangle [1, 1]
// SOLVE-LABEL: tile.kernel @blocks
// SOLVE: tile.solve %{{.*}}, %[[T:.*]] rows
// SOLVE: tile.map %[[T]], %{{.*}} into %[[T]] rows %{{.*}} dims [array<i64: 0, 1>, array<i64: 1>]
// SOLVE: arith.cmpi slt
// SOLVE: arith.mulf
// SOLVE: arith.select
// SOLVE-NOT: tile.invert
chunk.program @blocks {} chunk 32 {
  %k = chunk.input "k" : tensor<32x32xf32>
  %v = chunk.input "v" : tensor<32x32xf32>
  %b = chunk.input "b" : tensor<32xf32>
  %L = chunk.interaction %k, %k strict : tensor<32x32xf32>, tensor<32x32xf32>
  %T = chunk.inverse %L columns(%b : tensor<32xf32>) : tensor<32x32xf32>
  %U = chunk.apply %T, %v : tensor<32x32xf32>, tensor<32x32xf32>
  chunk.output "u" %U : tensor<32x32xf32>
}

// CHECK-LABEL: tile.kernel @part_of_a_block
// CHECK-NOT: tile.invert
// CHECK: tile.solve
// SOLVE-LABEL: tile.kernel @part_of_a_block
chunk.program @part_of_a_block {} chunk 24 {
  %k = chunk.input "k" : tensor<24x32xf32>
  %v = chunk.input "v" : tensor<24x32xf32>
  %L = chunk.interaction %k, %k strict : tensor<24x32xf32>, tensor<24x32xf32>
  %T = chunk.inverse %L : tensor<24x24xf32>
  %U = chunk.apply %T, %v : tensor<24x24xf32>, tensor<24x32xf32>
  chunk.output "u" %U : tensor<24x32xf32>
}

// One that is left for a product of tf32 is of f32, exchanged. What is multiplied by such a one is not rounded.
// CHECK-LABEL: tile.kernel @left
// CHECK: tile.invert %{{.*}} into %[[T:.*]] rows %{{.*}} exchanged : <32x32xf32, shared, [36, 1]> into <32x32xf32, shared, [36, 1]>
// CHECK: tile.store %[[T]] rows %{{.*}} to %{{.*}} : <32x32xf32, shared, [36, 1]> to <?x32xf32, global>
// SOLVE-LABEL: tile.kernel @left
chunk.program @left {} chunk 32 {
  %k = chunk.input "k" : tensor<32x32xf32>
  %L = chunk.interaction %k, %k strict : tensor<32x32xf32>, tensor<32x32xf32>
  %T = chunk.inverse %L : tensor<32x32xf32>
  chunk.give "T" precise %T : tensor<32x32xf32>
}

// CHECK-LABEL: tile.kernel @taken
// CHECK: tile.load %{{.*}} into %[[T:.*]] : <?x32xf32, global> into <32x32xf32, shared, [36, 1]>
// CHECK: tile.map %{{.*}} into %[[Y:.*]] rows {{.*}} into <32x64xf32, shared, [68, 1]>
// CHECK: tile.product left_exchanged %[[T]], %[[Y]] into %[[U:.*]] rows %{{.*}} left_triangle [1, 1] {{.*}} into <32x64xbf16, shared, [72, 1]>
// CHECK: tile.product transposed %[[U]], %
chunk.program @taken {} chunk 32 {
  %k = chunk.input "k" : tensor<32x32xf32>
  %v = chunk.input "v" : tensor<32x64xf32>
  %T = chunk.take "T" precise triangle [1, 1] : tensor<32x32xf32>
  %S = chunk.state "S" : tensor<64x32xf32>
  %x = chunk.read %k, %S : tensor<32x32xf32>, tensor<64x32xf32>
  %y = chunk.map sub %v, %x : tensor<32x64xf32>, tensor<32x64xf32>
  %u = chunk.apply %T, %y : tensor<32x32xf32>, tensor<32x64xf32>
  %S1 = chunk.advance %S, %u, %k : tensor<64x32xf32>, tensor<32x64xf32>, tensor<32x32xf32>
  chunk.next %S, %S1 : tensor<64x32xf32>
}

// RUN: recur-opt %s --convert-chunk-to-tile | FileCheck %s --check-prefix=CORE --implicit-check-not=tile.transpose
// RUN: recur-opt %s --convert-chunk-to-tile="threads=256" | FileCheck %s --check-prefix=CTA --implicit-check-not=tile.transpose
// RUN: recur-opt %s --chunk-differentiate --chunk-keep-states --convert-chunk-to-tile | FileCheck %s --check-prefix=GRADIENT

// A core has the state as its products take it, which is how the caller has a transposed one: nothing is transposed on the
// way in or out. A CTA's arrays say that the caller has the transpose, and its loads and stores go by the strides.
// CORE: tile.kernel @keys_as_rows
// CORE-NEXT: ^bb0(%{{.*}}, %[[INITIAL:[a-z0-9]+]]: !tile.tile<?x30x20xf32, global>, %{{.*}}: !tile.tile<?x20xf32, global>, %[[FINAL:[a-z0-9]+]]: !tile.tile<?x30x20xf32, global>,
// CORE: tile.load %[[INITIAL]]{{.*}} into <1x30x20xf32, local
// CORE: tile.store {{.*}} to %[[FINAL]]{{.*}}<1x30x20xf32, local
// CTA: tile.kernel @keys_as_rows
// CTA-NEXT: ^bb0(%{{.*}}, %[[INITIAL:[a-z0-9]+]]: !tile.tile<?x20x30xf32, global, transposed>, %{{.*}}: !tile.tile<?x20xf32, global>, %[[FINAL:[a-z0-9]+]]: !tile.tile<?x20x30xf32, global, transposed>,
// CTA: tile.load %[[INITIAL]]{{.*}} : <?x20x30xf32, global, transposed> into <1x20x30xf32, shared
// CTA: tile.store {{.*}} to %[[FINAL]]{{.*}} : <1x20x30xf32, shared{{.*}} to <?x20x30xf32, global, transposed>

// What is kept of it, and its cotangents, lie as the caller's states do.
// GRADIENT: tile.kernel @keys_as_rows_states
// GRADIENT-NEXT: ^bb0({{.*}}: !tile.tile<?x30x20xf32, global>,{{.*}}: !tile.tile<?x30x20xf32, global>,{{.*}}: !tile.tile<?x30x20xf32, global>, %{{[a-z0-9]+}}: i64):
// GRADIENT: tile.kernel @keys_as_rows_gradient
// GRADIENT-NEXT: ^bb0({{.*}}: !tile.tile<?x30x20xf32, global>,{{.*}}: !tile.tile<?x30x20xf32, global>,{{.*}}: !tile.tile<?x30x20xf32, global>, %{{[a-z0-9]+}}: i64):
chunk.program @keys_as_rows {} chunk 16 {
  %q = chunk.input "q" : tensor<16x30xf32>
  %k = chunk.input "k" : tensor<16x30xf32>
  %v = chunk.input "v" : tensor<16x20xf32>
  %S = chunk.state "S" transposed : tensor<20x30xf32>
  %past = chunk.read %q, %S : tensor<16x30xf32>, tensor<20x30xf32>
  %S1 = chunk.advance %S, %v, %k : tensor<20x30xf32>, tensor<16x20xf32>, tensor<16x30xf32>
  chunk.output "o" %past : tensor<16x20xf32>
  chunk.next %S, %S1 : tensor<20x30xf32>
}

// RUN: recur-opt %s --chunk-advance-last --chunk-decay-reads --convert-chunk-to-tile | FileCheck %s

// What is read twice in one pass is computed there once; what a scan adds up is computed in the scan.
// CHECK-LABEL: tile.kernel @twice required 1 workspace
// CHECK-NOT: tile.map
// CHECK: tile.scan %{{.*}} initial
// CHECK-NEXT: ^bb0(%[[X:.*]]: f32, %[[SUM:.*]]: f32):
// CHECK-NEXT: %[[SQUARE:.*]] = arith.mulf %[[X]], %[[X]]
// CHECK-NEXT: arith.addf %[[SUM]], %[[SQUARE]]
// CHECK: tile.map
// CHECK: math.log
// CHECK-NEXT: math.absf
// CHECK-NEXT: arith.divf
// CHECK-NOT: tile.map
// CHECK: tile.store
chunk.program @twice {} chunk 16 {
  %x = chunk.input "x" : tensor<16x20xf32>
  %A = chunk.state "A" : tensor<20xf32>
  %square = chunk.map mul %x, %x : tensor<16x20xf32>, tensor<16x20xf32>
  %all, %last = chunk.scan %A, %square : tensor<20xf32>, tensor<16x20xf32>
  %log = chunk.map log %all : tensor<16x20xf32>
  %size = chunk.map abs %log : tensor<16x20xf32>
  %y = chunk.map div %log, %size : tensor<16x20xf32>, tensor<16x20xf32>
  chunk.output "y" %y : tensor<16x20xf32>
  chunk.next %A, %last : tensor<20xf32>
}

// Maps that alone read what a scan gives are computed in the scan: those of a masked interaction, in its tile, and those
// of a decay. A product starts from the rows that it is added to, with their factors.
// CHECK-LABEL: tile.kernel @scans required 6 workspace
// CHECK: tile.scan %[[G:.*]], %[[Q:.*]] all %[[R:.*]] rows %{{.*}} dims [array<i64: 0, 1>, array<i64: 0, 1>] start 0
// CHECK-NEXT: ^bb0(%[[X:.*]]: f32, %[[Y:.*]]: f32, %[[SUM:.*]]: f32):
// CHECK-NEXT: %[[NEXT:.*]] = arith.addf %[[SUM]], %[[X]]
// CHECK-NEXT: %[[DECAY:.*]] = math.exp %[[NEXT]]
// CHECK-NEXT: %[[GIVEN:.*]] = arith.mulf %[[DECAY]], %[[Y]]
// CHECK-NEXT: tile.yield %[[NEXT]], %[[GIVEN]]
// CHECK: tile.product %[[R]], %{{.*}} into %[[O:.*]] rows
// CHECK: tile.product {{.*}} into %[[A:.*]] rows {{.*}} result_triangle
// CHECK: tile.scan %[[A]], %{{.*}}, %[[BETA:.*]] all %[[A]] rows %{{.*}} dims [array<i64: 0, 1>, array<i64: 0>, array<i64: 0>]
// CHECK-NOT: tile.map
// CHECK: tile.product %[[A]], %{{.*}} into %[[O]] rows {{.*}} plus %[[O]] scaled_rows %[[BETA]] left_triangle
// CHECK-NOT: tile.map
// CHECK: tile.store %[[O]]
chunk.program @scans {} chunk 16 {
  %q = chunk.input "q" : tensor<16x20xf32>
  %k = chunk.input "k" : tensor<16x20xf32>
  %v = chunk.input "v" : tensor<16x12xf32>
  %g = chunk.input "g" : tensor<16x20xf32>
  %h = chunk.input "h" : tensor<16xf32>
  %beta = chunk.param "beta" : tensor<1xf32>
  %S = chunk.state "S" : tensor<12x20xf32>
  %d = chunk.cumulative_decay through log(%g) : tensor<16x20xf32>
  %r = chunk.map mul %d, %q : tensor<16x20xf32>, tensor<16x20xf32>
  %x = chunk.read %r, %S : tensor<16x20xf32>, tensor<12x20xf32>
  %A = chunk.interaction %q, %k inclusive decay linear(%h : tensor<16xf32>) : tensor<16x20xf32>, tensor<16x20xf32>
  %B = chunk.map mul %beta, %A : tensor<1xf32>, tensor<16x16xf32>
  %y = chunk.apply %B, %v : tensor<16x16xf32>, tensor<16x12xf32>
  %z = chunk.map mul %beta, %x : tensor<1xf32>, tensor<16x12xf32>
  %o = chunk.map add %z, %y : tensor<16x12xf32>, tensor<16x12xf32>
  chunk.output "o" %o : tensor<16x12xf32>
  chunk.next %S, %S : tensor<12x20xf32>
}

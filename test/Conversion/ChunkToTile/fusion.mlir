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

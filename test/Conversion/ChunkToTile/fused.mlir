// What one pass over a core's tiles, or one product, makes of several ops.
// RUN: recur-opt %s --convert-chunk-to-tile | FileCheck %s

// Two interactions of one mask are added before they are masked.
// CHECK-LABEL: tile.kernel @dots
// CHECK: tile.product %{{.*}}, %{{.*}} into %[[A:[0-9]+]] rows %{{.*}} inner %{{.*}} result_triangle [1, 1]
// CHECK-NOT: tile.scan
// CHECK: tile.product %{{.*}}, %{{.*}} into %[[A]] rows %{{.*}} inner %{{.*}} plus %[[A]] result_triangle [1, 1]
// CHECK-COUNT-1: tile.scan %[[A]]
// CHECK: tile.product %[[A]]
chunk.program @dots {} chunk 8 {
  %q = chunk.input "q" : tensor<8x3xf32>
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %g = chunk.input "g" : tensor<8xf32>
  %A = chunk.interaction %q, %k inclusive decay log(%g : tensor<8xf32>) : tensor<8x3xf32>, tensor<8x3xf32>
  %B = chunk.interaction %k, %q inclusive decay log(%g : tensor<8xf32>) : tensor<8x3xf32>, tensor<8x3xf32>
  %C = chunk.map add %A, %B : tensor<8x8xf32>, tensor<8x8xf32>
  %o = chunk.apply %C, %v : tensor<8x8xf32>, tensor<8x2xf32>
  chunk.output "o" %o : tensor<8x2xf32>
}

// Of two masks each is put on by itself.
// CHECK-LABEL: tile.kernel @masks
// CHECK-NOT: plus
// CHECK: tile.store
chunk.program @masks {} chunk 8 {
  %q = chunk.input "q" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %A = chunk.interaction %q, %q inclusive : tensor<8x3xf32>, tensor<8x3xf32>
  %B = chunk.interaction %q, %q strict : tensor<8x3xf32>, tensor<8x3xf32>
  %C = chunk.map add %A, %B : tensor<8x8xf32>, tensor<8x8xf32>
  %o = chunk.apply %C, %v : tensor<8x8xf32>, tensor<8x2xf32>
  chunk.output "o" %o : tensor<8x2xf32>
}

// A matrix of each token, that a vector scales and an outer product is added to, is gone through once.
// CHECK-LABEL: tile.kernel @matrices
// CHECK: tile.map %{{[0-9]+}}, %{{[0-9]+}}, %{{[0-9]+}} into %{{.*}} rows %{{.*}} dims [array<i64: 0, 1, 2>, array<i64: 0, 2>, array<i64: 0, 1>]
// CHECK-NEXT: ^bb0(%[[X:.*]]: f32, %[[Y:.*]]: f32, %[[Z:.*]]: f32):
// CHECK-NEXT: %[[SCALED:.*]] = arith.mulf %[[X]], %[[Y]]
// CHECK-NEXT: %[[OUTER:.*]] = arith.mulf %[[Z]], %[[Y]]
// CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[SCALED]], %[[OUTER]]
// CHECK-NEXT: tile.yield %[[SUM]]
// CHECK-NOT: tile.map
// CHECK: tile.store
chunk.program @matrices {} chunk 8 {
  %m = chunk.input "m" : tensor<8x2x3xf32>
  %a = chunk.input "a" : tensor<8x3xf32>
  %b = chunk.input "b" : tensor<8x2xf32>
  %s = chunk.map scale_cols %m, %a : tensor<8x2x3xf32>, tensor<8x3xf32>
  %o = chunk.map outer %b, %a : tensor<8x2xf32>, tensor<8x3xf32>
  %r = chunk.map add %s, %o : tensor<8x2x3xf32>, tensor<8x2x3xf32>
  chunk.output "r" %r : tensor<8x2x3xf32>
}

// What a token hands to the next is computed as it is handed over. Of angles within half a turn a polynomial is enough.
// CHECK-LABEL: tile.kernel @turned
// CHECK: tile.scan %{{.*}} initial %{{.*}} all %[[ANGLES:[0-9]+]] last
// CHECK: tile.scan %[[ANGLES]], %{{[0-9]+}} initial
// CHECK-NEXT: ^bb0(%[[ANGLE:.*]]: f32, %[[N:.*]]: f32, %[[BEFORE:.*]]: f32):
// CHECK-NOT: math.cos
// CHECK-COUNT-6: math.fma
// CHECK: tile.yield %{{.*}}, %[[BEFORE]]
chunk.program @turned {} chunk 8 {
  %t = chunk.input "t" : tensor<8x3xf32>
  %x = chunk.input "x" : tensor<8x3xf32>
  %phase = chunk.state "phase" : tensor<3xf32>
  %held = chunk.state "held" : tensor<3xf32>
  %all, %last = chunk.scan %phase, %t angles : tensor<3xf32>, tensor<8x3xf32>
  %c = chunk.map cos %all : tensor<8x3xf32>
  %y = chunk.map mul %c, %x : tensor<8x3xf32>, tensor<8x3xf32>
  %b = chunk.previous %held, %y : tensor<3xf32>, tensor<8x3xf32>
  chunk.output "b" %b : tensor<8x3xf32>
  chunk.next %phase, %last : tensor<3xf32>
  chunk.next %held, %held : tensor<3xf32>
}

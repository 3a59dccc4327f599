// RUN: recur-opt %s '--convert-chunk-to-tile=symbol=kernel threads=256' | FileCheck %s

// What tokens find in a window that comes from an input's array is that array some rows before the chunk, and it is loaded
// from there as the product takes it. Where the sequence has fewer rows, those that it has move, and
// the caller's stand before them: of 70 rows the third is 68 tokens before a token's own.
// CHECK-LABEL: tile.kernel @kernel
// CHECK: ^bb0([[X:%.*]]: !tile.tile<?x32xbf16, global>, [[GIVEN:%.*]]: !tile.tile<?x70x32xf32, global>,
// CHECK: scf.parallel
// CHECK: [[BEGIN:%.*]] = arith.subi [[FIRST:%.*]], %c68
// CHECK: [[BEFORE:%.*]] = arith.maxsi
// CHECK: [[MISSING:%.*]] = arith.minsi [[BEFORE]], [[TOKENS:%.*]] : i64
// CHECK: [[THERE:%.*]] = arith.subi [[TOKENS]], [[MISSING]]
// CHECK: [[FROM:%.*]] = arith.maxsi [[BEGIN]],
// CHECK: tile.load [[X]]{{\[}}[[FROM]]] rows [[THERE]] into [[ROWS:%.*]] : <?x32xbf16, global> into <64x32xbf16, shared,
// CHECK: scf.if
// CHECK: tile.load [[GIVEN]]
// CHECK: scf.for {{.*}} to [[THERE]]
// CHECK: scf.for {{.*}} to [[MISSING]]
// CHECK: tile.product {{.*}}, right_transposed [[ROWS]] into
chunk.program @delayed {} chunk 64 factors bf16 {
  %x = chunk.input "x" stored bf16 : tensor<64x32xf32>
  %given = chunk.initial "x_last70" : tensor<70x32xf32>
  %window = chunk.held %x[70], %given : tensor<64x32xf32>, tensor<70x32xf32>
  %y, %next = chunk.token_loop (%row = %x : tensor<64x32xf32>) carry (%w = %window : tensor<70x32xf32>) -> (tensor<64x32xf32>, tensor<70x32xf32>) {
    %found = chunk.extract %w[2] : tensor<1x70x32xf32>
    %kept = chunk.slice %w[1 for 69] : tensor<1x70x32xf32>
    %moved = chunk.concat %kept, %row : tensor<1x69x32xf32>, tensor<1x32xf32> to tensor<1x70x32xf32>
    chunk.yield %found, %moved : tensor<1x32xf32>, tensor<1x70x32xf32>
  }
  %m = chunk.interaction %x, %y points [1] of [0] : tensor<64x32xf32>, tensor<64x32xf32>
  %o = chunk.apply %m, %y : tensor<64x64xf32>, tensor<64x32xf32>
  chunk.output "o" %o stored bf16 : tensor<64x32xf32>
}

// RUN: recur-opt %s '--convert-chunk-to-tile=symbol=kernel threads=256' | FileCheck %s

// An input's rows of earlier tokens are that array some rows before the chunk, loaded from there as the product takes
// them. Where the sequence has fewer rows, those that it has move, and
// the caller's stand before them: of 70 rows the third is 68 tokens before a token's own.
// CHECK-LABEL: tile.kernel @kernel
// CHECK: ^bb0(%{{[a-z0-9]*}}: !tile.tile<?x32xbf16, global>, [[X:%[a-z0-9]*]]: !tile.tile<?x32xbf16, global>, [[GIVEN:%[a-z0-9]*]]: !tile.tile<?x70x32xf32, global>,
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
  %y = chunk.input "x" stored bf16 back 68 behind %given : tensor<70x32xf32> : tensor<64x32xf32>
  %m = chunk.interaction %x, %y inclusive : tensor<64x32xf32>, tensor<64x32xf32>
  %o = chunk.apply %m, %y : tensor<64x64xf32>, tensor<64x32xf32>
  chunk.output "o" %o stored bf16 : tensor<64x32xf32>
}

// The meaning of products of pairs, which matrix units take: two rows side by side, with zeros beside an odd last one.
// RUN: recur-opt --interpret %s >/dev/null

// Three rows, each scaled by a number, are two rows of pairs.
!OddRowsA = !tile.tile<5x3xf32, local, [6, 1]>
!OddRowsB = !tile.tile<5x1xf32, local, [4, 1]>
!OddRowsC = !tile.tile<3x6xf32, local, [9, 1]>
tile.kernel @odd_rows required 3 workspace 0 {
^bb0(%x: !tile.tile<?x3xf32, global>, %y: !tile.tile<?x1xf32, global>, %z: !tile.tile<?x6xf32, global>, %tokens: i64):
  %zero = arith.constant 0 : i64
  %n = arith.constant 2 : i64
  %ar = arith.constant 5 : i64
  %br = arith.constant 5 : i64
  %a = tile.alloc : !OddRowsA
  %b = tile.alloc : !OddRowsB
  %c = tile.alloc : !OddRowsC
  tile.load %x[%zero] rows %ar into %a : !tile.tile<?x3xf32, global> into !OddRowsA
  tile.load %y[%zero] rows %br into %b : !tile.tile<?x1xf32, global> into !OddRowsB
  %s = tile.view %b offset 0 : !OddRowsB to !tile.tile<5xf32, local, [4]>
  %p = tile.alloc : !tile.tile<3x3x2xbf16, local, [16, 2, 1]>
  %three = arith.constant 3 : i64
  tile.pair %a scaled_rows %s rows %three into %p
      : !OddRowsA scaled_rows !tile.tile<5xf32, local, [4]> into !tile.tile<3x3x2xbf16, local, [16, 2, 1]>
  %flat = tile.view %p offset 0 : !tile.tile<3x3x2xbf16, local, [16, 2, 1]> to !tile.tile<3x6xbf16, local, [16, 1]>
  tile.map %flat into %c rows %n dims [array<i64: 0, 1>] : !tile.tile<3x6xbf16, local, [16, 1]> into !OddRowsC {
  ^bb0(%x0: f32):
    tile.yield %x0 : f32
  }
  tile.store %c rows %n to %z[%zero] : !OddRowsC to !tile.tile<?x6xf32, global>
}
check.run @odd_rows
    ([[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12], [13, 14, 15]],
     [[1], [10], [100], [1000], [10000]],
     [[7, 7, 7, 7, 7, 7], [7, 7, 7, 7, 7, 7]])
  gives ([[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12], [13, 14, 15]],
         [[1], [10], [100], [1000], [10000]],
         [[1, 40, 2, 50, 3, 60], [700, 0, 800, 0, 900, 0]])

// Three inner indices of four: what lies beside the last is zero in the right factor.
!ProductA = !tile.tile<4x4xf32, local, [7, 1]>
!ProductB = !tile.tile<4x3xf32, local, [6, 1]>
!ProductC = !tile.tile<4x3xf32, local, [6, 1]>
tile.kernel @product required 3 workspace 0 {
^bb0(%x: !tile.tile<?x4xf32, global>, %y: !tile.tile<?x3xf32, global>, %z: !tile.tile<?x3xf32, global>, %tokens: i64):
  %zero = arith.constant 0 : i64
  %n = arith.constant 4 : i64
  %k = arith.constant 3 : i64
  %ar = arith.constant 4 : i64
  %br = arith.constant 4 : i64
  %a = tile.alloc : !ProductA
  %b = tile.alloc : !ProductB
  %c = tile.alloc : !ProductC
  tile.load %x[%zero] rows %ar into %a : !tile.tile<?x4xf32, global> into !ProductA
  tile.load %y[%zero] rows %br into %b : !tile.tile<?x3xf32, global> into !ProductB
  %left = tile.alloc : !tile.tile<4x4xbf16, local, [16, 1]>
  tile.map %a into %left rows %n dims [array<i64: 0, 1>] : !ProductA into !tile.tile<4x4xbf16, local, [16, 1]> {
  ^bb0(%x0: f32):
    tile.yield %x0 : f32
  }
  %right = tile.alloc : !tile.tile<2x3x2xbf16, local, [16, 2, 1]>
  tile.pair %b rows %k into %right : !ProductB into !tile.tile<2x3x2xbf16, local, [16, 2, 1]>
  tile.product %left, %right into %c rows %n inner %k
      : !tile.tile<4x4xbf16, local, [16, 1]>, !tile.tile<2x3x2xbf16, local, [16, 2, 1]> into !ProductC
  tile.store %c rows %n to %z[%zero] : !ProductC to !tile.tile<?x3xf32, global>
}
check.run @product
    ([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]],
     [[1, 0, 2], [0, 1, 3], [1, 1, -1], [9, 9, 9]],
     [[7, 7, 7], [7, 7, 7], [7, 7, 7], [7, 7, 7]])
  gives ([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]],
         [[1, 0, 2], [0, 1, 3], [1, 1, -1], [9, 9, 9]],
         [[4, 5, 5], [12, 13, 21], [20, 21, 37], [28, 29, 53]])

// Pairs of columns are those of the transpose: b a^T, with both factors given so.
!ColumnsA = !tile.tile<4x6xf32, local, [9, 1]>
!ColumnsB = !tile.tile<5x6xf32, local, [9, 1]>
!ColumnsC = !tile.tile<5x4xf32, local, [7, 1]>
tile.kernel @columns required 3 workspace 0 {
^bb0(%x: !tile.tile<?x6xf32, global>, %y: !tile.tile<?x6xf32, global>, %z: !tile.tile<?x4xf32, global>, %tokens: i64):
  %zero = arith.constant 0 : i64
  %n = arith.constant 5 : i64
  %k = arith.constant 6 : i64
  %ar = arith.constant 4 : i64
  %br = arith.constant 5 : i64
  %a = tile.alloc : !ColumnsA
  %b = tile.alloc : !ColumnsB
  %c = tile.alloc : !ColumnsC
  tile.load %x[%zero] rows %ar into %a : !tile.tile<?x6xf32, global> into !ColumnsA
  tile.load %y[%zero] rows %br into %b : !tile.tile<?x6xf32, global> into !ColumnsB
  %rounded = tile.alloc : !tile.tile<4x6xbf16, local, [16, 1]>
  tile.map %a into %rounded rows %ar dims [array<i64: 0, 1>] : !ColumnsA into !tile.tile<4x6xbf16, local, [16, 1]> {
  ^bb0(%x0: f32):
    tile.yield %x0 : f32
  }
  %right = tile.alloc : !tile.tile<3x4x2xbf16, local, [16, 2, 1]>
  tile.pair transposed %rounded rows %ar into %right
      : !tile.tile<4x6xbf16, local, [16, 1]> into !tile.tile<3x4x2xbf16, local, [16, 2, 1]>
  %other = tile.alloc : !tile.tile<5x6xbf16, local, [16, 1]>
  tile.map %b into %other rows %n dims [array<i64: 0, 1>] : !ColumnsB into !tile.tile<5x6xbf16, local, [16, 1]> {
  ^bb0(%x0: f32):
    tile.yield %x0 : f32
  }
  %left = tile.alloc : !tile.tile<3x5x2xbf16, local, [16, 2, 1]>
  tile.pair transposed %other rows %n into %left
      : !tile.tile<5x6xbf16, local, [16, 1]> into !tile.tile<3x5x2xbf16, local, [16, 2, 1]>
  tile.product transposed %left, %right into %c rows %n inner %k
      : !tile.tile<3x5x2xbf16, local, [16, 2, 1]>, !tile.tile<3x4x2xbf16, local, [16, 2, 1]> into !ColumnsC
  tile.store %c rows %n to %z[%zero] : !ColumnsC to !tile.tile<?x4xf32, global>
}
check.run @columns
    ([[-4, 1, -3, 2, -2, 3], [3, -1, 4, 0, -4, 1], [1, -3, 2, -2, 3, -1], [-1, 4, 0, -4, 1, -3]],
     [[-3, 0, 3, -1, 2, -2], [2, -2, 1, -3, 0, 3], [0, 3, -1, 2, -2, 1], [-2, 1, -3, 0, 3, -1],
      [3, -1, 2, -2, 1, -3]],
     [[7, 7, 7, 7], [7, 7, 7, 7], [7, 7, 7, 7], [7, 7, 7, 7], [7, 7, 7, 7]])
  gives ([[-4, 1, -3, 2, -2, 3], [3, -1, 4, 0, -4, 1], [1, -3, 2, -2, 3, -1], [-1, 4, 0, -4, 1, -3]],
         [[-3, 0, 3, -1, 2, -2], [2, -2, 1, -3, 0, 3], [0, 3, -1, 2, -2, 1], [-2, 1, -3, 0, 3, -1],
          [3, -1, 2, -2, 1, -3]],
         [[-9, -7, 13, 15], [-10, 15, 13, -7], [17, 2, -22, -1], [9, -32, -1, 12], [-34, 11, 20, 11]])

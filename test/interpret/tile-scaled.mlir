// The meaning of products with a scale of each channel between two indices: the scales after the earlier index, up to the
// later one, or up to the one before it for a row whose point is -1.
// RUN: recur-opt --interpret %s >/dev/null

// Dots go back to the start of the block of two indices. An index has two rows, of which the scale of its own index does
// not reach the first, and two columns. What is not computed stays.
!DotsA = !tile.tile<8x3xf32, local, [6, 1]>
!DotsB = !tile.tile<12x3xf32, local, [6, 1]>
!DotsC = !tile.tile<8x8xf32, local, [11, 1]>
tile.kernel @dots required 3 workspace 0 {
^bb0(%x: !tile.tile<?x3xf32, global>, %y: !tile.tile<?x3xf32, global>, %z: !tile.tile<?x8xf32, global>, %tokens: i64):
  %zero = arith.constant 0 : i64
  %n = arith.constant 6 : i64
  %ar = arith.constant 8 : i64
  %br = arith.constant 12 : i64
  %a = tile.alloc : !DotsA
  %b = tile.alloc : !DotsB
  %c = tile.alloc : !DotsC
  tile.load %x[%zero] rows %ar into %a : !tile.tile<?x3xf32, global> into !DotsA
  tile.load %y[%zero] rows %br into %b : !tile.tile<?x3xf32, global> into !DotsB
  %columns = tile.view %b offset 0 : !DotsB to !tile.tile<8x3xf32, local, [6, 1]>
  %scales = tile.view %b offset 48 : !DotsB to !tile.tile<4x3xf32, local, [6, 1]>
  tile.map into %c rows %n dims [] into !DotsC {
    %number = arith.constant 7.0 : f32
    tile.yield %number : f32
  }
  tile.scaled_dots %a, %columns scales %scales into %c rows %n block 2 points [-1, 1] of [0, 1]
      : !DotsA, !tile.tile<8x3xf32, local, [6, 1]> scales !tile.tile<4x3xf32, local, [6, 1]> into !DotsC
  tile.store %c rows %n to %z[%zero] : !DotsC to !tile.tile<?x8xf32, global>
}
check.run @dots
    ([[-2, 0, 2], [1, -2, 0], [-1, 1, -2], [2, -1, 1], [0, 2, -1], [-2, 0, 2], [1, -2, 0], [-1, 1, -2]],
     [[-3, 0, 3], [2, -2, 1], [0, 3, -1], [-2, 1, -3], [3, -1, 2], [1, -3, 0], [-1, 2, -2], [-3, 0, 3], [9, 9, 9],
      [2, 3, -1], [1, -2, 2], [3, 1, 2]],
     [[5, 5, 5, 5, 5, 5, 5, 5], [5, 5, 5, 5, 5, 5, 5, 5], [5, 5, 5, 5, 5, 5, 5, 5], [5, 5, 5, 5, 5, 5, 5, 5],
      [5, 5, 5, 5, 5, 5, 5, 5], [5, 5, 5, 5, 5, 5, 5, 5]])
  gives ([[-2, 0, 2], [1, -2, 0], [-1, 1, -2], [2, -1, 1], [0, 2, -1], [-2, 0, 2], [1, -2, 0], [-1, 1, -2]],
         [[-3, 0, 3], [2, -2, 1], [0, 3, -1], [-2, 1, -3], [3, -1, 2], [1, -3, 0], [-1, 2, -2], [-3, 0, 3],
          [9, 9, 9], [2, 3, -1], [1, -2, 2], [3, 1, 2]],
         [[7, 7, 7, 7, 7, 7, 7, 7], [-3, 7, 7, 7, 7, 7, 7, 7], [-3, -6, 7, 7, 7, 7, 7, 7],
          [-15, 13, -4, 7, 7, 7, 7, 7], [7, 7, 7, 7, 7, 7, 7, 7], [7, 7, 7, 7, -2, 7, 7, 7]])

// Sums go back to the first index.
!SumsA = !tile.tile<8x4xf32, local, [7, 1]>
!SumsB = !tile.tile<8x3xf32, local, [6, 1]>
!SumsC = !tile.tile<8x3xf32, local, [6, 1]>
tile.kernel @sums required 3 workspace 0 {
^bb0(%x: !tile.tile<?x4xf32, global>, %y: !tile.tile<?x3xf32, global>, %z: !tile.tile<?x3xf32, global>, %tokens: i64):
  %zero = arith.constant 0 : i64
  %n = arith.constant 8 : i64
  %ar = arith.constant 8 : i64
  %br = arith.constant 8 : i64
  %a = tile.alloc : !SumsA
  %b = tile.alloc : !SumsB
  %c = tile.alloc : !SumsC
  tile.load %x[%zero] rows %ar into %a : !tile.tile<?x4xf32, global> into !SumsA
  tile.load %y[%zero] rows %br into %b : !tile.tile<?x3xf32, global> into !SumsB
  %values = tile.view %b offset 0 : !SumsB to !tile.tile<4x3xf32, local, [6, 1]>
  %scales = tile.view %b offset 24 : !SumsB to !tile.tile<4x3xf32, local, [6, 1]>
  tile.scaled_sums %a, %values scales %scales into %c rows %n points [-1, 1] of [0]
      : !SumsA, !tile.tile<4x3xf32, local, [6, 1]> scales !tile.tile<4x3xf32, local, [6, 1]> into !SumsC
  tile.store %c rows %n to %z[%zero] : !SumsC to !tile.tile<?x3xf32, global>
}
check.run @sums
    ([[-2, 0, 2, -1], [1, -2, 0, 2], [-1, 1, -2, 0], [2, -1, 1, -2], [0, 2, -1, 1], [-2, 0, 2, -1], [1, -2, 0, 2],
      [-1, 1, -2, 0]],
     [[-3, 0, 3], [2, -2, 1], [0, 3, -1], [-2, 1, -3], [9, 9, 9], [2, 3, -1], [1, -2, 2], [3, 1, 2]],
     [[7, 7, 7], [7, 7, 7], [7, 7, 7], [7, 7, 7], [7, 7, 7], [7, 7, 7], [7, 7, 7], [7, 7, 7]])
  gives ([[-2, 0, 2, -1], [1, -2, 0, 2], [-1, 1, -2, 0], [2, -1, 1, -2], [0, 2, -1, 1], [-2, 0, 2, -1],
          [1, -2, 0, 2], [-1, 1, -2, 0]],
         [[-3, 0, 3], [2, -2, 1], [0, 3, -1], [-2, 1, -3], [9, 9, 9], [2, 3, -1], [1, -2, 2], [3, 1, 2]],
         [[0, 0, 0], [-3, 0, 3], [3, 0, -3], [-14, 2, -7], [4, -4, 2], [12, 6, 10], [-10, -8, -10], [24, -2, 20]])

// The same with one scale for all channels.
!SumsOfAScaleA = !tile.tile<8x4xf32, local, [7, 1]>
!SumsOfAScaleB = !tile.tile<8x3xf32, local, [6, 1]>
!SumsOfAScaleC = !tile.tile<8x3xf32, local, [6, 1]>
tile.kernel @sums_of_a_scale required 3 workspace 0 {
^bb0(%x: !tile.tile<?x4xf32, global>, %y: !tile.tile<?x3xf32, global>, %z: !tile.tile<?x3xf32, global>, %tokens: i64):
  %zero = arith.constant 0 : i64
  %n = arith.constant 8 : i64
  %ar = arith.constant 8 : i64
  %br = arith.constant 8 : i64
  %a = tile.alloc : !SumsOfAScaleA
  %b = tile.alloc : !SumsOfAScaleB
  %c = tile.alloc : !SumsOfAScaleC
  tile.load %x[%zero] rows %ar into %a : !tile.tile<?x4xf32, global> into !SumsOfAScaleA
  tile.load %y[%zero] rows %br into %b : !tile.tile<?x3xf32, global> into !SumsOfAScaleB
  %values = tile.view %b offset 0 : !SumsOfAScaleB to !tile.tile<4x3xf32, local, [6, 1]>
  %scales = tile.view %b offset 24 : !SumsOfAScaleB to !tile.tile<4xf32, local, [6]>
  tile.scaled_sums %a, %values scales %scales into %c rows %n points [-1, 1] of [0]
      : !SumsOfAScaleA, !tile.tile<4x3xf32, local, [6, 1]> scales !tile.tile<4xf32, local, [6]> into !SumsOfAScaleC
  tile.store %c rows %n to %z[%zero] : !SumsOfAScaleC to !tile.tile<?x3xf32, global>
}
check.run @sums_of_a_scale
    ([[-2, 0, 2, -1], [1, -2, 0, 2], [-1, 1, -2, 0], [2, -1, 1, -2], [0, 2, -1, 1], [-2, 0, 2, -1], [1, -2, 0, 2],
      [-1, 1, -2, 0]],
     [[-3, 0, 3], [2, -2, 1], [0, 3, -1], [-2, 1, -3], [9, 9, 9], [2, 3, -1], [1, -2, 2], [3, 1, 2]],
     [[7, 7, 7], [7, 7, 7], [7, 7, 7], [7, 7, 7], [7, 7, 7], [7, 7, 7], [7, 7, 7], [7, 7, 7]])
  gives ([[-2, 0, 2, -1], [1, -2, 0, 2], [-1, 1, -2, 0], [2, -1, 1, -2], [0, 2, -1, 1], [-2, 0, 2, -1],
          [1, -2, 0, 2], [-1, 1, -2, 0]],
         [[-3, 0, 3], [2, -2, 1], [0, 3, -1], [-2, 1, -3], [9, 9, 9], [2, 3, -1], [1, -2, 2], [3, 1, 2]],
         [[0, 0, 0], [-3, 0, 3], [3, 0, -3], [-14, 2, 11], [4, -4, 2], [12, 6, -14], [-10, 4, 4], [24, -24, -9]])

// Forward substitution: what is subtracted of a row are the sums over the rows above it, which are solved.
!SolveA = !tile.tile<4x4xf32, local, [7, 1]>
!SolveB = !tile.tile<8x2xf32, local, [5, 1]>
!SolveC = !tile.tile<4x2xf32, local, [5, 1]>
tile.kernel @solve required 3 workspace 0 {
^bb0(%x: !tile.tile<?x4xf32, global>, %y: !tile.tile<?x2xf32, global>, %z: !tile.tile<?x2xf32, global>, %tokens: i64):
  %zero = arith.constant 0 : i64
  %n = arith.constant 4 : i64
  %ar = arith.constant 4 : i64
  %br = arith.constant 8 : i64
  %a = tile.alloc : !SolveA
  %b = tile.alloc : !SolveB
  %c = tile.alloc : !SolveC
  tile.load %x[%zero] rows %ar into %a : !tile.tile<?x4xf32, global> into !SolveA
  tile.load %y[%zero] rows %br into %b : !tile.tile<?x2xf32, global> into !SolveB
  %values = tile.view %b offset 0 : !SolveB to !tile.tile<4x2xf32, local, [5, 1]>
  %scales = tile.view %b offset 20 : !SolveB to !tile.tile<4x2xf32, local, [5, 1]>
  tile.map %values into %c rows %n dims [array<i64: 0, 1>] : !tile.tile<4x2xf32, local, [5, 1]> into !SolveC {
  ^bb0(%p: f32):
    tile.yield %p : f32
  }
  tile.scaled_sums solve %a, %c scales %scales into %c rows %n points [1] of [0]
      : !SolveA, !SolveC scales !tile.tile<4x2xf32, local, [5, 1]> into !SolveC
  tile.store %c rows %n to %z[%zero] : !SolveC to !tile.tile<?x2xf32, global>
}
check.run @solve
    ([[-2, 0, 2, -1], [1, -2, 0, 2], [-1, 1, -2, 0], [2, -1, 1, -2]],
     [[1, 2], [3, -1], [2, 5], [-2, 1], [9, 9], [2, -1], [3, 2], [1, 2]],
     [[7, 7], [7, 7], [7, 7], [7, 7]])
  gives ([[-2, 0, 2, -1], [1, -2, 0, 2], [-1, 1, -2, 0], [2, -1, 1, -2]],
         [[1, 2], [3, -1], [2, 5], [-2, 1], [9, 9], [2, -1], [3, 2], [1, 2]],
         [[1, 2], [1, 1], [5, -1], [-16, 23]])

// The adjoint of dots: cotangents of eight rows, of eight columns and of four scales, below one another. What is wanted
// are the differences that the sum of all dots, each times what it matters, has for each number at 1 and at 0.
!CotangentsA = !tile.tile<8x8xf32, local, [11, 1]>
!CotangentsB = !tile.tile<20x3xf32, local, [6, 1]>
!CotangentsRows = !tile.tile<8x3xf32, local, [6, 1]>
!CotangentsScales = !tile.tile<4x3xf32, local, [6, 1]>
!CotangentsWork = !tile.tile<3x3xf32, local, [6, 1]>
tile.kernel @cotangents required 3 workspace 0 {
^bb0(%x: !tile.tile<?x8xf32, global>, %y: !tile.tile<?x3xf32, global>, %z: !tile.tile<?x3xf32, global>, %tokens: i64):
  %zero = arith.constant 0 : i64
  %rows = arith.constant 8 : i64
  %all = arith.constant 20 : i64
  %a = tile.alloc : !CotangentsA
  %b = tile.alloc : !CotangentsB
  %c = tile.alloc : !CotangentsB
  %work = tile.alloc : !CotangentsWork
  tile.load %x[%zero] rows %rows into %a : !tile.tile<?x8xf32, global> into !CotangentsA
  tile.load %y[%zero] rows %all into %b : !tile.tile<?x3xf32, global> into !CotangentsB
  %left = tile.view %b offset 0 : !CotangentsB to !CotangentsRows
  %right = tile.view %b offset 48 : !CotangentsB to !CotangentsRows
  %scales = tile.view %b offset 96 : !CotangentsB to !CotangentsScales
  %ofLeft = tile.view %c offset 0 : !CotangentsB to !CotangentsRows
  %ofRight = tile.view %c offset 48 : !CotangentsB to !CotangentsRows
  %ofScales = tile.view %c offset 96 : !CotangentsB to !CotangentsScales
  tile.scaled_cotangents %a, %left, %right scales %scales into %ofLeft, %ofRight, %ofScales work %work
      rows %rows block 3 points [-1, 1] of [0, 1]
      : !CotangentsA, !CotangentsRows, !CotangentsRows scales !CotangentsScales
      into !CotangentsRows, !CotangentsRows, !CotangentsScales work !CotangentsWork
  tile.store %c rows %all to %z[%zero] : !CotangentsB to !tile.tile<?x3xf32, global>
}
check.run @cotangents
    ([[3, 1, 1, 3, -2, 2, -1, -2], [-1, -2, 1, 2, -1, 2, 3, -2], [3, -1, -2, -1, 2, 1, -1, 2],
      [-1, -2, -1, 3, 3, 2, -1, -1], [-2, -2, -1, -1, -1, -1, 1, 1], [-1, 3, -1, -1, -1, 2, 1, -2],
      [1, 2, -1, -1, 1, -2, 1, 1], [3, 3, -2, 3, 1, -2, 1, 1]],
     [[-1, 1, 3], [-1, -2, 1], [1, 3, -2], [-3, -1, -3], [3, -1, 1], [-3, 2, 1], [-1, 1, 2], [-3, 1, -3],
      [3, -2, 2], [-2, -3, -2], [1, -1, 2], [-1, 2, -1], [1, -3, 2], [3, -1, -1], [-3, 1, -3], [-2, -1, 2],
      [2, -1, -2], [-1, -1, 3], [2, -3, -1], [3, -1, -1]],
     [[7, 7, 7], [7, 7, 7], [7, 7, 7], [7, 7, 7], [7, 7, 7], [7, 7, 7], [7, 7, 7], [7, 7, 7], [7, 7, 7],
      [7, 7, 7], [7, 7, 7], [7, 7, 7], [7, 7, 7], [7, 7, 7], [7, 7, 7], [7, 7, 7], [7, 7, 7], [7, 7, 7],
      [7, 7, 7], [7, 7, 7]])
  gives ([[3, 1, 1, 3, -2, 2, -1, -2], [-1, -2, 1, 2, -1, 2, 3, -2], [3, -1, -2, -1, 2, 1, -1, 2],
          [-1, -2, -1, 3, 3, 2, -1, -1], [-2, -2, -1, -1, -1, -1, 1, 1], [-1, 3, -1, -1, -1, 2, 1, -2],
          [1, 2, -1, -1, 1, -2, 1, 1], [3, 3, -2, 3, 1, -2, 1, 1]],
         [[-1, 1, 3], [-1, -2, 1], [1, 3, -2], [-3, -1, -3], [3, -1, 1], [-3, 2, 1], [-1, 1, 2], [-3, 1, -3],
          [3, -2, 2], [-2, -3, -2], [1, -1, 2], [-1, 2, -1], [1, -3, 2], [3, -1, -1], [-3, 1, -3], [-2, -1, 2],
          [2, -1, -2], [-1, -1, 3], [2, -3, -1], [3, -1, -1]],
         [[0, 0, 0], [-3, 2, -2], [11, -3, 8], [-2, -7, 4], [2, -11, -1], [17, -15, 23], [0, 0, 0], [-3, 1, -3],
          [1, 2, -1], [17, 11, 5], [6, 8, 3], [3, 7, 0], [3, -2, -1], [0, 0, 0], [-3, 1, -3], [0, 0, 0],
          [0, 0, 0], [-45, -24, 6], [-54, -36, 25], [0, 0, 0]])

// By the scales themselves, of which one is zero.
!SlopesA = !tile.tile<8x8xf32, local, [11, 1]>
!SlopesB = !tile.tile<20x3xf32, local, [6, 1]>
!SlopesRows = !tile.tile<8x3xf32, local, [6, 1]>
!SlopesScales = !tile.tile<4x3xf32, local, [6, 1]>
!SlopesWork = !tile.tile<3x3xf32, local, [6, 1]>
tile.kernel @slopes required 3 workspace 0 {
^bb0(%x: !tile.tile<?x8xf32, global>, %y: !tile.tile<?x3xf32, global>, %z: !tile.tile<?x3xf32, global>, %tokens: i64):
  %zero = arith.constant 0 : i64
  %rows = arith.constant 8 : i64
  %all = arith.constant 20 : i64
  %a = tile.alloc : !SlopesA
  %b = tile.alloc : !SlopesB
  %c = tile.alloc : !SlopesB
  %work = tile.alloc : !SlopesWork
  tile.load %x[%zero] rows %rows into %a : !tile.tile<?x8xf32, global> into !SlopesA
  tile.load %y[%zero] rows %all into %b : !tile.tile<?x3xf32, global> into !SlopesB
  %left = tile.view %b offset 0 : !SlopesB to !SlopesRows
  %right = tile.view %b offset 48 : !SlopesB to !SlopesRows
  %scales = tile.view %b offset 96 : !SlopesB to !SlopesScales
  %ofLeft = tile.view %c offset 0 : !SlopesB to !SlopesRows
  %ofRight = tile.view %c offset 48 : !SlopesB to !SlopesRows
  %ofScales = tile.view %c offset 96 : !SlopesB to !SlopesScales
  tile.scaled_cotangents linear %a, %left, %right scales %scales into %ofLeft, %ofRight, %ofScales work %work
      rows %rows block 3 points [-1, 1] of [0, 1]
      : !SlopesA, !SlopesRows, !SlopesRows scales !SlopesScales
      into !SlopesRows, !SlopesRows, !SlopesScales work !SlopesWork
  tile.store %c rows %all to %z[%zero] : !SlopesB to !tile.tile<?x3xf32, global>
}
check.run @slopes
    ([[3, 1, 1, 3, -2, 2, -1, -2], [-1, -2, 1, 2, -1, 2, 3, -2], [3, -1, -2, -1, 2, 1, -1, 2],
      [-1, -2, -1, 3, 3, 2, -1, -1], [-2, -2, -1, -1, -1, -1, 1, 1], [-1, 3, -1, -1, -1, 2, 1, -2],
      [1, 2, -1, -1, 1, -2, 1, 1], [3, 3, -2, 3, 1, -2, 1, 1]],
     [[-1, 1, 3], [-1, -2, 1], [1, 3, -2], [-3, -1, -3], [3, -1, 1], [-3, 2, 1], [-1, 1, 2], [-3, 1, -3],
      [3, -2, 2], [-2, -3, -2], [1, -1, 2], [-1, 2, -1], [1, -3, 2], [3, -1, -1], [-3, 1, -3], [-2, -1, 2],
      [2, -1, -2], [0, -1, 3], [2, -3, -1], [3, -1, -1]],
     [[7, 7, 7], [7, 7, 7], [7, 7, 7], [7, 7, 7], [7, 7, 7], [7, 7, 7], [7, 7, 7], [7, 7, 7], [7, 7, 7],
      [7, 7, 7], [7, 7, 7], [7, 7, 7], [7, 7, 7], [7, 7, 7], [7, 7, 7], [7, 7, 7], [7, 7, 7], [7, 7, 7],
      [7, 7, 7], [7, 7, 7]])
  gives ([[3, 1, 1, 3, -2, 2, -1, -2], [-1, -2, 1, 2, -1, 2, 3, -2], [3, -1, -2, -1, 2, 1, -1, 2],
          [-1, -2, -1, 3, 3, 2, -1, -1], [-2, -2, -1, -1, -1, -1, 1, 1], [-1, 3, -1, -1, -1, 2, 1, -2],
          [1, 2, -1, -1, 1, -2, 1, 1], [3, 3, -2, 3, 1, -2, 1, 1]],
         [[-1, 1, 3], [-1, -2, 1], [1, 3, -2], [-3, -1, -3], [3, -1, 1], [-3, 2, 1], [-1, 1, 2], [-3, 1, -3],
          [3, -2, 2], [-2, -3, -2], [1, -1, 2], [-1, 2, -1], [1, -3, 2], [3, -1, -1], [-3, 1, -3], [-2, -1, 2],
          [2, -1, -2], [0, -1, 3], [2, -3, -1], [3, -1, -1]],
         [[0, 0, 0], [-3, 2, -2], [11, -3, 8], [-1, -7, 4], [0, -11, -1], [-1, -15, 23], [0, 0, 0], [-3, 1, -3],
          [4, 2, -1], [-1, 11, 5], [6, 8, 3], [3, 7, 0], [3, -2, -1], [0, 0, 0], [-3, 1, -3], [0, 0, 0],
          [0, 0, 0], [45, 24, 2], [0, 12, -25], [0, 0, 0]])

// What is gathered of earlier rows is scaled, channel by channel, before it is subtracted.
tile.kernel @scaled_solve required 3 workspace 0 {
^bb0(%x: !tile.tile<?x4xf32, global>, %y: !tile.tile<?x2xf32, global>, %z: !tile.tile<?x2xf32, global>, %tokens: i64):
  %zero = arith.constant 0 : i64
  %n = arith.constant 4 : i64
  %ar = arith.constant 4 : i64
  %br = arith.constant 8 : i64
  %a = tile.alloc : !SolveA
  %b = tile.alloc : !SolveB
  %c = tile.alloc : !SolveC
  tile.load %x[%zero] rows %ar into %a : !tile.tile<?x4xf32, global> into !SolveA
  tile.load %y[%zero] rows %br into %b : !tile.tile<?x2xf32, global> into !SolveB
  %values = tile.view %b offset 0 : !SolveB to !tile.tile<4x2xf32, local, [5, 1]>
  %scales = tile.view %b offset 20 : !SolveB to !tile.tile<4x2xf32, local, [5, 1]>
  tile.scaled_solve %a, %values scales %scales into %c rows %n
      : !SolveA, !tile.tile<4x2xf32, local, [5, 1]> scales !tile.tile<4x2xf32, local, [5, 1]> into !SolveC
  tile.store %c rows %n to %z[%zero] : !SolveC to !tile.tile<?x2xf32, global>
}
check.run @scaled_solve
    ([[-2, 0, 2, -1], [1, -2, 0, 2], [-1, 1, -2, 0], [2, -1, 1, -2]],
     [[1, 2], [3, -1], [2, 5], [-2, 1], [9, 9], [2, -1], [3, 2], [1, 2]],
     [[7, 7], [7, 7], [7, 7], [7, 7]])
  gives ([[-2, 0, 2, -1], [1, -2, 0, 2], [-1, 1, -2, 0], [2, -1, 1, -2]],
         [[1, 2], [3, -1], [2, 5], [-2, 1], [9, 9], [2, -1], [3, 2], [1, 2]],
         [[1, 2], [1, 1], [2, 7], [-5, -19]])

// Rounded dots are the same where nothing is lost: scales are halves, of one sign or the other, and one of them is zero.
// What is not computed stays, two less here than there.
!Rounded = !tile.tile<32x16xf32, local, [20, 1]>
!RoundedDots = !tile.tile<32x32xf32, local, [32, 1]>
tile.kernel @rounded required 1 workspace 0 {
^bb0(%z: !tile.tile<?x32xf32, global>, %tokens: i64):
  %zero = arith.constant 0 : i64
  %n = arith.constant 32 : i64
  %a = tile.alloc : !Rounded
  %b = tile.alloc : !Rounded
  %s = tile.alloc : !Rounded
  %work = tile.alloc : !Rounded
  %plain = tile.alloc : !RoundedDots
  %dots = tile.alloc : !RoundedDots
  tile.map into %a rows %n dims [] into !Rounded {
    %row = tile.index 0
    %three = arith.constant 3 : i32
    %place = arith.andi %row, %three : i32
    %number = arith.sitofp %place : i32 to f32
    tile.yield %number : f32
  }
  tile.map into %b rows %n dims [] into !Rounded {
    %number = arith.constant 3.0 : f32
    tile.yield %number : f32
  }
  tile.map into %s rows %n dims [] into !Rounded {
    %row = tile.index 0
    %channel = tile.index 1
    %one = arith.constant 1 : i32
    %three = arith.constant 3 : i32
    %twenty = arith.constant 20 : i32
    %odd = arith.andi %channel, %one : i32
    %isOdd = arith.cmpi eq, %odd, %one : i32
    %half = arith.constant 0.5 : f32
    %negative = arith.constant -0.5 : f32
    %nothing = arith.constant 0.0 : f32
    %either = arith.select %isOdd, %negative, %half : f32
    %isRow = arith.cmpi eq, %row, %twenty : i32
    %isChannel = arith.cmpi eq, %channel, %three : i32
    %isIt = arith.andi %isRow, %isChannel : i1
    %scale = arith.select %isIt, %nothing, %either : f32
    tile.yield %scale : f32
  }
  tile.map into %plain rows %n dims [] into !RoundedDots {
    %number = arith.constant 5.0 : f32
    tile.yield %number : f32
  }
  tile.map into %dots rows %n dims [] into !RoundedDots {
    %number = arith.constant 7.0 : f32
    tile.yield %number : f32
  }
  tile.scaled_dots %a, %b scales %s into %plain rows %n block 32 points [1] of [0]
      : !Rounded, !Rounded scales !Rounded into !RoundedDots
  tile.scaled_dots rounded %a, %b scales %s into %dots work %work rows %n block 32 points [1] of [0]
      : !Rounded, !Rounded scales !Rounded into !RoundedDots work !Rounded
  tile.map %dots, %plain into %plain rows %n dims [array<i64: 0, 1>, array<i64: 0, 1>] : !RoundedDots, !RoundedDots into !RoundedDots {
  ^bb0(%x: f32, %y: f32):
    %difference = arith.subf %x, %y : f32
    tile.yield %difference : f32
  }
  tile.store %plain rows %n to %z[%zero] : !RoundedDots to !tile.tile<?x32xf32, global>
}
check.run @rounded
    ([[5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5],
      [5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5],
      [5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5],
      [5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5],
      [5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5],
      [5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5],
      [5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5],
      [5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5],
      [5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5],
      [5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5],
      [5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5],
      [5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5],
      [5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5],
      [5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5],
      [5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5],
      [5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5],
      [5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5],
      [5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5],
      [5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5],
      [5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5],
      [5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5],
      [5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5],
      [5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5],
      [5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5],
      [5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5],
      [5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5],
      [5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5],
      [5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5],
      [5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5],
      [5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5],
      [5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5],
      [5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5]])
  gives ([[0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2],
          [0, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2],
          [0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2],
          [0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2],
          [0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2],
          [0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2],
          [0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2],
          [0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2],
          [0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2],
          [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2],
          [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2],
          [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2],
          [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2],
          [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2],
          [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2],
          [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2],
          [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2],
          [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2],
          [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2],
          [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2],
          [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2],
          [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2],
          [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2],
          [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2],
          [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2],
          [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2],
          [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2],
          [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2],
          [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2],
          [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2],
          [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2],
          [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]])

// With rounding, rows are scaled from the first index as long as no product of scales is too small to be divided by; one of
// the tenth index is zero, and rows from there on are made of halves. Powers of two lose nothing either way.
!Steady = !tile.tile<16x16xf32, local, [20, 1]>
!SteadyDots = !tile.tile<16x16xf32, local, [16, 1]>
tile.kernel @steady required 1 workspace 0 {
^bb0(%z: !tile.tile<?x16xf32, global>, %tokens: i64):
  %zero = arith.constant 0 : i64
  %n = arith.constant 16 : i64
  %a = tile.alloc : !Steady
  %s = tile.alloc : !Steady
  %dots = tile.alloc : !SteadyDots
  tile.map into %a rows %n dims [] into !Steady {
    %number = arith.constant 1.0 : f32
    tile.yield %number : f32
  }
  tile.map into %s rows %n dims [] into !Steady {
    %row = tile.index 0
    %channel = tile.index 1
    %three = arith.constant 3 : i32
    %nine = arith.constant 9 : i32
    %half = arith.constant 0.5 : f32
    %nothing = arith.constant 0.0 : f32
    %isRow = arith.cmpi eq, %row, %nine : i32
    %isChannel = arith.cmpi eq, %channel, %three : i32
    %isIt = arith.andi %isRow, %isChannel : i1
    %scale = arith.select %isIt, %nothing, %half : f32
    tile.yield %scale : f32
  }
  tile.map into %dots rows %n dims [] into !SteadyDots {
    %number = arith.constant 9.0 : f32
    tile.yield %number : f32
  }
  tile.scaled_dots rounded %a, %a scales %s into %dots rows %n block 16 points [1] of [0]
      : !Steady, !Steady scales !Steady into !SteadyDots
  tile.store %dots rows %n to %z[%zero] : !SteadyDots to !tile.tile<?x16xf32, global>
}
check.run @steady rounding f32
    ([[9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9],
      [9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9],
      [9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9],
      [9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9],
      [9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9],
      [9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9],
      [9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9],
      [9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9],
      [9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9],
      [9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9],
      [9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9],
      [9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9],
      [9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9],
      [9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9],
      [9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9],
      [9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9]])
  gives ([[16, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9],
      [8, 16, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9],
      [4, 8, 16, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9],
      [2, 4, 8, 16, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9],
      [1, 2, 4, 8, 16, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9],
      [0.5, 1, 2, 4, 8, 16, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9],
      [0.25, 0.5, 1, 2, 4, 8, 16, 9, 9, 9, 9, 9, 9, 9, 9, 9],
      [0.125, 0.25, 0.5, 1, 2, 4, 8, 16, 9, 9, 9, 9, 9, 9, 9, 9],
      [0.0625, 0.125, 0.25, 0.5, 1, 2, 4, 8, 16, 9, 9, 9, 9, 9, 9, 9],
      [0.029296875, 0.05859375, 0.1171875, 0.234375, 0.46875, 0.9375, 1.875, 3.75, 7.5, 16, 9, 9, 9, 9, 9, 9],
      [0.0146484375, 0.029296875, 0.05859375, 0.1171875, 0.234375, 0.46875, 0.9375, 1.875, 3.75, 8, 16, 9, 9, 9, 9, 9],
      [0.00732421875, 0.0146484375, 0.029296875, 0.05859375, 0.1171875, 0.234375, 0.46875, 0.9375, 1.875, 4, 8, 16, 9, 9, 9, 9],
      [0.003662109375, 0.00732421875, 0.0146484375, 0.029296875, 0.05859375, 0.1171875, 0.234375, 0.46875, 0.9375, 2, 4, 8, 16, 9, 9, 9],
      [0.0018310546875, 0.003662109375, 0.00732421875, 0.0146484375, 0.029296875, 0.05859375, 0.1171875, 0.234375, 0.46875, 1, 2, 4, 8, 16, 9, 9],
      [0.00091552734375, 0.0018310546875, 0.003662109375, 0.00732421875, 0.0146484375, 0.029296875, 0.05859375, 0.1171875, 0.234375, 0.5, 1, 2, 4, 8, 16, 9],
      [0.000457763671875, 0.00091552734375, 0.0018310546875, 0.003662109375, 0.00732421875, 0.0146484375, 0.029296875, 0.05859375, 0.1171875, 0.25, 0.5, 1, 2, 4, 8, 16]])

// The factors of three rows; the fourth does not count, nor does the fourth column.
!Square = !tile.tile<4x4xf32, local, [5, 1]>
tile.kernel @eliminate required 2 workspace 0 {
^bb0(%x: !tile.tile<?x4xf32, global>, %z: !tile.tile<?x3xf32, global>, %tokens: i64):
  %zero = arith.constant 0 : i64
  %n = arith.constant 3 : i64
  %a = tile.alloc : !Square
  tile.load %x[%zero] rows %n into %a : !tile.tile<?x4xf32, global> into !Square
  tile.eliminate %a rows %n : !Square
  %c = tile.view %a offset 0 : !Square to !tile.tile<3x3xf32, local, [5, 1]>
  tile.store %c rows %n to %z[%zero] : !tile.tile<3x3xf32, local, [5, 1]> to !tile.tile<?x3xf32, global>
}
check.run @eliminate ([[2, 4, 6, 5], [1, 5, 4, 7], [3, 9, 14, 9]], [[0, 0, 0], [0, 0, 0], [0, 0, 0]])
  gives ([[2, 4, 6, 5], [1, 5, 4, 7], [3, 9, 14, 9]], [[2, 4, 6], [0.5, 3, 1], [1.5, 1, 4]])

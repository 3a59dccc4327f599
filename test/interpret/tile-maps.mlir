// The meaning of maps of what has another shape, of some blocks of a matrix, of swizzled tiles, and of rounding.
// RUN: recur-opt --interpret %s >/dev/null

// A dimension of size one is repeated; an index says where an element is. Of five rows four count.
!RepeatedA = !tile.tile<5x3xf32, local, [6, 1]>
!RepeatedB = !tile.tile<1x3xf32, local, [6, 1]>
!RepeatedC = !tile.tile<5x3xf32, local, [6, 1]>
tile.kernel @repeated required 3 workspace 0 {
^bb0(%x: !tile.tile<?x3xf32, global>, %y: !tile.tile<?x3xf32, global>, %z: !tile.tile<?x3xf32, global>, %tokens: i64):
  %zero = arith.constant 0 : i64
  %n = arith.constant 4 : i64
  %ar = arith.constant 5 : i64
  %br = arith.constant 1 : i64
  %a = tile.alloc : !RepeatedA
  %b = tile.alloc : !RepeatedB
  %c = tile.alloc : !RepeatedC
  tile.load %x[%zero] rows %ar into %a : !tile.tile<?x3xf32, global> into !RepeatedA
  tile.load %y[%zero] rows %br into %b : !tile.tile<?x3xf32, global> into !RepeatedB
  tile.map %a, %b into %c rows %n dims [array<i64: 0, 1>, array<i64: 0, 1>] : !RepeatedA, !RepeatedB into !RepeatedC {
  ^bb0(%p: f32, %q: f32):
    %row = tile.index 0
    %column = tile.index 1
    %same = arith.cmpi eq, %row, %column : i32
    %product = arith.mulf %p, %q : f32
    %square = arith.mulf %p, %p : f32
    %chosen = arith.select %same, %product, %square : f32
    tile.yield %chosen : f32
  }
  tile.store %c rows %n to %z[%zero] : !RepeatedC to !tile.tile<?x3xf32, global>
}
check.run @repeated
    ([[0, -2, -4], [1, -1, -3], [2, 0, -2], [3, 1, -1], [4, 2, 0]],
     [[10, 100, 1000]],
     [[7, 7, 7], [7, 7, 7], [7, 7, 7], [7, 7, 7], [7, 7, 7]])
  gives ([[0, -2, -4], [1, -1, -3], [2, 0, -2], [3, 1, -1], [4, 2, 0]],
         [[10, 100, 1000]],
         [[0, 4, 16], [1, -100, 9], [4, 0, -2000], [9, 1, 1], [7, 7, 7]])

// Blocks of 2 x 2 below the diagonal; the others stay.
!BelowA = !tile.tile<4x4xf32, local, [7, 1]>
!BelowB = !tile.tile<1x1xf32, local, [4, 1]>
!BelowC = !tile.tile<4x4xf32, local, [7, 1]>
tile.kernel @below required 3 workspace 0 {
^bb0(%x: !tile.tile<?x4xf32, global>, %y: !tile.tile<?x1xf32, global>, %z: !tile.tile<?x4xf32, global>, %tokens: i64):
  %zero = arith.constant 0 : i64
  %n = arith.constant 4 : i64
  %ar = arith.constant 4 : i64
  %br = arith.constant 1 : i64
  %a = tile.alloc : !BelowA
  %b = tile.alloc : !BelowB
  %c = tile.alloc : !BelowC
  tile.load %x[%zero] rows %ar into %a : !tile.tile<?x4xf32, global> into !BelowA
  tile.load %y[%zero] rows %br into %b : !tile.tile<?x1xf32, global> into !BelowB
  tile.map into %c rows %n dims [] into !BelowC {
    %number = arith.constant 7.0 : f32
    tile.yield %number : f32
  }
  tile.map %a into %c rows %n dims [array<i64: 0, 1>] blocks below 2 : !BelowA into !BelowC {
  ^bb0(%p: f32):
    tile.yield %p : f32
  }
  tile.store %c rows %n to %z[%zero] : !BelowC to !tile.tile<?x4xf32, global>
}
check.run @below
    ([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]],
     [[0]],
     [[5, 5, 5, 5], [5, 5, 5, 5], [5, 5, 5, 5], [5, 5, 5, 5]])
  gives ([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]],
         [[0]],
         [[7, 7, 7, 7], [7, 7, 7, 7], [9, 10, 7, 7], [13, 14, 7, 7]])

// Those on it.
!DiagonalA = !tile.tile<4x4xf32, local, [7, 1]>
!DiagonalB = !tile.tile<1x1xf32, local, [4, 1]>
!DiagonalC = !tile.tile<4x4xf32, local, [7, 1]>
tile.kernel @diagonal required 3 workspace 0 {
^bb0(%x: !tile.tile<?x4xf32, global>, %y: !tile.tile<?x1xf32, global>, %z: !tile.tile<?x4xf32, global>, %tokens: i64):
  %zero = arith.constant 0 : i64
  %n = arith.constant 4 : i64
  %ar = arith.constant 4 : i64
  %br = arith.constant 1 : i64
  %a = tile.alloc : !DiagonalA
  %b = tile.alloc : !DiagonalB
  %c = tile.alloc : !DiagonalC
  tile.load %x[%zero] rows %ar into %a : !tile.tile<?x4xf32, global> into !DiagonalA
  tile.load %y[%zero] rows %br into %b : !tile.tile<?x1xf32, global> into !DiagonalB
  tile.map into %c rows %n dims [] into !DiagonalC {
    %number = arith.constant 7.0 : f32
    tile.yield %number : f32
  }
  tile.map %a into %c rows %n dims [array<i64: 0, 1>] blocks diagonal 2 : !DiagonalA into !DiagonalC {
  ^bb0(%p: f32):
    tile.yield %p : f32
  }
  tile.store %c rows %n to %z[%zero] : !DiagonalC to !tile.tile<?x4xf32, global>
}
check.run @diagonal
    ([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]],
     [[0]],
     [[5, 5, 5, 5], [5, 5, 5, 5], [5, 5, 5, 5], [5, 5, 5, 5]])
  gives ([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]],
         [[0]],
         [[1, 2, 7, 7], [5, 6, 7, 7], [7, 7, 11, 12], [7, 7, 15, 16]])

// Those above it.
!AboveA = !tile.tile<4x4xf32, local, [7, 1]>
!AboveB = !tile.tile<1x1xf32, local, [4, 1]>
!AboveC = !tile.tile<4x4xf32, local, [7, 1]>
tile.kernel @above required 3 workspace 0 {
^bb0(%x: !tile.tile<?x4xf32, global>, %y: !tile.tile<?x1xf32, global>, %z: !tile.tile<?x4xf32, global>, %tokens: i64):
  %zero = arith.constant 0 : i64
  %n = arith.constant 4 : i64
  %ar = arith.constant 4 : i64
  %br = arith.constant 1 : i64
  %a = tile.alloc : !AboveA
  %b = tile.alloc : !AboveB
  %c = tile.alloc : !AboveC
  tile.load %x[%zero] rows %ar into %a : !tile.tile<?x4xf32, global> into !AboveA
  tile.load %y[%zero] rows %br into %b : !tile.tile<?x1xf32, global> into !AboveB
  tile.map into %c rows %n dims [] into !AboveC {
    %number = arith.constant 7.0 : f32
    tile.yield %number : f32
  }
  tile.map %a into %c rows %n dims [array<i64: 0, 1>] blocks above 2 : !AboveA into !AboveC {
  ^bb0(%p: f32):
    tile.yield %p : f32
  }
  tile.store %c rows %n to %z[%zero] : !AboveC to !tile.tile<?x4xf32, global>
}
check.run @above
    ([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]],
     [[0]],
     [[5, 5, 5, 5], [5, 5, 5, 5], [5, 5, 5, 5], [5, 5, 5, 5]])
  gives ([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]],
         [[0]],
         [[7, 7, 3, 4], [7, 7, 7, 8], [7, 7, 7, 7], [7, 7, 7, 7]])

// A swizzled tile of 8 panels holds what was written, here the number of each element: no number of a row is off, and the
// largest one is that of the row's last element.
!Panels32 = !tile.tile<16x128xbf16, shared, [16, 1], swizzle 32>
tile.kernel @swizzle32 required 2 workspace 0 {
^bb0(%off: !tile.tile<?xf32, global>, %most: !tile.tile<?xf32, global>, %tokens: i64):
  %zero = arith.constant 0 : i64
  %n = arith.constant 16 : i64
  %t = tile.alloc at 1024 : !Panels32
  %d = tile.alloc : !tile.tile<16xf32, local, [1]>
  %m = tile.alloc : !tile.tile<16xf32, local, [1]>
  tile.map into %t rows %n dims [] into !Panels32 {
    %i = tile.index 0
    %j = tile.index 1
    %columns = arith.constant 128 : i32
    %start = arith.muli %i, %columns : i32
    %number = arith.addi %start, %j : i32
    %x = arith.sitofp %number : i32 to f32
    tile.yield %x : f32
  }
  tile.reduce max %t into %d rows %n over [1] of [16, 128] dims [array<i64: 0, 1>]
      : !Panels32 into !tile.tile<16xf32, local, [1]> {
  ^bb0(%x: f32):
    %i = tile.index 0
    %j = tile.index 1
    %columns = arith.constant 128 : i32
    %start = arith.muli %i, %columns : i32
    %number = arith.addi %start, %j : i32
    %want = arith.sitofp %number : i32 to f32
    %difference = arith.subf %x, %want : f32
    %distance = math.absf %difference : f32
    tile.yield %distance : f32
  }
  tile.reduce max %t into %m rows %n over [1] of [16, 128] dims [array<i64: 0, 1>]
      : !Panels32 into !tile.tile<16xf32, local, [1]> {
  ^bb0(%x: f32):
    tile.yield %x : f32
  }
  tile.store %d rows %n to %off[%zero] : !tile.tile<16xf32, local, [1]> to !tile.tile<?xf32, global>
  tile.store %m rows %n to %most[%zero] : !tile.tile<16xf32, local, [1]> to !tile.tile<?xf32, global>
}
check.run @swizzle32 ([7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7], [7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7])
  gives ([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
         [127, 255, 383, 511, 639, 767, 895, 1023, 1151, 1279, 1407, 1535, 1663, 1791, 1919, 2047])

// One of 4 panels.
!Panels64 = !tile.tile<16x128xbf16, shared, [32, 1], swizzle 64>
tile.kernel @swizzle64 required 2 workspace 0 {
^bb0(%off: !tile.tile<?xf32, global>, %most: !tile.tile<?xf32, global>, %tokens: i64):
  %zero = arith.constant 0 : i64
  %n = arith.constant 16 : i64
  %t = tile.alloc at 1024 : !Panels64
  %d = tile.alloc : !tile.tile<16xf32, local, [1]>
  %m = tile.alloc : !tile.tile<16xf32, local, [1]>
  tile.map into %t rows %n dims [] into !Panels64 {
    %i = tile.index 0
    %j = tile.index 1
    %columns = arith.constant 128 : i32
    %start = arith.muli %i, %columns : i32
    %number = arith.addi %start, %j : i32
    %x = arith.sitofp %number : i32 to f32
    tile.yield %x : f32
  }
  tile.reduce max %t into %d rows %n over [1] of [16, 128] dims [array<i64: 0, 1>]
      : !Panels64 into !tile.tile<16xf32, local, [1]> {
  ^bb0(%x: f32):
    %i = tile.index 0
    %j = tile.index 1
    %columns = arith.constant 128 : i32
    %start = arith.muli %i, %columns : i32
    %number = arith.addi %start, %j : i32
    %want = arith.sitofp %number : i32 to f32
    %difference = arith.subf %x, %want : f32
    %distance = math.absf %difference : f32
    tile.yield %distance : f32
  }
  tile.reduce max %t into %m rows %n over [1] of [16, 128] dims [array<i64: 0, 1>]
      : !Panels64 into !tile.tile<16xf32, local, [1]> {
  ^bb0(%x: f32):
    tile.yield %x : f32
  }
  tile.store %d rows %n to %off[%zero] : !tile.tile<16xf32, local, [1]> to !tile.tile<?xf32, global>
  tile.store %m rows %n to %most[%zero] : !tile.tile<16xf32, local, [1]> to !tile.tile<?xf32, global>
}
check.run @swizzle64 ([7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7], [7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7])
  gives ([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
         [127, 255, 383, 511, 639, 767, 895, 1023, 1151, 1279, 1407, 1535, 1663, 1791, 1919, 2047])

// One of 2 panels.
!Panels128 = !tile.tile<16x128xbf16, shared, [64, 1], swizzle 128>
tile.kernel @swizzle128 required 2 workspace 0 {
^bb0(%off: !tile.tile<?xf32, global>, %most: !tile.tile<?xf32, global>, %tokens: i64):
  %zero = arith.constant 0 : i64
  %n = arith.constant 16 : i64
  %t = tile.alloc at 1024 : !Panels128
  %d = tile.alloc : !tile.tile<16xf32, local, [1]>
  %m = tile.alloc : !tile.tile<16xf32, local, [1]>
  tile.map into %t rows %n dims [] into !Panels128 {
    %i = tile.index 0
    %j = tile.index 1
    %columns = arith.constant 128 : i32
    %start = arith.muli %i, %columns : i32
    %number = arith.addi %start, %j : i32
    %x = arith.sitofp %number : i32 to f32
    tile.yield %x : f32
  }
  tile.reduce max %t into %d rows %n over [1] of [16, 128] dims [array<i64: 0, 1>]
      : !Panels128 into !tile.tile<16xf32, local, [1]> {
  ^bb0(%x: f32):
    %i = tile.index 0
    %j = tile.index 1
    %columns = arith.constant 128 : i32
    %start = arith.muli %i, %columns : i32
    %number = arith.addi %start, %j : i32
    %want = arith.sitofp %number : i32 to f32
    %difference = arith.subf %x, %want : f32
    %distance = math.absf %difference : f32
    tile.yield %distance : f32
  }
  tile.reduce max %t into %m rows %n over [1] of [16, 128] dims [array<i64: 0, 1>]
      : !Panels128 into !tile.tile<16xf32, local, [1]> {
  ^bb0(%x: f32):
    tile.yield %x : f32
  }
  tile.store %d rows %n to %off[%zero] : !tile.tile<16xf32, local, [1]> to !tile.tile<?xf32, global>
  tile.store %m rows %n to %most[%zero] : !tile.tile<16xf32, local, [1]> to !tile.tile<?xf32, global>
}
check.run @swizzle128 ([7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7], [7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7])
  gives ([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
         [127, 255, 383, 511, 639, 767, 895, 1023, 1151, 1279, 1407, 1535, 1663, 1791, 1919, 2047])

// With rounding, what is written has the element's type: 2^-25 adds nothing to a number in float32, and float16 has what
// bfloat16 has of a number near one.
!RoundA = !tile.tile<?x1xbf16, global>
!RoundB = !tile.tile<?x1xf32, global>
!RoundT = !tile.tile<1x1xf32, local, [1, 1]>
!RoundH = !tile.tile<1x1xf16, shared, [1, 1]>
tile.kernel @round required 3 workspace 64 {
^bb0(%x: !RoundA, %y: !RoundB, %z: !RoundB, %tokens: i64):
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %t = tile.alloc at 0 : !RoundT
  %h = tile.alloc at 0 : !RoundH
  tile.load %x[%zero] rows %one into %t : !RoundA into !RoundT
  tile.map %t into %t rows %one dims [array<i64: 0, 1>] : !RoundT into !RoundT {
  ^bb0(%a: f32):
    %tiny = arith.constant 0x33000000 : f32
    %s = arith.addf %a, %tiny : f32
    tile.yield %s : f32
  }
  tile.map %t into %h rows %one dims [array<i64: 0, 1>] : !RoundT into !RoundH {
  ^bb0(%a: f32):
    tile.yield %a : f32
  }
  tile.store %t rows %one to %y[%zero] : !RoundT to !RoundB
  tile.store %h rows %one to %z[%zero] : !RoundH to !RoundB
}
check.run @round rounding f32 ([[1.2345]], [[0]], [[0]]) gives ([[1.2345]], [[1.234375]], [[1.234375]])
check.run @round ([[1.2345]], [[0]], [[0]]) gives ([[1.2345]], [[1.2345000298023223]], [[1.2345000298023223]])

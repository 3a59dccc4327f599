// What is wrong with a plan is said with the op and the element.
// What is stored must have a meaning: the message says where a number lost it.
// RUN: recur-opt --interpret %s >/dev/null

// The lines of a message are counted from that of the kernel.

!A = !tile.tile<?x4xf32, global>
!T = !tile.tile<4x4xf32, local, [4, 1]>
!V = !tile.tile<4xf32, local, [1]>

tile.kernel @unwritten required 2 workspace 256 {
^bb0(%x: !A, %y: !A, %tokens: i64):
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %four = arith.constant 4 : i64
  %t = tile.alloc : !T
  tile.load %x[%zero] rows %four into %t : !A into !T
  %u = tile.alloc : !T
  tile.store %u rows %one to %y[%zero] : !T to !A
}
check.run @unwritten tokens 4
    ([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]],
     [[1, 0, 2, 1], [0, 1, 1, 3], [2, 1, 0, 1], [1, 1, 3, 0]])
  fails "tile.store (+8:3): element [0, 0] has no meaning: tile.store (+8:3) read element [0, 0] of a tile, which nothing had written"

tile.kernel @behind_rows required 2 workspace 256 {
^bb0(%x: !A, %y: !A, %tokens: i64):
  %zero = arith.constant 0 : i64
  %two = arith.constant 2 : i64
  %four = arith.constant 4 : i64
  %t = tile.alloc : !T
  tile.load %x[%zero] rows %two into %t : !A into !T
  tile.store %t rows %four to %y[%zero] : !T to !A
}
check.run @behind_rows tokens 4
    ([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]],
     [[1, 0, 2, 1], [0, 1, 1, 3], [2, 1, 0, 1], [1, 1, 3, 0]])
  fails "tile.store (+7:3): element [2, 0] has no meaning: tile.load (+6:3) left element [2, 0] of its result behind its last row"

tile.kernel @computed required 2 workspace 256 {
^bb0(%x: !A, %y: !A, %tokens: i64):
  %zero = arith.constant 0 : i64
  %two = arith.constant 2 : i64
  %four = arith.constant 4 : i64
  %t = tile.alloc : !T
  tile.load %x[%zero] rows %two into %t : !A into !T
  tile.map %t into %t rows %four dims [array<i64: 0, 1>] : !T into !T {
  ^bb0(%a: f32):
    %b = arith.negf %a : f32
    %c = math.exp %b : f32
    %zero32 = arith.constant 0.0 : f32
    %positive = arith.cmpf ogt, %c, %zero32 : f32
    %d = arith.select %positive, %zero32, %c : f32
    tile.yield %d : f32
  }
  tile.store %t rows %four to %y[%zero] : !T to !A
}
check.run @computed tokens 4
    ([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]],
     [[1, 0, 2, 1], [0, 1, 1, 3], [2, 1, 0, 1], [1, 1, 3, 0]])
  fails "tile.store (+16:3): element [2, 0] has no meaning: tile.load (+6:3) left element [2, 0] of its result behind its last row"

tile.kernel @inner_of_aproduct required 2 workspace 256 {
^bb0(%x: !A, %y: !A, %tokens: i64):
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %two = arith.constant 2 : i64
  %four = arith.constant 4 : i64
  %t = tile.alloc : !T
  %u = tile.alloc : !T
  tile.load %x[%zero] rows %two into %t : !A into !T
  tile.product transposed %t, %t into %u rows %four inner %four : !T, !T into !T
  tile.store %u rows %one to %y[%zero] : !T to !A
}
check.run @inner_of_aproduct tokens 4
    ([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]],
     [[1, 0, 2, 1], [0, 1, 1, 3], [2, 1, 0, 1], [1, 1, 3, 0]])
  fails "tile.store (+10:3): element [0, 0] has no meaning: tile.load (+8:3) left element [2, 0] of its result behind its last row"

tile.kernel @rows_of_atranspose required 2 workspace 256 {
^bb0(%x: !A, %y: !A, %tokens: i64):
  %zero = arith.constant 0 : i64
  %two = arith.constant 2 : i64
  %four = arith.constant 4 : i64
  %t = tile.alloc : !T
  %u = tile.alloc : !T
  tile.load %x[%zero] rows %four into %t : !A into !T
  tile.transpose %t rows %two into %u : !T into !T
  tile.store %u rows %four to %y[%zero] : !T to !A
}
check.run @rows_of_atranspose tokens 4
    ([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]],
     [[1, 0, 2, 1], [0, 1, 1, 3], [2, 1, 0, 1], [1, 1, 3, 0]])
  fails "tile.store (+9:3): element [0, 2] has no meaning: tile.transpose (+8:3) left element [0, 2] of its result behind its last row"

tile.kernel @solve_of_missing_rows required 2 workspace 256 {
^bb0(%x: !A, %y: !A, %tokens: i64):
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %two = arith.constant 2 : i64
  %four = arith.constant 4 : i64
  %t = tile.alloc : !T
  %u = tile.alloc : !T
  tile.load %x[%zero] rows %one into %t : !A into !T
  tile.load %x[%zero] rows %four into %u : !A into !T
  tile.solve %t, %u rows %two : !T, !T
  tile.store %u rows %two to %y[%zero] : !T to !A
}
check.run @solve_of_missing_rows tokens 4
    ([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]],
     [[1, 0, 2, 1], [0, 1, 1, 3], [2, 1, 0, 1], [1, 1, 3, 0]])
  fails "tile.store (+11:3): element [1, 0] has no meaning: tile.load (+8:3) left element [1, 0] of its result behind its last row"

tile.kernel @overwritten required 2 workspace 256 {
^bb0(%x: !A, %y: !A, %tokens: i64):
  %zero = arith.constant 0 : i64
  %four = arith.constant 4 : i64
  %t = tile.alloc at 0 : !T
  %u = tile.alloc at 32 : !T
  tile.load %x[%zero] rows %four into %t : !A into !T
  tile.load %x[%zero] rows %four into %u : !A into !T
  tile.store %t rows %four to %y[%zero] : !T to !A
}
check.run @overwritten tokens 4
    ([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]],
     [[1, 0, 2, 1], [0, 1, 1, 3], [2, 1, 0, 1], [1, 1, 3, 0]])
  fails "tile.store (+8:3): element [2, 0] has no meaning: tile.store (+8:3) read element [2, 0] of a tile, where the tile of tile.alloc (+5:8) had been written last"

tile.kernel @overwritten_in_half required 2 workspace 256 {
^bb0(%x: !A, %y: !A, %tokens: i64):
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %four = arith.constant 4 : i64
  %t = tile.alloc at 0 : !V
  %u = tile.alloc at 6 : !tile.tile<1xbf16, local, [1]>
  tile.map into %t rows %four dims [] into !V {
    %a = arith.constant 1.0 : f32
    tile.yield %a : f32
  }
  tile.map into %u rows %one dims [] into !tile.tile<1xbf16, local, [1]> {
    %a = arith.constant 1.0 : f32
    tile.yield %a : f32
  }
  %v = tile.view %t offset 0 : !V to !tile.tile<1x4xf32, local, [4, 1]>
  tile.store %v rows %one to %y[%zero] : !tile.tile<1x4xf32, local, [4, 1]> to !A
}
check.run @overwritten_in_half tokens 4
    ([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]],
     [[1, 0, 2, 1], [0, 1, 1, 3], [2, 1, 0, 1], [1, 1, 3, 0]])
  fails "tile.store (+16:3): element [0, 1] has no meaning: tile.store (+16:3) read element [0, 1] of a tile, where the tile of tile.alloc (+6:8) had been written last"

tile.kernel @triangle required 2 workspace 256 {
^bb0(%x: !A, %y: !A, %tokens: i64):
  %zero = arith.constant 0 : i64
  %four = arith.constant 4 : i64
  %t = tile.alloc : !T
  %u = tile.alloc : !T
  tile.load %x[%zero] rows %four into %t : !A into !T
  tile.product %t, %t into %u rows %four inner %four result_triangle [1, 1] : !T, !T into !T
  tile.store %u rows %four to %y[%zero] : !T to !A
}
check.run @triangle tokens 4
    ([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]],
     [[1, 0, 2, 1], [0, 1, 1, 3], [2, 1, 0, 1], [1, 1, 3, 0]])
  fails "tile.store (+8:3): element [0, 1] has no meaning: tile.product (+7:3) left element [0, 1] out of its result, which is a triangle"

tile.kernel @allocated_again required 2 workspace 256 {
^bb0(%x: !A, %y: !A, %tokens: i64):
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %two = arith.constant 2 : i64
  %four = arith.constant 4 : i64
  scf.for %i = %zero to %two step %one : i64 {
    %t = tile.alloc at 0 : !T
    %first = arith.cmpi eq, %i, %zero : i64
    scf.if %first {
      tile.load %x[%zero] rows %four into %t : !A into !T
    }
    tile.store %t rows %four to %y[%zero] : !T to !A
  }
}
check.run @allocated_again tokens 4
    ([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]],
     [[1, 0, 2, 1], [0, 1, 1, 3], [2, 1, 0, 1], [1, 1, 3, 0]])
  fails "tile.store (+12:5): element [0, 0] has no meaning: tile.store (+12:5) read element [0, 0] of a tile, which nothing had written"

// What is wrong with a plan is said with the op and the element. Places that are not there, and sizes that do not fit.
// RUN: recur-opt --interpret %s >/dev/null

// The lines of a message are counted from that of the kernel.

!A = !tile.tile<?x4xf32, global>
!T = !tile.tile<4x4xf32, local, [4, 1]>
!V = !tile.tile<4xf32, local, [1]>

tile.kernel @workspace required 2 workspace 256 {
^bb0(%x: !A, %y: !A, %tokens: i64):
  %t = tile.alloc at 196 : !T
}
check.run @workspace tokens 4
    ([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]],
     [[1, 0, 2, 1], [0, 1, 1, 3], [2, 1, 0, 1], [1, 1, 3, 0]])
  fails "tile.alloc (+2:8): the tile ends at 260, behind the workspace of 256 bytes"

tile.kernel @misplaced required 2 workspace 256 {
^bb0(%x: !A, %y: !A, %tokens: i64):
  %t = tile.alloc at 2 : !T
}
check.run @misplaced tokens 4
    ([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]],
     [[1, 0, 2, 1], [0, 1, 1, 3], [2, 1, 0, 1], [1, 1, 3, 0]])
  fails "tile.alloc (+2:8): a tile of 4-byte elements cannot begin at 2"

tile.kernel @swizzled required 2 workspace 256 {
^bb0(%x: !A, %y: !A, %tokens: i64):
  %t = tile.alloc at 512 : !tile.tile<8x64xbf16, shared, [64, 1], swizzle 128>
}
check.run @swizzled tokens 4
    ([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]],
     [[1, 0, 2, 1], [0, 1, 1, 3], [2, 1, 0, 1], [1, 1, 3, 0]])
  fails "tile.alloc (+2:8): a tile with swizzle 128 begins at a multiple of 1024, not at 512"

tile.kernel @negative_stride required 2 workspace 256 {
^bb0(%x: !A, %y: !A, %tokens: i64):
  %t = tile.alloc at 0 : !tile.tile<4xf32, local, [-1]>
}
check.run @negative_stride tokens 4
    ([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]],
     [[1, 0, 2, 1], [0, 1, 1, 3], [2, 1, 0, 1], [1, 1, 3, 0]])
  fails "tile.alloc (+2:8): the strides of a tile of its own cannot be negative"

tile.kernel @view_row required 2 workspace 256 {
^bb0(%x: !A, %y: !A, %tokens: i64):
  %four = arith.constant 4 : i64
  %t = tile.alloc : !T
  %v = tile.view %t[%four] offset 0 : !T to !V
}
check.run @view_row tokens 4
    ([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]],
     [[1, 0, 2, 1], [0, 1, 1, 3], [2, 1, 0, 1], [1, 1, 3, 0]])
  fails "tile.view (+4:8): row 4 of a tile that has 4"

tile.kernel @view_end required 2 workspace 256 {
^bb0(%x: !A, %y: !A, %tokens: i64):
  %two = arith.constant 2 : i64
  %t = tile.alloc : !T
  %v = tile.view %t[%two] offset 5 : !T to !V
}
check.run @view_end tokens 4
    ([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]],
     [[1, 0, 2, 1], [0, 1, 1, 3], [2, 1, 0, 1], [1, 1, 3, 0]])
  fails "tile.view (+4:8): the view lies at the bytes 52 to 68 of a tile that has 64"

tile.kernel @other_iteration required 2 workspace 256 {
^bb0(%x: !A, %y: !A, %tokens: i64):
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %four = arith.constant 4 : i64
  %t = tile.alloc at 0 : !T
  %begin = arith.constant 0 : index
  %step = arith.constant 1 : index
  %end = arith.constant 2 : index
  scf.parallel (%i) = (%begin) to (%end) step (%step) {
    %n = arith.index_cast %i : index to i64
    %isLast = arith.cmpi eq, %n, %one : i64
    scf.if %isLast {
      tile.load %x[%zero] rows %four into %t : !A into !T
    }
    tile.store %t rows %four to %y[%zero] : !T to !A
  }
}
check.run @other_iteration tokens 4
    ([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]],
     [[1, 0, 2, 1], [0, 1, 1, 3], [2, 1, 0, 1], [1, 1, 3, 0]])
  fails "tile.store (+15:5): element [0, 0] has no meaning: tile.store (+15:5) read element [0, 0] of a tile, which nothing had written"

tile.kernel @load_tile_rows required 2 workspace 256 {
^bb0(%x: !A, %y: !A, %tokens: i64):
  %zero = arith.constant 0 : i64
  %five = arith.constant 5 : i64
  %t = tile.alloc : !T
  tile.load %x[%zero] rows %five into %t : !A into !T
}
check.run @load_tile_rows tokens 4
    ([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]],
     [[1, 0, 2, 1], [0, 1, 1, 3], [2, 1, 0, 1], [1, 1, 3, 0]])
  fails "tile.load (+5:3): 5 rows of a tile that has 4"

tile.kernel @load_array_rows required 2 workspace 256 {
^bb0(%x: !A, %y: !A, %tokens: i64):
  %one = arith.constant 1 : i64
  %four = arith.constant 4 : i64
  %t = tile.alloc : !T
  tile.load %x[%one] rows %four into %t : !A into !T
}
check.run @load_array_rows tokens 4
    ([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]],
     [[1, 0, 2, 1], [0, 1, 1, 3], [2, 1, 0, 1], [1, 1, 3, 0]])
  fails "tile.load (+5:3): rows 1 to 4 of an array that has 4"

tile.kernel @negative_rows required 2 workspace 256 {
^bb0(%x: !A, %y: !A, %tokens: i64):
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %t = tile.alloc : !T
  %n = arith.subi %zero, %one : i64
  tile.load %x[%zero] rows %n into %t : !A into !T
}
check.run @negative_rows tokens 4
    ([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]],
     [[1, 0, 2, 1], [0, 1, 1, 3], [2, 1, 0, 1], [1, 1, 3, 0]])
  fails "tile.load (+6:3): -1 rows of a tile that has 4"

tile.kernel @store_array_rows required 2 workspace 256 {
^bb0(%x: !A, %y: !A, %tokens: i64):
  %zero = arith.constant 0 : i64
  %two = arith.constant 2 : i64
  %four = arith.constant 4 : i64
  %five = arith.constant 5 : i64
  %t = tile.alloc : !T
  tile.load %x[%zero] rows %four into %t : !A into !T
  tile.store %t rows %two to %y[%five] : !T to !A
}
check.run @store_array_rows tokens 4
    ([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]],
     [[1, 0, 2, 1], [0, 1, 1, 3], [2, 1, 0, 1], [1, 1, 3, 0]])
  fails "tile.store (+8:3): rows 5 to 6 of an array that has 4"

tile.kernel @map_rows required 2 workspace 256 {
^bb0(%x: !A, %y: !A, %tokens: i64):
  %five = arith.constant 5 : i64
  %t = tile.alloc : !T
  tile.map into %t rows %five dims [] into !T {
    %a = arith.constant 1.0 : f32
    tile.yield %a : f32
  }
}
check.run @map_rows tokens 4
    ([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]],
     [[1, 0, 2, 1], [0, 1, 1, 3], [2, 1, 0, 1], [1, 1, 3, 0]])
  fails "tile.map (+4:3): 5 rows of a tile that has 4"

tile.kernel @scan_rows required 2 workspace 256 {
^bb0(%x: !A, %y: !A, %tokens: i64):
  %five = arith.constant 5 : i64
  %t = tile.alloc : !V
  tile.scan %t all %t rows %five dims [array<i64: 0>] start 0.0 : !V all !V {
  ^bb0(%u: f32, %a: f32):
    tile.yield %a, %a : f32, f32
  }
}
check.run @scan_rows tokens 4
    ([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]],
     [[1, 0, 2, 1], [0, 1, 1, 3], [2, 1, 0, 1], [1, 1, 3, 0]])
  fails "tile.scan (+4:3): 5 rows of a tile that has 4"

tile.kernel @product_inner required 2 workspace 256 {
^bb0(%x: !A, %y: !A, %tokens: i64):
  %four = arith.constant 4 : i64
  %five = arith.constant 5 : i64
  %t = tile.alloc : !T
  %u = tile.alloc : !T
  tile.product %t, %t into %u rows %four inner %five : !T, !T into !T
}
check.run @product_inner tokens 4
    ([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]],
     [[1, 0, 2, 1], [0, 1, 1, 3], [2, 1, 0, 1], [1, 1, 3, 0]])
  fails "tile.product (+6:3): 5 inner indices of factors that have 4"

tile.kernel @product_scale required 2 workspace 256 {
^bb0(%x: !A, %y: !A, %tokens: i64):
  %four = arith.constant 4 : i64
  %t = tile.alloc : !T
  %u = tile.alloc : !T
  %s = tile.alloc : !tile.tile<3xf32, local, [1]>
  tile.product %t, %t into %u rows %four inner %four plus %u scaled_rows %s : !T, !T into !T plus !T scaled_rows !tile.tile<3xf32, local, [1]>
}
check.run @product_scale tokens 4
    ([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]],
     [[1, 0, 2, 1], [0, 1, 1, 3], [2, 1, 0, 1], [1, 1, 3, 0]])
  fails "tile.product (+6:3): scales 4 rows by 3 numbers"

tile.kernel @scan_initial required 2 workspace 256 {
^bb0(%x: !A, %y: !A, %tokens: i64):
  %four = arith.constant 4 : i64
  %t = tile.alloc : !T
  %s = tile.alloc : !tile.tile<3xf32, local, [1]>
  tile.scan %t initial %s all %t rows %four dims [array<i64: 0, 1>] start 0.0 : !T initial !tile.tile<3xf32, local, [1]> all !T {
  ^bb0(%u: f32, %a: f32):
    tile.yield %a, %a : f32, f32
  }
}
check.run @scan_initial tokens 4
    ([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]],
     [[1, 0, 2, 1], [0, 1, 1, 3], [2, 1, 0, 1], [1, 1, 3, 0]])
  fails "tile.scan (+5:3): begins with 3 numbers, but has 4 running ones"

tile.kernel @scan_last required 2 workspace 256 {
^bb0(%x: !A, %y: !A, %tokens: i64):
  %four = arith.constant 4 : i64
  %t = tile.alloc : !T
  %s = tile.alloc : !tile.tile<3xf32, local, [1]>
  tile.scan %t all %t last %s rows %four dims [array<i64: 0, 1>] start 0.0 : !T all !T last !tile.tile<3xf32, local, [1]> {
  ^bb0(%u: f32, %a: f32):
    tile.yield %a, %a : f32, f32
  }
}
check.run @scan_last tokens 4
    ([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]],
     [[1, 0, 2, 1], [0, 1, 1, 3], [2, 1, 0, 1], [1, 1, 3, 0]])
  fails "tile.scan (+5:3): ends with [4] numbers, but gives them to [3]"

tile.kernel @dots_block required 2 workspace 256 {
^bb0(%x: !A, %y: !A, %tokens: i64):
  %four = arith.constant 4 : i64
  %t = tile.alloc : !T
  %u = tile.alloc : !T
  tile.scaled_dots %t, %t scales %t into %u rows %four block 0 points [1] of [0] : !T, !T scales !T into !T
}
check.run @dots_block tokens 4
    ([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]],
     [[1, 0, 2, 1], [0, 1, 1, 3], [2, 1, 0, 1], [1, 1, 3, 0]])
  fails "tile.scaled_dots (+5:3): a block of 0 indices"

tile.kernel @sums_channels required 2 workspace 256 {
^bb0(%x: !A, %y: !A, %tokens: i64):
  %four = arith.constant 4 : i64
  %t = tile.alloc : !T
  %u = tile.alloc : !T
  %s = tile.view %u offset 0 : !T to !tile.tile<4x3xf32, local, [4, 1]>
  %v = tile.alloc : !T
  tile.scaled_sums %t, %t scales %s into %v rows %four points [1] of [0] : !T, !T scales !tile.tile<4x3xf32, local, [4, 1]> into !T
}
check.run @sums_channels tokens 4
    ([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]],
     [[1, 0, 2, 1], [0, 1, 1, 3], [2, 1, 0, 1], [1, 1, 3, 0]])
  fails "tile.scaled_sums (+7:3): values, scales and the result have other channels"

tile.kernel @sums_solve required 2 workspace 256 {
^bb0(%x: !A, %y: !A, %tokens: i64):
  %four = arith.constant 4 : i64
  %t = tile.alloc : !T
  %u = tile.alloc : !T
  tile.scaled_sums solve %t, %t scales %t into %u rows %four points [1] of [0] : !T, !T scales !T into !T
}
check.run @sums_solve tokens 4
    ([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]],
     [[1, 0, 2, 1], [0, 1, 1, 3], [2, 1, 0, 1], [1, 1, 3, 0]])
  fails "tile.scaled_sums (+5:3): the values of a solve are its result"

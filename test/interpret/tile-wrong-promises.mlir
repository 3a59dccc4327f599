// What is wrong with a plan is said with the op and the element.
// What an op promises and does not hold, and ops and loops without a meaning.
// RUN: recur-opt --interpret %s >/dev/null

// The lines of a message are counted from that of the kernel.

!A = !tile.tile<?x4xf32, global>
!T = !tile.tile<4x4xf32, local, [4, 1]>
!V = !tile.tile<4xf32, local, [1]>

tile.kernel @left_triangle required 2 workspace 256 {
^bb0(%x: !A, %y: !A, %tokens: i64):
  %four = arith.constant 4 : i64
  %t = tile.alloc : !T
  %u = tile.alloc : !T
  tile.map into %t rows %four dims [] into !T {
    %a = arith.constant 0.5 : f32
    tile.yield %a : f32
  }
  tile.product %t, %t into %u rows %four inner %four left_triangle [1, 1] : !T, !T into !T
}
check.run @left_triangle tokens 4
    ([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]],
     [[1, 0, 2, 1], [0, 1, 1, 3], [2, 1, 0, 1], [1, 1, 3, 0]])
  fails "tile.product (+9:3): left_triangle promises 0 at [0, 1] of the left factor, which is 0.500000"

// Of a transposed factor it is promised as the factor lies.
tile.kernel @left_triangle_of_a_transposed_factor required 2 workspace 256 {
^bb0(%x: !A, %y: !A, %tokens: i64):
  %four = arith.constant 4 : i64
  %t = tile.alloc : !T
  %u = tile.alloc : !T
  tile.map into %t rows %four dims [] into !T {
    %row = tile.index 0
    %column = tile.index 1
    %isAbove = arith.cmpi slt, %row, %column : i32
    %a = arith.constant 0.5 : f32
    %zero = arith.constant 0.0 : f32
    %b = arith.select %isAbove, %a, %zero : f32
    tile.yield %b : f32
  }
  tile.product transposed %t, %t into %u rows %four inner %four left_triangle [2, 1] : !T, !T into !T
}
check.run @left_triangle_of_a_transposed_factor tokens 4
    ([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]],
     [[1, 0, 2, 1], [0, 1, 1, 3], [2, 1, 0, 1], [1, 1, 3, 0]])
  fails "tile.product (+14:3): left_triangle promises 0 at [0, 1] of the left factor, which is 0.500000"

tile.kernel @left_triangle_of_nothing required 2 workspace 256 {
^bb0(%x: !A, %y: !A, %tokens: i64):
  %four = arith.constant 4 : i64
  %t = tile.alloc : !T
  %u = tile.alloc : !T
  tile.product %t, %t into %u rows %four inner %four left_triangle [2, 1] : !T, !T into !T
}
check.run @left_triangle_of_nothing tokens 4
    ([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]],
     [[1, 0, 2, 1], [0, 1, 1, 3], [2, 1, 0, 1], [1, 1, 3, 0]])
  fails "tile.product (+5:3): left_triangle promises 0 at [0, 1] of the left factor, which has no meaning: tile.product (+5:3) read element [0, 1] of a tile, which nothing had written"

tile.kernel @product_on_its_factor required 2 workspace 256 {
^bb0(%x: !A, %y: !A, %tokens: i64):
  %four = arith.constant 4 : i64
  %t = tile.alloc at 0 : !T
  %u = tile.alloc at 48 : !T
  tile.product %t, %t into %u rows %four inner %four : !T, !T into !T
}
check.run @product_on_its_factor tokens 4
    ([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]],
     [[1, 0, 2, 1], [0, 1, 1, 3], [2, 1, 0, 1], [1, 1, 3, 0]])
  fails "tile.product (+5:3): element [0, 0] of the result lies where element [3, 0] of an operand does"

tile.kernel @map_on_another_row required 2 workspace 256 {
^bb0(%x: !A, %y: !A, %tokens: i64):
  %one = arith.constant 1 : i64
  %two = arith.constant 2 : i64
  %t = tile.alloc : !T
  %three = tile.view %t offset 0 : !T to !tile.tile<3x4xf32, local, [4, 1]>
  %next = tile.view %t[%one] offset 0 : !T to !tile.tile<3x4xf32, local, [4, 1]>
  tile.map %three into %next rows %two dims [array<i64: 0, 1>] : !tile.tile<3x4xf32, local, [4, 1]> into !tile.tile<3x4xf32, local, [4, 1]> {
  ^bb0(%a: f32):
    tile.yield %a : f32
  }
}
check.run @map_on_another_row tokens 4
    ([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]],
     [[1, 0, 2, 1], [0, 1, 1, 3], [2, 1, 0, 1], [1, 1, 3, 0]])
  fails "tile.map (+7:3): element [0, 0] of the result lies where element [1, 0] of an operand does"

tile.kernel @op_without_meaning required 2 workspace 256 {
^bb0(%x: !A, %y: !A, %tokens: i64):
  %one = arith.constant 1 : i64
  %two = arith.constant 2 : i64
  %c = arith.shli %one, %two : i64
}
check.run @op_without_meaning tokens 4
    ([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]],
     [[1, 0, 2, 1], [0, 1, 1, 3], [2, 1, 0, 1], [1, 1, 3, 0]])
  fails "arith.shli (+4:8): the op has no meaning in a plan"

tile.kernel @float_in_the_plan required 2 workspace 256 {
^bb0(%x: !A, %y: !A, %tokens: i64):
  %c = arith.constant 1.0 : f32
}
check.run @float_in_the_plan tokens 4
    ([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]],
     [[1, 0, 2, 1], [0, 1, 1, 3], [2, 1, 0, 1], [1, 1, 3, 0]])
  fails "arith.constant (+2:8): a plan computes with integers only"

tile.kernel @op_without_meaning_in_abody required 2 workspace 256 {
^bb0(%x: !A, %y: !A, %tokens: i64):
  %four = arith.constant 4 : i64
  %t = tile.alloc : !T
  tile.map into %t rows %four dims [] into !T {
    %a = arith.constant 0.5 : f32
    %b = math.tan %a : f32
    tile.yield %b : f32
  }
}
check.run @op_without_meaning_in_abody tokens 4
    ([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]],
     [[1, 0, 2, 1], [0, 1, 1, 3], [2, 1, 0, 1], [1, 1, 3, 0]])
  fails "math.tan (+6:10): the op has no meaning in a body"

tile.kernel @outside_of_abody required 2 workspace 256 {
^bb0(%x: !A, %y: !A, %tokens: i64):
  %four = arith.constant 4 : i64
  %t = tile.alloc : !T
  %c = arith.constant 1 : i32
  tile.map into %t rows %four dims [] into !T {
    %a = arith.sitofp %c : i32 to f32
    tile.yield %a : f32
  }
}
check.run @outside_of_abody tokens 4
    ([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]],
     [[1, 0, 2, 1], [0, 1, 1, 3], [2, 1, 0, 1], [1, 1, 3, 0]])
  fails "arith.sitofp (+6:10): a body uses nothing from outside of it"

tile.kernel @loop_step required 2 workspace 256 {
^bb0(%x: !A, %y: !A, %tokens: i64):
  %zero = arith.constant 0 : i64
  %two = arith.constant 2 : i64
  scf.for %i = %zero to %two step %zero : i64 {
  }
}
check.run @loop_step tokens 4
    ([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]],
     [[1, 0, 2, 1], [0, 1, 1, 3], [2, 1, 0, 1], [1, 1, 3, 0]])
  fails "scf.for (+4:3): the step of a loop is 0"

tile.kernel @division required 2 workspace 256 {
^bb0(%x: !A, %y: !A, %tokens: i64):
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %c = arith.divsi %one, %zero : i64
}
check.run @division tokens 4
    ([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]],
     [[1, 0, 2, 1], [0, 1, 1, 3], [2, 1, 0, 1], [1, 1, 3, 0]])
  fails "arith.divsi (+4:8): cannot divide 1 by 0"

// The meaning of tile ops on tiles of a few numbers, which a kernel loads from the caller's arrays and stores again.
// RUN: recur-opt --interpret %s >/dev/null

!G = !tile.tile<?x2xf32, global>
!T = !tile.tile<2x2xf32, local, [2, 1]>
!V = !tile.tile<2xf32, local, [1]>

// What stays in the array is what no row was stored to.
tile.kernel @copy required 2 workspace 0 {
^bb0(%x: !G, %y: !G, %tokens: i64):
  %one = arith.constant 1 : i64
  %a = tile.alloc : !T
  tile.load %x[%one] rows %tokens into %a : !G into !T
  tile.store %a rows %tokens to %y[%one] : !T to !G
}
check.run @copy tokens 2 ([[1, 2], [3, 4], [5, 6]], [[7, 7], [7, 7], [7, 7], [7, 7]])
  gives ([[1, 2], [3, 4], [5, 6]], [[7, 7], [3, 4], [5, 6], [7, 7]])

// The caller has each row's transpose.
!M = !tile.tile<?x2x3xf32, global>
!MT = !tile.tile<?x2x3xf32, global, transposed>
!R = !tile.tile<1x2x3xf32, local, [6, 3, 1]>
tile.kernel @transposed required 2 workspace 0 {
^bb0(%x: !MT, %y: !M, %z: !MT, %tokens: i64):
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %a = tile.alloc : !R
  tile.load %x[%one] rows %one into %a : !MT into !R
  tile.store %a rows %one to %y[%zero] : !R to !M
  tile.store %a rows %one to %z[%zero] : !R to !MT
}
check.run @transposed ([[7, 7, 7, 7, 7, 7], [1, 4, 2, 5, 3, 6]], [[0, 0, 0, 0, 0, 0]], [[0, 0, 0, 0, 0, 0]])
  gives ([[7, 7, 7, 7, 7, 7], [1, 4, 2, 5, 3, 6]], [[1, 2, 3, 4, 5, 6]], [[1, 4, 2, 5, 3, 6]])

// A vector goes along the dimension that is named; an index says where an element is.
tile.kernel @map required 3 workspace 0 {
^bb0(%x: !G, %y: !G, %z: !G, %tokens: i64):
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %two = arith.constant 2 : i64
  %a = tile.alloc : !T
  %b = tile.alloc : !T
  %c = tile.alloc : !T
  tile.load %x[%zero] rows %two into %a : !G into !T
  tile.load %y[%zero] rows %two into %b : !G into !T
  %row = tile.view %b[%zero] offset 0 : !T to !V
  tile.map %a, %row into %c rows %two dims [array<i64: 0, 1>, array<i64: 1>] : !T, !V into !T {
  ^bb0(%p: f32, %q: f32):
    %i = tile.index 0
    %j = tile.index 1
    %same = arith.cmpi eq, %i, %j : i32
    %product = arith.mulf %p, %q : f32
    %chosen = arith.select %same, %product, %p : f32
    tile.yield %chosen : f32
  }
  tile.store %c rows %two to %z[%zero] : !T to !G
}
check.run @map ([[1, 2], [3, 4]], [[10, 100], [0, 0]], [[7, 7], [7, 7]])
  gives ([[1, 2], [3, 4]], [[10, 100], [0, 0]], [[10, 2], [3, 400]])

// Rows and columns without a dimension in common are an outer product.
tile.kernel @outer required 2 workspace 0 {
^bb0(%x: !G, %z: !G, %tokens: i64):
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %two = arith.constant 2 : i64
  %a = tile.alloc : !T
  %c = tile.alloc : !T
  tile.load %x[%zero] rows %two into %a : !G into !T
  %row = tile.view %a[%zero] offset 0 : !T to !V
  %column = tile.view %a[%one] offset 0 : !T to !V
  tile.map %row, %column into %c rows %two dims [array<i64: 1>, array<i64: 0>] : !V, !V into !T {
  ^bb0(%p: f32, %q: f32):
    %product = arith.mulf %p, %q : f32
    tile.yield %product : f32
  }
  tile.store %c rows %two to %z[%zero] : !T to !G
}
check.run @outer ([[1, 2], [10, 100]], [[7, 7], [7, 7]]) gives ([[1, 2], [10, 100]], [[10, 20], [100, 200]])

// Down the rows from an initial value: what is yielded first goes on, what is yielded second is kept.
tile.kernel @scan required 2 workspace 0 {
^bb0(%x: !G, %z: !G, %tokens: i64):
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %two = arith.constant 2 : i64
  %a = tile.alloc : !T
  %b = tile.alloc : !T
  %c = tile.alloc : !T
  tile.load %x[%zero] rows %two into %a : !G into !T
  tile.load %x[%two] rows %one into %b : !G into !T
  %initial = tile.view %b[%zero] offset 0 : !T to !V
  %last = tile.view %b[%one] offset 0 : !T to !V
  tile.scan %a initial %initial all %c last %last rows %two dims [array<i64: 0, 1>] start 9.0
      : !T initial !V all !T last !V {
  ^bb0(%p: f32, %running: f32):
    %next = arith.addf %running, %p : f32
    %given = arith.mulf %running, %p : f32
    tile.yield %next, %given : f32, f32
  }
  tile.store %c rows %two to %z[%zero] : !T to !G
  tile.store %b rows %two to %z[%two] : !T to !G
}
check.run @scan ([[1, 2], [3, 4], [10, 100]], [[7, 7], [7, 7], [7, 7], [7, 7]])
  gives ([[1, 2], [3, 4], [10, 100]], [[10, 200], [33, 408], [10, 100], [14, 106]])

// Up the rows that count, from a number.
tile.kernel @scan_back required 2 workspace 0 {
^bb0(%x: !G, %z: !G, %tokens: i64):
  %zero = arith.constant 0 : i64
  %a = tile.alloc : !T
  tile.load %x[%zero] rows %tokens into %a : !G into !T
  tile.scan %a all %a reverse rows %tokens dims [array<i64: 0, 1>] start 2.0 : !T all !T {
  ^bb0(%p: f32, %running: f32):
    %next = arith.mulf %running, %p : f32
    tile.yield %next, %next : f32, f32
  }
  tile.store %a rows %tokens to %z[%zero] : !T to !G
}
check.run @scan_back tokens 2 ([[1, 2], [3, 4]], [[7, 7], [7, 7]]) gives ([[1, 2], [3, 4]], [[6, 16], [6, 8]])
check.run @scan_back tokens 1 ([[1, 2], [3, 4]], [[7, 7], [7, 7]]) gives ([[1, 2], [3, 4]], [[2, 4], [7, 7]])

// A running number that takes nothing of the rows goes over as many as it is told: no tile has a size for them.
tile.kernel @count required 1 workspace 0 {
^bb0(%z: !tile.tile<?xf32, global>, %tokens: i64):
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %last = tile.alloc : !tile.tile<1xf32, local, [1]>
  "tile.scan"(%last, %tokens) <{dims = [], operandSegmentSizes = array<i32: 0, 0, 0, 1, 1>, start = 2.0 : f64}> ({
  ^bb0(%running: f32):
    %step = arith.constant 1.0 : f32
    %next = arith.addf %running, %step : f32
    tile.yield %next, %next : f32, f32
  }) : (!tile.tile<1xf32, local, [1]>, i64) -> ()
  tile.store %last rows %one to %z[%zero] : !tile.tile<1xf32, local, [1]> to !tile.tile<?xf32, global>
}
check.run @count tokens 5 ([0]) gives ([7])

// The sums of the rows, and their largest numbers.
tile.kernel @reduce required 2 workspace 0 {
^bb0(%x: !G, %z: !G, %tokens: i64):
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %two = arith.constant 2 : i64
  %a = tile.alloc : !T
  %c = tile.alloc : !T
  tile.load %x[%zero] rows %two into %a : !G into !T
  %sums = tile.view %c[%zero] offset 0 : !T to !V
  %most = tile.view %c[%one] offset 0 : !T to !V
  tile.reduce sum %a into %sums rows %two over [1] of [2, 2] dims [array<i64: 0, 1>] : !T into !V {
  ^bb0(%p: f32):
    tile.yield %p : f32
  }
  tile.reduce max %a into %most rows %two over [1] of [2, 2] dims [array<i64: 0, 1>] : !T into !V {
  ^bb0(%p: f32):
    tile.yield %p : f32
  }
  tile.store %c rows %two to %z[%zero] : !T to !G
}
check.run @reduce ([[1, 2], [3, -4]], [[7, 7], [7, 7]]) gives ([[1, 2], [3, -4]], [[3, -1], [2, 3]])

// Of a product the inner indices that count; a tile is added, scaled by rows and columns.
tile.kernel @product required 3 workspace 0 {
^bb0(%x: !G, %y: !G, %z: !G, %inner: i64):
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %two = arith.constant 2 : i64
  %a = tile.alloc : !T
  %b = tile.alloc : !T
  %scales = tile.alloc : !T
  %c = tile.alloc : !T
  %d = tile.alloc : !T
  tile.load %x[%zero] rows %two into %a : !G into !T
  tile.load %y[%zero] rows %two into %b : !G into !T
  tile.load %y[%two] rows %two into %scales : !G into !T
  tile.load %z[%zero] rows %two into %c : !G into !T
  tile.product transposed %a, %b into %d rows %two inner %inner : !T, !T into !T
  %rows = tile.view %scales[%zero] offset 0 : !T to !V
  %columns = tile.view %scales[%one] offset 0 : !T to !V
  tile.product %a, %b into %c rows %two inner %inner plus %c scaled_rows %rows scaled_columns %columns
      : !T, !T into !T plus !T scaled_rows !V scaled_columns !V
  tile.store %c rows %two to %z[%zero] : !T to !G
  tile.store %d rows %two to %z[%two] : !T to !G
}
check.run @product tokens 2
    ([[1, 2], [3, 4]], [[5, 6], [7, 8], [1, 10], [1, 100]], [[1, 1], [1, 1], [7, 7], [7, 7]])
  gives ([[1, 2], [3, 4]], [[5, 6], [7, 8], [1, 10], [1, 100]], [[20, 122], [53, 1050], [26, 30], [38, 44]])
check.run @product tokens 1
    ([[1, 2], [3, 4]], [[5, 6], [7, 8], [1, 10], [1, 100]], [[1, 1], [1, 1], [7, 7], [7, 7]])
  gives ([[1, 2], [3, 4]], [[5, 6], [7, 8], [1, 10], [1, 100]], [[6, 106], [25, 1018], [5, 6], [10, 12]])

// (I + L) X = B, of which L is what lies below the diagonal; and the transpose.
tile.kernel @solve required 3 workspace 0 {
^bb0(%x: !G, %y: !G, %z: !G, %tokens: i64):
  %zero = arith.constant 0 : i64
  %two = arith.constant 2 : i64
  %a = tile.alloc : !T
  %b = tile.alloc : !T
  %c = tile.alloc : !T
  tile.load %x[%zero] rows %two into %a : !G into !T
  tile.load %y[%zero] rows %two into %b : !G into !T
  tile.transpose %a rows %two into %c : !T into !T
  tile.solve %a, %b rows %two : !T, !T
  tile.store %b rows %two to %z[%zero] : !T to !G
  tile.store %c rows %two to %z[%two] : !T to !G
}
check.run @solve ([[50, 60], [3, 70]], [[1, 2], [10, 20]], [[7, 7], [7, 7], [7, 7], [7, 7]])
  gives ([[50, 60], [3, 70]], [[1, 2], [10, 20]], [[1, 2], [7, 14], [50, 3], [60, 70]])

// The inverse of I + L, and that with its columns scaled: of what is above the diagonal nothing is read.
!Square = !tile.tile<3x3xf32, local, [3, 1]>
!Squares = !tile.tile<?x3xf32, global>
!Scales = !tile.tile<3xf32, local, [1]>
tile.kernel @invert required 3 workspace 0 {
^bb0(%x: !Squares, %y: !tile.tile<?xf32, global>, %z: !Squares, %tokens: i64):
  %zero = arith.constant 0 : i64
  %three = arith.constant 3 : i64
  %a = tile.alloc : !Square
  %b = tile.alloc : !Square
  %s = tile.alloc : !Scales
  tile.load %x[%zero] rows %tokens into %a : !Squares into !Square
  tile.load %y[%zero] rows %tokens into %s : !tile.tile<?xf32, global> into !Scales
  tile.invert %a into %b rows %tokens : !Square into !Square
  tile.store %b rows %tokens to %z[%zero] : !Square to !Squares
  tile.invert %a into %b rows %tokens scaled_columns %s : !Square into !Square scaled_columns !Scales
  tile.store %b rows %tokens to %z[%three] : !Square to !Squares
}
check.run @invert tokens 3
    ([[50, 60, 70], [2, 70, 80], [3, 4, 90]], [10, 100, 1000],
     [[7, 7, 7], [7, 7, 7], [7, 7, 7], [7, 7, 7], [7, 7, 7], [7, 7, 7]])
  gives ([[50, 60, 70], [2, 70, 80], [3, 4, 90]], [10, 100, 1000],
     [[1, 0, 0], [-2, 1, 0], [5, -4, 1], [10, 0, 0], [-20, 100, 0], [50, -400, 1000]])
check.run @invert tokens 2
    ([[50, 60, 70], [2, 70, 80], [3, 4, 90]], [10, 100, 1000],
     [[7, 7, 7], [7, 7, 7], [7, 7, 7], [7, 7, 7], [7, 7, 7], [7, 7, 7]])
  gives ([[50, 60, 70], [2, 70, 80], [3, 4, 90]], [10, 100, 1000],
     [[1, 0, 0], [-2, 1, 0], [7, 7, 7], [10, 0, 0], [-20, 100, 0], [7, 7, 7]])

// An inverse with its columns exchanged, and a product that has it so. Its left factor is zero beyond the triangle.
!Eight = !tile.tile<8x8xf32, shared, [8, 1]>
!Eights = !tile.tile<?x8xf32, global>
!Column = !tile.tile<8x1xf32, shared, [1, 1]>
!Columns = !tile.tile<?x1xf32, global>
tile.kernel @exchanged required 4 workspace 0 {
^bb0(%x: !Eights, %y: !Columns, %z: !Eights, %w: !Columns, %tokens: i64):
  %zero = arith.constant 0 : i64
  %a = tile.alloc : !Eight
  %b = tile.alloc : !Eight
  %c = tile.alloc : !Column
  %d = tile.alloc : !Column
  tile.load %x[%zero] rows %tokens into %a : !Eights into !Eight
  tile.load %y[%zero] rows %tokens into %c : !Columns into !Column
  tile.invert %a into %b rows %tokens exchanged : !Eight into !Eight
  tile.product left_exchanged %b, %c into %d rows %tokens inner %tokens left_triangle [1, 1] : !Eight, !Column into !Column
  tile.store %b rows %tokens to %z[%zero] : !Eight to !Eights
  tile.store %d rows %tokens to %w[%zero] : !Column to !Columns
}
check.run @exchanged tokens 4
    ([[0, 0, 0, 0, 0, 0, 0, 0], [2, 0, 0, 0, 0, 0, 0, 0], [3, 4, 0, 0, 0, 0, 0, 0], [0, 0, 5, 0, 0, 0, 0, 0]],
     [[1], [10], [100], [1000]],
     [[7, 7, 7, 7, 7, 7, 7, 7], [7, 7, 7, 7, 7, 7, 7, 7], [7, 7, 7, 7, 7, 7, 7, 7], [7, 7, 7, 7, 7, 7, 7, 7]],
     [[7], [7], [7], [7]])
  gives ([[0, 0, 0, 0, 0, 0, 0, 0], [2, 0, 0, 0, 0, 0, 0, 0], [3, 4, 0, 0, 0, 0, 0, 0], [0, 0, 5, 0, 0, 0, 0, 0]],
     [[1], [10], [100], [1000]],
     [[1, 0, 0, 0, 0, 0, 0, 0], [-2, 0, 0, 0, 1, 0, 0, 0], [5, 1, 0, 0, -4, 0, 0, 0], [-25, -5, 0, 0, 20, 1, 0, 0]],
     [[1], [8], [65], [675]])

// Each token has a matrix of its own: diag(4, 3), and with half of the past diag(2.5, 4). The last row is beyond the end.
!Rows2 = !tile.tile<?x2xf32, global>
!Numbers2 = !tile.tile<?xf32, global>
!Matrices2 = !tile.tile<?x2x2xf32, global>
!Tile32 = !tile.tile<3x2xf32, local, [2, 1]>
!Tile12 = !tile.tile<1x2xf32, local, [2, 1]>
!Tile3 = !tile.tile<3xf32, local, [1]>
!Work2 = !tile.tile<8576xf32, local, [1]>
tile.kernel @systems required 7 workspace 0 {
^bb0(%q: !Rows2, %k: !Rows2, %b: !Numbers2, %d: !Numbers2, %G: !Matrices2, %r: !Rows2, %x: !Rows2, %tokens: i64):
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %gains = tile.alloc : !Tile3
  %decays = tile.alloc : !Tile3
  %ridge = tile.alloc : !Tile12
  %result = tile.alloc : !Tile32
  %work = tile.alloc : !Work2
  tile.load %b[%zero] rows %tokens into %gains : !Numbers2 into !Tile3
  tile.load %d[%zero] rows %tokens into %decays : !Numbers2 into !Tile3
  tile.load %r[%zero] rows %one into %ridge : !Rows2 into !Tile12
  tile.conjugate_gradients %q, %k[%zero] gains %gains decays %decays state %G[%one] ridge %ridge into %result work %work rows %tokens iterations 2 : !Rows2, !Rows2 gains !Tile3 decays !Tile3 state !Matrices2 ridge !Tile12 into !Tile32 work !Work2
  tile.store %result rows %tokens to %x[%zero] : !Tile32 to !Rows2
}
check.run @systems tokens 2
    ([[4, 0], [0, 8], [9, 9]], [[1, 0], [0, 2], [9, 9]], [2, 0.5, 9], [0, -1, 9], [[[9, 9], [9, 9]], [[1, 0], [0, 2]]], [[1, 1]],
     [[7, 7], [7, 7], [7, 7]])
  gives ([[4, 0], [0, 8], [9, 9]], [[1, 0], [0, 2], [9, 9]], [2, 0.5, 9], [0, -1, 9], [[[9, 9], [9, 9]], [[1, 0], [0, 2]]], [[1, 1]],
     [[1, 0], [0, 2], [7, 7]])

// Pairs of rows side by side; beside an odd last row there are zeros.
tile.kernel @pair required 2 workspace 0 {
^bb0(%x: !G, %z: !G, %tokens: i64):
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %a = tile.alloc : !T
  %c = tile.alloc : !T
  %p = tile.alloc : !tile.tile<1x2x2xbf16, local, [4, 2, 1]>
  tile.load %x[%zero] rows %tokens into %a : !G into !T
  tile.pair %a rows %tokens into %p : !T into !tile.tile<1x2x2xbf16, local, [4, 2, 1]>
  %flat = tile.view %p offset 0 : !tile.tile<1x2x2xbf16, local, [4, 2, 1]> to !tile.tile<2x2xbf16, local, [2, 1]>
  %two = arith.constant 2 : i64
  tile.map %flat into %c rows %two dims [array<i64: 0, 1>] : !tile.tile<2x2xbf16, local, [2, 1]> into !T {
  ^bb0(%p0: f32):
    tile.yield %p0 : f32
  }
  tile.store %c rows %two to %z[%zero] : !T to !G
}
check.run @pair tokens 2 ([[1, 2], [3, 4]], [[7, 7], [7, 7]]) gives ([[1, 2], [3, 4]], [[1, 3], [2, 4]])
check.run @pair tokens 1 ([[1, 2], [3, 4]], [[7, 7], [7, 7]]) gives ([[1, 2], [3, 4]], [[1, 0], [2, 0]])

// A transpose in bf16 has zeros behind an odd number of rows.
tile.kernel @transpose required 2 workspace 0 {
^bb0(%x: !G, %z: !G, %tokens: i64):
  %zero = arith.constant 0 : i64
  %two = arith.constant 2 : i64
  %a = tile.alloc : !T
  %c = tile.alloc : !T
  %t = tile.alloc : !tile.tile<2x2xbf16, local, [2, 1]>
  tile.load %x[%zero] rows %tokens into %a : !G into !T
  tile.transpose %a rows %tokens into %t : !T into !tile.tile<2x2xbf16, local, [2, 1]>
  tile.map %t into %c rows %two dims [array<i64: 0, 1>] : !tile.tile<2x2xbf16, local, [2, 1]> into !T {
  ^bb0(%p0: f32):
    tile.yield %p0 : f32
  }
  tile.store %c rows %two to %z[%zero] : !T to !G
}
check.run @transpose tokens 2 ([[1, 2], [3, 4]], [[7, 7], [7, 7]]) gives ([[1, 2], [3, 4]], [[1, 3], [2, 4]])
check.run @transpose tokens 1 ([[1, 2], [3, 4]], [[7, 7], [7, 7]]) gives ([[1, 2], [3, 4]], [[1, 0], [2, 0]])

// Loops carry numbers; an absent array is zero, and takes nothing.
tile.kernel @sum required 1 workspace 0 {
^bb0(%x: !G, %given: !G, %y: !G, %tokens: i64):
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %row = tile.alloc : !T
  %all = tile.alloc : !T
  tile.load %given[%zero] rows %one into %all : !G into !T
  scf.for %t = %zero to %tokens step %one : i64 {
    tile.load %x[%t] rows %one into %row : !G into !T
    tile.map %all, %row into %all rows %one dims [array<i64: 0, 1>, array<i64: 0, 1>] : !T, !T into !T {
    ^bb0(%p: f32, %q: f32):
      %s = arith.addf %p, %q : f32
      tile.yield %s : f32
    }
  }
  tile.store %all rows %one to %y[%zero] : !T to !G
}
check.run @sum tokens 3 ([[1, 2], [3, 4], [5, 6]], [], [[7, 7]]) gives ([[1, 2], [3, 4], [5, 6]], [], [[9, 12]])
check.run @sum tokens 1 ([[1, 2], [3, 4], [5, 6]], [[100, 200]], [[7, 7]]) gives ([[1, 2], [3, 4], [5, 6]], [[100, 200]], [[101, 202]])
check.run @sum tokens 1 ([[1, 2]], [[100, 200]], []) gives ([[1, 2]], [[100, 200]], [])

// The sums of the two halves of each row.
!Four = !tile.tile<?x4xf32, global>
tile.kernel @reduce_parts required 2 workspace 0 {
^bb0(%x: !Four, %z: !G, %tokens: i64):
  %zero = arith.constant 0 : i64
  %two = arith.constant 2 : i64
  %a = tile.alloc : !tile.tile<2x4xf32, local, [4, 1]>
  %sums = tile.alloc : !T
  tile.load %x[%zero] rows %two into %a : !Four into !tile.tile<2x4xf32, local, [4, 1]>
  tile.reduce sum %a into %sums rows %two over [1] of [2, 4] dims [array<i64: 0, 1>] : !tile.tile<2x4xf32, local, [4, 1]> into !T {
  ^bb0(%p: f32):
    tile.yield %p : f32
  }
  tile.store %sums rows %two to %z[%zero] : !T to !G
}
check.run @reduce_parts ([[1, 2, 3, 4], [5, 6, 7, 8]], [[0, 0], [0, 0]]) gives ([[1, 2, 3, 4], [5, 6, 7, 8]], [[3, 7], [11, 15]])

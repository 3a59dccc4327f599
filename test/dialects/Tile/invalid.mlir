// RUN: recur-opt %s -split-input-file -verify-diagnostics

// expected-error @below {{'attic' is no memory; there are global, local, shared and registers}}
tile.kernel @f required 0 workspace 0 { ^bb0(%x: !tile.tile<4x4xf32, attic>, %n: i64): }

// -----

// expected-error @below {{a tile of 2 dimensions needs as many strides, but has 1}}
tile.kernel @f required 0 workspace 0 { ^bb0(%x: !tile.tile<4x4xf32, local, [1]>, %n: i64): }

// -----

// expected-error @below {{a tile in global memory has '?' rows, and only its rows may be '?'}}
tile.kernel @f required 0 workspace 0 { ^bb0(%x: !tile.tile<4x4xf32, global>, %n: i64): }

// -----

// expected-error @below {{the strides of a tile in global memory are the caller's}}
tile.kernel @f required 0 workspace 0 { ^bb0(%x: !tile.tile<?x4xf32, global, [4, 1]>, %n: i64): }

// -----

// expected-error @below {{only a tile in global memory whose rows are matrices is transposed}}
tile.kernel @f required 0 workspace 0 { ^bb0(%x: !tile.tile<?x4xf32, global, transposed>, %n: i64): }

// -----

// expected-error @below {{only a tile in global memory whose rows are matrices is transposed}}
tile.kernel @f required 0 workspace 0 { ^bb0(%x: !tile.tile<2x4x4xf32, local, [16, 4, 1], transposed>, %n: i64): }

// -----

// expected-error @below {{the elements of a tile are f32, bf16 or f16, and in global memory i32, not 'f64'}}
tile.kernel @f required 0 workspace 0 { ^bb0(%x: !tile.tile<4x4xf64, local, [4, 1]>, %n: i64): }

// -----

// expected-error @below {{only shared tiles are swizzled, by 32, 64 or 128 bytes}}
tile.kernel @f required 0 workspace 0 { ^bb0(%x: !tile.tile<4x4xf32, local, [4, 1], swizzle 128>, %n: i64): }

// -----

// expected-error @below {{'tile.kernel' op needs the number of tokens, an i64, as its last argument}}
tile.kernel @k required 0 workspace 0 {
^bb0(%x: !tile.tile<?x4xf32, global>):
}

// -----

// expected-error @below {{'tile.kernel' op requires 2 arrays, but has 1}}
tile.kernel @k required 2 workspace 0 {
^bb0(%x: !tile.tile<?x4xf32, global>, %n: i64):
}

// -----

// expected-error @below {{'tile.kernel' op requires -1 arrays, but has 1}}
tile.kernel @k required -1 workspace 0 {
^bb0(%x: !tile.tile<?x4xf32, global>, %n: i64):
}

// -----

// expected-error @below {{'tile.kernel' op says of each of its 1 arrays how many channels it has, or 0}}
tile.kernel @k required 1 workspace 0 threads 64 shared 0 channels [] {
^bb0(%x: !tile.tile<?x4xf32, global>, %n: i64):
}

// -----

// expected-error @below {{'tile.kernel' op says of each of its 1 arrays how many channels it has, or 0}}
tile.kernel @k required 1 workspace 0 threads 64 shared 0 channels [-1] {
^bb0(%x: !tile.tile<?x4xf32, global>, %n: i64):
}

// -----

// expected-error @below {{'tile.kernel' op awaits chunks of array 1, but has 1 arrays}}
tile.kernel @k required 1 workspace 0 threads 64 shared 0 awaits [0, 1] {
^bb0(%x: !tile.tile<?x4xf32, global>, %n: i64):
}

// -----

// expected-error @below {{'tile.kernel' op has 1 to 15 teams in a CTA, not 16}}
tile.kernel @k required 1 workspace 0 threads 32 shared 0 teams 16 {
^bb0(%x: !tile.tile<?x4xf32, global>, %n: i64):
}

// -----

// expected-error @below {{'tile.kernel' op has teams, but no threads of one team}}
tile.kernel @k required 1 workspace 0 teams 2 {
^bb0(%x: !tile.tile<?x4xf32, global>, %n: i64):
}

// -----

// expected-error @below {{'tile.kernel' op has 5 teams of 256 threads in a CTA of at most 1024}}
tile.kernel @k required 1 workspace 0 threads 256 shared 0 teams 5 {
^bb0(%x: !tile.tile<?x4xf32, global>, %n: i64):
}

// -----

// expected-error @below {{'tile.kernel' op has teams that take a multiple of 128 bytes of shared memory each, not 64}}
tile.kernel @k required 1 workspace 0 threads 64 shared 64 teams 2 {
^bb0(%x: !tile.tile<?x4xf32, global>, %n: i64):
}

// -----

// expected-error @below {{'tile.kernel' op has teams that take 232960 bytes of shared memory together, but a CTA has 232448}}
tile.kernel @k required 1 workspace 0 threads 64 shared 46592 teams 5 {
^bb0(%x: !tile.tile<?x4xf32, global>, %n: i64):
}

// -----

// expected-error @below {{'tile.kernel' op has an occupancy of 1 to 32 CTAs, not 33}}
tile.kernel @k required 1 workspace 0 threads 32 shared 0 occupancy 33 {
^bb0(%x: !tile.tile<?x4xf32, global>, %tokens: i64):
}

// -----

// expected-error @below {{'tile.kernel' op has an occupancy, but no threads of a team}}
tile.kernel @k required 1 workspace 0 occupancy 2 {
^bb0(%x: !tile.tile<?x4xf32, global>, %tokens: i64):
}

// -----

// expected-error @below {{'tile.kernel' op has an occupancy of 3 of its 2 teams}}
tile.kernel @k required 1 workspace 0 threads 32 shared 128 teams 2 occupancy 3 {
^bb0(%x: !tile.tile<?x4xf32, global>, %tokens: i64):
}

// -----

// expected-error @below {{'tile.kernel' op has teams that would share their local tiles}}
tile.kernel @k required 1 workspace 128 threads 64 shared 128 teams 2 {
^bb0(%x: !tile.tile<?x4xf32, global>, %n: i64):
}

// -----

// expected-error @below {{'tile.kernel' op announces the chunks of one parallel loop, and needs it}}
tile.kernel @k required 1 workspace 0 threads 64 shared 128 teams 2 {
^bb0(%x: !tile.tile<?x4xf32, global>, %n: i64):
}

// -----

// expected-error @below {{'tile.kernel' op needs a workspace of zero or more bytes, not of -128}}
tile.kernel @k required 1 workspace -128 {
^bb0(%x: !tile.tile<?x4xf32, global>, %n: i64):
}

// -----

tile.kernel @k required 0 workspace 0 {
^bb0(%x: !tile.tile<?x4xf32, global>, %n: i64):
  %a = tile.alloc : !tile.tile<4x3xf32, local, [16, 1]>
  // expected-error @below {{'tile.load' op needs room for a row of the array, but the array is '!tile.tile<?x4xf32, global>' and the tile '!tile.tile<4x3xf32, local, [16, 1]>'}}
  tile.load %x[%n] rows %n into %a : !tile.tile<?x4xf32, global> into !tile.tile<4x3xf32, local, [16, 1]>
}

// -----

tile.kernel @k required 0 workspace 0 {
^bb0(%n: i64):
  %a = tile.alloc : !tile.tile<4x5xf32, local, [16, 1]>
  // expected-error @below {{'tile.map' op has 1 inputs, but dimensions for 0}}
  tile.map %a into %a rows %n dims [] : !tile.tile<4x5xf32, local, [16, 1]> into !tile.tile<4x5xf32, local, [16, 1]> {
  ^bb0(%u: f32):
    tile.yield %u : f32
  }
}

// -----

tile.kernel @k required 0 workspace 0 {
^bb0(%n: i64):
  %a = tile.alloc : !tile.tile<4x5xf32, local, [16, 1]>
  // expected-error @below {{'tile.map' op needs a body of 1 f32 arguments}}
  tile.map %a into %a rows %n dims [array<i64: 0, 1>] : !tile.tile<4x5xf32, local, [16, 1]> into !tile.tile<4x5xf32, local, [16, 1]> {
  ^bb0(%u: f32, %v: f32):
    tile.yield %u : f32
  }
}

// -----

tile.kernel @k required 0 workspace 0 {
^bb0(%n: i64):
  %a = tile.alloc : !tile.tile<4x5xf32, local, [16, 1]>
  // expected-error @below {{'tile.product' op cannot multiply '!tile.tile<4x5xf32, local, [16, 1]>' and '!tile.tile<4x5xf32, local, [16, 1]>' into '!tile.tile<4x5xf32, local, [16, 1]>'}}
  tile.product %a, %a into %a rows %n inner %n : !tile.tile<4x5xf32, local, [16, 1]>, !tile.tile<4x5xf32, local, [16, 1]> into !tile.tile<4x5xf32, local, [16, 1]>
}

// -----

tile.kernel @k required 0 workspace 0 {
^bb0(%n: i64):
  %a = tile.alloc : !tile.tile<4x5xf32, local, [16, 1]>
  // expected-error @below {{'tile.solve' op cannot solve '!tile.tile<4x5xf32, local, [16, 1]>' for '!tile.tile<4x5xf32, local, [16, 1]>'}}
  tile.solve %a, %a rows %n : !tile.tile<4x5xf32, local, [16, 1]>, !tile.tile<4x5xf32, local, [16, 1]>
}

// -----

tile.kernel @k required 0 workspace 0 {
^bb0(%n: i64):
  %a = tile.alloc : !tile.tile<32x16xf32, local, [32, 1]>
  %c = tile.alloc : !tile.tile<32x32xf32, local, [64, 1]>
  // expected-error @below {{'tile.scaled_dots' op has work or logarithms, but rounds nothing}}
  tile.scaled_dots %a, %a scales logarithms %a into %c rows %n block 16 points [1] of [0] : !tile.tile<32x16xf32, local, [32, 1]>, !tile.tile<32x16xf32, local, [32, 1]> scales !tile.tile<32x16xf32, local, [32, 1]> into !tile.tile<32x32xf32, local, [64, 1]>
}

// -----

tile.kernel @k required 0 workspace 0 {
^bb0(%n: i64):
  %a = tile.alloc : !tile.tile<32x16xf32, local, [32, 1]>
  %c = tile.alloc : !tile.tile<32x32xf32, local, [64, 1]>
  %w = tile.alloc : !tile.tile<32x16xf32, local, [32, 1]>
  // expected-error @below {{'tile.scaled_dots' op has work or logarithms, but rounds nothing}}
  tile.scaled_dots %a, %a scales %a into %c work %w rows %n block 16 points [1] of [0] : !tile.tile<32x16xf32, local, [32, 1]>, !tile.tile<32x16xf32, local, [32, 1]> scales !tile.tile<32x16xf32, local, [32, 1]> into !tile.tile<32x32xf32, local, [64, 1]> work !tile.tile<32x16xf32, local, [32, 1]>
}

// -----

tile.kernel @k required 0 workspace 0 {
^bb0(%n: i64):
  %a = tile.alloc : !tile.tile<48x16xf32, local, [32, 1]>
  %c = tile.alloc : !tile.tile<48x48xf32, local, [64, 1]>
  // expected-error @below {{'tile.scaled_dots' op rounds blocks of 16 indices times a power of two, whole ones, not of 48 of 48}}
  tile.scaled_dots rounded %a, %a scales %a into %c rows %n block 48 points [1] of [0] : !tile.tile<48x16xf32, local, [32, 1]>, !tile.tile<48x16xf32, local, [32, 1]> scales !tile.tile<48x16xf32, local, [32, 1]> into !tile.tile<48x48xf32, local, [64, 1]>
}

// -----

tile.kernel @k required 0 workspace 0 {
^bb0(%n: i64):
  %a = tile.alloc : !tile.tile<48x16xf32, local, [32, 1]>
  %c = tile.alloc : !tile.tile<48x48xf32, local, [64, 1]>
  // expected-error @below {{'tile.scaled_dots' op rounds blocks of 16 indices times a power of two, whole ones, not of 32 of 48}}
  tile.scaled_dots rounded %a, %a scales %a into %c rows %n block 32 points [1] of [0] : !tile.tile<48x16xf32, local, [32, 1]>, !tile.tile<48x16xf32, local, [32, 1]> scales !tile.tile<48x16xf32, local, [32, 1]> into !tile.tile<48x48xf32, local, [64, 1]>
}

// -----

tile.kernel @k required 0 workspace 0 {
^bb0(%n: i64):
  %a = tile.alloc : !tile.tile<32x20xf32, local, [32, 1]>
  %c = tile.alloc : !tile.tile<32x32xf32, local, [64, 1]>
  // expected-error @below {{'tile.scaled_dots' op rounds channels by 16, not 20}}
  tile.scaled_dots rounded %a, %a scales %a into %c rows %n block 16 points [1] of [0] : !tile.tile<32x20xf32, local, [32, 1]>, !tile.tile<32x20xf32, local, [32, 1]> scales !tile.tile<32x20xf32, local, [32, 1]> into !tile.tile<32x32xf32, local, [64, 1]>
}

// -----

tile.kernel @k required 0 workspace 0 {
^bb0(%n: i64):
  %a = tile.alloc : !tile.tile<32x16xf32, local, [32, 1]>
  %c = tile.alloc : !tile.tile<32x32xf32, local, [64, 1]>
  // expected-error @below {{'tile.scaled_dots' op needs work of 32 rows}}
  tile.scaled_dots rounded %a, %a scales %a into %c rows %n block 32 points [1] of [0] : !tile.tile<32x16xf32, local, [32, 1]>, !tile.tile<32x16xf32, local, [32, 1]> scales !tile.tile<32x16xf32, local, [32, 1]> into !tile.tile<32x32xf32, local, [64, 1]>
}

// -----

tile.kernel @k required 0 workspace 0 {
^bb0(%n: i64):
  %a = tile.alloc : !tile.tile<32x16xf32, local, [32, 1]>
  %c = tile.alloc : !tile.tile<32x32xf32, local, [64, 1]>
  %w = tile.alloc : !tile.tile<24x16xf32, local, [32, 1]>
  // expected-error @below {{'tile.scaled_dots' op needs work of 32 by 16 numbers, not '!tile.tile<24x16xf32, local, [32, 1]>'}}
  tile.scaled_dots rounded %a, %a scales %a into %c work %w rows %n block 32 points [1] of [0] : !tile.tile<32x16xf32, local, [32, 1]>, !tile.tile<32x16xf32, local, [32, 1]> scales !tile.tile<32x16xf32, local, [32, 1]> into !tile.tile<32x32xf32, local, [64, 1]> work !tile.tile<24x16xf32, local, [32, 1]>
}

// -----

tile.kernel @k required 0 workspace 0 {
^bb0(%n: i64):
  %a = tile.alloc : !tile.tile<4x5xf32, local, [16, 1]>
  // expected-error @below {{'tile.scaled_solve' op cannot solve '!tile.tile<4x5xf32, local, [16, 1]>' for '!tile.tile<4x5xf32, local, [16, 1]>'}}
  tile.scaled_solve %a, %a scales %a into %a rows %n : !tile.tile<4x5xf32, local, [16, 1]>, !tile.tile<4x5xf32, local, [16, 1]> scales !tile.tile<4x5xf32, local, [16, 1]> into !tile.tile<4x5xf32, local, [16, 1]>
}

// -----

tile.kernel @k required 0 workspace 0 {
^bb0(%n: i64):
  %a = tile.alloc : !tile.tile<4x4xf32, local, [16, 1]>
  %b = tile.alloc : !tile.tile<4x5xf32, local, [16, 1]>
  // expected-error @below {{'tile.scaled_solve' op has values of '!tile.tile<4x5xf32, local, [16, 1]>', but scales or a result of '!tile.tile<4x4xf32, local, [16, 1]>'}}
  tile.scaled_solve %a, %b scales %a into %b rows %n : !tile.tile<4x4xf32, local, [16, 1]>, !tile.tile<4x5xf32, local, [16, 1]> scales !tile.tile<4x4xf32, local, [16, 1]> into !tile.tile<4x5xf32, local, [16, 1]>
}

// -----

tile.kernel @k required 0 workspace 0 {
^bb0(%n: i64):
  %a = tile.alloc : !tile.tile<4x5xf32, local, [16, 1]>
  // expected-error @below {{'tile.eliminate' op needs a square matrix, not '!tile.tile<4x5xf32, local, [16, 1]>'}}
  tile.eliminate %a rows %n : !tile.tile<4x5xf32, local, [16, 1]>
}

// -----

tile.kernel @k required 0 workspace 0 {
^bb0(%n: i64):
  %a = tile.alloc : !tile.tile<4x4xf32, local, [16, 1]>
  %b = tile.alloc : !tile.tile<8x4xf32, local, [16, 1]>
  // expected-error @below {{'tile.invert' op cannot invert '!tile.tile<4x4xf32, local, [16, 1]>' into '!tile.tile<8x4xf32, local, [16, 1]>'}}
  tile.invert %a into %b rows %n : !tile.tile<4x4xf32, local, [16, 1]> into !tile.tile<8x4xf32, local, [16, 1]>
}

// -----

tile.kernel @k required 0 workspace 0 {
^bb0(%n: i64):
  %a = tile.alloc : !tile.tile<4x4xf32, local, [16, 1]>
  %b = tile.alloc : !tile.tile<4x4xf32, local, [16, 1]>
  %s = tile.alloc : !tile.tile<8xf32, local, [1]>
  // expected-error @below {{'tile.invert' op has 4 columns, and cannot scale them by '!tile.tile<8xf32, local, [1]>'}}
  tile.invert %a into %b rows %n scaled_columns %s : !tile.tile<4x4xf32, local, [16, 1]> into !tile.tile<4x4xf32, local, [16, 1]> scaled_columns !tile.tile<8xf32, local, [1]>
}

// -----

tile.kernel @k required 0 workspace 0 {
^bb0(%x: !tile.tile<?x5xf32, global>, %n: i64):
  %a = tile.alloc : !tile.tile<5x5xf32, local, [16, 1]>
  // expected-error @below {{'tile.product' op needs an array, a first row and a number of rows that are about to be written}}
  "tile.product"(%a, %a, %a, %n, %n, %x) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 1, 0>}> : (!tile.tile<5x5xf32, local, [16, 1]>, !tile.tile<5x5xf32, local, [16, 1]>, !tile.tile<5x5xf32, local, [16, 1]>, i64, i64, !tile.tile<?x5xf32, global>) -> ()
}

// -----

tile.kernel @k required 0 workspace 0 {
^bb0(%n: i64):
  %a = tile.alloc : !tile.tile<5x4xf32, local, [16, 1]>
  %b = tile.alloc : !tile.tile<4x5xbf16, local, [32, 1]>
  // expected-error @below {{'tile.transpose' op gives whole pairs of bf16 columns, not '!tile.tile<4x5xbf16, local, [32, 1]>'}}
  tile.transpose %a rows %n into %b : !tile.tile<5x4xf32, local, [16, 1]> into !tile.tile<4x5xbf16, local, [32, 1]>
}

// -----

tile.kernel @k required 0 workspace 0 {
^bb0(%x: !tile.tile<?x5xf32, global>, %n: i64):
  %a = tile.alloc : !tile.tile<5x5xf32, local, [16, 1]>
  // expected-error @below {{'tile.product' op needs an array, a first row and a number of rows to fetch ahead}}
  "tile.product"(%a, %a, %a, %n, %n, %x) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 0>}> : (!tile.tile<5x5xf32, local, [16, 1]>, !tile.tile<5x5xf32, local, [16, 1]>, !tile.tile<5x5xf32, local, [16, 1]>, i64, i64, !tile.tile<?x5xf32, global>) -> ()
}

// -----

!rounded = !tile.tile<4x6xbf16, local, [32, 1]>

tile.kernel @k required 0 workspace 0 {
^bb0(%n: i64):
  %a = tile.alloc : !rounded
  %r = tile.alloc : !tile.tile<6x4xbf16, local, [32, 1]>
  %c = tile.alloc : !tile.tile<4x4xf32, local, [16, 1]>
  // expected-error @below {{'tile.product' op takes bf16 in pairs of inner indices in a core's memory, not as in '!tile.tile<4x6xbf16, local, [32, 1]>' and '!tile.tile<6x4xbf16, local, [32, 1]>'}}
  tile.product %a, %r into %c rows %n inner %n : !rounded, !tile.tile<6x4xbf16, local, [32, 1]> into !tile.tile<4x4xf32, local, [16, 1]>
}

// -----

tile.kernel @k required 0 workspace 0 {
^bb0(%n: i64):
  %a = tile.alloc : !tile.tile<4x6xf32, local, [32, 1]>
  %p = tile.alloc : !tile.tile<3x4x2xbf16, local, [16, 2, 1]>
  %c = tile.alloc : !tile.tile<4x4xf32, local, [16, 1]>
  // expected-error @below {{'tile.product' op multiplies numbers of one type, not those of '!tile.tile<4x6xf32, local, [32, 1]>' and '!tile.tile<3x4x2xbf16, local, [16, 2, 1]>'}}
  tile.product %a, %p into %c rows %n inner %n : !tile.tile<4x6xf32, local, [32, 1]>, !tile.tile<3x4x2xbf16, local, [16, 2, 1]> into !tile.tile<4x4xf32, local, [16, 1]>
}

// -----

tile.kernel @k required 0 workspace 0 {
^bb0(%n: i64):
  %a = tile.alloc : !tile.tile<4x6xf32, local, [32, 1]>
  %p = tile.alloc : !tile.tile<3x4x2xbf16, local, [16, 2, 1]>
  %v = tile.alloc : !tile.tile<4xf32, local, [1]>
  // expected-error @below {{'tile.product' op multiplies matrices, not '!tile.tile<4xf32, local, [1]>' and '!tile.tile<3x4x2xbf16, local, [16, 2, 1]>'}}
  tile.product %v, %p into %a rows %n inner %n : !tile.tile<4xf32, local, [1]>, !tile.tile<3x4x2xbf16, local, [16, 2, 1]> into !tile.tile<4x6xf32, local, [32, 1]>
}

// -----

tile.kernel @k required 0 workspace 0 {
^bb0(%n: i64):
  %a = tile.alloc : !tile.tile<4x6xf32, local, [32, 1]>
  %p = tile.alloc : !tile.tile<3x4x2xbf16, local, [16, 2, 1]>
  // expected-error @below {{'tile.pair' op cannot pair rows of '!tile.tile<4x6xf32, local, [32, 1]>' into '!tile.tile<3x4x2xbf16, local, [16, 2, 1]>'}}
  tile.pair %a rows %n into %p : !tile.tile<4x6xf32, local, [32, 1]> into !tile.tile<3x4x2xbf16, local, [16, 2, 1]>
}

// -----

tile.kernel @k required 0 workspace 0 {
^bb0(%n: i64):
  %a = tile.alloc : !tile.tile<4x6xf32, local, [32, 1]>
  %p = tile.alloc : !tile.tile<2x6x2xf32, local, [16, 2, 1]>
  // expected-error @below {{'tile.pair' op gives bf16, not '!tile.tile<2x6x2xf32, local, [16, 2, 1]>'}}
  tile.pair %a rows %n into %p : !tile.tile<4x6xf32, local, [32, 1]> into !tile.tile<2x6x2xf32, local, [16, 2, 1]>
}

// -----

tile.kernel @k required 0 workspace 0 {
^bb0(%n: i64):
  %a = tile.alloc : !tile.tile<4x6xf32, local, [32, 1]>
  %p = tile.alloc : !tile.tile<3x4x2xbf16, local, [16, 2, 1]>
  // expected-error @below {{'tile.pair' op transposes whole pairs of bf16 as they are, not '!tile.tile<4x6xf32, local, [32, 1]>'}}
  tile.pair transposed %a rows %n into %p : !tile.tile<4x6xf32, local, [32, 1]> into !tile.tile<3x4x2xbf16, local, [16, 2, 1]>
}

// -----

tile.kernel @k required 0 workspace 0 {
^bb0(%n: i64):
  %a = tile.alloc : !tile.tile<4x6xf32, local, [32, 1]>
  %s = tile.alloc : !tile.tile<6xf32, local, [1]>
  %p = tile.alloc : !tile.tile<2x6x2xbf16, local, [16, 2, 1]>
  // expected-error @below {{'tile.pair' op needs a number for each of 4 rows, not '!tile.tile<6xf32, local, [1]>'}}
  tile.pair %a scaled_rows %s rows %n into %p : !tile.tile<4x6xf32, local, [32, 1]> scaled_rows !tile.tile<6xf32, local, [1]> into !tile.tile<2x6x2xbf16, local, [16, 2, 1]>
}

// -----

// expected-error @below {{'tile.kernel' op has threads and bytes of shared memory, or neither}}
tile.kernel @threads required 0 workspace 0 threads 128 {
^bb0(%tokens: i64):
}

// -----

// expected-error @below {{'tile.kernel' op has 32 to 1024 threads, in warps of 32, not 100}}
tile.kernel @threads required 0 workspace 0 threads 100 shared 0 {
^bb0(%tokens: i64):
}

// -----

// expected-error @below {{'tile.kernel' op takes 0 to 232448 bytes of shared memory, not 232449}}
tile.kernel @threads required 0 workspace 0 threads 128 shared 232449 {
^bb0(%tokens: i64):
}

// -----

// expected-error @below {{'tile.kernel' op has either roles or one team of threads}}
tile.kernel @threads required 0 workspace 0 threads 128 shared 0 {
^bb0(%tokens: i64):
  tile.roles {
    tile.role "copies" copies 1 of warp registers 40 {
    ^bb0(%copy: i64):
    }
  }
}

// -----

tile.kernel @k required 0 workspace 0 {
^bb0(%n: i64):
  %m = tile.alloc : !tile.tile<4x4xf32, local, [16, 1]>
  %l = tile.alloc : !tile.tile<4x3xf32, local, [16, 1]>
  %r = tile.alloc : !tile.tile<4x3xf32, local, [16, 1]>
  %s = tile.alloc : !tile.tile<4x3xf32, local, [16, 1]>
  %dl = tile.alloc : !tile.tile<4x3xf32, local, [16, 1]>
  %dr = tile.alloc : !tile.tile<4x3xf32, local, [16, 1]>
  %ds = tile.alloc : !tile.tile<4x3xf32, local, [16, 1]>
  %w = tile.alloc : !tile.tile<2x3xf32, local, [16, 1]>
  // expected-error @below {{'tile.scaled_cotangents' op has 4 indices, but 4 rows and 4 columns}}
  tile.scaled_cotangents %m, %l, %r scales %s into %dl, %dr, %ds work %w rows %n block 2 points [0, 1] of [0] : !tile.tile<4x4xf32, local, [16, 1]>, !tile.tile<4x3xf32, local, [16, 1]>, !tile.tile<4x3xf32, local, [16, 1]> scales !tile.tile<4x3xf32, local, [16, 1]> into !tile.tile<4x3xf32, local, [16, 1]>, !tile.tile<4x3xf32, local, [16, 1]>, !tile.tile<4x3xf32, local, [16, 1]> work !tile.tile<2x3xf32, local, [16, 1]>
}

// -----

tile.kernel @k required 0 workspace 0 {
^bb0(%n: i64):
  %m = tile.alloc : !tile.tile<4x5xf32, local, [16, 1]>
  %l = tile.alloc : !tile.tile<4x3xf32, local, [16, 1]>
  %r = tile.alloc : !tile.tile<4x3xf32, local, [16, 1]>
  %s = tile.alloc : !tile.tile<4x3xf32, local, [16, 1]>
  %dl = tile.alloc : !tile.tile<4x3xf32, local, [16, 1]>
  %dr = tile.alloc : !tile.tile<4x3xf32, local, [16, 1]>
  %ds = tile.alloc : !tile.tile<4x3xf32, local, [16, 1]>
  %w = tile.alloc : !tile.tile<2x3xf32, local, [16, 1]>
  // expected-error @below {{'tile.scaled_cotangents' op takes 4 by 4 numbers, not '!tile.tile<4x5xf32, local, [16, 1]>'}}
  tile.scaled_cotangents %m, %l, %r scales %s into %dl, %dr, %ds work %w rows %n block 2 points [1] of [0] : !tile.tile<4x5xf32, local, [16, 1]>, !tile.tile<4x3xf32, local, [16, 1]>, !tile.tile<4x3xf32, local, [16, 1]> scales !tile.tile<4x3xf32, local, [16, 1]> into !tile.tile<4x3xf32, local, [16, 1]>, !tile.tile<4x3xf32, local, [16, 1]>, !tile.tile<4x3xf32, local, [16, 1]> work !tile.tile<2x3xf32, local, [16, 1]>
}

// -----

tile.kernel @k required 0 workspace 0 {
^bb0(%n: i64):
  %m = tile.alloc : !tile.tile<4x4xf32, local, [16, 1]>
  %l = tile.alloc : !tile.tile<4x3xf32, local, [16, 1]>
  %r = tile.alloc : !tile.tile<4x2xf32, local, [16, 1]>
  %s = tile.alloc : !tile.tile<4x3xf32, local, [16, 1]>
  %dl = tile.alloc : !tile.tile<4x3xf32, local, [16, 1]>
  %dr = tile.alloc : !tile.tile<4x3xf32, local, [16, 1]>
  %ds = tile.alloc : !tile.tile<4x3xf32, local, [16, 1]>
  %w = tile.alloc : !tile.tile<2x3xf32, local, [16, 1]>
  // expected-error @below {{'tile.scaled_cotangents' op scales 3 channels, but has '!tile.tile<4x3xf32, local, [16, 1]>' and '!tile.tile<4x2xf32, local, [16, 1]>'}}
  tile.scaled_cotangents %m, %l, %r scales %s into %dl, %dr, %ds work %w rows %n block 2 points [1] of [0] : !tile.tile<4x4xf32, local, [16, 1]>, !tile.tile<4x3xf32, local, [16, 1]>, !tile.tile<4x2xf32, local, [16, 1]> scales !tile.tile<4x3xf32, local, [16, 1]> into !tile.tile<4x3xf32, local, [16, 1]>, !tile.tile<4x3xf32, local, [16, 1]>, !tile.tile<4x3xf32, local, [16, 1]> work !tile.tile<2x3xf32, local, [16, 1]>
}

// -----

tile.kernel @k required 0 workspace 0 {
^bb0(%n: i64):
  %m = tile.alloc : !tile.tile<4x4xf32, local, [16, 1]>
  %l = tile.alloc : !tile.tile<4x3xf32, local, [16, 1]>
  %r = tile.alloc : !tile.tile<4x3xf32, local, [16, 1]>
  %s = tile.alloc : !tile.tile<4x3xf32, local, [16, 1]>
  %dl = tile.alloc : !tile.tile<4x3xf32, local, [16, 1]>
  %dr = tile.alloc : !tile.tile<4x3xf32, local, [16, 1]>
  %ds = tile.alloc : !tile.tile<3x3xf32, local, [16, 1]>
  %w = tile.alloc : !tile.tile<2x3xf32, local, [16, 1]>
  // expected-error @below {{'tile.scaled_cotangents' op gives what '!tile.tile<4x3xf32, local, [16, 1]>' matters to '!tile.tile<3x3xf32, local, [16, 1]>'}}
  tile.scaled_cotangents %m, %l, %r scales %s into %dl, %dr, %ds work %w rows %n block 2 points [1] of [0] : !tile.tile<4x4xf32, local, [16, 1]>, !tile.tile<4x3xf32, local, [16, 1]>, !tile.tile<4x3xf32, local, [16, 1]> scales !tile.tile<4x3xf32, local, [16, 1]> into !tile.tile<4x3xf32, local, [16, 1]>, !tile.tile<4x3xf32, local, [16, 1]>, !tile.tile<3x3xf32, local, [16, 1]> work !tile.tile<2x3xf32, local, [16, 1]>
}

// -----

tile.kernel @k required 0 workspace 0 {
^bb0(%n: i64):
  %m = tile.alloc : !tile.tile<4x4xf32, local, [16, 1]>
  %l = tile.alloc : !tile.tile<4x3xf32, local, [16, 1]>
  %r = tile.alloc : !tile.tile<4x3xf32, local, [16, 1]>
  %s = tile.alloc : !tile.tile<4x3xf32, local, [16, 1]>
  %dl = tile.alloc : !tile.tile<4x3xf32, local, [16, 1]>
  %dr = tile.alloc : !tile.tile<4x3xf32, local, [16, 1]>
  %ds = tile.alloc : !tile.tile<4x3xf32, local, [16, 1]>
  %w = tile.alloc : !tile.tile<2x3xf32, local, [16, 1]>
  // expected-error @below {{'tile.scaled_cotangents' op has a block of 0 indices}}
  tile.scaled_cotangents %m, %l, %r scales %s into %dl, %dr, %ds work %w rows %n block 0 points [1] of [0] : !tile.tile<4x4xf32, local, [16, 1]>, !tile.tile<4x3xf32, local, [16, 1]>, !tile.tile<4x3xf32, local, [16, 1]> scales !tile.tile<4x3xf32, local, [16, 1]> into !tile.tile<4x3xf32, local, [16, 1]>, !tile.tile<4x3xf32, local, [16, 1]>, !tile.tile<4x3xf32, local, [16, 1]> work !tile.tile<2x3xf32, local, [16, 1]>
}

// -----

tile.kernel @k required 0 workspace 0 {
^bb0(%n: i64):
  %m = tile.alloc : !tile.tile<4x4xf32, local, [16, 1]>
  %l = tile.alloc : !tile.tile<4x3xf32, local, [16, 1]>
  %r = tile.alloc : !tile.tile<4x3xf32, local, [16, 1]>
  %s = tile.alloc : !tile.tile<4x3xf32, local, [16, 1]>
  %dl = tile.alloc : !tile.tile<4x3xf32, local, [16, 1]>
  %dr = tile.alloc : !tile.tile<4x3xf32, local, [16, 1]>
  %ds = tile.alloc : !tile.tile<4x3xf32, local, [16, 1]>
  %w = tile.alloc : !tile.tile<1x3xf32, local, [16, 1]>
  // expected-error @below {{'tile.scaled_cotangents' op works on 2 by 3 numbers, in '!tile.tile<1x3xf32, local, [16, 1]>'}}
  tile.scaled_cotangents %m, %l, %r scales %s into %dl, %dr, %ds work %w rows %n block 2 points [1] of [0] : !tile.tile<4x4xf32, local, [16, 1]>, !tile.tile<4x3xf32, local, [16, 1]>, !tile.tile<4x3xf32, local, [16, 1]> scales !tile.tile<4x3xf32, local, [16, 1]> into !tile.tile<4x3xf32, local, [16, 1]>, !tile.tile<4x3xf32, local, [16, 1]>, !tile.tile<4x3xf32, local, [16, 1]> work !tile.tile<1x3xf32, local, [16, 1]>
}

// -----

tile.kernel @k required 0 workspace 0 {
^bb0(%remains: !tile.tile<?xf32, global>, %s: !tile.tile<?x2x3xf32, global>, %tokens: i64):
  // expected-error @below {{'tile.segment' op stands in the plan of one team of threads}}
  %a:5 = tile.segment %tokens by 64 initial %s final %s remains %remains : !tile.tile<?x2x3xf32, global>, !tile.tile<?xf32, global>
}

// -----

tile.kernel @k required 0 workspace 0 threads 32 shared 0 {
^bb0(%remains: !tile.tile<?xf32, global>, %s: !tile.tile<?x2x3xf32, global>, %tokens: i64):
  // expected-error @below {{'tile.segment' op stands in a kernel once, which has one part of a sequence}}
  %a:5 = tile.segment %tokens by 64 initial %s final %s remains %remains : !tile.tile<?x2x3xf32, global>, !tile.tile<?xf32, global>
  %b:5 = tile.segment %tokens by 64 initial %s final %s remains %remains : !tile.tile<?x2x3xf32, global>, !tile.tile<?xf32, global>
}

// -----

tile.kernel @k required 0 workspace 0 threads 32 shared 0 {
^bb0(%remains: !tile.tile<?xbf16, global>, %s: !tile.tile<?x2x3xf32, global>, %tokens: i64):
  // expected-error @below {{'tile.segment' op needs one number or vector of f32 for each chunk, not '!tile.tile<?xbf16, global>'}}
  %a:5 = tile.segment %tokens by 64 initial %s final %s remains %remains : !tile.tile<?x2x3xf32, global>, !tile.tile<?xbf16, global>
}

// -----

tile.kernel @k required 0 workspace 0 threads 32 shared 0 {
^bb0(%remains: !tile.tile<?xf32, global>, %s: !tile.tile<?x2x3xf32, global>, %tokens: i64):
  // expected-error @below {{'tile.segment' op needs chunks of 1 token or more, not of 0}}
  %a:5 = tile.segment %tokens by 0 initial %s final %s remains %remains : !tile.tile<?x2x3xf32, global>, !tile.tile<?xf32, global>
}

// -----

tile.kernel @neither required 0 workspace 0 threads 32 shared 0 {
^bb0(%s: !tile.tile<?x2x3xf32, global>, %tokens: i64):
  // expected-error @below {{'tile.segment' op has either what remains of the state, or summaries}}
  %a:5 = tile.segment %tokens by 64 initial %s final %s : !tile.tile<?x2x3xf32, global>
}

// -----

tile.kernel @no_parts required 0 workspace 0 threads 32 shared 0 {
^bb0(%s: !tile.tile<?x2x3xf32, global>, %tokens: i64):
  // expected-error @below {{'tile.segment' op says of how many parts, 1 or more, it makes summaries, and of none where it makes none}}
  %a:5 = tile.segment %tokens by 64 initial %s final %s summaries made : !tile.tile<?x2x3xf32, global>
}

// -----

tile.kernel @no_maps required 0 workspace 0 threads 32 shared 0 {
^bb0(%s: !tile.tile<?x2x3xf32, global>, %tokens: i64):
  // expected-error @below {{'tile.segment' op forgets maps, and has none}}
  %a:5 = tile.segment %tokens by 64 initial %s final %s summaries taken forgets : !tile.tile<?x2x3xf32, global>
}

// -----

tile.kernel @no_array required 0 workspace 0 threads 32 shared 0 {
^bb0(%s: !tile.tile<?x2x3xf32, global>, %tokens: i64):
  // expected-error @below {{'tile.segment' op has maps among its summaries, if any, and for these some of the kernel's 1 arrays}}
  %a:5 = tile.segment %tokens by 64 initial %s final %s summaries made of 1 maps [1] : !tile.tile<?x2x3xf32, global>
}

// -----

tile.kernel @k required 0 workspace 0 {
^bb0(%n: i64):
  %a = tile.alloc : !tile.tile<8x8xf32, local, [16, 1]>
  %b = tile.alloc : !tile.tile<8x8xbf16, local, [16, 1]>
  // expected-error @below {{'tile.invert' op exchanges whole eights of columns of f32 that are not scaled, not those of '!tile.tile<8x8xbf16, local, [16, 1]>'}}
  tile.invert %a into %b rows %n exchanged : !tile.tile<8x8xf32, local, [16, 1]> into !tile.tile<8x8xbf16, local, [16, 1]>
}

// -----

tile.kernel @k required 0 workspace 0 {
^bb0(%n: i64):
  %a = tile.alloc : !tile.tile<4x4xf32, shared, [16, 1]>
  // expected-error @below {{'tile.product' op has exchanged columns of f32, whole eights of them, and no transposed factor, not '!tile.tile<4x4xf32, shared, [16, 1]>' and '!tile.tile<4x4xf32, shared, [16, 1]>'}}
  tile.product left_exchanged %a, %a into %a rows %n inner %n : !tile.tile<4x4xf32, shared, [16, 1]>, !tile.tile<4x4xf32, shared, [16, 1]> into !tile.tile<4x4xf32, shared, [16, 1]>
}

// -----

tile.kernel @k required 0 workspace 0 threads 32 shared 1024 {
^bb0(%n: i64):
  %a = tile.alloc : !tile.tile<4x4xbf16, shared, [16, 1]>
  // expected-error @below {{'tile.product' op rounds factors of f32 to tf32 in a kernel with threads, not '!tile.tile<4x4xbf16, shared, [16, 1]>' and '!tile.tile<4x4xbf16, shared, [16, 1]>'}}
  tile.product tf32 %a, %a into %a rows %n inner %n : !tile.tile<4x4xbf16, shared, [16, 1]>, !tile.tile<4x4xbf16, shared, [16, 1]> into !tile.tile<4x4xbf16, shared, [16, 1]>
}

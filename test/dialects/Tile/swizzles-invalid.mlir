// RUN: recur-opt %s -split-input-file -verify-diagnostics

// expected-error @below {{a swizzled tile has rows and columns}}
tile.kernel @f required 0 workspace 0 { ^bb0(%x: !tile.tile<64xf32, shared, [1], swizzle 128>, %n: i64): }

// -----

// expected-error @below {{a tile with swizzle 128 has a multiple of 8 rows and of 64 columns, not 60 and 64}}
tile.kernel @f required 0 workspace 0 { ^bb0(%x: !tile.tile<60x64xbf16, shared, [64, 1], swizzle 128>, %n: i64): }

// -----

// expected-error @below {{a tile with swizzle 64 has a multiple of 8 rows and of 16 columns, not 64 and 24}}
tile.kernel @f required 0 workspace 0 { ^bb0(%x: !tile.tile<64x24xf32, shared, [16, 1], swizzle 64>, %n: i64): }

// -----

// expected-error @below {{the matrix of a tile with swizzle 128 has the strides [64, 1], not [128, 1]}}
tile.kernel @f required 0 workspace 0 { ^bb0(%x: !tile.tile<64x128xbf16, shared, [128, 1], swizzle 128>, %n: i64): }

// -----

// expected-error @below {{dimension 0 of a tile with swizzle 128 has a stride that is a multiple of 512 and 8192 or more, not 4096}}
tile.kernel @f required 0 workspace 0 { ^bb0(%x: !tile.tile<2x64x128xbf16, shared, [4096, 64, 1], swizzle 128>, %n: i64): }

// -----

!array = !tile.tile<?x128xbf16, global>
!tile = !tile.tile<64x128xbf16, shared, [64, 1], swizzle 128>
!result = !tile.tile<64x64xf32, registers, [64, 1]>
tile.kernel @k required 0 workspace 0 {
^bb0(%x: !array, %tokens: i64):
  %c0 = arith.constant 0 : i64
  %c64 = arith.constant 64 : i64
  %c128 = arith.constant 128 : i64
  %tile = tile.alloc : !tile
  %bars = tile.barriers arrivals 1 : <2>
  tile.roles {
    tile.role "sums" copies 1 of warpgroup registers 128 {
    ^bb0(%copy: i64):
      // expected-error @below {{'tile.view' op of a swizzled tile is one element of its first dimension, with the same swizzle, but '!tile.tile<64x128xbf16, shared, [64, 1], swizzle 128>' becomes '!tile.tile<32x128xbf16, shared, [64, 1], swizzle 128>'}}
      %w = tile.view %tile[%c0] offset 0 : !tile to !tile.tile<32x128xbf16, shared, [64, 1], swizzle 128>
    }
  }
}

// -----

!array = !tile.tile<?x128xbf16, global>
!tile = !tile.tile<64x128xbf16, shared, [64, 1], swizzle 128>
!result = !tile.tile<64x64xf32, registers, [64, 1]>
tile.kernel @k required 0 workspace 0 {
^bb0(%x: !array, %tokens: i64):
  %c0 = arith.constant 0 : i64
  %c64 = arith.constant 64 : i64
  %c128 = arith.constant 128 : i64
  %tile = tile.alloc : !tile
  %bars = tile.barriers arrivals 1 : <2>
  %ring = tile.alloc : !tile.tile<2x64x128xbf16, shared, [8192, 64, 1], swizzle 128>
  tile.roles {
    tile.role "sums" copies 1 of warpgroup registers 128 {
    ^bb0(%copy: i64):
      // expected-error @below {{'tile.view' op of a swizzled tile is one element of its first dimension, with the same swizzle, but '!tile.tile<2x64x128xbf16, shared, [8192, 64, 1], swizzle 128>' becomes '!tile.tile<64x128xbf16, shared, [32, 1], swizzle 64>'}}
      %w = tile.view %ring[%c0] offset 0 : !tile.tile<2x64x128xbf16, shared, [8192, 64, 1], swizzle 128> to !tile.tile<64x128xbf16, shared, [32, 1], swizzle 64>
    }
  }
}

// -----

!array = !tile.tile<?x128xbf16, global>
!tile = !tile.tile<64x128xbf16, shared, [64, 1], swizzle 128>
!result = !tile.tile<64x64xf32, registers, [64, 1]>
tile.kernel @k required 0 workspace 0 {
^bb0(%x: !array, %tokens: i64):
  %c0 = arith.constant 0 : i64
  %c64 = arith.constant 64 : i64
  %c128 = arith.constant 128 : i64
  %tile = tile.alloc : !tile
  %bars = tile.barriers arrivals 1 : <2>
  tile.roles {
    tile.role "sums" copies 1 of warpgroup registers 128 {
    ^bb0(%copy: i64):
      // expected-error @below {{'tile.view' op keeps memory and type of elements, but '!tile.tile<64x128xbf16, shared, [64, 1], swizzle 128>' becomes '!tile.tile<64x128xf16, shared, [64, 1], swizzle 128>'}}
      %w = tile.view %tile offset 0 : !tile to !tile.tile<64x128xf16, shared, [64, 1], swizzle 128>
    }
  }
}

// -----

!array = !tile.tile<?x128xbf16, global>
!tile = !tile.tile<64x128xbf16, shared, [64, 1], swizzle 128>
!result = !tile.tile<64x64xf32, registers, [64, 1]>
tile.kernel @k required 0 workspace 0 {
^bb0(%x: !array, %tokens: i64):
  %c0 = arith.constant 0 : i64
  %c64 = arith.constant 64 : i64
  %c128 = arith.constant 128 : i64
  %tile = tile.alloc : !tile
  %bars = tile.barriers arrivals 1 : <2>
  tile.roles {
    tile.role "sums" copies 1 of warpgroup registers 128 {
    ^bb0(%copy: i64):
      %r = tile.alloc : !result
      // expected-error @below {{'tile.view' op cannot cut a tile in registers: '!tile.tile<64x64xf32, registers, [64, 1]>'}}
      %w = tile.view %r offset 0 : !result to !tile.tile<16x64xf32, registers, [64, 1]>
    }
  }
}

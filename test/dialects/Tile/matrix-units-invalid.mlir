// RUN: recur-opt %s -split-input-file -verify-diagnostics

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
  %m = tile.alloc : !tile.tile<64x64xf32, shared, [64, 1]>
  tile.roles {
    tile.role "sums" copies 1 of warpgroup registers 128 {
    ^bb0(%copy: i64):
      // expected-error @below {{'tile.product' op is asynchronous only with a result in registers, not '!tile.tile<64x64xf32, shared, [64, 1]>'}}
      tile.product async %tile, right_transposed %tile into %m rows %c64 inner %c128 : !tile, !tile into !tile.tile<64x64xf32, shared, [64, 1]>
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
  %m = tile.alloc : !tile.tile<64x64xf32, shared, [64, 1]>
  tile.roles {
    tile.role "sums" copies 1 of warpgroup registers 128 {
    ^bb0(%copy: i64):
      %r = tile.alloc : !result
      // expected-error @below {{'tile.product' op has factors in registers only with a result in registers, not '!tile.tile<64x64xf32, shared, [64, 1]>'}}
      tile.product %r, %m into %m rows %c64 inner %c64 : !result, !tile.tile<64x64xf32, shared, [64, 1]> into !tile.tile<64x64xf32, shared, [64, 1]>
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
      %r = tile.alloc : !tile.tile<64x64xbf16, registers, [64, 1]>
      // expected-error @below {{'tile.product' op gives 64 rows of f32 and 8 to 256 columns in eights in registers, not '!tile.tile<64x64xbf16, registers, [64, 1]>'}}
      tile.product %tile, right_transposed %tile into %r rows %c64 inner %c128 : !tile, !tile into !tile.tile<64x64xbf16, registers, [64, 1]>
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
  %h = tile.alloc : !tile.tile<64x128xf16, shared, [64, 1], swizzle 128>
  tile.roles {
    tile.role "sums" copies 1 of warpgroup registers 128 {
    ^bb0(%copy: i64):
      %r = tile.alloc : !result
      // expected-error @below {{'tile.product' op multiplies two bf16 or two f16 tiles into registers, not '!tile.tile<64x128xbf16, shared, [64, 1], swizzle 128>' and '!tile.tile<64x128xf16, shared, [64, 1], swizzle 128>'}}
      tile.product %tile, right_transposed %h into %r rows %c64 inner %c128 : !tile, !tile.tile<64x128xf16, shared, [64, 1], swizzle 128> into !result
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
  %h = tile.alloc : !tile.tile<64x128xbf16, shared, [128, 1]>
  tile.roles {
    tile.role "sums" copies 1 of warpgroup registers 128 {
    ^bb0(%copy: i64):
      %r = tile.alloc : !result
      // expected-error @below {{'tile.product' op has a left factor that is swizzled in shared memory, or not transposed in registers, not '!tile.tile<64x128xbf16, shared, [128, 1]>'}}
      tile.product %h, right_transposed %tile into %r rows %c64 inner %c128 : !tile.tile<64x128xbf16, shared, [128, 1]>, !tile into !result
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
  %h = tile.alloc : !tile.tile<64x128xbf16, shared, [128, 1]>
  tile.roles {
    tile.role "sums" copies 1 of warpgroup registers 128 {
    ^bb0(%copy: i64):
      %r = tile.alloc : !result
      // expected-error @below {{'tile.product' op has a right factor that is swizzled in shared memory, not '!tile.tile<64x128xbf16, shared, [128, 1]>'}}
      tile.product %tile, right_transposed %h into %r rows %c64 inner %c128 : !tile, !tile.tile<64x128xbf16, shared, [128, 1]> into !result
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
  %g = tile.alloc : !tile.tile<24x64xbf16, shared, [64, 1], swizzle 128>
  tile.roles {
    tile.role "sums" copies 1 of warpgroup registers 128 {
    ^bb0(%copy: i64):
      %r = tile.alloc : !result
      %f = tile.alloc : !tile.tile<64x24xbf16, registers, [24, 1]>
      // expected-error @below {{'tile.product' op has an inner size that is a multiple of 16, not 24}}
      tile.product %f, %g into %r rows %c64 inner %c64 : !tile.tile<64x24xbf16, registers, [24, 1]>, !tile.tile<24x64xbf16, shared, [64, 1], swizzle 128> into !result
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
      // expected-error @below {{'tile.product' op takes whole tiles into registers: rows must be the constant 64, and inner 128}}
      tile.product %tile, right_transposed %tile into %r rows %tokens inner %c128 : !tile, !tile into !result
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
      %s = tile.alloc : !result
      // expected-error @below {{'tile.product' op adds to its own result in registers, and does not scale it}}
      tile.product %tile, right_transposed %tile into %r rows %c64 inner %c128 plus %s : !tile, !tile into !result plus !result
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
      // expected-error @below {{'tile.product' op takes whole tiles into registers, no triangles, and brings nothing ahead}}
      tile.product %tile, right_transposed %tile into %r rows %c64 inner %c128 result_triangle [1, 1] : !tile, !tile into !result
    }
  }
}

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
  tile.roles {
    // expected-error @below {{'tile.role' op has 1 copy or more, not 0}}
    tile.role "sums" copies 0 of warpgroup registers 128 {
    ^bb0(%copy: i64):
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
    // expected-error @below {{'tile.role' op gives a thread 24 to 256 registers in eights, not 100}}
    tile.role "sums" copies 1 of warpgroup registers 100 {
    ^bb0(%copy: i64):
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
    // expected-error @below {{'tile.role' op needs the index of its copy, an i64, as its argument}}
    tile.role "sums" copies 1 of warpgroup registers 128 {
    ^bb0(%copy: i32):
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
    }
    // expected-error @below {{'tile.role' op is called "sums", as another one is}}
    tile.role "sums" copies 1 of warpgroup registers 128 {
    ^bb0(%copy: i64):
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
    // expected-error @below {{'arith.constant' op stands among roles, where only tile.role does}}
    %n = arith.constant 1 : i64
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
  // expected-error @below {{'tile.roles' op fills 9 warpgroups, but a CTA has 1 to 8}}
  tile.roles {
    tile.role "sums" copies 9 of warpgroup registers 24 {
    ^bb0(%copy: i64):
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
  // expected-error @below {{'tile.roles' op gives 528 registers to a thread of each warpgroup together, but there are 512}}
  tile.roles {
    tile.role "loads" copies 5 of warp registers 24 {
    ^bb0(%copy: i64):
    }
    tile.role "sums" copies 2 of warpgroup registers 240 {
    ^bb0(%copy: i64):
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
      // expected-error @below {{'tile.alloc' op makes tiles in registers in a role, not '!tile.tile<64x128xbf16, shared, [64, 1], swizzle 128>'}}
      %r = tile.alloc : !tile
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
    tile.role "sums" copies 1 of warp registers 128 {
    ^bb0(%copy: i64):
      // expected-error @below {{'tile.alloc' op makes tiles in registers in a warpgroup, but the role has teams of one warp}}
      %r = tile.alloc : !result
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
      // expected-error @below {{'tile.alloc' op spreads 64 dense rows of a multiple of 8 columns over a warpgroup, not '!tile.tile<32x64xf32, registers, [64, 1]>'}}
      %r = tile.alloc : !tile.tile<32x64xf32, registers, [64, 1]>
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
      // expected-error @below {{'tile.map' op walks tiles in registers along different dimensions, which are in different threads}}
      tile.map %r into %s rows %c64 dims [array<i64: 1, 0>] : !result into !result {
      ^bb0(%a: f32):
        tile.yield %a : f32
      }
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
      // expected-error @below {{'tile.solve' op cannot take tiles in registers, which lie in many threads}}
      tile.solve %r, %r rows %c64 : !result, !result
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
      // expected-error @below {{'tile.map' op takes blocks of 16 rows and columns of tiles in registers, not of 32}}
      tile.map %r into %r rows %c64 dims [array<i64: 0, 1>] blocks below 32 : !result into !result {
      ^bb0(%a: f32):
        tile.yield %a : f32
      }
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
      // expected-error @below {{'tile.map' op cannot take blocks of 48 rows and columns of '!tile.tile<64x128xbf16, shared, [64, 1], swizzle 128>'}}
      tile.map into %tile rows %c64 dims [] blocks above 48 into !tile {
        %z = arith.constant 0.0 : f32
        tile.yield %z : f32
      }
    }
  }
}

// -----

tile.kernel @k required 0 workspace 0 {
^bb0(%tokens: i64):
  %tile = tile.alloc : !tile.tile<64x64xf32, shared, [64, 1]>
  // expected-error @below {{'tile.map' op needs the size of its blocks and which they are, or neither}}
  "tile.map"(%tile, %tokens) <{blocks = 1 : i32, dims = []}> ({
    %zero = arith.constant 0.0 : f32
    "tile.yield"(%zero) : (f32) -> ()
  }) : (!tile.tile<64x64xf32, shared, [64, 1]>, i64) -> ()
}

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

// expected-error @below {{there are 1 to 64 barriers in one value, not 0}}
tile.kernel @f required 0 workspace 0 { ^bb0(%x: !tile.barriers<0>, %n: i64): }

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
// expected-error @below {{'tile.kernel' op has a workspace of 300000 bytes, but a CTA has 232448 bytes of shared memory}}
tile.kernel @k required 0 workspace 300000 {
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
  // expected-error @below {{'tile.alloc' op makes shared tiles before roles, not '!tile.tile<64x64xf32, registers, [64, 1]>'}}
  %r = tile.alloc : !result
  tile.roles {
    tile.role "sums" copies 1 of warpgroup registers 128 {
    ^bb0(%copy: i64):
    }
  }
}

// -----

!array = !tile.tile<?x128xbf16, global>
!tile = !tile.tile<64x128xbf16, shared, [64, 1], swizzle 128>
!result = !tile.tile<64x64xf32, registers, [64, 1]>
tile.kernel @k required 0 workspace 65536 {
^bb0(%x: !array, %tokens: i64):
  %c0 = arith.constant 0 : i64
  %c64 = arith.constant 64 : i64
  %c128 = arith.constant 128 : i64
  %tile = tile.alloc : !tile
  %bars = tile.barriers arrivals 1 : <2>
  // expected-error @below {{'tile.alloc' op lies at a multiple of 1024, not at 512}}
  %r = tile.alloc at 512 : !tile
  tile.roles {
    tile.role "sums" copies 1 of warpgroup registers 128 {
    ^bb0(%copy: i64):
    }
  }
}

// -----

!array = !tile.tile<?x128xbf16, global>
!tile = !tile.tile<64x128xbf16, shared, [64, 1], swizzle 128>
!result = !tile.tile<64x64xf32, registers, [64, 1]>
tile.kernel @k required 0 workspace 16384 {
^bb0(%x: !array, %tokens: i64):
  %c0 = arith.constant 0 : i64
  %c64 = arith.constant 64 : i64
  %c128 = arith.constant 128 : i64
  %tile = tile.alloc : !tile
  %bars = tile.barriers arrivals 1 : <2>
  // expected-error @below {{'tile.alloc' op ends at 17408, behind the workspace of 16384 bytes}}
  %r = tile.alloc at 1024 : !tile
  tile.roles {
    tile.role "sums" copies 1 of warpgroup registers 128 {
    ^bb0(%copy: i64):
    }
  }
}

// -----

!array = !tile.tile<?x128xbf16, global>
!tile = !tile.tile<64x128xbf16, shared, [64, 1], swizzle 128>
!result = !tile.tile<64x64xf32, registers, [64, 1]>
tile.kernel @k required 0 workspace 65536 {
^bb0(%x: !array, %tokens: i64):
  %c0 = arith.constant 0 : i64
  %c64 = arith.constant 64 : i64
  %c128 = arith.constant 128 : i64
  %tile = tile.alloc : !tile
  %bars = tile.barriers arrivals 1 : <2>
  // expected-note @below {{this lies at 0 to 16384}}
  %r = tile.alloc at 0 : !tile
  // expected-error @below {{'tile.barriers' op lies where something else does; roles run at the same time}}
  %b = tile.barriers arrivals 1 at 16376 : <2>
  tile.roles {
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
  // expected-error @below {{'arith.addi' op stands before roles, where only tiles, barriers and constants do}}
  %n = arith.addi %c0, %c0 : i64
  tile.roles {
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
  // expected-error @below {{'tile.roles' op is the last op of a kernel}}
  tile.roles {
    tile.role "sums" copies 1 of warpgroup registers 128 {
    ^bb0(%copy: i64):
    }
  }
  %late = arith.constant 2 : i64
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
  // expected-error @below {{'tile.barriers' op waits for 1 arrival or more, not 0}}
  %b = tile.barriers arrivals 0 : <2>
  tile.roles {
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
    tile.role "sums" copies 1 of warpgroup registers 128 {
    ^bb0(%copy: i64):
      // expected-error @below {{'tile.barriers' op stands before tile.roles, so that all roles share the barriers}}
      %b = tile.barriers arrivals 1 : <2>
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
      // expected-error @below {{'tile.arrive' op expects 1 to 1048575 bytes, not 1048576}}
      tile.arrive %bars[%c0] expect 1048576 : <2>
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
      // expected-error @below {{'tile.sent' op leaves 0 to 7 under way, not 8}}
      tile.sent pending 8
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
      // expected-error @below {{'tile.settle' op leaves 0 to 7 under way, not 9}}
      tile.settle pending 9
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
  // expected-error @below {{'tile.arrive' op stands in a tile.role only}}
  tile.arrive %bars[%c0] : <2>
  tile.roles {
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
  // expected-error @below {{'tile.wait' op stands in a tile.role only}}
  tile.wait %bars[%c0] phase %c0 : <2>
  tile.roles {
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
  // expected-error @below {{'tile.fence' op stands in a tile.role only}}
  tile.fence
  tile.roles {
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
  // expected-error @below {{'tile.sent' op stands in a tile.role only}}
  tile.sent pending 0
  tile.roles {
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
  // expected-error @below {{'tile.settle' op stands in a tile.role only}}
  tile.settle pending 0
  tile.roles {
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
  // expected-error @below {{'tile.fetch' op stands in a tile.role only}}
  tile.fetch %x[%c0] of %tokens into %tile on %bars[%c0] : !array into !tile on <2>
  tile.roles {
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
  // expected-error @below {{'tile.send' op stands in a tile.role only}}
  tile.send %tile to %x[%c0] of %tokens : !tile to !array
  tile.roles {
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
  %t = tile.alloc : !tile
  tile.roles {
    tile.role "sums" copies 1 of warpgroup registers 128 {
    ^bb0(%copy: i64):
      %n = arith.addi %tokens, %c64 : i64
      // expected-error @below {{'tile.fetch' op needs the kernel's number of tokens or a constant for the rows of the array, since boxes are described before the kernel starts}}
      tile.fetch %x[%c0] of %n into %t on %bars[%c0] : !array into !tile on <2>
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
  %t = tile.alloc : !tile.tile<2x64x128xbf16, shared, [8192, 64, 1], swizzle 128>
  tile.roles {
    tile.role "sums" copies 1 of warpgroup registers 128 {
    ^bb0(%copy: i64):
      // expected-error @below {{'tile.fetch' op moves tiles of two dimensions, not between '!tile.tile<?x128xbf16, global>' and '!tile.tile<2x64x128xbf16, shared, [8192, 64, 1], swizzle 128>'}}
      tile.fetch %x[%c0] of %tokens into %t on %bars[%c0] : !array into !tile.tile<2x64x128xbf16, shared, [8192, 64, 1], swizzle 128> on <2>
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
  %t = tile.alloc : !tile.tile<64x128xf32, shared, [32, 1], swizzle 128>
  tile.roles {
    tile.role "sums" copies 1 of warpgroup registers 128 {
    ^bb0(%copy: i64):
      // expected-error @below {{'tile.fetch' op keeps the type of elements, but moves between '!tile.tile<?x128xbf16, global>' and '!tile.tile<64x128xf32, shared, [32, 1], swizzle 128>'}}
      tile.fetch %x[%c0] of %tokens into %t on %bars[%c0] : !array into !tile.tile<64x128xf32, shared, [32, 1], swizzle 128> on <2>
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
  %t = tile.alloc : !tile.tile<512x64xbf16, shared, [64, 1], swizzle 128>
  tile.roles {
    tile.role "sums" copies 1 of warpgroup registers 128 {
    ^bb0(%copy: i64):
      // expected-error @below {{'tile.fetch' op moves at most 256 rows, not '!tile.tile<512x64xbf16, shared, [64, 1], swizzle 128>'}}
      tile.fetch %x[%c0] of %tokens into %t on %bars[%c0] : !array into !tile.tile<512x64xbf16, shared, [64, 1], swizzle 128> on <2>
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
  %t = tile.alloc : !tile.tile<64x64xbf16, shared, [72, 1]>
  tile.roles {
    tile.role "sums" copies 1 of warpgroup registers 128 {
    ^bb0(%copy: i64):
      // expected-error @below {{'tile.fetch' op moves a tile that is swizzled, or has dense rows of at most 256 columns and of a multiple of 16 bytes, not '!tile.tile<64x64xbf16, shared, [72, 1]>'}}
      tile.fetch %x[%c0] of %tokens into %t on %bars[%c0] : !array into !tile.tile<64x64xbf16, shared, [72, 1]> on <2>
    }
  }
}

// -----

!array = !tile.tile<?x20xbf16, global>
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
      // expected-error @below {{'tile.send' op moves between arrays whose rows are a multiple of 16 bytes, not '!tile.tile<?x20xbf16, global>'}}
      tile.send %tile to %x[%c0] of %tokens : !tile to !array
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
      %r = tile.alloc : !tile.tile<64x128xbf16, registers, [128, 1]>
      // expected-error @below {{'tile.send' op moves shared tiles, not '!tile.tile<64x128xbf16, registers, [128, 1]>'}}
      tile.send %r to %x[%c0] of %tokens : !tile.tile<64x128xbf16, registers, [128, 1]> to !array
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

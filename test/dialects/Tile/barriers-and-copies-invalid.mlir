// RUN: recur-opt %s -split-input-file -verify-diagnostics

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

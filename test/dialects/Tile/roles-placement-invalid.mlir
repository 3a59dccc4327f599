// RUN: recur-opt %s -split-input-file -verify-diagnostics

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

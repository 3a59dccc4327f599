// Plans of a warp and a warpgroup for TileTeamsTest.cpp: copies, and what barriers count.
!array = !tile.tile<?x64xbf16, global>
!floats = !tile.tile<?x64xf32, global>
!tile = !tile.tile<64x64xbf16, shared, [64, 1], swizzle 128>
!plain = !tile.tile<4x64xf32, shared, [64, 1]>
!row = !tile.tile<1x64xf32, shared, [64, 1]>
!sums = !tile.tile<64x64xf32, registers, [64, 1]>

// Rows 0 to 2 of the array are ones; they go to rows 1 to 3, from column 2 on.
tile.kernel @sent_inside required 0 workspace 0 {
^bb0(%x: !array, %y: !array, %z: !floats, %tokens: i64):
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c2 = arith.constant 2 : i64
  %c4 = arith.constant 4 : i64
  %a = tile.alloc : !tile
  %bars = tile.barriers arrivals 1 : <2>
  tile.roles {
    tile.role "warp" copies 1 of warp registers 24 {
    ^bb0(%copy: i64):
      tile.fetch %x[%c0] of %tokens into %a on %bars[%c0] : !array into !tile on <2>
      tile.arrive %bars[%c0] expect 8192 : <2>
    }
    tile.role "group" copies 1 of warpgroup registers 240 {
    ^bb0(%copy: i64):
      tile.wait %bars[%c0] phase %c0 : <2>
      tile.send %a to %y[%c1, %c2] of %c4 : !tile to !array
      tile.sent pending 0
    }
  }
}

// Columns behind the array's last one, and rows before the first.
tile.kernel @fetched_outside required 0 workspace 0 {
^bb0(%x: !array, %y: !array, %z: !floats, %tokens: i64):
  %c0 = arith.constant 0 : i64
  %c2 = arith.constant 2 : i64
  %c64 = arith.constant 64 : i64
  %before = arith.constant -1 : i64
  %a = tile.alloc : !tile
  %bars = tile.barriers arrivals 1 : <2>
  tile.roles {
    tile.role "warp" copies 1 of warp registers 24 {
    ^bb0(%copy: i64):
      tile.fetch %x[%before, %c2] of %tokens into %a on %bars[%c0] : !array into !tile on <2>
      tile.arrive %bars[%c0] expect 8192 : <2>
    }
    tile.role "group" copies 1 of warpgroup registers 240 {
    ^bb0(%copy: i64):
      tile.wait %bars[%c0] phase %c0 : <2>
      tile.send %a to %y[%c0] of %c64 : !tile to !array
      tile.sent pending 0
    }
  }
}

tile.kernel @two_phases_ago required 0 workspace 0 {
^bb0(%x: !array, %y: !array, %z: !floats, %tokens: i64):
  %c0 = arith.constant 0 : i64
  %bars = tile.barriers arrivals 1 : <2>
  tile.roles {
    tile.role "warp" copies 1 of warp registers 24 {
    ^bb0(%copy: i64):
      tile.arrive %bars[%c0] : <2>
      tile.arrive %bars[%c0] : <2>
      tile.wait %bars[%c0] phase %c0 : <2>
    }
    tile.role "group" copies 1 of warpgroup registers 240 {
    ^bb0(%copy: i64):
    }
  }
}

tile.kernel @phase_to_come required 0 workspace 0 {
^bb0(%x: !array, %y: !array, %z: !floats, %tokens: i64):
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %bars = tile.barriers arrivals 1 : <2>
  tile.roles {
    tile.role "warp" copies 1 of warp registers 24 {
    ^bb0(%copy: i64):
      tile.wait %bars[%c0] phase %c1 : <2>
    }
    tile.role "group" copies 1 of warpgroup registers 240 {
    ^bb0(%copy: i64):
    }
  }
}

tile.kernel @phase_before required 0 workspace 0 {
^bb0(%x: !array, %y: !array, %z: !floats, %tokens: i64):
  %c0 = arith.constant 0 : i64
  %before = arith.constant -1 : i64
  %bars = tile.barriers arrivals 1 : <2>
  tile.roles {
    tile.role "warp" copies 1 of warp registers 24 {
    ^bb0(%copy: i64):
      tile.wait %bars[%c0] phase %before : <2>
    }
    tile.role "group" copies 1 of warpgroup registers 240 {
    ^bb0(%copy: i64):
    }
  }
}

tile.kernel @no_such_barrier required 0 workspace 0 {
^bb0(%x: !array, %y: !array, %z: !floats, %tokens: i64):
  %c2 = arith.constant 2 : i64
  %bars = tile.barriers arrivals 1 : <2>
  tile.roles {
    tile.role "warp" copies 1 of warp registers 24 {
    ^bb0(%copy: i64):
      tile.arrive %bars[%c2] : <2>
    }
    tile.role "group" copies 1 of warpgroup registers 240 {
    ^bb0(%copy: i64):
    }
  }
}

// Bytes of a phase are still to come when one more team arrives in it.
tile.kernel @bytes_to_come required 0 workspace 0 {
^bb0(%x: !array, %y: !array, %z: !floats, %tokens: i64):
  %c0 = arith.constant 0 : i64
  %bars = tile.barriers arrivals 1 : <2>
  tile.roles {
    tile.role "warp" copies 1 of warp registers 24 {
    ^bb0(%copy: i64):
      tile.arrive %bars[%c0] expect 16 : <2>
      tile.arrive %bars[%c0] : <2>
    }
    tile.role "group" copies 1 of warpgroup registers 240 {
    ^bb0(%copy: i64):
    }
  }
}

tile.kernel @too_many_bytes required 0 workspace 0 {
^bb0(%x: !array, %y: !array, %z: !floats, %tokens: i64):
  %c0 = arith.constant 0 : i64
  %a = tile.alloc : !tile
  %bars = tile.barriers arrivals 1 : <2>
  tile.roles {
    tile.role "warp" copies 1 of warp registers 24 {
    ^bb0(%copy: i64):
      tile.fetch %x[%c0] of %tokens into %a on %bars[%c0] : !array into !tile on <2>
      tile.arrive %bars[%c0] expect 16 : <2>
    }
    tile.role "group" copies 1 of warpgroup registers 240 {
    ^bb0(%copy: i64):
      tile.wait %bars[%c0] phase %c0 : <2>
    }
  }
}

tile.kernel @nobody_waits required 0 workspace 0 {
^bb0(%x: !array, %y: !array, %z: !floats, %tokens: i64):
  %c0 = arith.constant 0 : i64
  %a = tile.alloc : !tile
  %bars = tile.barriers arrivals 1 : <2>
  tile.roles {
    tile.role "warp" copies 1 of warp registers 24 {
    ^bb0(%copy: i64):
      tile.fetch %x[%c0] of %tokens into %a on %bars[%c0] : !array into !tile on <2>
    }
    tile.role "group" copies 1 of warpgroup registers 240 {
    ^bb0(%copy: i64):
    }
  }
}

tile.kernel @nobody_arrives required 0 workspace 0 {
^bb0(%x: !array, %y: !array, %z: !floats, %tokens: i64):
  %c0 = arith.constant 0 : i64
  %bars = tile.barriers arrivals 1 : <2>
  tile.roles {
    tile.role "warp" copies 1 of warp registers 24 {
    ^bb0(%copy: i64):
    }
    tile.role "group" copies 1 of warpgroup registers 240 {
    ^bb0(%copy: i64):
      tile.wait %bars[%c0] phase %c0 : <2>
    }
  }
}

tile.kernel @waits_for_another required 0 workspace 0 {
^bb0(%x: !array, %y: !array, %z: !floats, %tokens: i64):
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %a = tile.alloc : !tile
  %bars = tile.barriers arrivals 1 : <2>
  tile.roles {
    tile.role "warp" copies 1 of warp registers 24 {
    ^bb0(%copy: i64):
      tile.fetch %x[%c0] of %tokens into %a on %bars[%c0] : !array into !tile on <2>
      tile.arrive %bars[%c0] expect 8192 : <2>
      tile.arrive %bars[%c1] : <2>
    }
    tile.role "group" copies 1 of warpgroup registers 240 {
    ^bb0(%copy: i64):
      %sums = tile.alloc : !sums
      tile.wait %bars[%c1] phase %c0 : <2>
      tile.product async %a, right_transposed %a into %sums rows %c64 inner %c64 : !tile, !tile into !sums
      tile.settle pending 0
    }
  }
}

// What somebody has waited for is handed on.
tile.kernel @handed_on required 0 workspace 0 {
^bb0(%x: !array, %y: !array, %z: !floats, %tokens: i64):
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %a = tile.alloc : !tile
  %bars = tile.barriers arrivals 1 : <2>
  tile.roles {
    tile.role "warp" copies 1 of warp registers 24 {
    ^bb0(%copy: i64):
      tile.fetch %x[%c0] of %tokens into %a on %bars[%c0] : !array into !tile on <2>
      tile.arrive %bars[%c0] expect 8192 : <2>
      tile.wait %bars[%c0] phase %c0 : <2>
      tile.arrive %bars[%c1] : <2>
    }
    tile.role "group" copies 1 of warpgroup registers 240 {
    ^bb0(%copy: i64):
      %sums = tile.alloc : !sums
      tile.wait %bars[%c1] phase %c0 : <2>
      tile.product async %a, right_transposed %a into %sums rows %c64 inner %c64 : !tile, !tile into !sums
      tile.settle pending 0
    }
  }
}

tile.kernel @copy_at_64 required 0 workspace 0 {
^bb0(%x: !array, %y: !array, %z: !floats, %tokens: i64):
  %c0 = arith.constant 0 : i64
  %c4 = arith.constant 4 : i64
  %a = tile.alloc : !tile
  %plain = tile.alloc : !plain
  %bars = tile.barriers arrivals 1 : <2>
  tile.roles {
    tile.role "warp" copies 1 of warp registers 24 {
    ^bb0(%copy: i64):
      %row = tile.view %plain offset 16 : !plain to !row
      tile.fetch %z[%c0] of %c4 into %row on %bars[%c0] : !floats into !row on <2>
    }
    tile.role "group" copies 1 of warpgroup registers 240 {
    ^bb0(%copy: i64):
    }
  }
}

tile.kernel @sends_nothing_written required 0 workspace 0 {
^bb0(%x: !array, %y: !array, %z: !floats, %tokens: i64):
  %c0 = arith.constant 0 : i64
  %c64 = arith.constant 64 : i64
  %a = tile.alloc : !tile
  tile.roles {
    tile.role "warp" copies 1 of warp registers 24 {
    ^bb0(%copy: i64):
    }
    tile.role "group" copies 1 of warpgroup registers 240 {
    ^bb0(%copy: i64):
      tile.send %a to %y[%c0] of %c64 : !tile to !array
      tile.sent pending 0
    }
  }
}

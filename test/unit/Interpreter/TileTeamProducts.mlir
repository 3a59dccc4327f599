// Plans of a warp and a warpgroup for TileTeamsTest.cpp: products, and the tiles that they have for themselves.
!array = !tile.tile<?x64xbf16, global>
!floats = !tile.tile<?x64xf32, global>
!tile = !tile.tile<64x64xbf16, shared, [64, 1], swizzle 128>
!sums = !tile.tile<64x64xf32, registers, [64, 1]>
!left = !tile.tile<64x64xbf16, registers, [64, 1]>

tile.kernel @adds_to_its_result required 0 workspace 0 {
^bb0(%x: !array, %y: !array, %z: !floats, %tokens: i64):
  %c0 = arith.constant 0 : i64
  %c64 = arith.constant 64 : i64
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
      %sums = tile.alloc : !sums
      tile.wait %bars[%c0] phase %c0 : <2>
      tile.product async %a, right_transposed %a into %sums rows %c64 inner %c64 : !tile, !tile into !sums
      tile.product async %a, %a into %sums rows %c64 inner %c64 plus %sums : !tile, !tile into !sums plus !sums
      tile.settle pending 0
    }
  }
}

// The reader says when it has ended.
tile.kernel @filled_again required 0 workspace 0 {
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
      tile.wait %bars[%c1] phase %c0 : <2>
      tile.fetch %x[%c0] of %tokens into %a on %bars[%c0] : !array into !tile on <2>
      tile.arrive %bars[%c0] expect 8192 : <2>
      tile.wait %bars[%c0] phase %c1 : <2>
    }
    tile.role "group" copies 1 of warpgroup registers 240 {
    ^bb0(%copy: i64):
      %sums = tile.alloc : !sums
      tile.wait %bars[%c0] phase %c0 : <2>
      tile.product async %a, right_transposed %a into %sums rows %c64 inner %c64 : !tile, !tile into !sums
      tile.settle pending 0
      tile.arrive %bars[%c1] : <2>
    }
  }
}

// It says so too early.
tile.kernel @filled_too_early required 0 workspace 0 {
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
      tile.wait %bars[%c1] phase %c0 : <2>
      tile.fetch %x[%c0] of %tokens into %a on %bars[%c0] : !array into !tile on <2>
      tile.arrive %bars[%c0] expect 8192 : <2>
      tile.wait %bars[%c0] phase %c1 : <2>
    }
    tile.role "group" copies 1 of warpgroup registers 240 {
    ^bb0(%copy: i64):
      %sums = tile.alloc : !sums
      tile.wait %bars[%c0] phase %c0 : <2>
      tile.product async %a, right_transposed %a into %sums rows %c64 inner %c64 : !tile, !tile into !sums
      tile.arrive %bars[%c1] : <2>
      tile.settle pending 0
    }
  }
}

// Nobody reads what was fetched first.
tile.kernel @filled_twice required 0 workspace 0 {
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
      tile.fetch %x[%c0] of %tokens into %a on %bars[%c0] : !array into !tile on <2>
      tile.arrive %bars[%c0] expect 8192 : <2>
      tile.wait %bars[%c0] phase %c1 : <2>
    }
    tile.role "group" copies 1 of warpgroup registers 240 {
    ^bb0(%copy: i64):
      %sums = tile.alloc : !sums
      tile.wait %bars[%c0] phase %c0 : <2>
      tile.map into %sums rows %c64 dims [] into !sums {
        %zero = arith.constant 0.0 : f32
        tile.yield %zero : f32
      }
    }
  }
}

tile.kernel @left_is_free required 0 workspace 0 {
^bb0(%x: !array, %y: !array, %z: !floats, %tokens: i64):
  %c0 = arith.constant 0 : i64
  %c64 = arith.constant 64 : i64
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
      %sums = tile.alloc : !sums
      %left = tile.alloc : !left
      tile.wait %bars[%c0] phase %c0 : <2>
      tile.map into %left rows %c64 dims [] into !left {
        %zero = arith.constant 0.0 : f32
        tile.yield %zero : f32
      }
      tile.product async %left, %a into %sums rows %c64 inner %c64 : !left, !tile into !sums
      tile.settle pending 0
      tile.map into %left rows %c64 dims [] into !left {
        %zero = arith.constant 0.0 : f32
        tile.yield %zero : f32
      }
    }
  }
}

tile.kernel @overwrites_left required 0 workspace 0 {
^bb0(%x: !array, %y: !array, %z: !floats, %tokens: i64):
  %c0 = arith.constant 0 : i64
  %c64 = arith.constant 64 : i64
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
      %sums = tile.alloc : !sums
      %left = tile.alloc : !left
      tile.wait %bars[%c0] phase %c0 : <2>
      tile.map into %left rows %c64 dims [] into !left {
        %zero = arith.constant 0.0 : f32
        tile.yield %zero : f32
      }
      tile.product async %left, %a into %sums rows %c64 inner %c64 : !left, !tile into !sums
      tile.map into %left rows %c64 dims [] into !left {
        %zero = arith.constant 0.0 : f32
        tile.yield %zero : f32
      }
      tile.settle pending 0
    }
  }
}

tile.kernel @overwrites_result required 0 workspace 0 {
^bb0(%x: !array, %y: !array, %z: !floats, %tokens: i64):
  %c0 = arith.constant 0 : i64
  %c64 = arith.constant 64 : i64
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
      %sums = tile.alloc : !sums
      %left = tile.alloc : !left
      tile.wait %bars[%c0] phase %c0 : <2>
      tile.map into %left rows %c64 dims [] into !left {
        %zero = arith.constant 0.0 : f32
        tile.yield %zero : f32
      }
      tile.product async %left, %a into %sums rows %c64 inner %c64 : !left, !tile into !sums
      tile.map into %sums rows %c64 dims [] into !sums {
        %zero = arith.constant 0.0 : f32
        tile.yield %zero : f32
      }
      tile.settle pending 0
    }
  }
}

tile.kernel @overwrites_right required 0 workspace 0 {
^bb0(%x: !array, %y: !array, %z: !floats, %tokens: i64):
  %c0 = arith.constant 0 : i64
  %c64 = arith.constant 64 : i64
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
      %sums = tile.alloc : !sums
      %left = tile.alloc : !left
      tile.wait %bars[%c0] phase %c0 : <2>
      tile.map into %left rows %c64 dims [] into !left {
        %zero = arith.constant 0.0 : f32
        tile.yield %zero : f32
      }
      tile.product async %left, %a into %sums rows %c64 inner %c64 : !left, !tile into !sums
      tile.map into %a rows %c64 dims [] into !tile {
        %zero = arith.constant 0.0 : f32
        tile.yield %zero : f32
      }
      tile.settle pending 0
    }
  }
}

tile.kernel @not_settled required 0 workspace 0 {
^bb0(%x: !array, %y: !array, %z: !floats, %tokens: i64):
  %c0 = arith.constant 0 : i64
  %c64 = arith.constant 64 : i64
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
      %sums = tile.alloc : !sums
      %left = tile.alloc : !left
      tile.wait %bars[%c0] phase %c0 : <2>
      tile.map into %left rows %c64 dims [] into !left {
        %zero = arith.constant 0.0 : f32
        tile.yield %zero : f32
      }
      tile.product async %left, %a into %sums rows %c64 inner %c64 : !left, !tile into !sums
    }
  }
}

// The older of two has ended.
tile.kernel @older_has_ended required 0 workspace 0 {
^bb0(%x: !array, %y: !array, %z: !floats, %tokens: i64):
  %c0 = arith.constant 0 : i64
  %c64 = arith.constant 64 : i64
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
      %sums = tile.alloc : !sums
      %left = tile.alloc : !left
      %more = tile.alloc : !sums
      tile.wait %bars[%c0] phase %c0 : <2>
      tile.map into %left rows %c64 dims [] into !left {
        %zero = arith.constant 0.0 : f32
        tile.yield %zero : f32
      }
      tile.product async %left, %a into %sums rows %c64 inner %c64 : !left, !tile into !sums
      tile.product async %a, %a into %more rows %c64 inner %c64 : !tile, !tile into !sums
      tile.settle pending 1
      tile.map into %left rows %c64 dims [] into !left {
        %zero = arith.constant 0.0 : f32
        tile.yield %zero : f32
      }
      tile.map into %sums rows %c64 dims [] into !sums {
        %zero = arith.constant 0.0 : f32
        tile.yield %zero : f32
      }
      tile.settle pending 0
    }
  }
}

// Kernels for KernelTimeTest.cpp: what their loops over chunks take.
!array = !tile.tile<?x128xbf16, global>
!rows = !tile.tile<64x128xbf16, shared, [128, 1]>
!state = !tile.tile<128x128xbf16, shared, [128, 1]>
!sums = !tile.tile<64x128xf32, shared, [128, 1]>

tile.kernel @empty required 1 workspace 0 threads 128 shared 200000 {
^bb0(%x: !array, %tokens: i64):
  %c0 = arith.constant 0 : i64
  %c64 = arith.constant 64 : i64
  scf.for %first = %c0 to %tokens step %c64 : i64 {
  }
}

tile.kernel @load required 1 workspace 0 threads 128 shared 200000 {
^bb0(%x: !array, %tokens: i64):
  %a = tile.alloc at 0 : !rows
  %c0 = arith.constant 0 : i64
  %c64 = arith.constant 64 : i64
  scf.for %first = %c0 to %tokens step %c64 : i64 {
    tile.load %x[%c0] rows %c64 into %a : !array into !rows
  }
}

tile.kernel @product required 1 workspace 0 threads 128 shared 200000 {
^bb0(%x: !array, %tokens: i64):
  %a = tile.alloc at 0 : !rows
  %s = tile.alloc at 16384 : !state
  %r = tile.alloc at 49152 : !sums
  %c0 = arith.constant 0 : i64
  %c64 = arith.constant 64 : i64
  %c128 = arith.constant 128 : i64
  scf.for %first = %c0 to %tokens step %c64 : i64 {
    tile.product %a, %s into %r rows %c64 inner %c128 : !rows, !state into !sums
  }
}

tile.kernel @three_products required 1 workspace 0 threads 128 shared 200000 {
^bb0(%x: !array, %tokens: i64):
  %a = tile.alloc at 0 : !rows
  %s = tile.alloc at 16384 : !state
  %r = tile.alloc at 49152 : !sums
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c3 = arith.constant 3 : i64
  %c64 = arith.constant 64 : i64
  %c128 = arith.constant 128 : i64
  scf.for %first = %c0 to %tokens step %c64 : i64 {
    scf.for %i = %c0 to %c3 step %c1 : i64 {
      tile.product %a, %s into %r rows %c64 inner %c128 : !rows, !state into !sums
    }
  }
}

tile.kernel @product_a_token required 1 workspace 0 threads 128 shared 200000 {
^bb0(%x: !array, %tokens: i64):
  %a = tile.alloc at 0 : !rows
  %s = tile.alloc at 16384 : !state
  %r = tile.alloc at 49152 : !sums
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %c128 = arith.constant 128 : i64
  scf.for %first = %c0 to %tokens step %c64 : i64 {
    scf.for %i = %c0 to %tokens step %c1 : i64 {
      tile.product %a, %s into %r rows %c64 inner %c128 : !rows, !state into !sums
    }
  }
}

tile.kernel @load_before required 1 workspace 0 threads 128 shared 200000 {
^bb0(%x: !array, %tokens: i64):
  %a = tile.alloc at 0 : !rows
  %c0 = arith.constant 0 : i64
  %c64 = arith.constant 64 : i64
  tile.load %x[%c0] rows %c64 into %a : !array into !rows
  scf.for %first = %c0 to %tokens step %c64 : i64 {
  }
}

!channels = !tile.tile<64x128xbf16, shared, [136, 1]>
!pairs = !tile.tile<64x64xf32, shared, [68, 1]>

tile.kernel @scaled_dots required 1 workspace 0 threads 256 shared 200000 {
^bb0(%x: !array, %tokens: i64):
  %a = tile.alloc at 0 : !channels
  %g = tile.alloc at 17408 : !channels
  %d = tile.alloc at 34816 : !pairs
  %c0 = arith.constant 0 : i64
  %c64 = arith.constant 64 : i64
  scf.for %first = %c0 to %tokens step %c64 : i64 {
    tile.scaled_dots %a, %a scales %g into %d rows %c64 block 64 points [1] of [0] : !channels, !channels scales !channels into !pairs
  }
}

tile.kernel @rounded_dots required 1 workspace 0 threads 256 shared 200000 {
^bb0(%x: !array, %tokens: i64):
  %a = tile.alloc at 0 : !channels
  %g = tile.alloc at 17408 : !channels
  %d = tile.alloc at 34816 : !pairs
  %w = tile.alloc at 52224 : !channels
  %c0 = arith.constant 0 : i64
  %c64 = arith.constant 64 : i64
  scf.for %first = %c0 to %tokens step %c64 : i64 {
    tile.scaled_dots rounded %a, %a scales logarithms %g into %d work %w rows %c64 block 64 points [1] of [0] : !channels, !channels scales !channels into !pairs work !channels
  }
}

tile.kernel @rounded_dots_together required 1 workspace 0 threads 256 shared 200000 {
^bb0(%x: !array, %tokens: i64):
  %a = tile.alloc at 0 : !channels
  %g = tile.alloc at 17408 : !channels
  %d = tile.alloc at 34816 : !pairs
  %w = tile.alloc at 52224 : !channels
  %b = tile.alloc at 69632 : !channels
  %e = tile.alloc at 87040 : !pairs
  %c0 = arith.constant 0 : i64
  %c64 = arith.constant 64 : i64
  scf.for %first = %c0 to %tokens step %c64 : i64 {
    tile.scaled_dots rounded %a, %a scales logarithms %g into %d work %w rows %c64 block 64 points [0] of [0] : !channels, !channels scales !channels into !pairs work !channels
    tile.scaled_dots rounded %b, %a scales logarithms %g into %e work %w rows %c64 block 64 points [1] of [0] : !channels, !channels scales !channels into !pairs work !channels
  }
}

tile.kernel @running_sums required 1 workspace 0 threads 256 shared 200000 {
^bb0(%x: !array, %tokens: i64):
  %g = tile.alloc at 0 : !channels
  %a = tile.alloc at 17408 : !channels
  %b = tile.alloc at 34816 : !channels
  %c0 = arith.constant 0 : i64
  %c64 = arith.constant 64 : i64
  scf.for %first = %c0 to %tokens step %c64 : i64 {
    tile.scan %g, %a all %b rows %c64 dims [array<i64: 0, 1>, array<i64: 0, 1>] start 0.0 : !channels, !channels all !channels {
    ^bb0(%step: f32, %row: f32, %sum: f32):
      %next = arith.addf %sum, %step : f32
      %e = math.exp %next : f32
      %y = arith.mulf %e, %row : f32
      tile.yield %next, %y : f32, f32
    }
  }
}

tile.kernel @running_sums_together required 1 workspace 0 threads 256 shared 200000 {
^bb0(%x: !array, %tokens: i64):
  %g = tile.alloc at 0 : !channels
  %a = tile.alloc at 17408 : !channels
  %b = tile.alloc at 34816 : !channels
  %d = tile.alloc at 52224 : !channels
  %c0 = arith.constant 0 : i64
  %c64 = arith.constant 64 : i64
  scf.for %first = %c0 to %tokens step %c64 : i64 {
    tile.scan %g, %a all %b rows %c64 dims [array<i64: 0, 1>, array<i64: 0, 1>] start 0.0 : !channels, !channels all !channels {
    ^bb0(%step: f32, %row: f32, %sum: f32):
      %next = arith.addf %sum, %step : f32
      %e = math.exp %next : f32
      %y = arith.mulf %e, %row : f32
      tile.yield %next, %y : f32, f32
    }
    tile.scan %g all %d rows %c64 dims [array<i64: 0, 1>] start 0.0 : !channels all !channels {
    ^bb0(%step: f32, %sum: f32):
      %next = arith.addf %sum, %step : f32
      %e = math.exp %next : f32
      tile.yield %next, %e : f32, f32
    }
  }
}

// RUN: recur-opt %s -split-input-file -verify-diagnostics

tile.kernel @k required 0 workspace 0 threads 128 shared 64 {
^bb0(%n: i64):
  // expected-error @below {{'tile.alloc' op deals out f32 to the warps of a team, as many rows in sixteens and columns in eights to each, not '!tile.tile<24x8xf32, registers, [8, 1]>'}}
  %a = tile.alloc : !tile.tile<24x8xf32, registers, [8, 1]>
}

// -----

tile.kernel @k required 0 workspace 0 threads 128 shared 64 {
^bb0(%n: i64):
  // expected-error @below {{'tile.alloc' op deals out f32 to the warps of a team, as many rows in sixteens and columns in eights to each, not '!tile.tile<64x64xbf16, registers, [64, 1]>'}}
  %a = tile.alloc : !tile.tile<64x64xbf16, registers, [64, 1]>
}

// -----

tile.kernel @k required 0 workspace 0 threads 128 shared 20480 {
^bb0(%n: i64):
  %a = tile.alloc at 0 : !tile.tile<64x64xf32, shared, [68, 1]>
  %c = tile.alloc : !tile.tile<64x64xf32, registers, [64, 1]>
  // expected-error @below {{'tile.transpose' op cannot take tiles in registers, which lie in many threads}}
  tile.transpose %a rows %n into %c : !tile.tile<64x64xf32, shared, [68, 1]> into !tile.tile<64x64xf32, registers, [64, 1]>
}

// -----

tile.kernel @k required 0 workspace 0 threads 128 shared 20480 {
^bb0(%n: i64):
  %a = tile.alloc at 0 : !tile.tile<64x64xf32, shared, [68, 1]>
  %c = tile.alloc : !tile.tile<64x64xf32, registers, [64, 1]>
  // expected-error @below {{'tile.map' op walks tiles in registers along different dimensions, which are in different threads}}
  tile.map %c into %a rows %n dims [array<i64: 1, 0>] : !tile.tile<64x64xf32, registers, [64, 1]> into !tile.tile<64x64xf32, shared, [68, 1]> {
  ^bb0(%x: f32):
    tile.yield %x : f32
  }
}

// -----

tile.kernel @k required 0 workspace 0 threads 128 shared 20480 {
^bb0(%n: i64):
  %a = tile.alloc at 0 : !tile.tile<64x64xf32, shared, [68, 1]>
  %c = tile.alloc : !tile.tile<64x64xf32, registers, [64, 1]>
  // expected-error @below {{'tile.product' op takes no tile in registers of its team but its own result, not '!tile.tile<64x64xf32, registers, [64, 1]>'}}
  tile.product %c, %a into %a rows %n inner %n : !tile.tile<64x64xf32, registers, [64, 1]>, !tile.tile<64x64xf32, shared, [68, 1]> into !tile.tile<64x64xf32, shared, [68, 1]>
}

// -----

tile.kernel @k required 0 workspace 0 threads 128 shared 20480 {
^bb0(%n: i64):
  %a = tile.alloc at 0 : !tile.tile<64x64xf32, shared, [68, 1]>
  %c = tile.alloc : !tile.tile<64x64xf32, registers, [64, 1]>
  // expected-error @below {{'tile.product' op adds to its own result in registers, and does not scale its columns}}
  tile.product %a, %a into %c rows %n inner %n plus %a : !tile.tile<64x64xf32, shared, [68, 1]>, !tile.tile<64x64xf32, shared, [68, 1]> into !tile.tile<64x64xf32, registers, [64, 1]> plus !tile.tile<64x64xf32, shared, [68, 1]>
}

// -----

tile.kernel @parts required 0 workspace 0 threads 256 shared 16384 {
^bb0(%n: i64):
  %a = tile.alloc : !tile.tile<64x64xf32, registers, [64, 1]>
  %b = tile.alloc at 0 : !tile.tile<64xf32, shared, [1]>
  // expected-error @below {{'tile.reduce' op takes tiles in the registers of a team where it sums up rows, each warp whole parts}}
  tile.reduce sum %a into %b rows %n over [1] of [64, 64] dims [array<i64: 0, 1>] : !tile.tile<64x64xf32, registers, [64, 1]> into !tile.tile<64xf32, shared, [1]> {
  ^bb0(%x: f32):
    tile.yield %x : f32
  }
}

// RUN: recur-opt %s --convert-tile-to-llvm -split-input-file -verify-diagnostics

// What the plan of a CTA has and a core does not.

tile.kernel @shared required 0 workspace 1024 {
^bb0(%n: i64):
  // expected-error @below {{'tile.alloc' op cannot be lowered for a core: its tiles lie in 'local' memory, and this one in 'shared'}}
  %a = tile.alloc at 0 : !tile.tile<16x16xf32, shared, [16, 1]>
}

// -----

tile.kernel @barriers required 0 workspace 1024 {
^bb0(%n: i64):
  // expected-error @below {{'tile.barriers' op has no meaning on a core}}
  %full = tile.barriers arrivals 1 at 0 : <2>
}

// -----

tile.kernel @roles required 0 workspace 0 {
^bb0(%n: i64):
  // expected-error @below {{'tile.roles' op has no meaning on a core}}
  tile.roles {
    tile.role "one" copies 1 of warp registers 24 {
    ^bb0(%copy: i64):
      tile.fence
    }
  }
}

// -----

tile.kernel @blocks required 0 workspace 1024 {
^bb0(%n: i64):
  %a = tile.alloc at 0 : !tile.tile<16x16xf32, local, [16, 1]>
  // expected-error @below {{'tile.map' op cannot be lowered: a core computes whole tiles, not blocks}}
  tile.map %a into %a rows %n dims [array<i64: 0, 1>] blocks below 8 : !tile.tile<16x16xf32, local, [16, 1]> into !tile.tile<16x16xf32, local, [16, 1]> {
  ^bb0(%x: f32):
    tile.yield %x : f32
  }
}

// -----

tile.kernel @transposed required 0 workspace 2048 {
^bb0(%n: i64):
  %a = tile.alloc at 0 : !tile.tile<16x16xf32, local, [16, 1]>
  %b = tile.alloc at 1024 : !tile.tile<16x16xf32, local, [16, 1]>
  // expected-error @below {{'tile.product' op cannot be lowered: a core multiplies by right factors that are not transposed}}
  tile.product %a, right_transposed %a into %b rows %n inner %n : !tile.tile<16x16xf32, local, [16, 1]>, !tile.tile<16x16xf32, local, [16, 1]> into !tile.tile<16x16xf32, local, [16, 1]>
}

// -----

tile.kernel @pairs required 0 workspace 8192 {
^bb0(%n: i64):
  %a = tile.alloc at 0 : !tile.tile<16x16xbf16, local, [32, 1]>
  %p = tile.alloc at 1024 : !tile.tile<8x16x2xbf16, local, [32, 2, 1]>
  %c = tile.alloc at 2048 : !tile.tile<16x16xf32, local, [16, 1]>
  // expected-error @below {{'tile.product' op cannot be lowered: the processor has no such product of 'bf16'}}
  tile.product %a, %p into %c rows %n inner %n : !tile.tile<16x16xbf16, local, [32, 1]>, !tile.tile<8x16x2xbf16, local, [32, 2, 1]> into !tile.tile<16x16xf32, local, [16, 1]>
}

// -----

tile.kernel @half required 0 workspace 8192 {
^bb0(%n: i64):
  %a = tile.alloc at 0 : !tile.tile<16x16xbf16, local, [32, 1]>
  %c = tile.alloc at 2048 : !tile.tile<16x16xf32, local, [16, 1]>
  // expected-error @below {{'tile.map' op cannot be lowered: it takes f32, not '!tile.tile<16x16xbf16, local, [32, 1]>'}}
  tile.map %a into %c rows %n dims [array<i64: 0, 1>] : !tile.tile<16x16xbf16, local, [32, 1]> into !tile.tile<16x16xf32, local, [16, 1]> {
  ^bb0(%x: f32):
    tile.yield %x : f32
  }
}

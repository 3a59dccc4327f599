// RUN: recur-opt %s --convert-tile-to-nvvm -split-input-file -verify-diagnostics

// expected-error @below {{'tile.kernel' op cannot be lowered: it is the plan of a core, or of several roles}}
tile.kernel @core required 0 workspace 0 {
^bb0(%n: i64):
}

// -----

// expected-error @below {{'tile.kernel' op cannot be lowered: it takes 101384 bytes of shared memory, and a CTA of 'sm_86' has 101376}}
tile.kernel @large required 0 workspace 0 threads 32 shared 101384 gpu "sm_86" {
^bb0(%n: i64):
}

// -----

// expected-error @below {{'tile.kernel' op cannot be lowered: there is no GPU 'sm_75'}}
tile.kernel @early required 0 workspace 0 threads 32 shared 0 gpu "sm_75" {
^bb0(%n: i64):
}

// -----

tile.kernel @unplaced required 0 workspace 0 threads 32 shared 64 {
^bb0(%n: i64):
  // expected-error @below {{'tile.alloc' op has not been placed; choose an offset for it first}}
  %a = tile.alloc : !tile.tile<16xf32, shared, [1]>
}

// -----

tile.kernel @swizzled required 0 workspace 0 threads 128 shared 8192 {
^bb0(%n: i64):
  // expected-error @below {{'tile.alloc' op cannot be lowered: the tiles of a team are not swizzled}}
  %a = tile.alloc at 0 : !tile.tile<64x64xbf16, shared, [64, 1], swizzle 128>
}

// -----

tile.kernel @blocks required 0 workspace 0 threads 128 shared 20480 {
^bb0(%n: i64):
  %zero = arith.constant 0 : i64
  %a = tile.alloc at 0 : !tile.tile<64x64xbf16, shared, [72, 1]>
  // expected-error @below {{'tile.alloc' op cannot be lowered: a tile in registers is used in one block}}
  %c = tile.alloc : !tile.tile<64x64xf32, registers, [64, 1]>
  tile.product %a, %a into %c rows %n inner %n : !tile.tile<64x64xbf16, shared, [72, 1]>, !tile.tile<64x64xbf16, shared, [72, 1]> into !tile.tile<64x64xf32, registers, [64, 1]>
  scf.for %i = %zero to %n step %n : i64 {
    tile.map %c into %c rows %n dims [array<i64: 0, 1>] : !tile.tile<64x64xf32, registers, [64, 1]> into !tile.tile<64x64xf32, registers, [64, 1]> {
    ^bb0(%x: f32):
      tile.yield %x : f32
    }
  }
}

// -----

tile.kernel @types required 0 workspace 0 threads 32 shared 8192 {
^bb0(%n: i64):
  %a = tile.alloc at 0 : !tile.tile<16x16xbf16, shared, [16, 1]>
  %b = tile.alloc at 1024 : !tile.tile<16x16xf16, shared, [16, 1]>
  %c = tile.alloc at 2048 : !tile.tile<16x16xf32, shared, [16, 1]>
  // expected-error @below {{'tile.product' op cannot be lowered: the matrix units multiply numbers of one type, not 'bf16' and 'f16'}}
  tile.product %a, %b into %c rows %n inner %n : !tile.tile<16x16xbf16, shared, [16, 1]>, !tile.tile<16x16xf16, shared, [16, 1]> into !tile.tile<16x16xf32, shared, [16, 1]>
}

// -----

tile.kernel @barriers required 0 workspace 0 threads 32 shared 64 {
^bb0(%n: i64):
  // expected-error @below {{'tile.barriers' op has no meaning in the plan of one team}}
  %full = tile.barriers arrivals 1 at 0 : <2>
}

// -----

tile.kernel @inverse_of_part_of_a_block required 0 workspace 0 threads 32 shared 16384 {
^bb0(%n: i64):
  %a = tile.alloc at 0 : !tile.tile<24x24xf32, shared, [24, 1]>
  %b = tile.alloc at 4096 : !tile.tile<24x24xbf16, shared, [24, 1]>
  // expected-error @below {{'tile.invert' op cannot be lowered: it has a multiple of 16 rows, up to 128, not 24}}
  tile.invert %a into %b rows %n : !tile.tile<24x24xf32, shared, [24, 1]> into !tile.tile<24x24xbf16, shared, [24, 1]>
}

// -----

tile.kernel @inverse_that_is_scaled_and_not_rounded required 0 workspace 0 threads 32 shared 16384 {
^bb0(%n: i64):
  %a = tile.alloc at 0 : !tile.tile<32x32xf32, shared, [32, 1]>
  %b = tile.alloc at 4096 : !tile.tile<32x32xf32, shared, [32, 1]>
  %s = tile.alloc at 8192 : !tile.tile<32xf32, shared, [1]>
  // expected-error @below {{'tile.invert' op cannot be lowered: its result is of bf16, or of f32 and not scaled, and lies in shared memory, in rows of whole 16 bytes}}
  tile.invert %a into %b rows %n scaled_columns %s : !tile.tile<32x32xf32, shared, [32, 1]> into !tile.tile<32x32xf32, shared, [32, 1]> scaled_columns !tile.tile<32xf32, shared, [1]>
}

// -----

tile.kernel @systems_of_f32 required 0 workspace 0 threads 128 shared 65536 {
^bb0(%q: !tile.tile<?x64xf32, global>, %G: !tile.tile<?x64x64xf32, global>, %n: i64):
  %r = tile.alloc at 0 : !tile.tile<1x64xf32, shared, [64, 1]>
  %w = tile.alloc at 1024 : !tile.tile<10112xf32, shared, [1]>
  %x = tile.alloc at 1024 : !tile.tile<64x64xf32, shared, [64, 1]>
  // expected-error @below {{'tile.conjugate_gradients' op cannot be lowered: its vectors and keys are of bf16}}
  tile.conjugate_gradients %q, %q[%n] state %G[%n] ridge %r into %x work %w rows %n iterations 1 : !tile.tile<?x64xf32, global>, !tile.tile<?x64xf32, global> state !tile.tile<?x64x64xf32, global> ridge !tile.tile<1x64xf32, shared, [64, 1]> into !tile.tile<64x64xf32, shared, [64, 1]> work !tile.tile<10112xf32, shared, [1]>
}

// -----

tile.kernel @systems_of_two_warpgroups required 0 workspace 0 threads 256 shared 65536 {
^bb0(%q: !tile.tile<?x64xbf16, global>, %G: !tile.tile<?x64x64xf32, global>, %n: i64):
  %r = tile.alloc at 0 : !tile.tile<1x64xf32, shared, [64, 1]>
  %w = tile.alloc at 1024 : !tile.tile<10112xf32, shared, [1]>
  %x = tile.alloc at 1024 : !tile.tile<64x64xf32, shared, [64, 1]>
  // expected-error @below {{'tile.conjugate_gradients' op cannot be lowered: a team of 128 threads takes 64 tokens}}
  tile.conjugate_gradients %q, %q[%n] state %G[%n] ridge %r into %x work %w rows %n iterations 1 : !tile.tile<?x64xbf16, global>, !tile.tile<?x64xbf16, global> state !tile.tile<?x64x64xf32, global> ridge !tile.tile<1x64xf32, shared, [64, 1]> into !tile.tile<64x64xf32, shared, [64, 1]> work !tile.tile<10112xf32, shared, [1]>
}

// -----

tile.kernel @systems_of_few_tokens required 0 workspace 0 threads 128 shared 65536 {
^bb0(%q: !tile.tile<?x64xbf16, global>, %G: !tile.tile<?x64x64xf32, global>, %n: i64):
  %r = tile.alloc at 0 : !tile.tile<1x64xf32, shared, [64, 1]>
  %w = tile.alloc at 1024 : !tile.tile<10112xf32, shared, [1]>
  %x = tile.alloc at 1024 : !tile.tile<32x64xf32, shared, [64, 1]>
  // expected-error @below {{'tile.conjugate_gradients' op cannot be lowered: a team of 128 threads takes 64 tokens}}
  tile.conjugate_gradients %q, %q[%n] state %G[%n] ridge %r into %x work %w rows %n iterations 1 : !tile.tile<?x64xbf16, global>, !tile.tile<?x64xbf16, global> state !tile.tile<?x64x64xf32, global> ridge !tile.tile<1x64xf32, shared, [64, 1]> into !tile.tile<32x64xf32, shared, [64, 1]> work !tile.tile<10112xf32, shared, [1]>
}

// -----

tile.kernel @systems_of_odd_channels required 0 workspace 0 threads 128 shared 65536 {
^bb0(%q: !tile.tile<?x24xbf16, global>, %G: !tile.tile<?x24x24xf32, global>, %n: i64):
  %r = tile.alloc at 0 : !tile.tile<1x24xf32, shared, [24, 1]>
  %w = tile.alloc at 1024 : !tile.tile<4992xf32, shared, [1]>
  %x = tile.alloc at 1024 : !tile.tile<64x24xf32, shared, [24, 1]>
  // expected-error @below {{'tile.conjugate_gradients' op cannot be lowered: channels are a multiple of 16, up to 128}}
  tile.conjugate_gradients %q, %q[%n] state %G[%n] ridge %r into %x work %w rows %n iterations 1 : !tile.tile<?x24xbf16, global>, !tile.tile<?x24xbf16, global> state !tile.tile<?x24x24xf32, global> ridge !tile.tile<1x24xf32, shared, [24, 1]> into !tile.tile<64x24xf32, shared, [24, 1]> work !tile.tile<4992xf32, shared, [1]>
}

// -----

// expected-error @below {{'tile.kernel' op cannot be lowered: only kernels with their state in registers have parts of fewer channels}}
tile.kernel @cut required 0 workspace 0 threads 32 shared 0 channels [] {
^bb0(%n: i64):
}

// -----

tile.kernel @exchanged required 0 workspace 0 threads 32 shared 16384 {
^bb0(%n: i64):
  %a = tile.alloc at 0 : !tile.tile<32x32xf32, shared, [36, 1]>
  %b = tile.alloc at 8192 : !tile.tile<32x32xf32, shared, [36, 1]>
  // expected-error @below {{'tile.product' op cannot be lowered: only a chain with its state in registers has exchanged columns}}
  tile.product left_exchanged %a, %a into %b rows %n inner %n : !tile.tile<32x32xf32, shared, [36, 1]>, !tile.tile<32x32xf32, shared, [36, 1]> into !tile.tile<32x32xf32, shared, [36, 1]>
}

// -----

tile.kernel @parts required 0 workspace 0 threads 128 shared 32768 {
^bb0(%n: i64):
  %a = tile.alloc at 0 : !tile.tile<16x32xf32, shared, [36, 1]>
  %b = tile.alloc at 9216 : !tile.tile<16x2xf32, shared, [2, 1]>
  // expected-error @below {{'tile.reduce' op cannot be lowered: only a matrix in registers is reduced in parts}}
  tile.reduce sum %a into %b rows %n over [1] of [16, 32] dims [array<i64: 0, 1>] : !tile.tile<16x32xf32, shared, [36, 1]> into !tile.tile<16x2xf32, shared, [2, 1]> {
  ^bb0(%x: f32):
    tile.yield %x : f32
  }
}

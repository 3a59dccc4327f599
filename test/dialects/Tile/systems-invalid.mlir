// RUN: recur-opt %s --split-input-file --verify-diagnostics

// What tile.conjugate_gradients asks of its operands.
tile.kernel @keys required 0 workspace 0 threads 128 shared 65536 {
^bb0(%q: !tile.tile<?x64xbf16, global>, %k: !tile.tile<?x32xbf16, global>, %G: !tile.tile<?x64x64xf32, global>, %n: i64):
  %r = tile.alloc at 0 : !tile.tile<1x64xf32, shared, [68, 1]>
  %w = tile.alloc at 512 : !tile.tile<10112xf32, shared, [1]>
  %x = tile.alloc at 512 : !tile.tile<64x64xf32, shared, [68, 1]>
  // expected-error @below {{'tile.conjugate_gradients' op has 64 channels, and rows of '!tile.tile<?x32xbf16, global>'}}
  tile.conjugate_gradients %q, %k[%n] state %G[%n] ridge %r into %x work %w rows %n iterations 1 : !tile.tile<?x64xbf16, global>, !tile.tile<?x32xbf16, global> state !tile.tile<?x64x64xf32, global> ridge !tile.tile<1x64xf32, shared, [68, 1]> into !tile.tile<64x64xf32, shared, [68, 1]> work !tile.tile<10112xf32, shared, [1]>
}

// -----

tile.kernel @numbers_for_keys required 0 workspace 0 threads 128 shared 65536 {
^bb0(%q: !tile.tile<?x64xbf16, global>, %k: !tile.tile<?xbf16, global>, %G: !tile.tile<?x64x64xf32, global>, %n: i64):
  %r = tile.alloc at 0 : !tile.tile<1x64xf32, shared, [68, 1]>
  %w = tile.alloc at 512 : !tile.tile<10112xf32, shared, [1]>
  %x = tile.alloc at 512 : !tile.tile<64x64xf32, shared, [68, 1]>
  // expected-error @below {{'tile.conjugate_gradients' op works on tiles of two dimensions, but one is '!tile.tile<?xbf16, global>'}}
  tile.conjugate_gradients %q, %k[%n] state %G[%n] ridge %r into %x work %w rows %n iterations 1 : !tile.tile<?x64xbf16, global>, !tile.tile<?xbf16, global> state !tile.tile<?x64x64xf32, global> ridge !tile.tile<1x64xf32, shared, [68, 1]> into !tile.tile<64x64xf32, shared, [68, 1]> work !tile.tile<10112xf32, shared, [1]>
}

// -----

tile.kernel @state required 0 workspace 0 threads 128 shared 65536 {
^bb0(%q: !tile.tile<?x64xbf16, global>, %G: !tile.tile<?x64x32xf32, global>, %n: i64):
  %r = tile.alloc at 0 : !tile.tile<1x64xf32, shared, [68, 1]>
  %w = tile.alloc at 512 : !tile.tile<10112xf32, shared, [1]>
  %x = tile.alloc at 512 : !tile.tile<64x64xf32, shared, [68, 1]>
  // expected-error @below {{'tile.conjugate_gradients' op has 64 channels, and matrices of '!tile.tile<?x64x32xf32, global>'}}
  tile.conjugate_gradients %q, %q[%n] state %G[%n] ridge %r into %x work %w rows %n iterations 1 : !tile.tile<?x64xbf16, global>, !tile.tile<?x64xbf16, global> state !tile.tile<?x64x32xf32, global> ridge !tile.tile<1x64xf32, shared, [68, 1]> into !tile.tile<64x64xf32, shared, [68, 1]> work !tile.tile<10112xf32, shared, [1]>
}

// -----

tile.kernel @ridge required 0 workspace 0 threads 128 shared 65536 {
^bb0(%q: !tile.tile<?x64xbf16, global>, %G: !tile.tile<?x64x64xf32, global>, %n: i64):
  %r = tile.alloc at 0 : !tile.tile<2x64xf32, shared, [68, 1]>
  %w = tile.alloc at 1024 : !tile.tile<10112xf32, shared, [1]>
  %x = tile.alloc at 1024 : !tile.tile<64x64xf32, shared, [68, 1]>
  // expected-error @below {{'tile.conjugate_gradients' op has 64 channels, and a ridge of '!tile.tile<2x64xf32, shared, [68, 1]>'}}
  tile.conjugate_gradients %q, %q[%n] state %G[%n] ridge %r into %x work %w rows %n iterations 1 : !tile.tile<?x64xbf16, global>, !tile.tile<?x64xbf16, global> state !tile.tile<?x64x64xf32, global> ridge !tile.tile<2x64xf32, shared, [68, 1]> into !tile.tile<64x64xf32, shared, [68, 1]> work !tile.tile<10112xf32, shared, [1]>
}

// -----

tile.kernel @decays required 0 workspace 0 threads 128 shared 65536 {
^bb0(%q: !tile.tile<?x64xbf16, global>, %G: !tile.tile<?x64x64xf32, global>, %n: i64):
  %d = tile.alloc at 0 : !tile.tile<32xf32, shared, [1]>
  %r = tile.alloc at 512 : !tile.tile<1x64xf32, shared, [68, 1]>
  %w = tile.alloc at 1024 : !tile.tile<10112xf32, shared, [1]>
  %x = tile.alloc at 1024 : !tile.tile<64x64xf32, shared, [68, 1]>
  // expected-error @below {{'tile.conjugate_gradients' op has 64 tokens, and numbers of them in '!tile.tile<32xf32, shared, [1]>'}}
  tile.conjugate_gradients %q, %q[%n] decays %d state %G[%n] ridge %r into %x work %w rows %n iterations 1 : !tile.tile<?x64xbf16, global>, !tile.tile<?x64xbf16, global> decays !tile.tile<32xf32, shared, [1]> state !tile.tile<?x64x64xf32, global> ridge !tile.tile<1x64xf32, shared, [68, 1]> into !tile.tile<64x64xf32, shared, [68, 1]> work !tile.tile<10112xf32, shared, [1]>
}

// -----

tile.kernel @room required 0 workspace 0 threads 128 shared 65536 {
^bb0(%q: !tile.tile<?x64xbf16, global>, %G: !tile.tile<?x64x64xf32, global>, %n: i64):
  %r = tile.alloc at 0 : !tile.tile<1x64xf32, shared, [68, 1]>
  %w = tile.alloc at 512 : !tile.tile<10111xf32, shared, [1]>
  %x = tile.alloc at 512 : !tile.tile<64x64xf32, shared, [68, 1]>
  // expected-error @below {{'tile.conjugate_gradients' op needs room for 10112 numbers of f32, not '!tile.tile<10111xf32, shared, [1]>'}}
  tile.conjugate_gradients %q, %q[%n] state %G[%n] ridge %r into %x work %w rows %n iterations 1 : !tile.tile<?x64xbf16, global>, !tile.tile<?x64xbf16, global> state !tile.tile<?x64x64xf32, global> ridge !tile.tile<1x64xf32, shared, [68, 1]> into !tile.tile<64x64xf32, shared, [68, 1]> work !tile.tile<10111xf32, shared, [1]>
}

// -----

tile.kernel @steps required 0 workspace 0 threads 128 shared 65536 {
^bb0(%q: !tile.tile<?x64xbf16, global>, %G: !tile.tile<?x64x64xf32, global>, %n: i64):
  %r = tile.alloc at 0 : !tile.tile<1x64xf32, shared, [68, 1]>
  %w = tile.alloc at 512 : !tile.tile<10112xf32, shared, [1]>
  %x = tile.alloc at 512 : !tile.tile<64x64xf32, shared, [68, 1]>
  // expected-error @below {{'tile.conjugate_gradients' op takes 0 steps}}
  tile.conjugate_gradients %q, %q[%n] state %G[%n] ridge %r into %x work %w rows %n iterations 0 : !tile.tile<?x64xbf16, global>, !tile.tile<?x64xbf16, global> state !tile.tile<?x64x64xf32, global> ridge !tile.tile<1x64xf32, shared, [68, 1]> into !tile.tile<64x64xf32, shared, [68, 1]> work !tile.tile<10112xf32, shared, [1]>
}

// RUN: recur-opt %s --chunk-store=types=bf16 --chunk-choose-factors --convert-chunk-to-tile="threads=256" | FileCheck %s --implicit-check-not=tile.kernel
// RUN: recur-opt %s --convert-chunk-to-tile="threads=256" | FileCheck %s --check-prefix=F32

// One state that is read and advanced with rows of bf16 stays in registers: threads of four roles, and stages of what a
// chunk brings. Here that is 8 KiB of w, k and y each: four stages of 24 KiB; and then what is stored, 9 KiB of the state
// and 8 KiB of what was read, 16 bytes for a number of each stage, and 256 bytes of barriers.
// CHECK: tile.kernel @chain required 0 workspace 0 threads 288 shared 116032 {
// F32: tile.kernel @chain required 0 workspace 0 threads 256 shared
chunk.program @chain {} chunk 64 {
  %y = chunk.take "y" rounded : tensor<64x64xf32>
  %w = chunk.take "w" rounded : tensor<64x64xf32>
  %k = chunk.take "k" rounded : tensor<64x64xf32>
  %d = chunk.take "d" : tensor<1xf32>
  %S = chunk.state "S" : tensor<64x64xf32>
  %x = chunk.read %w, %S : tensor<64x64xf32>, tensor<64x64xf32>
  %u = chunk.map add %y, %x : tensor<64x64xf32>, tensor<64x64xf32>
  %S1 = chunk.advance %S, %u, %k columns(%d : tensor<1xf32>) : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
  chunk.next %S, %S1 : tensor<64x64xf32>
  chunk.give "S" whole rounded %S : tensor<64x64xf32>
  chunk.give "u" rounded %u : tensor<64x64xf32>
}

// Several advances, one after another, with rows of an input.
// CHECK: tile.kernel @twice required 1 workspace 0 threads 288
chunk.program @twice {} chunk 16 {
  %v = chunk.input "v" : tensor<16x64xf32>
  %k = chunk.take "k" rounded : tensor<16x16xf32>
  %l = chunk.take "l" rounded : tensor<16x16xf32>
  %d = chunk.take "d" : tensor<1x16xf32>
  %S = chunk.state "S" : tensor<64x16xf32>
  %S1 = chunk.advance %S, %v, %k columns(%d : tensor<1x16xf32>) : tensor<64x16xf32>, tensor<16x64xf32>, tensor<16x16xf32>
  %S2 = chunk.advance %S1, %v, %l : tensor<64x16xf32>, tensor<16x64xf32>, tensor<16x16xf32>
  chunk.next %S, %S2 : tensor<64x16xf32>
  chunk.give "S" whole rounded %S : tensor<64x16xf32>
}

// A warpgroup's product has 64 rows, and the state here 32.
// CHECK: tile.kernel @narrow required 1 workspace 0 threads 256
chunk.program @narrow {} chunk 16 {
  %v = chunk.input "v" : tensor<16x32xf32>
  %k = chunk.take "k" rounded : tensor<16x16xf32>
  %S = chunk.state "S" : tensor<32x16xf32>
  %S1 = chunk.advance %S, %v, %k : tensor<32x16xf32>, tensor<16x32xf32>, tensor<16x16xf32>
  chunk.next %S, %S1 : tensor<32x16xf32>
  chunk.give "S" whole rounded %S : tensor<32x16xf32>
}

// A function of what is read stays in registers too: four stages, and what is stored.
// CHECK: tile.kernel @more required 0 workspace 0 threads 256 shared 25088
chunk.program @more {} chunk 16 {
  %w = chunk.take "w" rounded : tensor<16x16xf32>
  %S = chunk.state "S" : tensor<64x16xf32>
  %x = chunk.read %w, %S : tensor<16x16xf32>, tensor<64x16xf32>
  %u = chunk.map exp %x : tensor<16x64xf32>
  %S1 = chunk.advance %S, %u, %w : tensor<64x16xf32>, tensor<16x64xf32>, tensor<16x16xf32>
  chunk.next %S, %S1 : tensor<64x16xf32>
  chunk.give "u" rounded %u : tensor<16x64xf32>
}

// And so is a state that is left unrounded.
// CHECK: tile.kernel @whole required 1 workspace 0 threads 256
chunk.program @whole {} chunk 16 {
  %v = chunk.input "v" : tensor<16x64xf32>
  %k = chunk.take "k" rounded : tensor<16x16xf32>
  %S = chunk.state "S" : tensor<64x16xf32>
  %S1 = chunk.advance %S, %v, %k : tensor<64x16xf32>, tensor<16x64xf32>, tensor<16x16xf32>
  chunk.next %S, %S1 : tensor<64x16xf32>
  chunk.give "S" whole %S : tensor<64x16xf32>
}

// RUN: recur-opt %s --chunk-store=types=bf16 --chunk-choose-factors --chunk-advance-last --chunk-decay-reads --convert-chunk-to-tile="threads=256" | FileCheck %s
// RUN: recur-opt %s --chunk-advance-last --chunk-decay-reads --convert-chunk-to-tile="threads=256 shared-bytes=20000" | FileCheck %s --check-prefix=SMALL

// The plan of a CTA of one team. Its tiles lie in shared memory, rows four banks apart; data and what is computed are
// rounded for products, whose right factors are taken transposed as they lie; nothing is fetched ahead.
// CHECK-LABEL: tile.kernel @linear required 3 workspace 0 threads 256 shared
// CHECK: tile.alloc at {{[0-9]+}} : <20x30xf32, shared, [36, 1]>
// CHECK-NOT: tile.pair
// CHECK-NOT: ahead
// CHECK: tile.load %arg0[%{{.*}}] rows %{{.*}} into %{{.*}} : <?x30xbf16, global> into <32x30xbf16, shared, [72, 1]>
// CHECK: tile.product %{{.*}}, right_transposed %{{.*}} into %{{.*}} result_triangle [1, 1] : <32x30xbf16, shared, [72, 1]>, <32x30xbf16, shared, [72, 1]> into <32x32xf32, shared, [36, 1]>

// The largest tiles are the first to go to device memory.
// SMALL-LABEL: tile.kernel @linear required 3 workspace {{[1-9][0-9]*}} threads 256 shared {{1[0-9][0-9][0-9][0-9]}} {
// SMALL: tile.alloc at {{[0-9]+}} : <32x30xf32, local, [36, 1]>
chunk.program @linear {} chunk 32 {
  %q = chunk.input "q" : tensor<32x30xf32>
  %k = chunk.input "k" : tensor<32x30xf32>
  %v = chunk.input "v" : tensor<32x20xf32>
  %S = chunk.state "S" : tensor<20x30xf32>
  %past = chunk.read %q, %S : tensor<32x30xf32>, tensor<20x30xf32>
  %A = chunk.interaction %q, %k inclusive : tensor<32x30xf32>, tensor<32x30xf32>
  %present = chunk.apply %A, %v : tensor<32x32xf32>, tensor<32x20xf32>
  %o = chunk.map add %past, %present : tensor<32x20xf32>, tensor<32x20xf32>
  %S1 = chunk.advance %S, %v, %k : tensor<20x30xf32>, tensor<32x20xf32>, tensor<32x30xf32>
  chunk.output "o" %o : tensor<32x20xf32>
  chunk.next %S, %S1 : tensor<20x30xf32>
}

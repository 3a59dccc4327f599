// Conjugate gradients on a decayed sum of squares of keys are one op of a CTA, on the arrays as they lie. What the systems do
// not need comes behind them, and what nothing but the region takes is not made.
// RUN: recur-opt %s --chunk-store=types=bf16 --chunk-choose-factors --convert-chunk-to-tile="threads=256" | FileCheck %s
// Data of f32, or smaller chunks, have products and passes in a loop.
// RUN: recur-opt %s --convert-chunk-to-tile="threads=256" | FileCheck %s --check-prefix=LOOP

// CHECK-LABEL: tile.kernel @systems
// CHECK-SAME: threads 128
// Arrays stay in the order of the program's inputs.
// CHECK-NEXT: ^bb0(%arg0: !tile.tile<?x64xbf16, global>, %arg1: !tile.tile<?x64xbf16, global>, %arg2: !tile.tile<?x64xbf16, global>, %arg3: !tile.tile<?xbf16, global>, %arg4: !tile.tile<?xbf16, global>,
// CHECK: scf.parallel
// CHECK-NOT: tile.map
// CHECK: tile.scan
// CHECK: tile.conjugate_gradients %arg0, %arg1[{{.*}}] gains {{.*}} decays {{.*}} state %{{.*}}[{{.*}}] ridge {{.*}} iterations 4
// CHECK: tile.map
// LOOP-LABEL: tile.kernel @systems
// LOOP-NOT: tile.conjugate_gradients
// LOOP: scf.for
chunk.program @systems {} chunk 64 {
  %G = chunk.take "G" whole : tensor<64x64xf32>
  %q = chunk.input "q" : tensor<64x64xf32>
  %k = chunk.input "k" : tensor<64x64xf32>
  %v = chunk.input "v" : tensor<64x64xf32>
  %g = chunk.input "g" : tensor<64xf32>
  %b = chunk.input "b" : tensor<64xf32>
  %ridge = chunk.param "ridge" : tensor<1x64xf32>
  %bk = chunk.map mul %b, %k : tensor<64xf32>, tensor<64x64xf32>
  %bv = chunk.map mul %b, %v : tensor<64xf32>, tensor<64x64xf32>
  %d = chunk.cumulative_decay through log(%g) : tensor<64xf32>
  %x = chunk.cg %q ridge %ridge iterations 4 : tensor<64x64xf32>, tensor<1x64xf32> {
  ^bb0(%p: tensor<64x64xf32>):
    %0 = chunk.map mul %d, %p : tensor<64xf32>, tensor<64x64xf32>
    %1 = chunk.read %0, %G : tensor<64x64xf32>, tensor<64x64xf32>
    %2 = chunk.interaction %p, %k inclusive decay log(%g : tensor<64xf32>) : tensor<64x64xf32>, tensor<64x64xf32>
    %3 = chunk.apply %2, %bk : tensor<64x64xf32>, tensor<64x64xf32>
    %4 = chunk.map add %1, %3 : tensor<64x64xf32>, tensor<64x64xf32>
    chunk.yield %4 : tensor<64x64xf32>
  }
  %o = chunk.map mul %x, %bv : tensor<64x64xf32>, tensor<64x64xf32>
  chunk.output "o" %o : tensor<64x64xf32>
}

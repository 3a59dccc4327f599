// RUN: recur-opt %s --chunk-advance-last --chunk-decay-reads --convert-chunk-to-tile=symbol=kernel | FileCheck %s

// A state that is read and advanced lies transposed and advances in place; a product starts from what it is added to; what
// lies above the diagonal is neither computed nor multiplied. Products fetch the next chunk's inputs, and one that leaves others time
// after it the rows that this chunk's output is stored to.
// CHECK-LABEL: tile.kernel @kernel required 3 workspace
chunk.program @linear {} chunk 64 {
  // CHECK: tile.load %arg3{{.*}} into <1x20x30xf32
  // CHECK: tile.transpose %{{.*}} : <20x30xf32, local, [32, 1]> into <30x20xf32, local, [32, 1]>
  // CHECK: scf.for
  // CHECK: tile.load %arg0
  %q = chunk.input "q" : tensor<64x30xf32>
  %k = chunk.input "k" : tensor<64x30xf32>
  %v = chunk.input "v" : tensor<64x20xf32>
  %S = chunk.state "S" : tensor<20x30xf32>
  // CHECK-NOT: ahead
  // CHECK: tile.product %{{.*}}, %{{.*}} into %{{.*}} rows %{{.*}} inner %{{.*}} ahead %arg1[%{{.*}}] rows 64 written %arg4[%{{.*}}] rows 64 : <64x30xf32, local, [32, 1]>, <30x20xf32
  %past = chunk.read %q, %S : tensor<64x30xf32>, tensor<20x30xf32>
  // CHECK: tile.transpose
  // CHECK: tile.product {{.*}} result_triangle [1, 1]
  %A = chunk.interaction %q, %k inclusive : tensor<64x30xf32>, tensor<64x30xf32>
  // CHECK: tile.product {{.*}} into [[SUM:%.*]] rows {{.*}} plus [[SUM]] left_triangle [1, 1] ahead %arg0
  %present = chunk.apply %A, %v : tensor<64x64xf32>, tensor<64x20xf32>
  // CHECK: tile.map [[SUM]] into
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: math.exp
  %sum = chunk.map add %past, %present : tensor<64x20xf32>, tensor<64x20xf32>
  %o = chunk.map exp %sum : tensor<64x20xf32>
  %S1 = chunk.advance %S, %v, %k : tensor<20x30xf32>, tensor<64x20xf32>, tensor<64x30xf32>
  // CHECK: tile.product transposed %{{.*}}, %{{.*}} into [[STATE:%.*]] rows {{.*}} plus [[STATE]] ahead %arg2
  // CHECK-NOT: written
  // CHECK: tile.store
  chunk.output "o" %o : tensor<64x20xf32>
  chunk.next %S, %S1 : tensor<20x30xf32>
}

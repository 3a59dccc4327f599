// RUN: recur-opt %s --chunk-store=types=bf16 --chunk-choose-factors --convert-chunk-to-tile="threads=256" | FileCheck %s

// Of two interactions that have their writes and the decays of each channel in common, the second is made with the
// first, in the same work, since its rows are there: what scales the writes is found once. What comes between them in
// the program comes behind both.
// CHECK-LABEL: tile.kernel @together
// CHECK: tile.scaled_dots rounded %[[K:.*]], %[[K]] scales logarithms %[[G:.*]] into %[[A:.*]] work %[[W:.*]] rows %[[N:.*]] block 32 points [0] of [0]
// CHECK-NEXT: tile.scaled_dots rounded %[[Q:.*]], %[[K]] scales logarithms %[[G]] into %[[B:.*]] work %[[W]] rows %[[N]] block 32 points [1] of [0]
// CHECK-NOT: tile.scaled_dots
// CHECK: tile.product %{{.*}}, %{{.*}} into
// CHECK-NOT: tile.scaled_dots
// CHECK: scf.reduce
chunk.program @together {} chunk 32 {
  %q = chunk.input "q" : tensor<32x128xf32>
  %k = chunk.input "k" : tensor<32x128xf32>
  %v = chunk.input "v" : tensor<32x64xf32>
  %g = chunk.input "g" : tensor<32x128xf32>
  %A = chunk.interaction %k, %k strict decay log(%g : tensor<32x128xf32>) : tensor<32x128xf32>, tensor<32x128xf32>
  %x = chunk.apply %A, %v : tensor<32x32xf32>, tensor<32x64xf32>
  %B = chunk.interaction %q, %k inclusive decay log(%g : tensor<32x128xf32>) : tensor<32x128xf32>, tensor<32x128xf32>
  %y = chunk.apply %B, %x : tensor<32x32xf32>, tensor<32x64xf32>
  chunk.output "o" %y : tensor<32x64xf32>
}

// Rows that are computed of the first interaction are not there yet, and factors of decays have no sums.
// CHECK-LABEL: tile.kernel @apart
// CHECK: tile.scaled_dots rounded
// CHECK: tile.product %{{.*}}, %{{.*}} into
// CHECK: tile.scaled_dots rounded
// CHECK: scf.reduce
chunk.program @apart {} chunk 32 {
  %k = chunk.input "k" : tensor<32x32xf32>
  %g = chunk.input "g" : tensor<32x32xf32>
  %A = chunk.interaction %k, %k strict decay log(%g : tensor<32x32xf32>) : tensor<32x32xf32>, tensor<32x32xf32>
  %x = chunk.apply %A, %k : tensor<32x32xf32>, tensor<32x32xf32>
  %B = chunk.interaction %x, %k inclusive decay log(%g : tensor<32x32xf32>) : tensor<32x32xf32>, tensor<32x32xf32>
  %y = chunk.apply %B, %k : tensor<32x32xf32>, tensor<32x32xf32>
  chunk.output "o" %y : tensor<32x32xf32>
}

// CHECK-LABEL: tile.kernel @linear
// CHECK: tile.scaled_dots rounded
// CHECK-NOT: logarithms
// CHECK: tile.product %{{.*}}, %{{.*}} into
// CHECK: tile.scaled_dots rounded
// CHECK: scf.reduce
chunk.program @linear {} chunk 32 {
  %q = chunk.input "q" : tensor<32x32xf32>
  %k = chunk.input "k" : tensor<32x32xf32>
  %g = chunk.input "g" : tensor<32x32xf32>
  %A = chunk.interaction %k, %k strict decay linear(%g : tensor<32x32xf32>) : tensor<32x32xf32>, tensor<32x32xf32>
  %x = chunk.apply %A, %k : tensor<32x32xf32>, tensor<32x32xf32>
  %B = chunk.interaction %q, %k inclusive decay linear(%g : tensor<32x32xf32>) : tensor<32x32xf32>, tensor<32x32xf32>
  %y = chunk.apply %B, %x : tensor<32x32xf32>, tensor<32x32xf32>
  chunk.output "o" %y : tensor<32x32xf32>
}

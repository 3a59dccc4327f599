// RUN: recur-opt %s --chunk-invert-roots | FileCheck %s

// One inverse for all that the root divides.
// CHECK-LABEL: chunk.program @norm
// CHECK: %[[R:.*]] = chunk.map sqrt
// CHECK-NEXT: %[[ONE:.*]] = chunk.constant 1.000000e+00 : tensor<1xf32>
// CHECK-NEXT: %[[I:.*]] = chunk.map div %[[ONE]], %[[R]] : tensor<1xf32>, tensor<8xf32>
// CHECK-NEXT: chunk.map mul %[[I]], %k : tensor<8xf32>, tensor<8x3xf32>
// CHECK-NEXT: chunk.map mul %[[I]], %q : tensor<8xf32>, tensor<8x3xf32>
chunk.program @norm {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %q = chunk.input "q" : tensor<8x3xf32>
  %s = chunk.map dot %k, %k : tensor<8x3xf32>, tensor<8x3xf32>
  %r = chunk.map sqrt %s : tensor<8xf32>
  %x = chunk.map div %k, %r : tensor<8x3xf32>, tensor<8xf32>
  %y = chunk.map div %q, %r : tensor<8x3xf32>, tensor<8xf32>
  chunk.output "x" %x : tensor<8x3xf32>
  chunk.output "y" %y : tensor<8x3xf32>
}

// A number that is no root may have no inverse; numbers are divided as they are; so is what is the same for all tokens.
// CHECK-LABEL: chunk.program @stays
// CHECK-COUNT-3: chunk.map div
// CHECK-NOT: chunk.map mul
chunk.program @stays {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %b = chunk.input "b" : tensor<8xf32>
  %p = chunk.param "p" : tensor<1x3xf32>
  %r = chunk.map sqrt %b : tensor<8xf32>
  %x = chunk.map div %k, %b : tensor<8x3xf32>, tensor<8xf32>
  %y = chunk.map div %b, %r : tensor<8xf32>, tensor<8xf32>
  %z = chunk.map div %p, %r : tensor<1x3xf32>, tensor<8xf32>
  chunk.output "x" %x : tensor<8x3xf32>
  chunk.output "y" %y : tensor<8xf32>
  chunk.output "z" %z : tensor<8x3xf32>
}

// RUN: recur-opt %s --split-input-file --chunk-pad-channels=size=4 | FileCheck %s

// Keys and values are padded wherever they are; declarations say what the caller has. What bounds the state has its own
// columns alone.
// CHECK-LABEL: chunk.program @gated
// CHECK: %q = chunk.input "q" of [3] : tensor<2x4xf32>
// CHECK: %k = chunk.input "k" of [3] : tensor<2x4xf32>
// CHECK: %v = chunk.input "v" of [5] : tensor<2x8xf32>
// CHECK: %g = chunk.input "g" of [3] : tensor<2x4xf32>
// CHECK: %b = chunk.input "b" : tensor<2xf32>
// CHECK: %S = chunk.state "S" of [5, 3] : tensor<8x4xf32>
// CHECK: chunk.interaction {{.*}} : tensor<2x4xf32>, tensor<2x4xf32>
// CHECK: chunk.solve {{.*}} : tensor<2x2xf32>, tensor<2x8xf32>
// CHECK: chunk.advance {{.*}} : tensor<8x4xf32>, tensor<2x8xf32>, tensor<2x4xf32>
// CHECK: chunk.output "o" of [5] %{{.*}} : tensor<2x8xf32>
// CHECK: %[[BOUND:.*]] = chunk.slice %{{.*}}[0 for 3] : tensor<1x4xf32>
// CHECK: chunk.remains "S" %[[BOUND]] : tensor<1x3xf32>
chunk.program @gated {} chunk 2 {
  %q = chunk.input "q" : tensor<2x3xf32>
  %k = chunk.input "k" : tensor<2x3xf32>
  %v = chunk.input "v" : tensor<2x5xf32>
  %g = chunk.input "g" : tensor<2x3xf32>
  %b = chunk.input "b" : tensor<2xf32>
  %S = chunk.state "S" : tensor<5x3xf32>
  %A = chunk.interaction %k, %k strict decay log(%g : tensor<2x3xf32>) : tensor<2x3xf32>, tensor<2x3xf32>
  %x = chunk.map mul %b, %v : tensor<2xf32>, tensor<2x5xf32>
  %u = chunk.solve %A, %x : tensor<2x2xf32>, tensor<2x5xf32>
  %d = chunk.cumulative_decay total log(%g) : tensor<2x3xf32>
  %S1 = chunk.advance %S, %u, %k columns(%d : tensor<1x3xf32>) : tensor<5x3xf32>, tensor<2x5xf32>, tensor<2x3xf32>
  %o = chunk.read %q, %S : tensor<2x3xf32>, tensor<5x3xf32>
  chunk.output "o" %o : tensor<2x5xf32>
  chunk.next %S, %S1 : tensor<5x3xf32>
  chunk.remains "S" %d : tensor<1x3xf32>
}

// -----

// Sizes that are multiples stay.
// CHECK-LABEL: chunk.program @whole
// CHECK-NOT: of [
chunk.program @whole {} chunk 2 {
  %k = chunk.input "k" : tensor<2x4xf32>
  %v = chunk.input "v" : tensor<2x8xf32>
  %S = chunk.state "S" : tensor<8x4xf32>
  %S1 = chunk.advance %S, %v, %k : tensor<8x4xf32>, tensor<2x8xf32>, tensor<2x4xf32>
  chunk.next %S, %S1 : tensor<8x4xf32>
}

// -----

// A softmax tells zeros from channels that are not there, but values have none.
// CHECK-LABEL: chunk.program @softmax
// CHECK: %k = chunk.input "k" : tensor<2x3xf32>
// CHECK: %v = chunk.input "v" of [5] : tensor<2x8xf32>
// CHECK: %S = chunk.state "S" of [5, 3] : tensor<8x3xf32>
chunk.program @softmax {} chunk 2 {
  %k = chunk.input "k" : tensor<2x3xf32>
  %v = chunk.input "v" : tensor<2x5xf32>
  %S = chunk.state "S" : tensor<5x3xf32>
  %w = chunk.map softmax %k : tensor<2x3xf32>
  %S1 = chunk.advance %S, %v, %w : tensor<5x3xf32>, tensor<2x5xf32>, tensor<2x3xf32>
  chunk.next %S, %S1 : tensor<5x3xf32>
}

// -----

// The exponential of zero is one: keys of it are written in padding too, and a sum of them counts it.
// CHECK-LABEL: chunk.program @written
// CHECK-NOT: of [
chunk.program @written {} chunk 2 {
  %k = chunk.input "k" : tensor<2x3xf32>
  %v = chunk.input "v" : tensor<2x4xf32>
  %S = chunk.state "S" : tensor<4x3xf32>
  %w = chunk.map exp %k : tensor<2x3xf32>
  %S1 = chunk.advance %S, %v, %w : tensor<4x3xf32>, tensor<2x4xf32>, tensor<2x3xf32>
  chunk.next %S, %S1 : tensor<4x3xf32>
}
// CHECK-LABEL: chunk.program @summed
// CHECK-NOT: of [
chunk.program @summed {} chunk 2 {
  %k = chunk.input "k" : tensor<2x3xf32>
  %v = chunk.input "v" : tensor<2x4xf32>
  %S = chunk.state "S" : tensor<4x3xf32>
  %w = chunk.map exp %k : tensor<2x3xf32>
  %n = chunk.map sum %w : tensor<2x3xf32>
  %p = chunk.map div %k, %n : tensor<2x3xf32>, tensor<2xf32>
  %S1 = chunk.advance %S, %v, %p : tensor<4x3xf32>, tensor<2x4xf32>, tensor<2x3xf32>
  chunk.next %S, %S1 : tensor<4x3xf32>
}

// -----

// Keys of length one have zeros in padding, whatever their length was: the sum of squares counts zeros, and no channel
// is a number where it is zero. A logarithm of padding is no number, whatever it is multiplied by.
// CHECK-LABEL: chunk.program @normalised
// CHECK: %k = chunk.input "k" of [3] : tensor<2x4xf32>
// CHECK: chunk.map dot %k, %k : tensor<2x4xf32>, tensor<2x4xf32>
chunk.program @normalised {} chunk 2 {
  %k = chunk.input "k" : tensor<2x3xf32>
  %v = chunk.input "v" : tensor<2x4xf32>
  %S = chunk.state "S" : tensor<4x3xf32>
  %n = chunk.map dot %k, %k : tensor<2x3xf32>, tensor<2x3xf32>
  %l = chunk.map sqrt %n : tensor<2xf32>
  %u = chunk.map div %k, %l : tensor<2x3xf32>, tensor<2xf32>
  %S1 = chunk.advance %S, %v, %u : tensor<4x3xf32>, tensor<2x4xf32>, tensor<2x3xf32>
  chunk.next %S, %S1 : tensor<4x3xf32>
}
// CHECK-LABEL: chunk.program @logarithm
// CHECK-NOT: of [
chunk.program @logarithm {} chunk 2 {
  %k = chunk.input "k" : tensor<2x3xf32>
  %v = chunk.input "v" : tensor<2x4xf32>
  %S = chunk.state "S" : tensor<4x3xf32>
  %l = chunk.map log %k : tensor<2x3xf32>
  %u = chunk.map mul %k, %l : tensor<2x3xf32>, tensor<2x3xf32>
  %S1 = chunk.advance %S, %v, %u : tensor<4x3xf32>, tensor<2x4xf32>, tensor<2x3xf32>
  chunk.next %S, %S1 : tensor<4x3xf32>
}

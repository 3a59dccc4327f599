// RUN: recur-opt %s --chunk-separate-writes | FileCheck %s

// Writes whose rows lie in arrays, but for numbers that scale them, are advances and products of their own. The chunk's
// decay goes with those that are added first.
// CHECK-LABEL: chunk.program @window
// CHECK: %[[W:.*]] = chunk.map neg %w
// CHECK: %[[KEYS0:.*]] = chunk.map mul %[[AFTER:.*]], %k
// CHECK: %[[KEYS1:.*]] = chunk.map mul %[[AFTER]], %y
// CHECK: %[[S0:.*]] = chunk.advance %S, %v, %[[KEYS0]] columns
// CHECK: %[[S1:.*]] = chunk.advance %[[S0]], %[[W]], %[[KEYS1]] :
// CHECK: %[[A0:.*]] = chunk.interaction %q, %k inclusive decay log(%g : tensor<8xf32>)
// CHECK: %[[O0:.*]] = chunk.apply %[[A0]], %v
// CHECK: %[[A1:.*]] = chunk.interaction %q, %y strict decay log(%g : tensor<8xf32>)
// CHECK: %[[O1:.*]] = chunk.apply %[[A1]], %[[W]]
// CHECK: %[[O:.*]] = chunk.map add %[[O0]], %[[O1]]
// CHECK-NOT: chunk.interleave
// CHECK: chunk.output "o" %[[O]]
// CHECK: chunk.next %S, %[[S1]]
chunk.program @window {} chunk 8 {
  %q = chunk.input "q" : tensor<8x3xf32>
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %y = chunk.input "y" : tensor<8x3xf32>
  %w = chunk.input "w" : tensor<8x2xf32>
  %g = chunk.input "g" : tensor<8xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  %n = chunk.map neg %w : tensor<8x2xf32>
  %x = chunk.interleave %k, %y : tensor<8x3xf32>, tensor<8x3xf32>
  %u = chunk.interleave %v, %n : tensor<8x2xf32>, tensor<8x2xf32>
  %total = chunk.cumulative_decay total log(%g) : tensor<8xf32>
  %after = chunk.cumulative_decay after log(%g) : tensor<8xf32>
  %both = chunk.interleave %after, %after : tensor<8xf32>, tensor<8xf32>
  %keys = chunk.map mul %both, %x : tensor<16xf32>, tensor<16x3xf32>
  %S1 = chunk.advance %S, %u, %keys columns(%total : tensor<1xf32>) : tensor<2x3xf32>, tensor<16x2xf32>, tensor<16x3xf32>
  %A = chunk.interaction %q, %x points [1] of [0, 1] decay log(%g : tensor<8xf32>) : tensor<8x3xf32>, tensor<16x3xf32>
  %o = chunk.apply %A, %u : tensor<8x16xf32>, tensor<16x2xf32>
  chunk.output "o" %o : tensor<8x2xf32>
  chunk.next %S, %S1 : tensor<2x3xf32>
}

// Rows of an input with a row for each step lie as they are taken, and those of a system are solved together.
// CHECK-LABEL: chunk.program @as_it_lies
// CHECK: chunk.interleave
// CHECK: chunk.advance %S, %{{.*}}, %{{.*}} : tensor<2x3xf32>, tensor<16x2xf32>, tensor<16x3xf32>
chunk.program @as_it_lies {} chunk 8 {
  %k = chunk.input "k" : tensor<8x2x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  %k0 = chunk.extract %k[0] : tensor<8x2x3xf32>
  %k1 = chunk.extract %k[1] : tensor<8x2x3xf32>
  %x = chunk.interleave %k0, %k1 : tensor<8x3xf32>, tensor<8x3xf32>
  %u = chunk.interleave %v, %v : tensor<8x2xf32>, tensor<8x2xf32>
  %S1 = chunk.advance %S, %u, %x : tensor<2x3xf32>, tensor<16x2xf32>, tensor<16x3xf32>
  chunk.next %S, %S1 : tensor<2x3xf32>
}

// CHECK-LABEL: chunk.program @solved
// CHECK: chunk.interleave
// CHECK: chunk.solve
chunk.program @solved {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %y = chunk.input "y" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  %x = chunk.interleave %k, %y : tensor<8x3xf32>, tensor<8x3xf32>
  %u = chunk.interleave %v, %v : tensor<8x2xf32>, tensor<8x2xf32>
  %A = chunk.interaction %x, %x points [0, 1] of [0, 1] : tensor<16x3xf32>, tensor<16x3xf32>
  %w = chunk.solve %A, %u : tensor<16x16xf32>, tensor<16x2xf32>
  %S1 = chunk.advance %S, %w, %x : tensor<2x3xf32>, tensor<16x2xf32>, tensor<16x3xf32>
  chunk.next %S, %S1 : tensor<2x3xf32>
}

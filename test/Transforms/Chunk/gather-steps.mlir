// RUN: recur-opt %s --chunk-gather-steps | FileCheck %s

// What both steps do with their rows is done once, with the rows of both; what is the same for all tokens stays one row.
// CHECK-LABEL: chunk.program @steps
// CHECK: %[[D:.*]] = chunk.input "d"
// CHECK: %[[A:.*]] = chunk.extract %{{.*}}[0]
// CHECK: %[[B:.*]] = chunk.extract %{{.*}}[1]
// CHECK: %[[DD:.*]] = chunk.interleave %[[D]], %[[D]] : tensor<8xf32>, tensor<8xf32>
// CHECK: %[[K:.*]] = chunk.interleave %[[A]], %[[B]] : tensor<8x3xf32>, tensor<8x3xf32>
// CHECK: %[[S:.*]] = chunk.map mul %[[DD]], %[[K]] : tensor<16xf32>, tensor<16x3xf32>
// CHECK: %[[R:.*]] = chunk.map add %[[S]], %{{.*}} : tensor<16x3xf32>, tensor<1x3xf32>
// CHECK-NOT: chunk.interleave
// CHECK: chunk.give "r" %[[R]]
chunk.program @steps {} chunk 8 {
  %d = chunk.input "d" : tensor<8xf32>
  %k = chunk.input "k" : tensor<8x2x3xf32>
  %w = chunk.param "w" : tensor<1x3xf32>
  %k0 = chunk.extract %k[0] : tensor<8x2x3xf32>
  %k1 = chunk.extract %k[1] : tensor<8x2x3xf32>
  %a = chunk.map mul %d, %k0 : tensor<8xf32>, tensor<8x3xf32>
  %b = chunk.map mul %d, %k1 : tensor<8xf32>, tensor<8x3xf32>
  %aw = chunk.map add %a, %w : tensor<8x3xf32>, tensor<1x3xf32>
  %bw = chunk.map add %b, %w : tensor<8x3xf32>, tensor<1x3xf32>
  %r = chunk.interleave %aw, %bw : tensor<8x3xf32>, tensor<8x3xf32>
  chunk.give "r" %r : tensor<16x3xf32>
}

// Maps of different kinds stay, as does one that something else reads, and rows of different params.
// CHECK-LABEL: chunk.program @apart
// CHECK: chunk.map exp
// CHECK: chunk.map neg
// CHECK: chunk.interleave
// CHECK: chunk.map exp
// CHECK: chunk.map exp
// CHECK: chunk.interleave
// CHECK: chunk.map add
// CHECK: chunk.map add
// CHECK: chunk.interleave
// CHECK-NOT: chunk.map
chunk.program @apart {} chunk 8 {
  %a = chunk.input "a" : tensor<8x3xf32>
  %b = chunk.input "b" : tensor<8x3xf32>
  %w = chunk.param "w" : tensor<1x3xf32>
  %x = chunk.param "x" : tensor<1x3xf32>
  %ea = chunk.map exp %a : tensor<8x3xf32>
  %nb = chunk.map neg %b : tensor<8x3xf32>
  %r = chunk.interleave %ea, %nb : tensor<8x3xf32>, tensor<8x3xf32>
  chunk.give "r" %r : tensor<16x3xf32>
  %fa = chunk.map exp %a : tensor<8x3xf32>
  %fb = chunk.map exp %b : tensor<8x3xf32>
  %s = chunk.interleave %fa, %fb : tensor<8x3xf32>, tensor<8x3xf32>
  chunk.give "s" %s : tensor<16x3xf32>
  chunk.give "fb" %fb : tensor<8x3xf32>
  %ga = chunk.map add %a, %w : tensor<8x3xf32>, tensor<1x3xf32>
  %gb = chunk.map add %b, %x : tensor<8x3xf32>, tensor<1x3xf32>
  %t = chunk.interleave %ga, %gb : tensor<8x3xf32>, tensor<8x3xf32>
  chunk.give "t" %t : tensor<16x3xf32>
}

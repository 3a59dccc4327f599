// RUN: recur-opt %s --split-input-file --chunk-slices-first --canonicalize | FileCheck %s

// CHECK-LABEL: chunk.program @apart
// CHECK-NOT: chunk.concat
// CHECK-DAG: %[[A:.*]] = chunk.map exp %x : tensor<8x3xf32>
// CHECK-DAG: %[[B:.*]] = chunk.map exp %y : tensor<8x2xf32>
// CHECK-DAG: chunk.output "a" %[[A]]
// CHECK-DAG: chunk.output "b" %[[B]]
chunk.program @apart {} chunk 8 {
  %x = chunk.input "x" : tensor<8x3xf32>
  %y = chunk.input "y" : tensor<8x2xf32>
  %xy = chunk.concat %x, %y : tensor<8x3xf32>, tensor<8x2xf32> to tensor<8x5xf32>
  %r = chunk.map exp %xy : tensor<8x5xf32>
  %a = chunk.slice %r[0 for 3] : tensor<8x5xf32>
  %b = chunk.slice %r[3 for 2] : tensor<8x5xf32>
  chunk.output "a" %a : tensor<8x3xf32>
  chunk.output "b" %b : tensor<8x2xf32>
}

// -----

// Convolved together: the weights and what is held are taken apart too.
// CHECK-LABEL: chunk.program @convolved
// CHECK-DAG: %[[WX:.*]] = chunk.slice %w[0 for 3] : tensor<1x5xf32>
// CHECK-DAG: %[[XP:.*]] = chunk.previous %{{.*}}, %x : tensor<3xf32>, tensor<8x3xf32>
// CHECK-DAG: chunk.map mul %[[WX]], %[[XP]] : tensor<1x3xf32>, tensor<8x3xf32>
// CHECK-DAG: %[[YP:.*]] = chunk.previous %{{.*}}, %y : tensor<2xf32>, tensor<8x2xf32>
chunk.program @convolved {} chunk 8 {
  %x = chunk.input "x" : tensor<8x3xf32>
  %y = chunk.input "y" : tensor<8x2xf32>
  %w = chunk.param "w" : tensor<1x5xf32>
  %s = chunk.initial "s" : tensor<5xf32>
  %xy = chunk.concat %x, %y : tensor<8x3xf32>, tensor<8x2xf32> to tensor<8x5xf32>
  %p = chunk.previous %s, %xy : tensor<5xf32>, tensor<8x5xf32>
  %r = chunk.map mul %w, %p : tensor<1x5xf32>, tensor<8x5xf32>
  %a = chunk.slice %r[0 for 3] : tensor<8x5xf32>
  %b = chunk.slice %r[3 for 2] : tensor<8x5xf32>
  chunk.output "a" %a : tensor<8x3xf32>
  chunk.output "b" %b : tensor<8x2xf32>
}

// -----

// What is wanted as a whole stays so.
// CHECK-LABEL: chunk.program @whole
// CHECK: %[[R:.*]] = chunk.map exp %{{.*}} : tensor<8x5xf32>
// CHECK: chunk.slice %[[R]][0 for 3]
chunk.program @whole {} chunk 8 {
  %x = chunk.input "x" : tensor<8x3xf32>
  %y = chunk.input "y" : tensor<8x2xf32>
  %xy = chunk.concat %x, %y : tensor<8x3xf32>, tensor<8x2xf32> to tensor<8x5xf32>
  %r = chunk.map exp %xy : tensor<8x5xf32>
  %a = chunk.slice %r[0 for 3] : tensor<8x5xf32>
  chunk.output "a" %a : tensor<8x3xf32>
  chunk.output "r" %r : tensor<8x5xf32>
}

// -----

// Parts of what a loop over tokens carries are taken where it is carried.
// CHECK-LABEL: chunk.program @carried
// CHECK: chunk.slice %{{.*}}[0 for 2] : tensor<1x4xf32>
chunk.program @carried {} chunk 8 {
  %x = chunk.input "x" : tensor<8x2xf32>
  %s = chunk.state "s" : tensor<4xf32>
  %y, %next = chunk.token_loop (%row = %x : tensor<8x2xf32>) carry (%w = %s : tensor<4xf32>) -> (tensor<8x2xf32>, tensor<4xf32>) {
    %found = chunk.slice %w[0 for 2] : tensor<1x4xf32>
    %kept = chunk.slice %w[2 for 2] : tensor<1x4xf32>
    %moved = chunk.concat %kept, %row : tensor<1x2xf32>, tensor<1x2xf32> to tensor<1x4xf32>
    chunk.yield %found, %moved : tensor<1x2xf32>, tensor<1x4xf32>
  }
  chunk.output "o" %y : tensor<8x2xf32>
  chunk.next %s, %next : tensor<4xf32>
}

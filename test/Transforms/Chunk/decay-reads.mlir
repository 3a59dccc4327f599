// RUN: recur-opt %s --chunk-decay-reads | FileCheck %s

// CHECK-LABEL: chunk.program @scaled_rows
// CHECK: %[[D:.*]] = chunk.cumulative_decay through log(%g) : tensor<8xf32>
// CHECK-NEXT: %[[X:.*]] = chunk.read %q, %S : tensor<8x3xf32>, tensor<2x3xf32>
// CHECK-NEXT: %[[Y:.*]] = chunk.map mul %[[D]], %[[X]] : tensor<8xf32>, tensor<8x2xf32>
// CHECK-NEXT: chunk.map add %[[Y]], %v : tensor<8x2xf32>, tensor<8x2xf32>
chunk.program @scaled_rows {} chunk 8 {
  %q = chunk.input "q" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %g = chunk.input "g" : tensor<8xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  %d = chunk.cumulative_decay through log(%g) : tensor<8xf32>
  %r = chunk.map mul %d, %q : tensor<8xf32>, tensor<8x3xf32>
  %x = chunk.read %r, %S : tensor<8x3xf32>, tensor<2x3xf32>
  %o = chunk.map add %x, %v : tensor<8x2xf32>, tensor<8x2xf32>
  chunk.output "o" %o : tensor<8x2xf32>
  chunk.next %S, %S : tensor<2x3xf32>
}

// A step for each key goes with the keys, and what nothing takes further would need a pass of its own.
// CHECK-LABEL: chunk.program @stays
// CHECK: %[[R:.*]] = chunk.map mul %{{.*}}, %q : tensor<8x3xf32>, tensor<8x3xf32>
// CHECK-NEXT: chunk.read %[[R]], %S
// CHECK: %[[T:.*]] = chunk.map mul %{{.*}}, %q : tensor<8xf32>, tensor<8x3xf32>
// CHECK-NEXT: %[[O:.*]] = chunk.read %[[T]], %S
// CHECK-NEXT: chunk.output "p" %[[O]]
chunk.program @stays {} chunk 8 {
  %q = chunk.input "q" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %g = chunk.input "g" : tensor<8x3xf32>
  %h = chunk.input "h" : tensor<8xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  %d = chunk.cumulative_decay through log(%g) : tensor<8x3xf32>
  %e = chunk.cumulative_decay through log(%h) : tensor<8xf32>
  %r = chunk.map mul %d, %q : tensor<8x3xf32>, tensor<8x3xf32>
  %x = chunk.read %r, %S : tensor<8x3xf32>, tensor<2x3xf32>
  %o = chunk.map add %x, %v : tensor<8x2xf32>, tensor<8x2xf32>
  chunk.output "o" %o : tensor<8x2xf32>
  %s = chunk.map mul %e, %q : tensor<8xf32>, tensor<8x3xf32>
  %p = chunk.read %s, %S : tensor<8x3xf32>, tensor<2x3xf32>
  chunk.output "p" %p : tensor<8x2xf32>
  chunk.next %S, %S : tensor<2x3xf32>
}

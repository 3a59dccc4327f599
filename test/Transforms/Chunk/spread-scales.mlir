// RUN: recur-opt %s --chunk-spread-scales | FileCheck %s

// CHECK-LABEL: chunk.program @sum
// CHECK: %[[C:.*]] = chunk.constant 5.000000e-01 : tensor<1xf32>
// CHECK: %[[X:.*]] = chunk.read %q, %S : tensor<8x3xf32>, tensor<2x3xf32>
// CHECK-NEXT: %[[A:.*]] = chunk.interaction %q, %k inclusive : tensor<8x3xf32>, tensor<8x3xf32>
// CHECK-NEXT: %[[B:.*]] = chunk.map mul %[[C]], %[[A]] : tensor<1xf32>, tensor<8x8xf32>
// CHECK-NEXT: %[[Y:.*]] = chunk.apply %[[B]], %v : tensor<8x8xf32>, tensor<8x2xf32>
// CHECK-NEXT: %[[Z:.*]] = chunk.map mul %[[C]], %[[X]] : tensor<1xf32>, tensor<8x2xf32>
// CHECK-NEXT: %[[O:.*]] = chunk.map add %[[Z]], %[[Y]] : tensor<8x2xf32>, tensor<8x2xf32>
// CHECK-NEXT: chunk.output "o" %[[O]]
chunk.program @sum {} chunk 8 {
  %c = chunk.constant 0.5 : tensor<1xf32>
  %q = chunk.input "q" : tensor<8x3xf32>
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  %x = chunk.read %q, %S : tensor<8x3xf32>, tensor<2x3xf32>
  %A = chunk.interaction %q, %k inclusive : tensor<8x3xf32>, tensor<8x3xf32>
  %y = chunk.apply %A, %v : tensor<8x8xf32>, tensor<8x2xf32>
  %z = chunk.map add %x, %y : tensor<8x2xf32>, tensor<8x2xf32>
  %o = chunk.map mul %c, %z : tensor<1xf32>, tensor<8x2xf32>
  chunk.output "o" %o : tensor<8x2xf32>
  chunk.next %S, %S : tensor<2x3xf32>
}

// Rows that are scaled already take the constant with their factors; the order of the terms does not matter.
// CHECK-LABEL: chunk.program @scaled
// CHECK: %[[A:.*]] = chunk.interaction
// CHECK-NEXT: %[[E:.*]] = chunk.map mul %{{.*}}, %e : tensor<1xf32>, tensor<8xf32>
// CHECK-NEXT: %[[B:.*]] = chunk.map mul %{{.*}}, %[[A]] : tensor<1xf32>, tensor<8x8xf32>
// CHECK-NEXT: %[[Y:.*]] = chunk.apply %[[B]], %v
// CHECK-NEXT: %[[Z:.*]] = chunk.map mul %[[E]], %{{.*}} : tensor<8xf32>, tensor<8x2xf32>
// CHECK-NEXT: chunk.map add %[[Z]], %[[Y]]
chunk.program @scaled {} chunk 8 {
  %c = chunk.constant 0.5 : tensor<1xf32>
  %q = chunk.input "q" : tensor<8x3xf32>
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %e = chunk.input "e" : tensor<8xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  %x = chunk.read %q, %S : tensor<8x3xf32>, tensor<2x3xf32>
  %ex = chunk.map mul %e, %x : tensor<8xf32>, tensor<8x2xf32>
  %A = chunk.interaction %q, %k inclusive : tensor<8x3xf32>, tensor<8x3xf32>
  %y = chunk.apply %A, %v : tensor<8x8xf32>, tensor<8x2xf32>
  %z = chunk.map add %y, %ex : tensor<8x2xf32>, tensor<8x2xf32>
  %o = chunk.map mul %z, %c : tensor<8x2xf32>, tensor<1xf32>
  chunk.output "o" %o : tensor<8x2xf32>
  chunk.next %S, %S : tensor<2x3xf32>
}

// A sum that is read twice is scaled as it is; so is one whose matrix has another reader.
// CHECK-LABEL: chunk.program @stays
// CHECK: %[[Z:.*]] = chunk.map add
// CHECK-NEXT: chunk.map mul %{{.*}}, %[[Z]]
// CHECK: %[[W:.*]] = chunk.map add
// CHECK-NEXT: chunk.map mul %{{.*}}, %[[W]]
chunk.program @stays {} chunk 8 {
  %c = chunk.constant 0.5 : tensor<1xf32>
  %q = chunk.input "q" : tensor<8x3xf32>
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  %x = chunk.read %q, %S : tensor<8x3xf32>, tensor<2x3xf32>
  %A = chunk.interaction %q, %k inclusive : tensor<8x3xf32>, tensor<8x3xf32>
  %y = chunk.apply %A, %v : tensor<8x8xf32>, tensor<8x2xf32>
  %z = chunk.map add %x, %y : tensor<8x2xf32>, tensor<8x2xf32>
  %o = chunk.map mul %c, %z : tensor<1xf32>, tensor<8x2xf32>
  chunk.output "o" %o : tensor<8x2xf32>
  chunk.output "z" %z : tensor<8x2xf32>
  %r = chunk.read %k, %S : tensor<8x3xf32>, tensor<2x3xf32>
  %B = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
  %s = chunk.apply %B, %v : tensor<8x8xf32>, tensor<8x2xf32>
  %t = chunk.apply %B, %o : tensor<8x8xf32>, tensor<8x2xf32>
  %w = chunk.map add %r, %s : tensor<8x2xf32>, tensor<8x2xf32>
  %p = chunk.map mul %c, %w : tensor<1xf32>, tensor<8x2xf32>
  chunk.output "p" %p : tensor<8x2xf32>
  chunk.output "t" %t : tensor<8x2xf32>
  chunk.next %S, %S : tensor<2x3xf32>
}

// A row of constants is of the channels of what was read, of which the matrix has none.
// CHECK-LABEL: chunk.program @channels
// CHECK: %[[Z:.*]] = chunk.map add
// CHECK-NEXT: chunk.map mul %{{.*}}, %[[Z]] : tensor<1x2xf32>, tensor<8x2xf32>
chunk.program @channels {} chunk 8 {
  %c = chunk.constant 0.5 : tensor<1x2xf32>
  %q = chunk.input "q" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  %x = chunk.read %q, %S : tensor<8x3xf32>, tensor<2x3xf32>
  %A = chunk.interaction %q, %q inclusive : tensor<8x3xf32>, tensor<8x3xf32>
  %y = chunk.apply %A, %v : tensor<8x8xf32>, tensor<8x2xf32>
  %z = chunk.map add %x, %y : tensor<8x2xf32>, tensor<8x2xf32>
  %o = chunk.map mul %c, %z : tensor<1x2xf32>, tensor<8x2xf32>
  chunk.output "o" %o : tensor<8x2xf32>
  chunk.next %S, %S : tensor<2x3xf32>
}

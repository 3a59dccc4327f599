// RUN: recur-opt %s --chunk-gather-once | FileCheck %s

// CHECK-LABEL: chunk.program @sum
// CHECK: %[[A:.*]] = chunk.interaction %q, %k inclusive
// CHECK-NEXT: %[[B:.*]] = chunk.interaction %k, %q inclusive
// CHECK-NEXT: %[[C:.*]] = chunk.map add %[[B]], %[[A]] : tensor<8x8xf32>, tensor<8x8xf32>
// CHECK-NEXT: %[[O:.*]] = chunk.apply %[[C]], %v : tensor<8x8xf32>, tensor<8x2xf32>
// CHECK-NEXT: chunk.output "o" %[[O]]
chunk.program @sum {} chunk 8 {
  %q = chunk.input "q" : tensor<8x3xf32>
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %A = chunk.interaction %q, %k inclusive : tensor<8x3xf32>, tensor<8x3xf32>
  %B = chunk.interaction %k, %q inclusive : tensor<8x3xf32>, tensor<8x3xf32>
  %x = chunk.apply %A, %v : tensor<8x8xf32>, tensor<8x2xf32>
  %y = chunk.apply %B, %v : tensor<8x8xf32>, tensor<8x2xf32>
  %o = chunk.map add %x, %y : tensor<8x2xf32>, tensor<8x2xf32>
  chunk.output "o" %o : tensor<8x2xf32>
}

// Terms of a nested sum, of which one is taken off: what is left of its sum has the other sign.
// CHECK-LABEL: chunk.program @nested
// CHECK: %[[X:.*]] = chunk.read %q, %S
// CHECK: %[[Z:.*]] = chunk.read %k, %S
// CHECK-NEXT: %[[N:.*]] = chunk.map neg %[[X]]
// CHECK-NEXT: %[[C:.*]] = chunk.map sub %{{.*}}, %{{.*}} : tensor<8x8xf32>, tensor<8x8xf32>
// CHECK-NEXT: %[[Y:.*]] = chunk.apply %[[C]], %v
// CHECK-NEXT: %[[W:.*]] = chunk.map sub %[[Z]], %[[Y]]
// CHECK-NEXT: %[[O:.*]] = chunk.map add %[[N]], %[[W]]
// CHECK-NEXT: chunk.output "o" %[[O]]
chunk.program @nested {} chunk 8 {
  %q = chunk.input "q" : tensor<8x3xf32>
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  %x = chunk.read %q, %S : tensor<8x3xf32>, tensor<2x3xf32>
  %A = chunk.interaction %q, %k inclusive : tensor<8x3xf32>, tensor<8x3xf32>
  %B = chunk.interaction %k, %q inclusive : tensor<8x3xf32>, tensor<8x3xf32>
  %a = chunk.apply %A, %v : tensor<8x8xf32>, tensor<8x2xf32>
  %z = chunk.read %k, %S : tensor<8x3xf32>, tensor<2x3xf32>
  %s = chunk.map sub %a, %x : tensor<8x2xf32>, tensor<8x2xf32>
  %b = chunk.apply %B, %v : tensor<8x8xf32>, tensor<8x2xf32>
  %t = chunk.map sub %z, %b : tensor<8x2xf32>, tensor<8x2xf32>
  %o = chunk.map add %s, %t : tensor<8x2xf32>, tensor<8x2xf32>
  chunk.output "o" %o : tensor<8x2xf32>
  chunk.next %S, %S : tensor<2x3xf32>
}

// Other values, a second reader of what was gathered, and a decay on the way: each gathers by itself.
// CHECK-LABEL: chunk.program @stays
// CHECK-COUNT-5: chunk.apply
chunk.program @stays {} chunk 8 {
  %q = chunk.input "q" : tensor<8x3xf32>
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %w = chunk.input "w" : tensor<8x2xf32>
  %l = chunk.input "l" : tensor<8x2xf32>
  %A = chunk.interaction %q, %k inclusive : tensor<8x3xf32>, tensor<8x3xf32>
  %B = chunk.interaction %k, %q inclusive : tensor<8x3xf32>, tensor<8x3xf32>
  %a = chunk.apply %A, %v : tensor<8x8xf32>, tensor<8x2xf32>
  %b = chunk.apply %B, %w : tensor<8x8xf32>, tensor<8x2xf32>
  %c = chunk.apply %B, %v : tensor<8x8xf32>, tensor<8x2xf32>
  %d = chunk.apply %B, %v inclusive decay linear(%l : tensor<8x2xf32>) : tensor<8x8xf32>, tensor<8x2xf32>
  %e = chunk.apply %A, %w : tensor<8x8xf32>, tensor<8x2xf32>
  %ab = chunk.map add %a, %b : tensor<8x2xf32>, tensor<8x2xf32>
  %abc = chunk.map add %ab, %c : tensor<8x2xf32>, tensor<8x2xf32>
  %abcd = chunk.map add %abc, %d : tensor<8x2xf32>, tensor<8x2xf32>
  chunk.output "o" %abcd : tensor<8x2xf32>
  chunk.output "c" %c : tensor<8x2xf32>
  chunk.output "e" %e : tensor<8x2xf32>
}

// RUN: recur-opt %s --split-input-file --chunk-unscaled-inputs --canonicalize | FileCheck %s

// CHECK-LABEL: chunk.program @scaled
// CHECK: %[[D:.*]] = chunk.cumulative_decay through log(%g) : tensor<8xf32>
// CHECK: %[[X:.*]] = chunk.read %q, %S : tensor<8x3xf32>, tensor<2x3xf32>
// CHECK: %[[Y:.*]] = chunk.map mul %[[D]], %[[X]] : tensor<8xf32>, tensor<8x2xf32>
// CHECK: chunk.output "o" %[[Y]]
// CHECK: %[[E:.*]] = chunk.cumulative_decay after log(%g) : tensor<8xf32>
// CHECK: %[[U:.*]] = chunk.map mul %[[E]], %v : tensor<8xf32>, tensor<8x2xf32>
// CHECK: chunk.advance %S, %[[U]], %k : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
chunk.program @scaled {} chunk 8 {
  %q = chunk.input "q" : tensor<8x3xf32>
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %g = chunk.input "g" : tensor<8xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  %d = chunk.cumulative_decay through log(%g) : tensor<8xf32>
  %r = chunk.map mul %d, %q : tensor<8xf32>, tensor<8x3xf32>
  %x = chunk.read %r, %S : tensor<8x3xf32>, tensor<2x3xf32>
  chunk.output "o" %x : tensor<8x2xf32>
  %e = chunk.cumulative_decay after log(%g) : tensor<8xf32>
  %w = chunk.map mul %e, %k : tensor<8xf32>, tensor<8x3xf32>
  %S1 = chunk.advance %S, %v, %w : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  chunk.next %S, %S1 : tensor<2x3xf32>
}

// -----

// A step for each key goes with the keys, and rows that are made have no input to take in their place.
// CHECK-LABEL: chunk.program @stays
// CHECK: %[[R:.*]] = chunk.map mul %{{.*}}, %q : tensor<8x3xf32>, tensor<8x3xf32>
// CHECK: chunk.read %[[R]], %S
// CHECK: %[[M:.*]] = chunk.map neg %k : tensor<8x3xf32>
// CHECK: %[[W:.*]] = chunk.map mul %b, %[[M]] : tensor<8xf32>, tensor<8x3xf32>
// CHECK: chunk.advance %S, %v, %[[W]]
chunk.program @stays {} chunk 8 {
  %q = chunk.input "q" : tensor<8x3xf32>
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %g = chunk.input "g" : tensor<8x3xf32>
  %b = chunk.input "b" : tensor<8xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  %d = chunk.cumulative_decay through log(%g) : tensor<8x3xf32>
  %r = chunk.map mul %d, %q : tensor<8x3xf32>, tensor<8x3xf32>
  %x = chunk.read %r, %S : tensor<8x3xf32>, tensor<2x3xf32>
  chunk.output "o" %x : tensor<8x2xf32>
  %m = chunk.map neg %k : tensor<8x3xf32>
  %w = chunk.map mul %b, %m : tensor<8xf32>, tensor<8x3xf32>
  %S1 = chunk.advance %S, %v, %w : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  chunk.next %S, %S1 : tensor<2x3xf32>
}

// -----

// Rows that are made are there where an interaction takes them, unless it has a decay of each channel, which scales them.
// CHECK-LABEL: chunk.program @made
// CHECK: %[[P:.*]] = chunk.map exp %k : tensor<8x3xf32>
// CHECK: chunk.interaction %k, %[[P]]
// CHECK: %[[M:.*]] = chunk.map neg %k : tensor<8x3xf32>
// CHECK: chunk.interaction %k, %[[M]]
// CHECK: %[[U:.*]] = chunk.map mul %b, %v : tensor<8xf32>, tensor<8x2xf32>
// CHECK: chunk.advance %S, %[[U]], %[[P]]
// CHECK: %[[W:.*]] = chunk.map mul %b, %[[M]] : tensor<8xf32>, tensor<8x3xf32>
// CHECK: chunk.advance %{{.*}}, %v, %[[W]]
chunk.program @made {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %b = chunk.input "b" : tensor<8xf32>
  %g = chunk.input "g" : tensor<8x3xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  %p = chunk.map exp %k : tensor<8x3xf32>
  %a = chunk.interaction %k, %p inclusive : tensor<8x3xf32>, tensor<8x3xf32>
  chunk.give "a" %a : tensor<8x8xf32>
  %m = chunk.map neg %k : tensor<8x3xf32>
  %c = chunk.interaction %k, %m inclusive decay log(%g : tensor<8x3xf32>) : tensor<8x3xf32>, tensor<8x3xf32>
  chunk.give "c" %c : tensor<8x8xf32>
  %wp = chunk.map mul %b, %p : tensor<8xf32>, tensor<8x3xf32>
  %S1 = chunk.advance %S, %v, %wp : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  %wm = chunk.map mul %b, %m : tensor<8xf32>, tensor<8x3xf32>
  %S2 = chunk.advance %S1, %v, %wm : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  chunk.next %S, %S2 : tensor<2x3xf32>
}

// -----

// A cotangent that comes in scaled stays as it came too: one number scales it for both.
// CHECK-LABEL: chunk.program @back
// CHECK: %[[B:.*]] = chunk.map mul %b, %{{.*}} : tensor<8xf32>, tensor<1xf32>
// CHECK: %[[D:.*]] = chunk.map mul %[[B]], %cotangent.o : tensor<8xf32>, tensor<8x2xf32>
// CHECK: chunk.advance %gradient.S, %[[D]], %q
chunk.program @back {} chunk 8 backward {
  %q = chunk.input "q" : tensor<8x3xf32>
  %b = chunk.input "b" : tensor<8xf32>
  %d = chunk.input "cotangent.o" : tensor<8x2xf32>
  %S = chunk.state "gradient.S" : tensor<2x3xf32>
  %s = chunk.constant 0.5 : tensor<1xf32>
  %x = chunk.map mul %d, %s : tensor<8x2xf32>, tensor<1xf32>
  %y = chunk.map mul %b, %q : tensor<8xf32>, tensor<8x3xf32>
  %S1 = chunk.advance %S, %x, %y : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  chunk.next %S, %S1 : tensor<2x3xf32>
}

// -----

// A constant that scales rows of an input which a matrix of the tokens is applied to scales that matrix, if nothing else takes it.
// CHECK-LABEL: chunk.program @applied
// CHECK: %[[A:.*]] = chunk.interaction %q, %k inclusive
// CHECK: %[[M:.*]] = chunk.map mul %{{.*}}, %[[A]] : tensor<1xf32>, tensor<8x8xf32>
// CHECK: chunk.apply_transposed %[[M]], %cotangent.o
// CHECK: %[[X:.*]] = chunk.map mul %cotangent.p, %{{.*}} : tensor<8x2xf32>, tensor<1xf32>
// CHECK: chunk.apply_transposed %{{.*}}, %[[X]]
chunk.program @applied {} chunk 8 backward {
  %q = chunk.input "q" : tensor<8x3xf32>
  %k = chunk.input "k" : tensor<8x3xf32>
  %d = chunk.input "cotangent.o" : tensor<8x2xf32>
  %e = chunk.input "cotangent.p" : tensor<8x2xf32>
  %s = chunk.constant 0.5 : tensor<1xf32>
  %a = chunk.interaction %q, %k inclusive : tensor<8x3xf32>, tensor<8x3xf32>
  %x = chunk.map mul %d, %s : tensor<8x2xf32>, tensor<1xf32>
  %u = chunk.apply_transposed %a, %x : tensor<8x8xf32>, tensor<8x2xf32>
  chunk.give "u" %u : tensor<8x2xf32>
  %b = chunk.interaction %k, %q inclusive : tensor<8x3xf32>, tensor<8x3xf32>
  chunk.give "b" %b : tensor<8x8xf32>
  %y = chunk.map mul %e, %s : tensor<8x2xf32>, tensor<1xf32>
  %w = chunk.apply_transposed %b, %y : tensor<8x8xf32>, tensor<8x2xf32>
  chunk.give "w" %w : tensor<8x2xf32>
}

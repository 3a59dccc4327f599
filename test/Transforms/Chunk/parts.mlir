// RUN: recur-opt %s --split-input-file --chunk-parts=size=2 | FileCheck %s
// RUN: recur-opt %s --split-input-file --chunk-parts="size=1 alone=2" | FileCheck %s --check-prefix=ALONE
// RUN: recur-opt %s --split-input-file --chunk-parts="size=1 alone=3 cut-short" | FileCheck %s --check-prefix=CUT

// Channels of values are apart, those of keys are added up over by the read.
// CHECK-LABEL: chunk.program @apart
// CHECK: %w = chunk.take "w" : tensor<8x4xf32>
// CHECK: %y = chunk.take "y" : tensor<8x2xf32>
// CHECK: %S = chunk.state "S" : tensor<2x4xf32>
// CHECK: chunk.read %w, %S : tensor<8x4xf32>, tensor<2x4xf32>
// CHECK: chunk.advance %S, %{{.*}}, %w rows(%d : tensor<1x2xf32>) : tensor<2x4xf32>, tensor<8x2xf32>, tensor<8x4xf32>
// CHECK: chunk.give "S" whole %S : tensor<2x4xf32>
chunk.program @apart {} chunk 8 {
  %w = chunk.take "w" : tensor<8x4xf32>
  %y = chunk.take "y" : tensor<8x4xf32>
  %d = chunk.take "d" : tensor<1x4xf32>
  %S = chunk.state "S" : tensor<4x4xf32>
  %x = chunk.read %w, %S : tensor<8x4xf32>, tensor<4x4xf32>
  %u = chunk.map add %y, %x : tensor<8x4xf32>, tensor<8x4xf32>
  %S1 = chunk.advance %S, %u, %w rows(%d : tensor<1x4xf32>) : tensor<4x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>
  chunk.give "S" whole %S : tensor<4x4xf32>
  chunk.next %S, %S1 : tensor<4x4xf32>
}

// -----

// As a matrix of one token a state has the same channels, and so have its rows' scales and the product of two vectors.
// CHECK-LABEL: chunk.program @reshaped
// CHECK: %r = chunk.take "r" : tensor<1x2xf32>
// CHECK: %c = chunk.take "c" : tensor<1x4xf32>
// CHECK: %S = chunk.state "S" : tensor<2x4xf32>
// CHECK: chunk.map scale_rows %r, %{{.*}} : tensor<1x2xf32>, tensor<1x2x4xf32>
// CHECK: chunk.map scale_cols %{{.*}}, %c : tensor<1x2x4xf32>, tensor<1x4xf32>
// CHECK: chunk.map outer %r, %c : tensor<1x2xf32>, tensor<1x4xf32>
chunk.program @reshaped {} chunk 8 {
  %w = chunk.take "w" : tensor<8x4xf32>
  %y = chunk.take "y" : tensor<8x4xf32>
  %r = chunk.take "r" : tensor<1x4xf32>
  %c = chunk.take "c" : tensor<1x4xf32>
  %S = chunk.state "S" : tensor<4x4xf32>
  %x = chunk.read %w, %S : tensor<8x4xf32>, tensor<4x4xf32>
  %u = chunk.map add %y, %x : tensor<8x4xf32>, tensor<8x4xf32>
  %S1 = chunk.advance %S, %u, %w : tensor<4x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>
  %S2 = chunk.reshape_state %S1 : tensor<4x4xf32> to tensor<1x4x4xf32>
  %S3 = chunk.map scale_rows %r, %S2 : tensor<1x4xf32>, tensor<1x4x4xf32>
  %S4 = chunk.map scale_cols %S3, %c : tensor<1x4x4xf32>, tensor<1x4xf32>
  %rc = chunk.map outer %r, %c : tensor<1x4xf32>, tensor<1x4xf32>
  %S5 = chunk.map add %S4, %rc : tensor<1x4x4xf32>, tensor<1x4x4xf32>
  %S6 = chunk.reshape_state %S5 : tensor<1x4x4xf32> to tensor<4x4xf32>
  chunk.next %S, %S6 : tensor<4x4xf32>
}

// -----

// The values depend on what is read along them.
// CHECK-LABEL: chunk.program @together
// CHECK: chunk.advance {{.*}} : tensor<4x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>
chunk.program @together {} chunk 8 {
  %k = chunk.input "k" : tensor<8x4xf32>
  %v = chunk.input "v" : tensor<8x4xf32>
  %S = chunk.state "S" : tensor<4x4xf32>
  %x = chunk.read left %v, %S : tensor<8x4xf32>, tensor<4x4xf32>
  %y = chunk.read %x, %S : tensor<8x4xf32>, tensor<4x4xf32>
  %S1 = chunk.advance %S, %y, %k : tensor<4x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>
  chunk.next %S, %S1 : tensor<4x4xf32>
}

// -----

// What leaves the chunk has no channels of the state.
// CHECK-LABEL: chunk.program @summed
// CHECK: chunk.state "S" : tensor<4x3xf32>
chunk.program @summed {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x4xf32>
  %S = chunk.state "S" : tensor<4x3xf32>
  %x = chunk.read left %v, %S : tensor<8x4xf32>, tensor<4x3xf32>
  %S1 = chunk.advance %S, %v, %k : tensor<4x3xf32>, tensor<8x4xf32>, tensor<8x3xf32>
  chunk.output "o" %x : tensor<8x3xf32>
  chunk.next %S, %S1 : tensor<4x3xf32>
}

// -----

// One state that is read and advanced with rows that are there has parts of its own size, whatever functions of elements are
// between; with a matrix that is made of the rows it has the others'.
// CHECK-LABEL: chunk.program @alone
// CHECK: chunk.state "S" : tensor<2x4xf32>
// ALONE-LABEL: chunk.program @alone
// ALONE: chunk.state "S" : tensor<2x4xf32>
// The last of its parts may have fewer channels, and then it is for those that have all; others' parts are of one size.
// CUT-LABEL: chunk.program @alone
// CUT: chunk.take "y" : tensor<8x3xf32>
// CUT: chunk.state "S" : tensor<3x4xf32>
chunk.program @alone {} chunk 8 {
  %w = chunk.take "w" : tensor<8x4xf32>
  %y = chunk.take "y" : tensor<8x4xf32>
  %S = chunk.state "S" : tensor<4x4xf32>
  %x = chunk.read %w, %S : tensor<8x4xf32>, tensor<4x4xf32>
  %u = chunk.map add %y, %x : tensor<8x4xf32>, tensor<8x4xf32>
  %S1 = chunk.advance %S, %u, %w : tensor<4x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>
  chunk.give "S" whole %S : tensor<4x4xf32>
  chunk.next %S, %S1 : tensor<4x4xf32>
}

// -----

// ALONE-LABEL: chunk.program @busy
// ALONE: chunk.state "S" : tensor<1x4xf32>
// CUT-LABEL: chunk.program @busy
// CUT: chunk.state "S" : tensor<1x4xf32>
chunk.program @busy {} chunk 8 {
  %w = chunk.take "w" : tensor<8x4xf32>
  %S = chunk.state "S" : tensor<4x4xf32>
  %x = chunk.read %w, %S : tensor<8x4xf32>, tensor<4x4xf32>
  %n = chunk.map neg %w : tensor<8x4xf32>
  %T = chunk.interaction %n, %w inclusive : tensor<8x4xf32>, tensor<8x4xf32>
  %u = chunk.apply %T, %x : tensor<8x8xf32>, tensor<8x4xf32>
  %S1 = chunk.advance %S, %u, %w : tensor<4x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>
  chunk.give "S" whole %S : tensor<4x4xf32>
  chunk.next %S, %S1 : tensor<4x4xf32>
}

// -----

// Matrices of the tokens that were left are whole, and what they are applied to has parts.
// ALONE-LABEL: chunk.program @applied
// ALONE: %T = chunk.take "T" triangle [1, 1] : tensor<8x8xf32>
// ALONE: chunk.state "S" : tensor<2x4xf32>
// ALONE: chunk.apply %T, %{{.*}} : tensor<8x8xf32>, tensor<8x2xf32>
// ALONE: chunk.map exp %{{.*}} : tensor<8x2xf32>
// ALONE: chunk.output "o" %{{.*}} : tensor<8x2xf32>
chunk.program @applied {} chunk 8 {
  %w = chunk.take "w" : tensor<8x4xf32>
  %T = chunk.take "T" triangle [1, 1] : tensor<8x8xf32>
  %S = chunk.state "S" : tensor<4x4xf32>
  %x = chunk.read %w, %S : tensor<8x4xf32>, tensor<4x4xf32>
  %y = chunk.apply %T, %x : tensor<8x8xf32>, tensor<8x4xf32>
  %u = chunk.map exp %y : tensor<8x4xf32>
  chunk.output "o" %u : tensor<8x4xf32>
  %S1 = chunk.advance %S, %u, %w : tensor<4x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>
  chunk.next %S, %S1 : tensor<4x4xf32>
}

// -----

// Params of one number leave the state alone; those of several do not.
// ALONE-LABEL: chunk.program @number
// ALONE: chunk.state "S" : tensor<2x4xf32>
// ALONE: chunk.output "o" %{{.*}} : tensor<8x2xf32>
chunk.program @number {} chunk 8 {
  %w = chunk.take "w" : tensor<8x4xf32>
  %p = chunk.param "p" : tensor<1xf32>
  %S = chunk.state "S" : tensor<4x4xf32>
  %g = chunk.broadcast %p : tensor<1xf32> to tensor<8xf32>
  %x = chunk.read %w, %S : tensor<8x4xf32>, tensor<4x4xf32>
  %y = chunk.map mul %g, %x : tensor<8xf32>, tensor<8x4xf32>
  %u = chunk.map mul %p, %y : tensor<1xf32>, tensor<8x4xf32>
  chunk.output "o" %u : tensor<8x4xf32>
  %S1 = chunk.advance %S, %u, %w : tensor<4x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>
  chunk.next %S, %S1 : tensor<4x4xf32>
}

// -----

// ALONE-LABEL: chunk.program @several
// ALONE: chunk.state "S" : tensor<1x4xf32>
chunk.program @several {} chunk 8 {
  %w = chunk.take "w" : tensor<8x4xf32>
  %p = chunk.param "p" : tensor<1x4xf32>
  %S = chunk.state "S" : tensor<4x4xf32>
  %x = chunk.read %w, %S : tensor<8x4xf32>, tensor<4x4xf32>
  %y = chunk.map mul %p, %x : tensor<1x4xf32>, tensor<8x4xf32>
  chunk.output "o" %y : tensor<8x4xf32>
  %S1 = chunk.advance %S, %y, %w : tensor<4x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>
  chunk.next %S, %S1 : tensor<4x4xf32>
}

// -----

// What keeps a state in registers counts its rows: columns that nobody reads are apart too, but their last part is not cut short.
// CUT-LABEL: chunk.program @written
// CUT: chunk.state "S" : tensor<3x4xf32>
chunk.program @written {} chunk 8 {
  %w = chunk.take "w" : tensor<8x4xf32>
  %y = chunk.take "y" : tensor<8x3xf32>
  %S = chunk.state "S" : tensor<3x4xf32>
  %S1 = chunk.advance %S, %y, %w : tensor<3x4xf32>, tensor<8x3xf32>, tensor<8x4xf32>
  chunk.give "S" whole %S : tensor<3x4xf32>
  chunk.next %S, %S1 : tensor<3x4xf32>
}

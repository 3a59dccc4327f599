// RUN: recur-opt --canonicalize --split-input-file %s | FileCheck %s

// Zero as a logarithm, or one as it is, is no decay; a factor of one is left out.
// CHECK-LABEL: chunk.program @neutral_decay
chunk.program @neutral_decay {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  %A = chunk.state "A" : tensor<3xf32>
  %zero = chunk.constant 0.0 : tensor<1xf32>
  %one = chunk.constant 1.0 : tensor<1xf32>
  %g = chunk.broadcast %zero : tensor<1xf32> to tensor<8xf32>
  %l = chunk.broadcast %one : tensor<1xf32> to tensor<8x2xf32>
  // CHECK: %[[A:.*]] = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
  %L = chunk.interaction %k, %k strict decay log(%g : tensor<8xf32>) : tensor<8x3xf32>, tensor<8x3xf32>
  // CHECK: %[[U:.*]] = chunk.solve %[[A]], %v : tensor<8x8xf32>, tensor<8x2xf32>
  %U = chunk.solve %L, %v strict decay linear(%l : tensor<8x2xf32>) : tensor<8x8xf32>, tensor<8x2xf32>
  // CHECK: %[[O:.*]] = chunk.apply %[[A]], %[[U]] : tensor<8x8xf32>, tensor<8x2xf32>
  %o = chunk.apply %L, %U strict decay linear(%l : tensor<8x2xf32>) : tensor<8x8xf32>, tensor<8x2xf32>
  %after = chunk.cumulative_decay after log(%g) : tensor<8xf32>
  %total = chunk.cumulative_decay total log(%g) : tensor<8xf32>
  %keys = chunk.map mul %k, %after : tensor<8x3xf32>, tensor<8xf32>
  // CHECK: %[[S:.*]] = chunk.advance %S, %[[U]], %k : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  %S1 = chunk.advance %S, %U, %keys columns(%total : tensor<1xf32>) : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  // CHECK: chunk.scan %A, %k : tensor<3xf32>, tensor<8x3xf32>
  %all, %last = chunk.scan %A, %k decay log(%g : tensor<8xf32>) : tensor<3xf32>, tensor<8x3xf32>
  // CHECK: chunk.output "o" %[[O]]
  chunk.output "o" %o : tensor<8x2xf32>
  // CHECK: chunk.next %S, %[[S]]
  chunk.next %S, %S1 : tensor<2x3xf32>
  chunk.next %A, %last : tensor<3xf32>
}

// -----

// A decay that is one number, but not the neutral one, stays.
// CHECK-LABEL: chunk.program @constant_decay
chunk.program @constant_decay {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %one = chunk.constant 1.0 : tensor<8xf32>
  // CHECK: chunk.interaction %k, %k strict decay log(%{{.*}} : tensor<8xf32>)
  %L = chunk.interaction %k, %k strict decay log(%one : tensor<8xf32>) : tensor<8x3xf32>, tensor<8x3xf32>
  chunk.output "o" %L : tensor<8x8xf32>
}

// -----

// An erase gain of zero erases nothing: there is nothing to solve.
// CHECK-LABEL: chunk.program @absent_erase
chunk.program @absent_erase {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %zero = chunk.constant 0.0 : tensor<1xf32>
  %A = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
  %L = chunk.map mul %zero, %A : tensor<1xf32>, tensor<8x8xf32>
  %U = chunk.solve %L, %v : tensor<8x8xf32>, tensor<8x2xf32>
  // CHECK-NEXT: %k = chunk.input
  // CHECK-NEXT: %v = chunk.input
  // CHECK-NEXT: chunk.output "u" %v
  chunk.output "u" %U : tensor<8x2xf32>
}

// -----

// In a chunk of one token nothing is seen of earlier tokens.
// CHECK-LABEL: chunk.program @empty_mask
chunk.program @empty_mask {} chunk 1 {
  %k = chunk.input "k" : tensor<1x3xf32>
  %v = chunk.input "v" : tensor<1x2xf32>
  %A = chunk.interaction %k, %k strict : tensor<1x3xf32>, tensor<1x3xf32>
  %U = chunk.solve %A, %v : tensor<1x1xf32>, tensor<1x2xf32>
  %y = chunk.apply %A, %U : tensor<1x1xf32>, tensor<1x2xf32>
  %o = chunk.map add %y, %v : tensor<1x2xf32>, tensor<1x2xf32>
  // CHECK: chunk.output "o" %v
  chunk.output "o" %o : tensor<1x2xf32>
}

// -----

// Unit gains, signs, and constants.
// CHECK-LABEL: chunk.program @arithmetic
chunk.program @arithmetic {} chunk 8 {
  %v = chunk.input "v" : tensor<8x2xf32>
  %w = chunk.input "w" : tensor<8x2xf32>
  %one = chunk.constant 1.0 : tensor<1xf32>
  %minus = chunk.map neg %one : tensor<1xf32>
  %unit = chunk.map mul %one, %v : tensor<1xf32>, tensor<8x2xf32>
  %negative = chunk.map mul %minus, %w : tensor<1xf32>, tensor<8x2xf32>
  // CHECK: %[[D:.*]] = chunk.map sub %v, %w : tensor<8x2xf32>, tensor<8x2xf32>
  %sum = chunk.map add %unit, %negative : tensor<8x2xf32>, tensor<8x2xf32>
  // CHECK: chunk.output "o" %[[D]]
  chunk.output "o" %sum : tensor<8x2xf32>
  // The sign of a matrix is that of what it makes of a vector.
  // CHECK: %[[M:.*]] = chunk.map matvec %m, %w : tensor<1x3x2xf32>, tensor<8x2xf32>
  // CHECK: %[[N:.*]] = chunk.map neg %[[M]] : tensor<8x3xf32>
  // CHECK: chunk.output "turned" %[[N]]
  %m = chunk.param "m" : tensor<1x3x2xf32>
  %other = chunk.map neg %m : tensor<1x3x2xf32>
  %turned = chunk.map matvec %other, %w : tensor<1x3x2xf32>, tensor<8x2xf32>
  chunk.output "turned" %turned : tensor<8x3xf32>
  // A scalar of one that would lose its shape stays.
  %p = chunk.param "p" : tensor<1xf32>
  %ones = chunk.constant 1.0 : tensor<8xf32>
  // CHECK: chunk.map mul %{{.*}}, %p : tensor<8xf32>, tensor<1xf32>
  %wide = chunk.map mul %ones, %p : tensor<8xf32>, tensor<1xf32>
  chunk.output "p" %wide : tensor<8xf32>
}

// -----

// Micro-steps that are put together and taken apart again.
// CHECK-LABEL: chunk.program @steps
chunk.program @steps {} chunk 8 {
  %v = chunk.input "v" : tensor<8x2xf32>
  %w = chunk.input "w" : tensor<8x2xf32>
  %rows = chunk.interleave %v, %w : tensor<8x2xf32>, tensor<8x2xf32>
  %second = chunk.deinterleave %rows 1 of 2 : tensor<16x2xf32>
  %one = chunk.interleave %v : tensor<8x2xf32>
  // CHECK: chunk.output "w" %w
  chunk.output "w" %second : tensor<8x2xf32>
  // CHECK: chunk.output "v" %v
  chunk.output "v" %one : tensor<8x2xf32>
}

// -----

// A choice that a constant makes.
// CHECK-LABEL: chunk.program @choices
chunk.program @choices {} chunk 8 {
  %v = chunk.input "v" : tensor<8x2xf32>
  %w = chunk.input "w" : tensor<8x2xf32>
  %zero = chunk.constant 0.0 : tensor<1xf32>
  %one = chunk.constant 1.0 : tensor<1xf32>
  %second = chunk.map select %one, %v, %w : tensor<1xf32>, tensor<8x2xf32>, tensor<8x2xf32>
  // CHECK: chunk.output "v" %v
  chunk.output "v" %second : tensor<8x2xf32>
  %third = chunk.map select %zero, %v, %w : tensor<1xf32>, tensor<8x2xf32>, tensor<8x2xf32>
  // CHECK: chunk.output "w" %w
  chunk.output "w" %third : tensor<8x2xf32>
}

// -----

// A part of what was put together is that part.
// CHECK-LABEL: chunk.program @parts
chunk.program @parts {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %p = chunk.param "p" : tensor<1x3xf32>
  %whole = chunk.concat %p, %k : tensor<1x3xf32>, tensor<8x3xf32> to tensor<8x6xf32>
  %rows = chunk.concat %k, %k : tensor<8x3xf32>, tensor<8x3xf32> to tensor<8x2x3xf32>
  // CHECK: chunk.output "a" %k : tensor<8x3xf32>
  %a = chunk.slice %whole[3 for 3] : tensor<8x6xf32>
  chunk.output "a" %a : tensor<8x3xf32>
  // CHECK: chunk.output "b" %k : tensor<8x3xf32>
  %b = chunk.extract %rows[1] : tensor<8x2x3xf32>
  chunk.output "b" %b : tensor<8x3xf32>
  // What has one row for all tokens is not the part, which has one for each.
  // CHECK: %[[C:.*]] = chunk.slice %{{.*}}[0 for 3] : tensor<8x6xf32>
  // CHECK: chunk.output "c" %[[C]] : tensor<8x3xf32>
  %c = chunk.slice %whole[0 for 3] : tensor<8x6xf32>
  chunk.output "c" %c : tensor<8x3xf32>
}

// -----

// A scan takes steps as they are where only scans took their logarithms; others keep them.
// CHECK-LABEL: chunk.program @steps_of_logarithms
chunk.program @steps_of_logarithms {} chunk 8 {
  %z = chunk.input "z" : tensor<8x3xf32>
  %a = chunk.input "a" : tensor<8x3xf32>
  %x = chunk.input "x" : tensor<8x3xf32>
  %A = chunk.state "A" : tensor<3xf32>
  %B = chunk.state "B" : tensor<3xf32>
  %C = chunk.state "C" : tensor<3xf32>
  // CHECK: %[[NEGATED:.*]] = chunk.map neg %z
  // CHECK: %[[STEP:.*]] = chunk.map sigmoid %[[NEGATED]]
  // CHECK: chunk.scan %A, %x decay linear(%[[STEP]] : tensor<8x3xf32>)
  %soft = chunk.map softplus %z : tensor<8x3xf32>
  %g = chunk.map neg %soft : tensor<8x3xf32>
  %all0, %last0 = chunk.scan %A, %x decay log(%g : tensor<8x3xf32>) : tensor<3xf32>, tensor<8x3xf32>
  // CHECK: chunk.scan %B, %x decay linear(%a : tensor<8x3xf32>)
  %l = chunk.map log %a : tensor<8x3xf32>
  %all1, %last1 = chunk.scan %B, %x decay log(%l : tensor<8x3xf32>) : tensor<3xf32>, tensor<8x3xf32>
  // CHECK: %[[LOG:.*]] = chunk.map log %x
  // CHECK: chunk.scan %C, %x decay log(%[[LOG]] : tensor<8x3xf32>)
  %both = chunk.map log %x : tensor<8x3xf32>
  %all2, %last2 = chunk.scan %C, %x decay log(%both : tensor<8x3xf32>) : tensor<3xf32>, tensor<8x3xf32>
  chunk.output "o" %all2 : tensor<8x3xf32>
  chunk.output "l" %both : tensor<8x3xf32>
  chunk.next %A, %last0 : tensor<3xf32>
  chunk.next %B, %last1 : tensor<3xf32>
  chunk.next %C, %last2 : tensor<3xf32>
}

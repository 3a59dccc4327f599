// RUN: recur-opt %s --chunk-choose-factors | FileCheck %s
// RUN: recur-opt %s --chunk-choose-factors=f16 | FileCheck %s --check-prefix=F16
// RUN: recur-opt %s --chunk-choose-factors=tf32 | FileCheck %s --check-prefix=TF32
// RUN: recur-opt %s --chunk-choose-factors=tf32 | recur-opt | FileCheck %s --check-prefix=TF32

// Gates of f32 are no factors, and keys that they scale are rounded as the keys were.
// CHECK: chunk.program @gates {} chunk 4 factors bf16 {
// TF32: chunk.program @gates {} chunk 4 factors bf16 {
chunk.program @gates {} chunk 4 {
  %q = chunk.input "q" stored bf16 : tensor<4x8xf32>
  %k = chunk.input "k" stored bf16 : tensor<4x8xf32>
  %v = chunk.input "v" stored bf16 : tensor<4x8xf32>
  %g = chunk.input "g" : tensor<4x8xf32>
  %beta = chunk.input "beta" : tensor<4xf32>
  %S = chunk.state "S" : tensor<8x8xf32>
  %d = chunk.cumulative_decay after log(%g) : tensor<4x8xf32>
  %kd = chunk.map mul %k, %d : tensor<4x8xf32>, tensor<4x8xf32>
  %bv = chunk.map mul %beta, %v : tensor<4xf32>, tensor<4x8xf32>
  %A = chunk.interaction %q, %k inclusive decay log(%g : tensor<4x8xf32>) : tensor<4x8xf32>, tensor<4x8xf32>
  %o = chunk.apply %A, %bv : tensor<4x4xf32>, tensor<4x8xf32>
  %S1 = chunk.advance %S, %bv, %kd : tensor<8x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
  chunk.output "o" %o : tensor<4x8xf32>
  chunk.next %S, %S1 : tensor<8x8xf32>
}

// A factor that is f32 data stays, and with it all others.
// CHECK: chunk.program @queries {} chunk 4 {
// TF32: chunk.program @queries {} chunk 4 factors tf32 {
chunk.program @queries {} chunk 4 {
  %q = chunk.input "q" : tensor<4x8xf32>
  %k = chunk.input "k" stored bf16 : tensor<4x8xf32>
  %A = chunk.interaction %q, %k inclusive : tensor<4x8xf32>, tensor<4x8xf32>
  %o = chunk.apply %A, %k : tensor<4x4xf32>, tensor<4x8xf32>
  chunk.output "o" %o : tensor<4x8xf32>
}

// Nothing is known worse than f32 data that are added to it, but for a param.
// CHECK: chunk.program @sums {} chunk 4 {
chunk.program @sums {} chunk 4 {
  %k = chunk.input "k" stored bf16 : tensor<4x8xf32>
  %x = chunk.input "x" : tensor<4x8xf32>
  %kx = chunk.map add %k, %x : tensor<4x8xf32>, tensor<4x8xf32>
  %A = chunk.interaction %k, %kx inclusive : tensor<4x8xf32>, tensor<4x8xf32>
  chunk.output "A" %A : tensor<4x4xf32>
}

// CHECK: chunk.program @bias {} chunk 4 factors bf16 {
chunk.program @bias {} chunk 4 {
  %k = chunk.input "k" stored bf16 : tensor<4x8xf32>
  %b = chunk.param "b" : tensor<1x8xf32>
  %kb = chunk.map add %k, %b : tensor<4x8xf32>, tensor<1x8xf32>
  %A = chunk.interaction %k, %kb inclusive : tensor<4x8xf32>, tensor<4x8xf32>
  chunk.output "A" %A : tensor<4x4xf32>
}

// A vector of numbers is data.
// CHECK: chunk.program @numbers {} chunk 4 {
chunk.program @numbers {} chunk 4 {
  %k = chunk.input "k" stored bf16 : tensor<4x2xf32>
  %a = chunk.input "a" : tensor<4xf32>
  %aa = chunk.concat %a, %a : tensor<4xf32>, tensor<4xf32> to tensor<4x2xf32>
  %A = chunk.interaction %k, %aa inclusive : tensor<4x2xf32>, tensor<4x2xf32>
  chunk.output "A" %A : tensor<4x4xf32>
}

// One number in a row of its own is a gate.
// CHECK: chunk.program @gate {} chunk 4 factors bf16 {
chunk.program @gate {} chunk 4 {
  %k = chunk.input "k" stored bf16 : tensor<4x2xf32>
  %a = chunk.input "a" : tensor<4xf32>
  %one = chunk.constant 1.0 : tensor<4x1xf32>
  %column = chunk.concat %a : tensor<4xf32> to tensor<4x1xf32>
  %D = chunk.interaction %one, %column inclusive : tensor<4x1xf32>, tensor<4x1xf32>
  %A = chunk.interaction %k, %k inclusive : tensor<4x2xf32>, tensor<4x2xf32>
  %DA = chunk.map mul %D, %A : tensor<4x4xf32>, tensor<4x4xf32>
  chunk.output "A" %DA : tensor<4x4xf32>
}

// A number that scales a state is a gate.
// CHECK: chunk.program @scaled {} chunk 4 factors bf16 {
chunk.program @scaled {} chunk 4 {
  %k = chunk.input "k" stored bf16 : tensor<4x8xf32>
  %a = chunk.input "a" : tensor<4xf32>
  %A = chunk.state "A" : tensor<8x8xf32>
  %B = chunk.state "B" : tensor<8x8xf32>
  %last = chunk.last %a : tensor<4xf32>
  %number = chunk.reshape_state %last : tensor<f32> to tensor<1xf32>
  %B1 = chunk.reshape_state %B : tensor<8x8xf32> to tensor<1x8x8xf32>
  %B2 = chunk.map mul %number, %B1 : tensor<1xf32>, tensor<1x8x8xf32>
  %B3 = chunk.reshape_state %B2 : tensor<1x8x8xf32> to tensor<8x8xf32>
  %B4 = chunk.advance %B, %k, %k : tensor<8x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
  %o = chunk.read %k, %A : tensor<4x8xf32>, tensor<8x8xf32>
  chunk.output "o" %o : tensor<4x8xf32>
  chunk.next %A, %B3 : tensor<8x8xf32>
  chunk.next %B, %B4 : tensor<8x8xf32>
}

// A state that sums up f32 data is one of them.
// CHECK: chunk.program @states {} chunk 4 {
chunk.program @states {} chunk 4 {
  %q = chunk.input "q" stored bf16 : tensor<4x8xf32>
  %x = chunk.input "x" : tensor<4x8x8xf32>
  %S = chunk.state "S" : tensor<8x8xf32>
  %o = chunk.read %q, %S : tensor<4x8xf32>, tensor<8x8xf32>
  %all, %last = chunk.scan %S, %x : tensor<8x8xf32>, tensor<4x8x8xf32>
  chunk.output "o" %o : tensor<4x8xf32>
  chunk.next %S, %last : tensor<8x8xf32>
}

// Whether f16 counts depends on the target.
// CHECK: chunk.program @halves {} chunk 4 {
// F16: chunk.program @halves {} chunk 4 factors bf16 {
chunk.program @halves {} chunk 4 {
  %q = chunk.input "q" stored f16 : tensor<4x8xf32>
  %k = chunk.input "k" stored bf16 : tensor<4x8xf32>
  %A = chunk.interaction %q, %k inclusive : tensor<4x8xf32>, tensor<4x8xf32>
  chunk.output "A" %A : tensor<4x4xf32>
}

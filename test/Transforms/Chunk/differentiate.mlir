// RUN: recur-opt %s --split-input-file --chunk-differentiate --canonicalize --cse | FileCheck %s

// A scan goes back by a scan from the last token to the first.
// CHECK-LABEL: chunk.program @sum_gradient {} chunk 8 backward {
// CHECK-NEXT: %x = chunk.input "x" : tensor<8xf32>
// CHECK-NEXT: %A = chunk.kept "A" : tensor<f32>
// CHECK-NEXT: %gradient.A = chunk.state "gradient.A" : tensor<f32>
// CHECK-NEXT: %[[Vall:[a-z0-9_]+]], %[[Vlast:[a-z0-9_]+]] = chunk.scan %A, %x : tensor<f32>, tensor<8xf32>
// CHECK-NEXT: %cotangent.o = chunk.input "cotangent.o" : tensor<8xf32>
// CHECK-NEXT: %[[V0:[a-z0-9_]+]] = chunk.map mul %cotangent.o, %[[Vall]] : tensor<8xf32>, tensor<8xf32>
// CHECK-NEXT: %[[V1:[a-z0-9_]+]] = chunk.map add %[[V0]], %[[V0]] : tensor<8xf32>, tensor<8xf32>
// CHECK-NEXT: %[[Vall_0:[a-z0-9_]+]], %[[Vfirst:[a-z0-9_]+]] = chunk.reverse_scan %gradient.A, %[[V1]] : tensor<f32>, tensor<8xf32>
// CHECK-NEXT: chunk.output "gradient.x" %[[Vall_0]] : tensor<8xf32>
// CHECK-NEXT: chunk.next %gradient.A, %[[Vfirst]] : tensor<f32>
// CHECK-NEXT: }
chunk.program @sum {} chunk 8 {
  %x = chunk.input "x" : tensor<8xf32>
  %A = chunk.state "A" : tensor<f32>
  %all, %last = chunk.scan %A, %x : tensor<f32>, tensor<8xf32>
  %o = chunk.map mul %all, %all : tensor<8xf32>, tensor<8xf32>
  chunk.output "o" %o : tensor<8xf32>
  chunk.next %A, %last : tensor<f32>
}

// -----

// The gated delta rule: the triangle is solved transposed, reads and writes change places, each interaction is there once.
// CHECK-LABEL: chunk.program @delta_gradient {} chunk 8 backward {
// CHECK-NEXT: %[[V0:[a-z0-9_]+]] = chunk.constant 0.000000e+00 : tensor<1xf32>
// CHECK-NEXT: %[[V1:[a-z0-9_]+]] = chunk.constant 1.000000e+00 : tensor<8x1xf32>
// CHECK-NEXT: %[[V2:[a-z0-9_]+]] = chunk.constant 1.000000e+00 : tensor<8xf32>
// CHECK-NEXT: %[[V3:[a-z0-9_]+]] = chunk.constant 1.000000e+00 : tensor<1x2xf32>
// CHECK-NEXT: %q = chunk.input "q" shared : tensor<8x3xf32>
// CHECK-NEXT: %k = chunk.input "k" : tensor<8x3xf32>
// CHECK-NEXT: %v = chunk.input "v" : tensor<8x2xf32>
// CHECK-NEXT: %g = chunk.input "g" : tensor<8xf32>
// CHECK-NEXT: %S = chunk.kept "S" : tensor<2x3xf32>
// CHECK-NEXT: %gradient.S = chunk.state "gradient.S" : tensor<2x3xf32>
// CHECK-NEXT: %[[V4:[a-z0-9_]+]] = chunk.cumulative_decay through log(%g) : tensor<8xf32>
// CHECK-NEXT: %[[V5:[a-z0-9_]+]] = chunk.interaction %k, %k strict decay log(%g : tensor<8xf32>) : tensor<8x3xf32>, tensor<8x3xf32>
// CHECK-NEXT: %[[V6:[a-z0-9_]+]] = chunk.map mul %[[V4]], %k : tensor<8xf32>, tensor<8x3xf32>
// CHECK-NEXT: %[[V7:[a-z0-9_]+]] = chunk.read %[[V6]], %S : tensor<8x3xf32>, tensor<2x3xf32>
// CHECK-NEXT: %[[V8:[a-z0-9_]+]] = chunk.map sub %v, %[[V7]] : tensor<8x2xf32>, tensor<8x2xf32>
// CHECK-NEXT: %[[V9:[a-z0-9_]+]] = chunk.solve %[[V5]], %[[V8]] : tensor<8x8xf32>, tensor<8x2xf32>
// CHECK-NEXT: %[[V10:[a-z0-9_]+]] = chunk.interaction %q, %k inclusive decay log(%g : tensor<8xf32>) : tensor<8x3xf32>, tensor<8x3xf32>
// CHECK-NEXT: %[[V11:[a-z0-9_]+]] = chunk.cumulative_decay total log(%g) : tensor<8xf32>
// CHECK-NEXT: %cotangent.o = chunk.input "cotangent.o" : tensor<8x2xf32>
// CHECK-NEXT: %[[V12:[a-z0-9_]+]] = chunk.read %k, %gradient.S : tensor<8x3xf32>, tensor<2x3xf32>
// CHECK-NEXT: %[[V13:[a-z0-9_]+]] = chunk.read left %[[V9]], %gradient.S : tensor<8x2xf32>, tensor<2x3xf32>
// CHECK-NEXT: %[[V14:[a-z0-9_]+]] = chunk.reshape_state %gradient.S : tensor<2x3xf32> to tensor<1x2x3xf32>
// CHECK-NEXT: %[[V15:[a-z0-9_]+]] = chunk.reshape_state %S : tensor<2x3xf32> to tensor<1x2x3xf32>
// CHECK-NEXT: %[[V16:[a-z0-9_]+]] = chunk.map mul %[[V14]], %[[V15]] : tensor<1x2x3xf32>, tensor<1x2x3xf32>
// CHECK-NEXT: %[[V17:[a-z0-9_]+]] = chunk.map vecmat %[[V3]], %[[V16]] : tensor<1x2xf32>, tensor<1x2x3xf32>
// CHECK-NEXT: %[[V18:[a-z0-9_]+]] = chunk.map sum %[[V17]] : tensor<1x3xf32>
// CHECK-NEXT: %[[V19:[a-z0-9_]+]] = chunk.map mul %[[V18]], %[[V11]] : tensor<1xf32>, tensor<1xf32>
// CHECK-NEXT: %[[V20:[a-z0-9_]+]] = chunk.map mul %[[V19]], %[[V2]] : tensor<1xf32>, tensor<8xf32>
// CHECK-NEXT: %[[V21:[a-z0-9_]+]] = chunk.interaction %cotangent.o, %[[V9]] inclusive : tensor<8x2xf32>, tensor<8x2xf32>
// CHECK-NEXT: %[[V22:[a-z0-9_]+]] = chunk.apply_transposed %[[V10]], %cotangent.o : tensor<8x8xf32>, tensor<8x2xf32>
// CHECK-NEXT: %[[V23:[a-z0-9_]+]] = chunk.map add %[[V12]], %[[V22]] : tensor<8x2xf32>, tensor<8x2xf32>
// CHECK-NEXT: %[[V24:[a-z0-9_]+]] = chunk.decay_cotangent %[[V21]], %q, %k inclusive decay log(%g : tensor<8xf32>) : tensor<8x8xf32>, tensor<8x3xf32>, tensor<8x3xf32>
// CHECK-NEXT: %[[V25:[a-z0-9_]+]] = chunk.map add %[[V20]], %[[V24]] : tensor<8xf32>, tensor<8xf32>
// CHECK-NEXT: %[[V26:[a-z0-9_]+]] = chunk.interaction %[[V1]], %[[V1]] inclusive decay log(%g : tensor<8xf32>) : tensor<8x1xf32>, tensor<8x1xf32>
// CHECK-NEXT: %[[V27:[a-z0-9_]+]] = chunk.map mul %[[V26]], %[[V21]] : tensor<8x8xf32>, tensor<8x8xf32>
// CHECK-NEXT: %[[V28:[a-z0-9_]+]] = chunk.apply %[[V27]], %k : tensor<8x8xf32>, tensor<8x3xf32>
// CHECK-NEXT: %[[V29:[a-z0-9_]+]] = chunk.apply_transposed %[[V27]], %q : tensor<8x8xf32>, tensor<8x3xf32>
// CHECK-NEXT: %[[V30:[a-z0-9_]+]] = chunk.map add %[[V13]], %[[V29]] : tensor<8x3xf32>, tensor<8x3xf32>
// CHECK-NEXT: %[[V31:[a-z0-9_]+]] = chunk.solve_transposed %[[V5]], %[[V23]] : tensor<8x8xf32>, tensor<8x2xf32>
// CHECK-NEXT: %[[V32:[a-z0-9_]+]] = chunk.map neg %[[V31]] : tensor<8x2xf32>
// CHECK-NEXT: %[[V33:[a-z0-9_]+]] = chunk.interaction %[[V32]], %[[V9]] strict : tensor<8x2xf32>, tensor<8x2xf32>
// CHECK-NEXT: %[[V34:[a-z0-9_]+]] = chunk.read left %[[V32]], %S : tensor<8x2xf32>, tensor<2x3xf32>
// CHECK-NEXT: %[[V35:[a-z0-9_]+]] = chunk.advance %gradient.S, %[[V32]], %[[V6]] columns(%[[V11]] : tensor<1xf32>) : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
// CHECK-NEXT: %[[V36:[a-z0-9_]+]] = chunk.map dot %[[V34]], %k : tensor<8x3xf32>, tensor<8x3xf32>
// CHECK-NEXT: %[[V37:[a-z0-9_]+]] = chunk.map mul %[[V34]], %[[V4]] : tensor<8x3xf32>, tensor<8xf32>
// CHECK-NEXT: %[[V38:[a-z0-9_]+]] = chunk.map add %[[V30]], %[[V37]] : tensor<8x3xf32>, tensor<8x3xf32>
// CHECK-NEXT: %[[V39:[a-z0-9_]+]] = chunk.decay_cotangent %[[V33]], %k, %k strict decay log(%g : tensor<8xf32>) : tensor<8x8xf32>, tensor<8x3xf32>, tensor<8x3xf32>
// CHECK-NEXT: %[[V40:[a-z0-9_]+]] = chunk.map add %[[V25]], %[[V39]] : tensor<8xf32>, tensor<8xf32>
// CHECK-NEXT: %[[V41:[a-z0-9_]+]] = chunk.interaction %[[V1]], %[[V1]] strict decay log(%g : tensor<8xf32>) : tensor<8x1xf32>, tensor<8x1xf32>
// CHECK-NEXT: %[[V42:[a-z0-9_]+]] = chunk.map mul %[[V41]], %[[V33]] : tensor<8x8xf32>, tensor<8x8xf32>
// CHECK-NEXT: %[[V43:[a-z0-9_]+]] = chunk.apply %[[V42]], %k : tensor<8x8xf32>, tensor<8x3xf32>
// CHECK-NEXT: %[[V44:[a-z0-9_]+]] = chunk.map add %[[V38]], %[[V43]] : tensor<8x3xf32>, tensor<8x3xf32>
// CHECK-NEXT: %[[V45:[a-z0-9_]+]] = chunk.apply_transposed %[[V42]], %k : tensor<8x8xf32>, tensor<8x3xf32>
// CHECK-NEXT: %[[V46:[a-z0-9_]+]] = chunk.map add %[[V44]], %[[V45]] : tensor<8x3xf32>, tensor<8x3xf32>
// CHECK-NEXT: %[[V47:[a-z0-9_]+]] = chunk.map mul %[[V36]], %[[V4]] : tensor<8xf32>, tensor<8xf32>
// CHECK-NEXT: %[[V48:[a-z0-9_]+]] = chunk.reshape_state %[[V0]] : tensor<1xf32> to tensor<f32>
// CHECK-NEXT: %[[V49:[a-z0-9_]+]], %[[V50:[a-z0-9_]+]] = chunk.reverse_scan %[[V48]], %[[V47]] : tensor<f32>, tensor<8xf32>
// CHECK-NEXT: %[[V51:[a-z0-9_]+]] = chunk.map add %[[V40]], %[[V49]] : tensor<8xf32>, tensor<8xf32>
// CHECK-NEXT: chunk.output "gradient.q" %[[V28]] : tensor<8x3xf32>
// CHECK-NEXT: chunk.output "gradient.k" %[[V46]] : tensor<8x3xf32>
// CHECK-NEXT: chunk.output "gradient.v" %[[V31]] : tensor<8x2xf32>
// CHECK-NEXT: chunk.output "gradient.g" %[[V51]] : tensor<8xf32>
// CHECK-NEXT: chunk.next %gradient.S, %[[V35]] : tensor<2x3xf32>
// CHECK-NEXT: }
chunk.program @delta {} chunk 8 {
  %q = chunk.input "q" shared : tensor<8x3xf32>
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %g = chunk.input "g" : tensor<8xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  %through = chunk.cumulative_decay through log(%g) : tensor<8xf32>
  %L = chunk.interaction %k, %k strict decay log(%g : tensor<8xf32>) : tensor<8x3xf32>, tensor<8x3xf32>
  %r = chunk.map mul %through, %k : tensor<8xf32>, tensor<8x3xf32>
  %past = chunk.read %r, %S : tensor<8x3xf32>, tensor<2x3xf32>
  %B = chunk.map sub %v, %past : tensor<8x2xf32>, tensor<8x2xf32>
  %U = chunk.solve %L, %B : tensor<8x8xf32>, tensor<8x2xf32>
  %A = chunk.interaction %q, %k inclusive decay log(%g : tensor<8xf32>) : tensor<8x3xf32>, tensor<8x3xf32>
  %o = chunk.apply %A, %U : tensor<8x8xf32>, tensor<8x2xf32>
  %total = chunk.cumulative_decay total log(%g) : tensor<8xf32>
  %S1 = chunk.advance %S, %U, %k columns(%total : tensor<1xf32>) : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  chunk.output "o" %o : tensor<8x2xf32>
  chunk.next %S, %S1 : tensor<2x3xf32>
}

// -----

// What scales the rows of a system and its values alike matters as the solution does, divided by it: it is kept from zero.
// CHECK-LABEL: chunk.program @scaled_system_gradient {} chunk 8 backward {
// CHECK-NEXT: %[[V0:[a-z0-9_]+]] = chunk.constant 9.0949470177292824E-13 : tensor<1xf32>
// CHECK-NEXT: %k = chunk.input "k" : tensor<8x3xf32>
// CHECK-NEXT: %v = chunk.input "v" : tensor<8x2xf32>
// CHECK-NEXT: %b = chunk.input "b" : tensor<8xf32>
// CHECK-NEXT: %[[V1:[a-z0-9_]+]] = chunk.map abs %b : tensor<8xf32>
// CHECK-NEXT: %[[V2:[a-z0-9_]+]] = chunk.map sub %[[V1]], %[[V0]] : tensor<8xf32>, tensor<1xf32>
// CHECK-NEXT: %[[V3:[a-z0-9_]+]] = chunk.map select %[[V2]], %b, %[[V0]] : tensor<8xf32>, tensor<8xf32>, tensor<1xf32>
// CHECK-NEXT: %[[V4:[a-z0-9_]+]] = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
// CHECK-NEXT: %[[V5:[a-z0-9_]+]] = chunk.map mul %[[V3]], %[[V4]] : tensor<8xf32>, tensor<8x8xf32>
// CHECK-NEXT: %[[V6:[a-z0-9_]+]] = chunk.map mul %[[V3]], %v : tensor<8xf32>, tensor<8x2xf32>
// CHECK-NEXT: %[[V7:[a-z0-9_]+]] = chunk.solve %[[V5]], %[[V6]] : tensor<8x8xf32>, tensor<8x2xf32>
// CHECK-NEXT: %cotangent.o = chunk.input "cotangent.o" : tensor<8x2xf32>
// CHECK-NEXT: %[[V8:[a-z0-9_]+]] = chunk.solve_transposed %[[V5]], %cotangent.o : tensor<8x8xf32>, tensor<8x2xf32>
// CHECK-NEXT: %[[V9:[a-z0-9_]+]] = chunk.map mul %[[V3]], %[[V8]] : tensor<8xf32>, tensor<8x2xf32>
// CHECK-NEXT: %[[V10:[a-z0-9_]+]] = chunk.map neg %[[V9]] : tensor<8x2xf32>
// CHECK-NEXT: %[[V11:[a-z0-9_]+]] = chunk.interaction %[[V10]], %[[V7]] strict : tensor<8x2xf32>, tensor<8x2xf32>
// CHECK-NEXT: %[[V12:[a-z0-9_]+]] = chunk.map dot %[[V8]], %[[V7]] : tensor<8x2xf32>, tensor<8x2xf32>
// CHECK-NEXT: %[[V13:[a-z0-9_]+]] = chunk.map div %[[V12]], %[[V3]] : tensor<8xf32>, tensor<8xf32>
// CHECK-NEXT: %[[V14:[a-z0-9_]+]] = chunk.apply %[[V11]], %k : tensor<8x8xf32>, tensor<8x3xf32>
// CHECK-NEXT: %[[V15:[a-z0-9_]+]] = chunk.apply_transposed %[[V11]], %k : tensor<8x8xf32>, tensor<8x3xf32>
// CHECK-NEXT: %[[V16:[a-z0-9_]+]] = chunk.map add %[[V14]], %[[V15]] : tensor<8x3xf32>, tensor<8x3xf32>
// CHECK-NEXT: chunk.output "gradient.k" %[[V16]] : tensor<8x3xf32>
// CHECK-NEXT: chunk.output "gradient.v" %[[V9]] : tensor<8x2xf32>
// CHECK-NEXT: chunk.output "gradient.b" %[[V13]] : tensor<8xf32>
// CHECK-NEXT: }
chunk.program @scaled_system {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %b = chunk.input "b" : tensor<8xf32>
  %M = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
  %L = chunk.map mul %b, %M : tensor<8xf32>, tensor<8x8xf32>
  %B = chunk.map mul %b, %v : tensor<8xf32>, tensor<8x2xf32>
  %U = chunk.solve %L, %B : tensor<8x8xf32>, tensor<8x2xf32>
  chunk.output "o" %U : tensor<8x2xf32>
}

// -----

// A token loop runs again and keeps its states; the one from the last token computes each token once more and goes back.
// CHECK-LABEL: chunk.program @loop_gradient {} chunk 8 backward {
// CHECK-NEXT: %[[V0:[a-z0-9_]+]] = chunk.constant 4.000000e+00 : tensor<1xf32>
// CHECK-NEXT: %x = chunk.input "x" : tensor<8xf32>
// CHECK-NEXT: %p = chunk.param "p" : tensor<1xf32>
// CHECK-NEXT: %gradient.p = chunk.state "gradient.p" : tensor<f32>
// CHECK-NEXT: %A = chunk.kept "A" : tensor<f32>
// CHECK-NEXT: %gradient.A = chunk.state "gradient.A" : tensor<f32>
// CHECK-NEXT: %1:3 = chunk.token_loop (%arg0 = %x : tensor<8xf32>) carry (%arg1 = %A : tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<f32>) {
// CHECK-NEXT: %[[V1:[a-z0-9_]+]] = chunk.map mul %p, %arg1 : tensor<1xf32>, tensor<1xf32>
// CHECK-NEXT: %[[V2:[a-z0-9_]+]] = chunk.map add %[[V1]], %arg0 : tensor<1xf32>, tensor<1xf32>
// CHECK-NEXT: %[[V3:[a-z0-9_]+]] = chunk.map tanh %[[V2]] : tensor<1xf32>
// CHECK-NEXT: chunk.yield %[[V2]], %arg1, %[[V3]] : tensor<1xf32>, tensor<1xf32>, tensor<1xf32>
// CHECK-NEXT: }
// CHECK-NEXT: %cotangent.o = chunk.input "cotangent.o" : tensor<8xf32>
// CHECK-NEXT: %2:3 = chunk.token_loop reverse (%arg0 = %x : tensor<8xf32>, %arg1 = %1#1 : tensor<8xf32>, %arg2 = %cotangent.o : tensor<8xf32>) carry (%arg3 = %gradient.A : tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<f32>) {
// CHECK-NEXT: %[[V4:[a-z0-9_]+]] = chunk.map mul %p, %arg1 : tensor<1xf32>, tensor<1xf32>
// CHECK-NEXT: %[[V5:[a-z0-9_]+]] = chunk.map add %[[V4]], %arg0 : tensor<1xf32>, tensor<1xf32>
// CHECK-NEXT: %[[V6:[a-z0-9_]+]] = chunk.map add %[[V5]], %[[V5]] : tensor<1xf32>, tensor<1xf32>
// CHECK-NEXT: %[[V7:[a-z0-9_]+]] = chunk.map sigmoid %[[V6]] : tensor<1xf32>
// CHECK-NEXT: %[[V8:[a-z0-9_]+]] = chunk.map neg %[[V6]] : tensor<1xf32>
// CHECK-NEXT: %[[V9:[a-z0-9_]+]] = chunk.map sigmoid %[[V8]] : tensor<1xf32>
// CHECK-NEXT: %[[V10:[a-z0-9_]+]] = chunk.map mul %[[V7]], %[[V9]] : tensor<1xf32>, tensor<1xf32>
// CHECK-NEXT: %[[V11:[a-z0-9_]+]] = chunk.map mul %[[V0]], %[[V10]] : tensor<1xf32>, tensor<1xf32>
// CHECK-NEXT: %[[V12:[a-z0-9_]+]] = chunk.map mul %arg3, %[[V11]] : tensor<1xf32>, tensor<1xf32>
// CHECK-NEXT: %[[V13:[a-z0-9_]+]] = chunk.map add %arg2, %[[V12]] : tensor<1xf32>, tensor<1xf32>
// CHECK-NEXT: %[[V14:[a-z0-9_]+]] = chunk.map mul %[[V13]], %arg1 : tensor<1xf32>, tensor<1xf32>
// CHECK-NEXT: %[[V15:[a-z0-9_]+]] = chunk.map mul %[[V13]], %p : tensor<1xf32>, tensor<1xf32>
// CHECK-NEXT: chunk.yield %[[V13]], %[[V14]], %[[V15]] : tensor<1xf32>, tensor<1xf32>, tensor<1xf32>
// CHECK-NEXT: }
// CHECK-NEXT: %[[V16:[a-z0-9_]+]] = chunk.sum_tokens %2#1 : tensor<8xf32>
// CHECK-NEXT: chunk.output "gradient.x" %2#0 : tensor<8xf32>
// CHECK-NEXT: %[[V17:[a-z0-9_]+]] = chunk.reshape_state %gradient.p : tensor<f32> to tensor<1xf32>
// CHECK-NEXT: %[[V18:[a-z0-9_]+]] = chunk.map add %[[V17]], %[[V16]] : tensor<1xf32>, tensor<1xf32>
// CHECK-NEXT: %[[V19:[a-z0-9_]+]] = chunk.reshape_state %[[V18]] : tensor<1xf32> to tensor<f32>
// CHECK-NEXT: chunk.next %gradient.p, %[[V19]] : tensor<f32>
// CHECK-NEXT: chunk.next %gradient.A, %2#2 : tensor<f32>
// CHECK-NEXT: }
chunk.program @loop {} chunk 8 {
  %x = chunk.input "x" : tensor<8xf32>
  %p = chunk.param "p" : tensor<1xf32>
  %A = chunk.state "A" : tensor<f32>
  %l:2 = chunk.token_loop (%x1 = %x : tensor<8xf32>) carry (%a = %A : tensor<f32>) -> (tensor<8xf32>, tensor<f32>) {
    %b = chunk.map mul %p, %a : tensor<1xf32>, tensor<1xf32>
    %c = chunk.map add %b, %x1 : tensor<1xf32>, tensor<1xf32>
    %d = chunk.map tanh %c : tensor<1xf32>
    chunk.yield %c, %d : tensor<1xf32>, tensor<1xf32>
  }
  chunk.output "o" %l#0 : tensor<8xf32>
  chunk.next %A, %l#1 : tensor<f32>
}

// -----

// The cotangent of a cg is one more cg; its region is gone back through at the solution.
// CHECK-LABEL: chunk.program @solve_gradient {} chunk 8 backward {
// CHECK-NEXT: %q = chunk.input "q" : tensor<8x3xf32>
// CHECK-NEXT: %k = chunk.input "k" : tensor<8x3xf32>
// CHECK-NEXT: %r = chunk.param "r" : tensor<1xf32>
// CHECK-NEXT: %gradient.r = chunk.state "gradient.r" : tensor<f32>
// CHECK-NEXT: %[[V0:[a-z0-9_]+]] = chunk.cg %q ridge %r iterations 5 : tensor<8x3xf32>, tensor<1xf32> {
// CHECK-NEXT: ^bb0(%arg0: tensor<8x3xf32>):
// CHECK-NEXT: %[[V1:[a-z0-9_]+]] = chunk.interaction %arg0, %k inclusive : tensor<8x3xf32>, tensor<8x3xf32>
// CHECK-NEXT: %[[V2:[a-z0-9_]+]] = chunk.apply %[[V1]], %k : tensor<8x8xf32>, tensor<8x3xf32>
// CHECK-NEXT: chunk.yield %[[V2]] : tensor<8x3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: %cotangent.y = chunk.input "cotangent.y" : tensor<8x3xf32>
// CHECK-NEXT: %[[V3:[a-z0-9_]+]] = chunk.cg %cotangent.y ridge %r iterations 5 : tensor<8x3xf32>, tensor<1xf32> {
// CHECK-NEXT: ^bb0(%arg0: tensor<8x3xf32>):
// CHECK-NEXT: %[[V4:[a-z0-9_]+]] = chunk.interaction %arg0, %k inclusive : tensor<8x3xf32>, tensor<8x3xf32>
// CHECK-NEXT: %[[V5:[a-z0-9_]+]] = chunk.apply %[[V4]], %k : tensor<8x8xf32>, tensor<8x3xf32>
// CHECK-NEXT: chunk.yield %[[V5]] : tensor<8x3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: %[[V6:[a-z0-9_]+]] = chunk.map neg %[[V3]] : tensor<8x3xf32>
// CHECK-NEXT: %[[V7:[a-z0-9_]+]] = chunk.map mul %[[V6]], %[[V0]] : tensor<8x3xf32>, tensor<8x3xf32>
// CHECK-NEXT: %[[V8:[a-z0-9_]+]] = chunk.map sum %[[V7]] : tensor<8x3xf32>
// CHECK-NEXT: %[[V9:[a-z0-9_]+]] = chunk.sum_tokens %[[V8]] : tensor<8xf32>
// CHECK-NEXT: %[[V10:[a-z0-9_]+]] = chunk.interaction %[[V0]], %k inclusive : tensor<8x3xf32>, tensor<8x3xf32>
// CHECK-NEXT: %[[V11:[a-z0-9_]+]] = chunk.interaction %[[V6]], %k inclusive : tensor<8x3xf32>, tensor<8x3xf32>
// CHECK-NEXT: %[[V12:[a-z0-9_]+]] = chunk.apply_transposed %[[V10]], %[[V6]] : tensor<8x8xf32>, tensor<8x3xf32>
// CHECK-NEXT: %[[V13:[a-z0-9_]+]] = chunk.apply_transposed %[[V11]], %[[V0]] : tensor<8x8xf32>, tensor<8x3xf32>
// CHECK-NEXT: %[[V14:[a-z0-9_]+]] = chunk.map add %[[V12]], %[[V13]] : tensor<8x3xf32>, tensor<8x3xf32>
// CHECK-NEXT: chunk.output "gradient.q" %[[V3]] : tensor<8x3xf32>
// CHECK-NEXT: chunk.output "gradient.k" %[[V14]] : tensor<8x3xf32>
// CHECK-NEXT: %[[V15:[a-z0-9_]+]] = chunk.reshape_state %gradient.r : tensor<f32> to tensor<1xf32>
// CHECK-NEXT: %[[V16:[a-z0-9_]+]] = chunk.map add %[[V15]], %[[V9]] : tensor<1xf32>, tensor<1xf32>
// CHECK-NEXT: %[[V17:[a-z0-9_]+]] = chunk.reshape_state %[[V16]] : tensor<1xf32> to tensor<f32>
// CHECK-NEXT: chunk.next %gradient.r, %[[V17]] : tensor<f32>
// CHECK-NEXT: }
chunk.program @solve {} chunk 8 {
  %q = chunk.input "q" : tensor<8x3xf32>
  %k = chunk.input "k" : tensor<8x3xf32>
  %r = chunk.param "r" : tensor<1xf32>
  %y = chunk.cg %q ridge %r iterations 5 : tensor<8x3xf32>, tensor<1xf32> {
  ^bb0(%x: tensor<8x3xf32>):
    %A = chunk.interaction %x, %k inclusive : tensor<8x3xf32>, tensor<8x3xf32>
    %z = chunk.apply %A, %k : tensor<8x8xf32>, tensor<8x3xf32>
    chunk.yield %z : tensor<8x3xf32>
  }
  chunk.output "y" %y : tensor<8x3xf32>
}

// -----

// What is larger gets the cotangent; a constant bound lets nothing through where it is reached. Nothing goes through stop.
// CHECK-LABEL: chunk.program @corners_gradient {} chunk 8 backward {
// CHECK-NEXT: %[[V0:[a-z0-9_]+]] = chunk.constant 0.000000e+00 : tensor<1xf32>
// CHECK-NEXT: %x = chunk.input "x" : tensor<8xf32>
// CHECK-NEXT: %[[V1:[a-z0-9_]+]] = chunk.map stop %x : tensor<8xf32>
// CHECK-NEXT: %cotangent.o = chunk.input "cotangent.o" : tensor<8xf32>
// CHECK-NEXT: %[[V2:[a-z0-9_]+]] = chunk.map mul %cotangent.o, %[[V1]] : tensor<8xf32>, tensor<8xf32>
// CHECK-NEXT: %[[V3:[a-z0-9_]+]] = chunk.map select %x, %[[V2]], %[[V0]] : tensor<8xf32>, tensor<8xf32>, tensor<1xf32>
// CHECK-NEXT: chunk.output "gradient.x" %[[V3]] : tensor<8xf32>
// CHECK-NEXT: }
chunk.program @corners {} chunk 8 {
  %x = chunk.input "x" : tensor<8xf32>
  %zero = chunk.constant 0.0 : tensor<1xf32>
  %a = chunk.map max %x, %zero : tensor<8xf32>, tensor<1xf32>
  %b = chunk.map stop %x : tensor<8xf32>
  %c = chunk.map mul %a, %b : tensor<8xf32>, tensor<8xf32>
  chunk.output "o" %c : tensor<8xf32>
}

// -----

// With by_steps the steps are written down and gone back through: no cg is left that is not read.
// CHECK-LABEL: chunk.program @step_gradient {} chunk 8 backward {
// CHECK: %[[SQUARE:[a-z0-9_]+]] = chunk.map dot %q, %q
// CHECK: %[[IMAGE:[a-z0-9_]+]] = chunk.map mul %k, %q
// CHECK: %[[CURVATURE:[a-z0-9_]+]] = chunk.map dot %q, %{{[a-z0-9_]+}}
// CHECK: %[[MOVES:[a-z0-9_]+]] = chunk.map abs %[[CURVATURE]]
// CHECK: %[[DIVISOR:[a-z0-9_]+]] = chunk.map select %[[MOVES]], %[[CURVATURE]], %{{[a-z0-9_]+}}
// CHECK: %[[QUOTIENT:[a-z0-9_]+]] = chunk.map div %[[SQUARE]], %[[DIVISOR]]
// CHECK: chunk.map select %[[MOVES]], %[[QUOTIENT]], %{{[a-z0-9_]+}}
// CHECK-NOT: chunk.cg
// CHECK: chunk.output "gradient.q"
chunk.program @step {} chunk 8 {
  %q = chunk.input "q" : tensor<8x3xf32>
  %k = chunk.input "k" : tensor<8x3xf32>
  %r = chunk.param "r" : tensor<1xf32>
  %y = chunk.cg %q ridge %r iterations 1 by_steps : tensor<8x3xf32>, tensor<1xf32> {
  ^bb0(%x: tensor<8x3xf32>):
    %z = chunk.map mul %k, %x : tensor<8x3xf32>, tensor<8x3xf32>
    chunk.yield %z : tensor<8x3xf32>
  }
  chunk.output "y" %y : tensor<8x3xf32>
}

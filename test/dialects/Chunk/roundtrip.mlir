// RUN: recur-opt %s | recur-opt | FileCheck %s
// RUN: recur-opt --mlir-print-op-generic %s | recur-opt | FileCheck %s

// The gated delta rule as section 2 of the equations has it: I + L, B, U, O, S.
// CHECK-LABEL: chunk.program @gated_delta_net {K = 8 : i64, V = 4 : i64} chunk 16 {
chunk.program @gated_delta_net {K = 8 : i64, V = 4 : i64} chunk 16 {
  // CHECK: %q = chunk.input "q" shared : tensor<16x8xf32>
  %q = chunk.input "q" shared : tensor<16x8xf32>
  // CHECK: %k = chunk.input "k" shared : tensor<16x8xf32>
  %k = chunk.input "k" shared : tensor<16x8xf32>
  %v = chunk.input "v" : tensor<16x4xf32>
  // CHECK: %g = chunk.input "g" : tensor<16xf32>
  %g = chunk.input "g" : tensor<16xf32>
  %beta = chunk.input "beta" : tensor<16xf32>
  // CHECK: %S = chunk.state "S" : tensor<4x8xf32>
  %S = chunk.state "S" : tensor<4x8xf32>
  // CHECK: chunk.cumulative_decay through log(%g) : tensor<16xf32>
  %through = chunk.cumulative_decay through log(%g) : tensor<16xf32>
  // CHECK: chunk.cumulative_decay after log(%g) : tensor<16xf32>
  %after = chunk.cumulative_decay after log(%g) : tensor<16xf32>
  // CHECK: chunk.cumulative_decay total log(%g) : tensor<16xf32>
  %total = chunk.cumulative_decay total log(%g) : tensor<16xf32>
  // CHECK: chunk.interaction %k, %k strict decay log(%g : tensor<16xf32>) : tensor<16x8xf32>, tensor<16x8xf32>
  %A = chunk.interaction %k, %k strict decay log(%g : tensor<16xf32>) : tensor<16x8xf32>, tensor<16x8xf32>
  // CHECK: chunk.map mul %beta, %{{.*}} : tensor<16xf32>, tensor<16x16xf32>
  %L = chunk.map mul %beta, %A : tensor<16xf32>, tensor<16x16xf32>
  %reads = chunk.map mul %through, %k : tensor<16xf32>, tensor<16x8xf32>
  // CHECK: chunk.read %{{.*}}, %S : tensor<16x8xf32>, tensor<4x8xf32>
  %seen = chunk.read %reads, %S : tensor<16x8xf32>, tensor<4x8xf32>
  %news = chunk.map sub %v, %seen : tensor<16x4xf32>, tensor<16x4xf32>
  %B = chunk.map mul %beta, %news : tensor<16xf32>, tensor<16x4xf32>
  // CHECK: chunk.eliminate %{{.*}}, %{{.*}} columns %{{.*}} diagonal %{{.*}} : tensor<16x16xf32>, tensor<16xf32>
  %factors = chunk.eliminate %A, %L columns %beta diagonal %beta : tensor<16x16xf32>, tensor<16xf32>
  // CHECK: chunk.scaled_solve %{{.*}}, %{{.*}} scales %{{.*}} : tensor<16x16xf32>, tensor<16x4xf32>
  %scaled = chunk.scaled_solve %L, %B scales %B : tensor<16x16xf32>, tensor<16x4xf32>
  // CHECK: chunk.scaled_solve reverse %{{.*}}, %{{.*}} scales %{{.*}} : tensor<16x16xf32>, tensor<16x4xf32>
  %back = chunk.scaled_solve reverse %L, %scaled scales %B : tensor<16x16xf32>, tensor<16x4xf32>
  // CHECK: chunk.solve %{{.*}}, %{{.*}} : tensor<16x16xf32>, tensor<16x4xf32>
  %U = chunk.solve %L, %B : tensor<16x16xf32>, tensor<16x4xf32>
  %queries = chunk.map mul %through, %q : tensor<16xf32>, tensor<16x8xf32>
  %past = chunk.read %queries, %S : tensor<16x8xf32>, tensor<4x8xf32>
  // CHECK: chunk.interaction %q, %k inclusive decay log(%g : tensor<16xf32>) : tensor<16x8xf32>, tensor<16x8xf32>
  %Aq = chunk.interaction %q, %k inclusive decay log(%g : tensor<16xf32>) : tensor<16x8xf32>, tensor<16x8xf32>
  // CHECK: chunk.apply %{{.*}}, %{{.*}} : tensor<16x16xf32>, tensor<16x4xf32>
  %present = chunk.apply %Aq, %U : tensor<16x16xf32>, tensor<16x4xf32>
  %o = chunk.map add %past, %present : tensor<16x4xf32>, tensor<16x4xf32>
  %keys = chunk.map mul %after, %k : tensor<16xf32>, tensor<16x8xf32>
  // CHECK: chunk.advance %S, %{{.*}}, %{{.*}} columns(%{{.*}} : tensor<1xf32>) : tensor<4x8xf32>, tensor<16x4xf32>, tensor<16x8xf32>
  %S1 = chunk.advance %S, %U, %keys columns(%total : tensor<1xf32>) : tensor<4x8xf32>, tensor<16x4xf32>, tensor<16x8xf32>
  // CHECK: chunk.advance precise %{{.*}}, %{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<16x4xf32>, tensor<16x8xf32>
  %S2 = chunk.advance precise %S1, %U, %keys : tensor<4x8xf32>, tensor<16x4xf32>, tensor<16x8xf32>
  // CHECK: chunk.output "o" %{{.*}} : tensor<16x4xf32>
  chunk.output "o" %o : tensor<16x4xf32>
  // CHECK: chunk.next %S, %{{.*}} : tensor<4x8xf32>
  chunk.next %S, %S1 : tensor<4x8xf32>
}

// CHECK-LABEL: chunk.program @everything_else {} chunk 8 {
chunk.program @everything_else {} chunk 8 {
  // CHECK: %p = chunk.param "p" : tensor<1x3xf32>
  %p = chunk.param "p" : tensor<1x3xf32>
  %k = chunk.input "k" : tensor<8x2x3xf32>
  %l = chunk.input "l" : tensor<8x5xf32>
  %x = chunk.input "x" : tensor<8x5xf32>
  %s = chunk.input "s" : tensor<8xf32>
  // CHECK: %S = chunk.state "S" : tensor<5x3xf32>
  %S = chunk.state "S" : tensor<5x3xf32>
  %A = chunk.state "A" : tensor<5xf32>
  %m = chunk.state "m" : tensor<f32>
  // CHECK: chunk.constant 5.000000e-01 : tensor<1xf32>
  %half = chunk.constant 5.000000e-01 : tensor<1xf32>
  // CHECK: chunk.extract %k[1] : tensor<8x2x3xf32>
  %k0 = chunk.extract %k[0] : tensor<8x2x3xf32>
  %k1 = chunk.extract %k[1] : tensor<8x2x3xf32>
  // CHECK: chunk.slice %{{.*}}[1 for 2] : tensor<8x3xf32>
  %part = chunk.slice %k1[1 for 2] : tensor<8x3xf32>
  // CHECK: chunk.concat %{{.*}}, %p : tensor<8x2xf32>, tensor<1x3xf32> to tensor<8x5xf32>
  %whole = chunk.concat %part, %p : tensor<8x2xf32>, tensor<1x3xf32> to tensor<8x5xf32>
  // CHECK: chunk.broadcast %p : tensor<1x3xf32> to tensor<8x3xf32>
  %ps = chunk.broadcast %p : tensor<1x3xf32> to tensor<8x3xf32>
  // CHECK: chunk.interleave %{{.*}}, %{{.*}} : tensor<8x3xf32>, tensor<8x3xf32>
  %rows = chunk.interleave %k0, %k1 : tensor<8x3xf32>, tensor<8x3xf32>
  %xs = chunk.interleave %x, %x : tensor<8x5xf32>, tensor<8x5xf32>
  // CHECK: chunk.interaction %{{.*}}, %{{.*}} points [before, 1] of [0, 2] : tensor<16x3xf32>, tensor<16x3xf32>
  %I = chunk.interaction %rows, %rows points [before, 1] of [0, 2] : tensor<16x3xf32>, tensor<16x3xf32>
  // CHECK: chunk.solve %{{.*}}, %{{.*}} points [before, 1] of [0, 1] decay log(%l : tensor<8x5xf32>) : tensor<16x16xf32>, tensor<16x5xf32>
  %U = chunk.solve %I, %xs points [before, 1] of [0, 1] decay log(%l : tensor<8x5xf32>) : tensor<16x16xf32>, tensor<16x5xf32>
  // CHECK: chunk.apply %{{.*}}, %{{.*}} points [before, 1] of [0, 1] decay linear(%l : tensor<8x5xf32>) : tensor<16x16xf32>, tensor<16x5xf32>
  %Y = chunk.apply %I, %U points [before, 1] of [0, 1] decay linear(%l : tensor<8x5xf32>) : tensor<16x16xf32>, tensor<16x5xf32>
  // CHECK: chunk.deinterleave %{{.*}} 1 of 2 : tensor<16x5xf32>
  %y = chunk.deinterleave %Y 1 of 2 : tensor<16x5xf32>
  // CHECK: chunk.inverse %{{.*}} : tensor<16x16xf32>
  %T = chunk.inverse %I : tensor<16x16xf32>
  %gains = chunk.extract %rows[0] : tensor<16x3xf32>
  // CHECK: chunk.inverse %{{.*}} columns(%{{.*}} : tensor<16xf32>) : tensor<16x16xf32>
  %TB = chunk.inverse %I columns(%gains : tensor<16xf32>) : tensor<16x16xf32>
  // CHECK: chunk.interaction %{{.*}}, %{{.*}} before decay linear(%s : tensor<8xf32>) : tensor<8x3xf32>, tensor<8x3xf32>
  %before = chunk.interaction %k0, %ps before decay linear(%s : tensor<8xf32>) : tensor<8x3xf32>, tensor<8x3xf32>
  // CHECK: chunk.read left %x, %S : tensor<8x5xf32>, tensor<5x3xf32>
  %left = chunk.read left %x, %S : tensor<8x5xf32>, tensor<5x3xf32>
  // CHECK: chunk.advance %S, %{{.*}}, %{{.*}} rows(%{{.*}} : tensor<1x5xf32>) : tensor<5x3xf32>, tensor<16x5xf32>, tensor<16x3xf32>
  %rowDecay = chunk.cumulative_decay total linear(%l) : tensor<8x5xf32>
  %S1 = chunk.advance %S, %U, %rows rows(%rowDecay : tensor<1x5xf32>) : tensor<5x3xf32>, tensor<16x5xf32>, tensor<16x3xf32>
  // CHECK: %all, %last = chunk.scan %A, %x decay log(%s : tensor<8xf32>) : tensor<5xf32>, tensor<8x5xf32>
  %all, %last = chunk.scan %A, %x decay log(%s : tensor<8xf32>) : tensor<5xf32>, tensor<8x5xf32>
  // CHECK: chunk.moebius_scan %A, (%x, %x) over(%x, %{{.*}}) : tensor<5xf32>, tensor<8x5xf32>
  %quotients, %quotient = chunk.moebius_scan %A, (%x, %x) over (%x, %all) : tensor<5xf32>, tensor<8x5xf32>
  // CHECK: chunk.scan %A, %x angles : tensor<5xf32>, tensor<8x5xf32>
  %phases, %phase = chunk.scan %A, %x angles : tensor<5xf32>, tensor<8x5xf32>
  // CHECK: chunk.previous %A, %{{.*}} : tensor<5xf32>, tensor<8x5xf32>
  %previous = chunk.previous %A, %all : tensor<5xf32>, tensor<8x5xf32>
  // CHECK: chunk.last %x : tensor<8x5xf32>
  %lastRow = chunk.last %x : tensor<8x5xf32>
  // CHECK: chunk.map select %s, %x, %s : tensor<8xf32>, tensor<8x5xf32>, tensor<8xf32>
  %selected = chunk.map select %s, %x, %s : tensor<8xf32>, tensor<8x5xf32>, tensor<8xf32>
  // CHECK: chunk.tropical_scan %m, %s, %s : tensor<f32>, tensor<8xf32>, tensor<8xf32>
  %ms, %m1 = chunk.tropical_scan %m, %s, %s : tensor<f32>, tensor<8xf32>, tensor<8xf32>
  // CHECK: chunk.tropical_scan %m, %s, %s as soft_min : tensor<f32>, tensor<8xf32>, tensor<8xf32>
  %mt, %m2 = chunk.tropical_scan %m, %s, %s as soft_min : tensor<f32>, tensor<8xf32>, tensor<8xf32>
  // CHECK: chunk.cg %{{.*}} ridge %p iterations 30 : tensor<8x3xf32>, tensor<1x3xf32> {
  // CHECK: ^bb0(%{{.*}}: tensor<8x3xf32>):
  %solved = chunk.cg %k0 ridge %p iterations 30 : tensor<8x3xf32>, tensor<1x3xf32> {
  ^bb0(%direction: tensor<8x3xf32>):
    %image = chunk.map mul %half, %direction : tensor<1xf32>, tensor<8x3xf32>
    // CHECK: chunk.yield %{{.*}} : tensor<8x3xf32>
    chunk.yield %image : tensor<8x3xf32>
  }
  // CHECK: chunk.cg %{{.*}} ridge %p iterations 2 by_steps : tensor<8x3xf32>, tensor<1x3xf32> {
  %stepped = chunk.cg %k0 ridge %p iterations 2 by_steps : tensor<8x3xf32>, tensor<1x3xf32> {
  ^bb0(%direction: tensor<8x3xf32>):
    chunk.yield %direction : tensor<8x3xf32>
  }
  // CHECK: %{{.*}}:2 = chunk.loop carry(%{{.*}} : tensor<8x3xf32>) iterations 5 -> tensor<8x15xf32>, tensor<8x3xf32> {
  // CHECK: ^bb0(%{{.*}}: tensor<8x3xf32>):
  %kept, %final = chunk.loop carry (%k0 : tensor<8x3xf32>) iterations 5 -> tensor<8x15xf32>, tensor<8x3xf32> {
  ^bb0(%found: tensor<8x3xf32>):
    %half_of = chunk.map mul %half, %found : tensor<1xf32>, tensor<8x3xf32>
    // CHECK: chunk.yield %{{.*}}, %{{.*}} : tensor<8x3xf32>, tensor<8x3xf32>
    chunk.yield %found, %half_of : tensor<8x3xf32>, tensor<8x3xf32>
  }
  // CHECK: chunk.loop reverse kept(%{{.*}} : tensor<8x15xf32>) carry(%{{.*}} : tensor<8x3xf32>) iterations 5 -> tensor<8x3xf32> {
  // CHECK: ^bb0(%{{.*}}: tensor<8x3xf32>, %{{.*}}: tensor<8x3xf32>):
  %gathered = chunk.loop reverse kept (%kept : tensor<8x15xf32>) carry (%final : tensor<8x3xf32>) iterations 5 -> tensor<8x3xf32> {
  ^bb0(%one_part: tensor<8x3xf32>, %so_far: tensor<8x3xf32>):
    %both = chunk.map add %one_part, %so_far : tensor<8x3xf32>, tensor<8x3xf32>
    chunk.yield %both : tensor<8x3xf32>
  }
  // CHECK: %{{.*}}:2 = chunk.token_loop (%{{.*}} = %x : tensor<8x5xf32>) carry (%{{.*}} = %S : tensor<5x3xf32>) -> (tensor<8x5xf32>, tensor<5x3xf32>) {
  %loop:2 = chunk.token_loop (%x1 = %x : tensor<8x5xf32>) carry (%S0 = %S : tensor<5x3xf32>) -> (tensor<8x5xf32>, tensor<5x3xf32>) {
    %S2 = chunk.map tanh %S0 : tensor<1x5x3xf32>
    %y1 = chunk.map matvec %S2, %p : tensor<1x5x3xf32>, tensor<1x3xf32>
    %sum = chunk.map add %y1, %x1 : tensor<1x5xf32>, tensor<1x5xf32>
    // CHECK: chunk.yield %{{.*}}, %{{.*}} : tensor<1x5xf32>, tensor<1x5x3xf32>
    chunk.yield %sum, %S2 : tensor<1x5xf32>, tensor<1x5x3xf32>
  }
  // CHECK: chunk.compose elementwise(%{{.*}}, %{{.*}}), (%{{.*}}, %{{.*}}) : tensor<5x3xf32>, tensor<5x3xf32>
  %map, %offset = chunk.compose elementwise(%S, %S1), (%S1, %S) : tensor<5x3xf32>, tensor<5x3xf32>
  chunk.next %S, %S1 : tensor<5x3xf32>
  chunk.next %A, %last : tensor<5xf32>
  chunk.next %m, %m1 : tensor<f32>
}

// CHECK-LABEL: chunk.program @sum_summary {} chunk 8 summary_of "A" as elementwise {
chunk.program @sum_summary {} chunk 8 summary_of "A" as elementwise {
  %x = chunk.input "x" : tensor<8xf32>
  %zero = chunk.constant 0.0 : tensor<1xf32>
  %zeros = chunk.broadcast %zero : tensor<1xf32> to tensor<8xf32>
  %map = chunk.state "A.map" : tensor<f32>
  %offset = chunk.state "A.offset" : tensor<f32>
  %all, %last = chunk.scan %map, %zeros : tensor<f32>, tensor<8xf32>
  %all1, %last1 = chunk.scan %offset, %x : tensor<f32>, tensor<8xf32>
  chunk.next %map, %last : tensor<f32>
  chunk.next %offset, %last1 : tensor<f32>
}

// A chunk of one token has values of the tokens whose token dimension is 1 like that of a param.
// CHECK-LABEL: chunk.program @one_token {} chunk 1 {
chunk.program @one_token {} chunk 1 {
  %x = chunk.input "x" : tensor<1xf32>
  %p = chunk.param "p" : tensor<1xf32>
  %y = chunk.map mul %x, %p : tensor<1xf32>, tensor<1xf32>
  chunk.output "y" %y : tensor<1xf32>
}

// A phase of several: what it takes of earlier ones, and leaves to later ones.
// CHECK-LABEL: chunk.program @phase {} chunk 8 exact {
// CHECK: %S = chunk.take "S" whole rounded : tensor<5x3xf32>
// CHECK: %w = chunk.take "w" : tensor<16x3xf32>
// CHECK: %T = chunk.take "T" rounded triangle [2, 1] : tensor<16x8xf32>
// CHECK: %U = chunk.take "U" precise triangle [1, 1] : tensor<8x8xf32>
// CHECK: chunk.give "r" rounded %{{.*}} : tensor<16x5xf32>
// CHECK: chunk.give "V" precise %{{.*}} : tensor<8x8xf32>
chunk.program @phase {} chunk 8 exact {
  %S = chunk.take "S" whole rounded : tensor<5x3xf32>
  %w = chunk.take "w" : tensor<16x3xf32>
  %T = chunk.take "T" rounded triangle [2, 1] : tensor<16x8xf32>
  %U = chunk.take "U" precise triangle [1, 1] : tensor<8x8xf32>
  %r = chunk.read %w, %S : tensor<16x3xf32>, tensor<5x3xf32>
  chunk.give "r" rounded %r : tensor<16x5xf32>
  %V = chunk.map neg %U : tensor<8x8xf32>
  chunk.give "V" precise %V : tensor<8x8xf32>
}

// What a state was before the sequence, and the row that an input had some tokens before the chunk.
// CHECK-LABEL: chunk.program @earlier {} chunk 8 {
// CHECK: %x_back2 = chunk.initial "x_back2" : tensor<3xf32>
// CHECK: chunk.held %x[2], %x_back2 : tensor<8x3xf32>, tensor<3xf32>
// CHECK: chunk.held %g[1], %g_back1 : tensor<8xf32>, tensor<f32>
// CHECK: chunk.held %x[10], %x_last10 : tensor<8x3xf32>, tensor<10x3xf32>
// CHECK: chunk.input "x" shared stored bf16 back 9 behind %x_last10 : tensor<10x3xf32> : tensor<8x3xf32>
chunk.program @earlier {} chunk 8 {
  %x = chunk.input "x" : tensor<8x3xf32>
  %g = chunk.input "g" : tensor<8xf32>
  %x_back2 = chunk.initial "x_back2" : tensor<3xf32>
  %g_back1 = chunk.initial "g_back1" : tensor<f32>
  %row = chunk.held %x[2], %x_back2 : tensor<8x3xf32>, tensor<3xf32>
  %number = chunk.held %g[1], %g_back1 : tensor<8xf32>, tensor<f32>
  %x_last10 = chunk.initial "x_last10" : tensor<10x3xf32>
  %window = chunk.held %x[10], %x_last10 : tensor<8x3xf32>, tensor<10x3xf32>
  %before = chunk.previous %row, %x : tensor<3xf32>, tensor<8x3xf32>
  %g_before = chunk.previous %number, %g : tensor<f32>, tensor<8xf32>
  chunk.output "o" %before : tensor<8x3xf32>
  chunk.output "h" %g_before : tensor<8xf32>
  %earlier = chunk.input "x" shared stored bf16 back 9 behind %x_last10 : tensor<10x3xf32> : tensor<8x3xf32>
}

// What remains of a state, as a whole and by column.
// CHECK-LABEL: chunk.program @remains {} chunk 8 {
// CHECK: chunk.remains "S" %{{.*}} : tensor<1xf32>
// CHECK: chunk.remains "R" %{{.*}} : tensor<1x3xf32>
chunk.program @remains {} chunk 8 {
  %g = chunk.input "g" : tensor<8xf32>
  %h = chunk.input "h" : tensor<8x3xf32>
  %S = chunk.state "S" : tensor<5x3xf32>
  %R = chunk.state "R" : tensor<5x3xf32>
  %d = chunk.cumulative_decay total log(%g) : tensor<8xf32>
  %e = chunk.cumulative_decay total log(%h) : tensor<8x3xf32>
  chunk.remains "S" %d : tensor<1xf32>
  chunk.remains "R" %e : tensor<1x3xf32>
  chunk.next %S, %S : tensor<5x3xf32>
  chunk.next %R, %R : tensor<5x3xf32>
}

// CHECK-LABEL: chunk.program @stored {} chunk 4 factors bf16 {
chunk.program @stored {} chunk 4 factors bf16 {
  // CHECK: chunk.input "x" shared stored bf16 : tensor<4xf32>
  %x = chunk.input "x" shared stored bf16 : tensor<4xf32>
  // CHECK: chunk.param "a" stored f16 : tensor<1xf32>
  %a = chunk.param "a" stored f16 : tensor<1xf32>
  // CHECK: chunk.state "h" stored bf16 : tensor<f32>
  %h = chunk.state "h" stored bf16 : tensor<f32>
  %all, %last = chunk.scan %h, %x : tensor<f32>, tensor<4xf32>
  // CHECK: chunk.output "y" %all stored f16 : tensor<4xf32>
  chunk.output "y" %all stored f16 : tensor<4xf32>
  chunk.next %h, %last : tensor<f32>
}

// CHECK-LABEL: chunk.program @rounded_states {} chunk 4 keeps {
chunk.program @rounded_states {} chunk 4 keeps {
  // CHECK: %S = chunk.state "S" transposed kept bf16 : tensor<4x8xf32>
  %S = chunk.state "S" transposed kept bf16 : tensor<4x8xf32>
  chunk.next %S, %S : tensor<4x8xf32>
}

// CHECK-LABEL: chunk.program @rounded_gradient {} chunk 4 backward {
chunk.program @rounded_gradient {} chunk 4 backward {
  // CHECK: %S = chunk.kept "S" stored bf16 transposed : tensor<4x8xf32>
  %S = chunk.kept "S" stored bf16 transposed : tensor<4x8xf32>
  %dS = chunk.state "gradient.S" : tensor<4x8xf32>
  chunk.next %dS, %dS : tensor<4x8xf32>
}

// CHECK-LABEL: chunk.program @transposed
chunk.program @transposed {} chunk 4 backward {
  // CHECK: %S = chunk.kept "S" transposed : tensor<4x8xf32>
  %S = chunk.kept "S" transposed : tensor<4x8xf32>
  // CHECK: %{{.*}} = chunk.state "gradient.S" transposed : tensor<4x8xf32>
  %dS = chunk.state "gradient.S" transposed : tensor<4x8xf32>
  chunk.next %dS, %dS : tensor<4x8xf32>
}

// Of what is padded the caller has some.
// CHECK-LABEL: chunk.program @padded
chunk.program @padded {} chunk 2 {
  // CHECK: %q = chunk.input "q" shared of [3] : tensor<2x4xf32>
  %q = chunk.input "q" shared of [3] : tensor<2x4xf32>
  // CHECK: %p = chunk.param "p" of [3] : tensor<1x4xf32>
  %p = chunk.param "p" of [3] : tensor<1x4xf32>
  // CHECK: %S = chunk.state "S" of [2, 3] : tensor<4x4xf32>
  %S = chunk.state "S" of [2, 3] : tensor<4x4xf32>
  // CHECK: %C = chunk.state "C" stored bf16 transposed of [2, 3] : tensor<4x4xf32>
  %C = chunk.state "C" stored bf16 transposed of [2, 3] : tensor<4x4xf32>
  chunk.next %C, %C : tensor<4x4xf32>
  %o = chunk.read %q, %S : tensor<2x4xf32>, tensor<4x4xf32>
  // CHECK: chunk.output "o" of [2] %{{.*}} : tensor<2x4xf32>
  chunk.output "o" of [2] %o : tensor<2x4xf32>
  chunk.next %S, %S : tensor<4x4xf32>
}

// Programs of every kind of op of chunks, for ChunkOpsTest.cpp: each as kernels, against the interpreter of chunk programs.
// What the ops mean is in test/interpret.

// Products of tokens' matrices and vectors.
chunk.program @products {} chunk 24 {
  %a = chunk.input "a" : tensor<24x5xf32>
  %b = chunk.input "b" : tensor<24x3xf32>
  %m = chunk.map outer %a, %b : tensor<24x5xf32>, tensor<24x3xf32>
  %t = chunk.map tanh %m : tensor<24x5x3xf32>
  %c = chunk.map scale_cols %t, %b : tensor<24x5x3xf32>, tensor<24x3xf32>
  %r = chunk.map scale_rows %a, %c : tensor<24x5xf32>, tensor<24x5x3xf32>
  %x = chunk.map matvec %r, %b : tensor<24x5x3xf32>, tensor<24x3xf32>
  %y = chunk.map vecmat %x, %r : tensor<24x5xf32>, tensor<24x5x3xf32>
  %z = chunk.map softmax %y : tensor<24x3xf32>
  %d = chunk.map dot %x, %a : tensor<24x5xf32>, tensor<24x5xf32>
  %s = chunk.map sum %r : tensor<24x5x3xf32>
  %e = chunk.extract %r[3] : tensor<24x5x3xf32>
  %f = chunk.extract %x[4] : tensor<24x5xf32>
  chunk.output "x" %x : tensor<24x5xf32>
  chunk.output "z" %z : tensor<24x3xf32>
  chunk.output "d" %d : tensor<24xf32>
  chunk.output "s" %s : tensor<24xf32>
  chunk.output "r" %r : tensor<24x5x3xf32>
  chunk.output "e" %e : tensor<24x3xf32>
  chunk.output "f" %f : tensor<24xf32>
}

// Parts of values, and values of parts.
chunk.program @parts {} chunk 24 {
  %a = chunk.input "a" : tensor<24x37xf32>
  %p = chunk.param "p" : tensor<1x5xf32>
  %part = chunk.slice %a[3 for 29] : tensor<24x37xf32>
  %twice = chunk.map add %part, %part : tensor<24x29xf32>, tensor<24x29xf32>
  %one = chunk.extract %a[36] : tensor<24x37xf32>
  %whole = chunk.concat %p, %twice, %one : tensor<1x5xf32>, tensor<24x29xf32>, tensor<24xf32> to tensor<24x35xf32>
  %rows = chunk.concat %part, %twice, %part : tensor<24x29xf32>, tensor<24x29xf32>, tensor<24x29xf32> to tensor<24x3x29xf32>
  %last = chunk.slice %rows[1 for 2] : tensor<24x3x29xf32>
  %tall = chunk.concat %last, %twice : tensor<24x2x29xf32>, tensor<24x29xf32> to tensor<24x3x29xf32>
  %same = chunk.concat %p, %p : tensor<1x5xf32>, tensor<1x5xf32> to tensor<24x10xf32>
  chunk.output "whole" %whole : tensor<24x35xf32>
  chunk.output "last" %last : tensor<24x2x29xf32>
  chunk.output "tall" %tall : tensor<24x3x29xf32>
  chunk.output "same" %same : tensor<24x10xf32>
}

// Several rows and writes a token, and what they see.
chunk.program @rows {} chunk 24 {
  %k0 = chunk.input "k0" : tensor<24x5xf32>
  %k1 = chunk.input "k1" : tensor<24x5xf32>
  %g = chunk.input "logs" : tensor<24xf32>
  %h = chunk.input "h" : tensor<24x5xf32>
  %q = chunk.interleave %k0, %k1 : tensor<24x5xf32>, tensor<24x5xf32>
  %A = chunk.interaction %q, %q points [before, 1] of [0, 2] decay log(%g : tensor<24xf32>) : tensor<48x5xf32>, tensor<48x5xf32>
  %B = chunk.interaction %q, %q points [1, before] of [0, 1] decay linear(%h : tensor<24x5xf32>) : tensor<48x5xf32>, tensor<48x5xf32>
  %C = chunk.interaction %k0, %q points [1] of [0, 1] : tensor<24x5xf32>, tensor<48x5xf32>
  %a = chunk.apply %A, %q : tensor<48x48xf32>, tensor<48x5xf32>
  %b = chunk.apply %B, %q points [before, 1] of [0, 1] decay linear(%h : tensor<24x5xf32>) : tensor<48x48xf32>, tensor<48x5xf32>
  %c = chunk.apply %C, %q : tensor<24x48xf32>, tensor<48x5xf32>
  %d = chunk.deinterleave %a 1 of 2 : tensor<48x5xf32>
  %e = chunk.deinterleave %b 0 of 2 : tensor<48x5xf32>
  chunk.output "c" %c : tensor<24x5xf32>
  chunk.output "d" %d : tensor<24x5xf32>
  chunk.output "e" %e : tensor<24x5xf32>
}

// Solves.
chunk.program @solves {} chunk 24 {
  %k = chunk.input "k" : tensor<24x4xf32>
  %v = chunk.input "v" : tensor<24x17xf32>
  %h = chunk.input "logh" : tensor<24x17xf32>
  %g = chunk.input "logg" : tensor<24xf32>
  %s = chunk.constant 0.25 : tensor<1xf32>
  %A = chunk.interaction %k, %k strict : tensor<24x4xf32>, tensor<24x4xf32>
  %L = chunk.map mul %s, %A : tensor<1xf32>, tensor<24x24xf32>
  %x = chunk.solve %L, %v : tensor<24x24xf32>, tensor<24x17xf32>
  %y = chunk.solve %L, %v strict decay log(%h : tensor<24x17xf32>) : tensor<24x24xf32>, tensor<24x17xf32>
  %b = chunk.map mul %s, %v : tensor<1xf32>, tensor<24x17xf32>
  %scaled = chunk.scaled_solve %L, %v scales %b : tensor<24x24xf32>, tensor<24x17xf32>
  chunk.output "scaled" %scaled : tensor<24x17xf32>
  %back = chunk.scaled_solve reverse %L, %v scales %b : tensor<24x24xf32>, tensor<24x17xf32>
  chunk.output "back" %back : tensor<24x17xf32>
  %two = chunk.constant 2.0 : tensor<24xf32>
  %seen = chunk.interaction %k, %k inclusive : tensor<24x4xf32>, tensor<24x4xf32>
  %gain = chunk.map exp %g : tensor<24xf32>
  %F = chunk.eliminate %seen, %seen columns %gain diagonal %two : tensor<24x24xf32>, tensor<24xf32>
  %e = chunk.solve %F, %v : tensor<24x24xf32>, tensor<24x17xf32>
  chunk.output "e" %e : tensor<24x17xf32>
  %w = chunk.solve %L, %v strict decay log(%g : tensor<24xf32>) : tensor<24x24xf32>, tensor<24x17xf32>
  %T = chunk.inverse %L : tensor<24x24xf32>
  %z = chunk.apply %T, %v : tensor<24x24xf32>, tensor<24x17xf32>
  %G = chunk.inverse %L columns(%g : tensor<24xf32>) : tensor<24x24xf32>
  %u = chunk.apply %G, %v : tensor<24x24xf32>, tensor<24x17xf32>
  chunk.output "u" %u : tensor<24x17xf32>
  chunk.output "x" %x : tensor<24x17xf32>
  chunk.output "y" %y : tensor<24x17xf32>
  chunk.output "w" %w : tensor<24x17xf32>
  chunk.output "z" %z : tensor<24x17xf32>
}

// States read from both sides and as old values of one another.
chunk.program @reads {} chunk 24 {
  %q = chunk.input "q" : tensor<24x6xf32>
  %v = chunk.input "v" : tensor<24x18xf32>
  %g = chunk.input "logg" : tensor<24x6xf32>
  %h = chunk.input "h" : tensor<24x18xf32>
  %S = chunk.state "S" : tensor<18x6xf32>
  %Z = chunk.state "Z" : tensor<18x6xf32>
  %o = chunk.read %q, %S : tensor<24x6xf32>, tensor<18x6xf32>
  %p = chunk.read left %v, %S : tensor<24x18xf32>, tensor<18x6xf32>
  %z = chunk.read left %v, %Z : tensor<24x18xf32>, tensor<18x6xf32>
  %c = chunk.cumulative_decay total log(%g) : tensor<24x6xf32>
  %r = chunk.cumulative_decay total linear(%h) : tensor<24x18xf32>
  %a = chunk.cumulative_decay after linear(%h) : tensor<24x18xf32>
  %b = chunk.cumulative_decay before log(%g) : tensor<24x6xf32>
  %t = chunk.cumulative_decay through log(%g) : tensor<24x6xf32>
  %S1 = chunk.advance %S, %v, %q columns(%c : tensor<1x6xf32>) rows(%r : tensor<1x18xf32>) : tensor<18x6xf32>, tensor<24x18xf32>, tensor<24x6xf32>
  chunk.output "o" %o : tensor<24x18xf32>
  chunk.output "p" %p : tensor<24x6xf32>
  chunk.output "z" %z : tensor<24x6xf32>
  chunk.output "a" %a : tensor<24x18xf32>
  chunk.output "b" %b : tensor<24x6xf32>
  chunk.output "t" %t : tensor<24x6xf32>
  chunk.next %S, %S1 : tensor<18x6xf32>
  chunk.next %Z, %S : tensor<18x6xf32>
}

// Scans.
chunk.program @scans {} chunk 24 {
  %x = chunk.input "x" : tensor<24x5xf32>
  %y = chunk.input "y" : tensor<24xf32>
  %g = chunk.input "logg" : tensor<24xf32>
  %A = chunk.state "A" : tensor<5xf32>
  %M = chunk.state "M" : tensor<f32>
  %B = chunk.state "B" : tensor<5x3xf32>
  %z = chunk.input "z" : tensor<24x5x3xf32>
  %l = chunk.input "logl" : tensor<24x5x3xf32>
  %a, %a1 = chunk.scan %A, %x decay log(%g : tensor<24xf32>) : tensor<5xf32>, tensor<24x5xf32>
  %b, %b1 = chunk.scan %B, %z decay log(%l : tensor<24x5x3xf32>) : tensor<5x3xf32>, tensor<24x5x3xf32>
  %m, %m1 = chunk.tropical_scan %M, %y, %g : tensor<f32>, tensor<24xf32>, tensor<24xf32>
  %L = chunk.state "L" : tensor<f32>
  %H = chunk.state "H" : tensor<5xf32>
  %N = chunk.state "N" : tensor<5xf32>
  %e, %e1 = chunk.tropical_scan %L, %y, %g as min : tensor<f32>, tensor<24xf32>, tensor<24xf32>
  %h, %h1 = chunk.tropical_scan %H, %a, %x as soft_max : tensor<5xf32>, tensor<24x5xf32>, tensor<24x5xf32>
  %i, %i1 = chunk.tropical_scan %N, %a, %x as soft_min : tensor<5xf32>, tensor<24x5xf32>, tensor<24x5xf32>
  %Q = chunk.state "Q" : tensor<5xf32>
  %eight = chunk.constant 8.0 : tensor<1xf32>
  %c = chunk.map sigmoid %x : tensor<24x5xf32>
  %d = chunk.map add %eight, %c : tensor<1xf32>, tensor<24x5xf32>
  %q, %q1 = chunk.moebius_scan %Q, (%x, %a) over (%c, %d) : tensor<5xf32>, tensor<24x5xf32>
  chunk.output "q" %q : tensor<24x5xf32>
  chunk.next %Q, %q1 : tensor<5xf32>
  %phases, %phase = chunk.scan %N, %x angles : tensor<5xf32>, tensor<24x5xf32>
  %sines = chunk.map sin %phases : tensor<24x5xf32>
  chunk.output "sines" %sines : tensor<24x5xf32>
  %p = chunk.previous %A, %a : tensor<5xf32>, tensor<24x5xf32>
  %n = chunk.previous %M, %m : tensor<f32>, tensor<24xf32>
  chunk.output "e" %e : tensor<24xf32>
  chunk.output "h" %h : tensor<24x5xf32>
  chunk.output "i" %i : tensor<24x5xf32>
  chunk.next %L, %e1 : tensor<f32>
  chunk.next %H, %h1 : tensor<5xf32>
  chunk.next %N, %i1 : tensor<5xf32>
  chunk.output "a" %a : tensor<24x5xf32>
  chunk.output "b" %b : tensor<24x5x3xf32>
  chunk.output "m" %m : tensor<24xf32>
  chunk.output "p" %p : tensor<24x5xf32>
  chunk.output "n" %n : tensor<24xf32>
  chunk.next %A, %a1 : tensor<5xf32>
  chunk.next %M, %m1 : tensor<f32>
  chunk.next %B, %b1 : tensor<5x3xf32>
}

// A token loop whose states trade places.
chunk.program @token_loop {} chunk 24 {
  %x = chunk.input "x" : tensor<24x5xf32>
  %p = chunk.param "p" : tensor<1x3xf32>
  %S = chunk.state "S" : tensor<5x3xf32>
  %R = chunk.state "R" : tensor<5x3xf32>
  %A = chunk.interaction %x, %x inclusive : tensor<24x5xf32>, tensor<24x5xf32>
  %u = chunk.apply %A, %x : tensor<24x24xf32>, tensor<24x5xf32>
  %y, %S1, %R1 = chunk.token_loop (%x1 = %x : tensor<24x5xf32>) carry (%S0 = %S : tensor<5x3xf32>, %R0 = %R : tensor<5x3xf32>) -> (tensor<24x5xf32>, tensor<5x3xf32>, tensor<5x3xf32>) {
    %S2 = chunk.map tanh %S0 : tensor<1x5x3xf32>
    %y1 = chunk.map matvec %S2, %p : tensor<1x5x3xf32>, tensor<1x3xf32>
    %sum = chunk.map add %y1, %x1 : tensor<1x5xf32>, tensor<1x5xf32>
    %w = chunk.map outer %sum, %p : tensor<1x5xf32>, tensor<1x3xf32>
    %R2 = chunk.map add %R0, %w : tensor<1x5x3xf32>, tensor<1x5x3xf32>
    chunk.yield %sum, %R2, %S0 : tensor<1x5xf32>, tensor<1x5x3xf32>, tensor<1x5x3xf32>
  }
  chunk.output "y" %y : tensor<24x5xf32>
  chunk.output "u" %u : tensor<24x5xf32>
  chunk.next %S, %S1 : tensor<5x3xf32>
  chunk.next %R, %R1 : tensor<5x3xf32>
}

// Compositions of segments.
chunk.program @compositions {} chunk 24 {
  %A = chunk.state "A" : tensor<5x5xf32>
  %B = chunk.state "B" : tensor<7x5xf32>
  %C = chunk.state "C" : tensor<5x7xf32>
  %a, %b = chunk.compose right(%A, %B), (%A, %B) : tensor<5x5xf32>, tensor<7x5xf32>
  %d, %c = chunk.compose left(%A, %C), (%a, %C) : tensor<5x5xf32>, tensor<5x7xf32>
  %e, %f = chunk.compose elementwise(%d, %a), (%A, %d) : tensor<5x5xf32>, tensor<5x5xf32>
  %i, %j = chunk.compose soft_max(%e, %f), (%d, %a) : tensor<5x5xf32>, tensor<5x5xf32>
  %k, %l = chunk.compose soft_min(%i, %j), (%d, %a) : tensor<5x5xf32>, tensor<5x5xf32>
  %m, %n = chunk.compose tropical_min(%k, %l), (%d, %a) : tensor<5x5xf32>, tensor<5x5xf32>
  %g, %h = chunk.compose tropical(%m, %n), (%d, %a) : tensor<5x5xf32>, tensor<5x5xf32>
  %D = chunk.state "D" : tensor<5x5xf32>
  chunk.next %A, %h : tensor<5x5xf32>
  chunk.next %B, %b : tensor<7x5xf32>
  chunk.next %C, %c : tensor<5x7xf32>
  chunk.next %D, %g : tensor<5x5xf32>
}

// Conjugate gradients on a positive definite matrix of each token.
chunk.program @conjugate_gradients {} chunk 24 {
  %q = chunk.input "q" : tensor<24x4xf32>
  %k = chunk.input "k" : tensor<24x4xf32>
  %r = chunk.constant 2.0 : tensor<1x4xf32>
  %y = chunk.cg %q ridge %r iterations 12 : tensor<24x4xf32>, tensor<1x4xf32> {
  ^bb0(%x: tensor<24x4xf32>):
    %A = chunk.interaction %x, %k inclusive : tensor<24x4xf32>, tensor<24x4xf32>
    %i = chunk.apply %A, %k : tensor<24x24xf32>, tensor<24x4xf32>
    chunk.yield %i : tensor<24x4xf32>
  }
  chunk.output "y" %y : tensor<24x4xf32>
}

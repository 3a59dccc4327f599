// A program for each family of ops, for TangentsTest.cpp. All that is drawn is in [-1, 1], but `p`, which is in [0.2, 1];
// some numbers of `a` and `b` are zero.
!number = tensor<1xf32>
!numbers = tensor<4xf32>
!row = tensor<1x3xf32>
!rows = tensor<4x3xf32>
!twice = tensor<8x3xf32>
!pairs = tensor<4x4xf32>
!twice_pairs = tensor<8x8xf32>
!matrix = tensor<1x3x3xf32>
!matrices = tensor<4x3x3xf32>
!vector = tensor<3xf32>
!state = tensor<3x3xf32>

// Functions of one operand.
chunk.program @functions {} chunk 4 {
  %x = chunk.input "x" : !rows
  %p = chunk.input "p" : !rows
  %neg = chunk.map neg %x : !rows
  %exp = chunk.map exp %x : !rows
  %expm1 = chunk.map expm1 %x : !rows
  %abs = chunk.map abs %x : !rows
  %sigmoid = chunk.map sigmoid %x : !rows
  %sin = chunk.map sin %x : !rows
  %cos = chunk.map cos %x : !rows
  %tanh = chunk.map tanh %x : !rows
  %softplus = chunk.map softplus %x : !rows
  %elu = chunk.map elu %x : !rows
  %erf = chunk.map erf %x : !rows
  %floor = chunk.map floor %x : !rows
  %softmax = chunk.map softmax %x : !rows
  %log = chunk.map log %p : !rows
  %sqrt = chunk.map sqrt %p : !rows
  chunk.output "neg" %neg : !rows
  chunk.output "exp" %exp : !rows
  chunk.output "expm1" %expm1 : !rows
  chunk.output "abs" %abs : !rows
  chunk.output "sigmoid" %sigmoid : !rows
  chunk.output "sin" %sin : !rows
  chunk.output "cos" %cos : !rows
  chunk.output "tanh" %tanh : !rows
  chunk.output "softplus" %softplus : !rows
  chunk.output "elu" %elu : !rows
  chunk.output "erf" %erf : !rows
  chunk.output "floor" %floor : !rows
  chunk.output "softmax" %softmax : !rows
  chunk.output "log" %log : !rows
  chunk.output "sqrt" %sqrt : !rows
}

// Several operands of each shape, per token or not.
chunk.program @arithmetic {} chunk 4 {
  %x = chunk.input "x" : !rows
  %y = chunk.input "y" : !rows
  %p = chunk.input "p" : !rows
  %s = chunk.input "s" : !numbers
  %m = chunk.param "m" : !row
  %n = chunk.param "n" : !number
  %add = chunk.map add %x, %y : !rows, !rows
  %add_numbers = chunk.map add %s, %y : !numbers, !rows
  %add_param = chunk.map add %x, %m : !rows, !row
  %add_param_numbers = chunk.map add %m, %s : !row, !numbers
  %sub = chunk.map sub %x, %y : !rows, !rows
  %sub_numbers = chunk.map sub %s, %y : !numbers, !rows
  %sub_param = chunk.map sub %x, %m : !rows, !row
  %sub_param_numbers = chunk.map sub %m, %s : !row, !numbers
  %mul = chunk.map mul %x, %y : !rows, !rows
  %mul_numbers = chunk.map mul %s, %y : !numbers, !rows
  %mul_param = chunk.map mul %x, %m : !rows, !row
  %mul_param_numbers = chunk.map mul %m, %s : !row, !numbers
  %max = chunk.map max %x, %y : !rows, !rows
  %max_numbers = chunk.map max %s, %y : !numbers, !rows
  %max_param = chunk.map max %x, %m : !rows, !row
  %max_param_numbers = chunk.map max %m, %s : !row, !numbers
  %min = chunk.map min %x, %y : !rows, !rows
  %min_numbers = chunk.map min %s, %y : !numbers, !rows
  %min_param = chunk.map min %x, %m : !rows, !row
  %min_param_numbers = chunk.map min %m, %s : !row, !numbers
  %div = chunk.map div %x, %p : !rows, !rows
  %select = chunk.map select %x, %y, %s : !rows, !rows, !numbers
  %select_params = chunk.map select %s, %n, %m : !numbers, !number, !row
  chunk.output "add" %add : !rows
  chunk.output "add_numbers" %add_numbers : !rows
  chunk.output "add_param" %add_param : !rows
  chunk.output "add_param_numbers" %add_param_numbers : !rows
  chunk.output "sub" %sub : !rows
  chunk.output "sub_numbers" %sub_numbers : !rows
  chunk.output "sub_param" %sub_param : !rows
  chunk.output "sub_param_numbers" %sub_param_numbers : !rows
  chunk.output "mul" %mul : !rows
  chunk.output "mul_numbers" %mul_numbers : !rows
  chunk.output "mul_param" %mul_param : !rows
  chunk.output "mul_param_numbers" %mul_param_numbers : !rows
  chunk.output "max" %max : !rows
  chunk.output "max_numbers" %max_numbers : !rows
  chunk.output "max_param" %max_param : !rows
  chunk.output "max_param_numbers" %max_param_numbers : !rows
  chunk.output "min" %min : !rows
  chunk.output "min_numbers" %min_numbers : !rows
  chunk.output "min_param" %min_param : !rows
  chunk.output "min_param_numbers" %min_param_numbers : !rows
  chunk.output "div" %div : !rows
  chunk.output "select" %select : !rows
  chunk.output "select_params" %select_params : !rows
}

// Parts, and values of parts.
chunk.program @shapes {} chunk 4 {
  %x = chunk.input "x" : !rows
  %s = chunk.input "s" : !numbers
  %M = chunk.input "M" : !matrices
  %m = chunk.param "m" : !row
  %slice = chunk.slice %x[1 for 2] : !rows
  %row = chunk.concat %s, %x, %m : !numbers, !rows, !row to tensor<4x7xf32>
  %stack = chunk.concat %x, %m : !rows, !row to tensor<4x2x3xf32>
  %number = chunk.extract %x[2] : !rows
  %matrix_row = chunk.extract %M[1] : !matrices
  %wide = chunk.broadcast %s : !numbers to !rows
  %tall = chunk.broadcast %m : !row to !rows
  chunk.output "slice" %slice : tensor<4x2xf32>
  chunk.output "row" %row : tensor<4x7xf32>
  chunk.output "stack" %stack : tensor<4x2x3xf32>
  chunk.output "number" %number : !numbers
  chunk.output "matrix_row" %matrix_row : !rows
  chunk.output "wide" %wide : !rows
  chunk.output "tall" %tall : !rows
}

// Products of a token's matrices and vectors.
chunk.program @products {} chunk 4 {
  %x = chunk.input "x" : !rows
  %y = chunk.input "y" : !rows
  %M = chunk.input "M" : !matrices
  %m = chunk.param "m" : !row
  %sum = chunk.map sum %x : !rows
  %dot = chunk.map dot %x, %y : !rows, !rows
  %outer = chunk.map outer %x, %m : !rows, !row
  %matvec = chunk.map matvec %M, %x : !matrices, !rows
  %vecmat = chunk.map vecmat %x, %M : !rows, !matrices
  %scale_cols = chunk.map scale_cols %M, %x : !matrices, !rows
  %scale_rows = chunk.map scale_rows %m, %M : !row, !matrices
  chunk.output "sum" %sum : !numbers
  chunk.output "dot" %dot : !numbers
  chunk.output "outer" %outer : !matrices
  chunk.output "matvec" %matvec : !rows
  chunk.output "vecmat" %vecmat : !rows
  chunk.output "scale_cols" %scale_cols : !matrices
  chunk.output "scale_rows" %scale_rows : !matrices
}

// Matrices of a chunk's pairs of tokens.
chunk.program @interactions {} chunk 4 {
  %x = chunk.input "x" : !rows
  %y = chunk.input "y" : !rows
  %b = chunk.input "b" : !rows
  %s = chunk.input "s" : !numbers
  %a = chunk.input "a" : !numbers
  %strict = chunk.interaction %x, %y strict : !rows, !rows
  %before = chunk.interaction %x, %y before decay log(%y : !rows) : !rows, !rows
  %inclusive = chunk.interaction %x, %y inclusive decay log(%s : !numbers) : !rows, !rows
  %linear = chunk.interaction %x, %y strict decay linear(%a : !numbers) : !rows, !rows
  %channels = chunk.interaction %x, %y inclusive decay linear(%b : !rows) : !rows, !rows
  chunk.output "strict" %strict : !pairs
  chunk.output "before" %before : !pairs
  chunk.output "inclusive" %inclusive : !pairs
  chunk.output "linear" %linear : !pairs
  chunk.output "channels" %channels : !pairs
}

// What is done with such a matrix; this one is not triangular.
chunk.program @matrices {} chunk 4 {
  %x = chunk.input "x" : !rows
  %y = chunk.input "y" : !rows
  %b = chunk.input "b" : !rows
  %s = chunk.input "s" : !numbers
  %L = chunk.input "L" : !pairs
  %apply = chunk.apply %L, %x : !pairs, !rows
  %apply_linear = chunk.apply %L, %x strict decay linear(%b : !rows) : !pairs, !rows
  %apply_log = chunk.apply %L, %x before decay log(%y : !rows) : !pairs, !rows
  %solve = chunk.solve %L, %x : !pairs, !rows
  %scaled = chunk.scaled_solve %L, %x scales %y : !pairs, !rows
  %reverse = chunk.scaled_solve reverse %L, %x scales %y : !pairs, !rows
  %solve_linear = chunk.solve %L, %x strict decay linear(%b : !rows) : !pairs, !rows
  %solve_log = chunk.solve %L, %x strict decay log(%y : !rows) : !pairs, !rows
  %inverse = chunk.inverse %L : !pairs
  %inverse_columns = chunk.inverse %L columns(%s : !numbers) : !pairs
  %two = chunk.constant 2.0 : tensor<4xf32>
  %diagonal = chunk.map add %two, %s : !numbers, !numbers
  %K = chunk.interaction %x, %y inclusive : !rows, !rows
  %factors = chunk.eliminate %L, %L columns %s diagonal %diagonal : !pairs, !numbers
  %both = chunk.eliminate %L, %K columns %s diagonal %diagonal : !pairs, !numbers
  chunk.output "factors" %factors : !pairs
  chunk.output "both" %both : !pairs
  chunk.output "apply" %apply : !rows
  chunk.output "apply_linear" %apply_linear : !rows
  chunk.output "apply_log" %apply_log : !rows
  chunk.output "solve" %solve : !rows
  chunk.output "scaled" %scaled : !rows
  chunk.output "reverse" %reverse : !rows
  chunk.output "solve_linear" %solve_linear : !rows
  chunk.output "solve_log" %solve_log : !rows
  chunk.output "inverse" %inverse : !pairs
  chunk.output "inverse_columns" %inverse_columns : !pairs
}

// Reads of states.
chunk.program @states {} chunk 4 {
  %x = chunk.input "x" : !rows
  %S = chunk.state "S" : !state
  %A = chunk.state "A" : !vector
  %read = chunk.read %x, %S : !rows, !state
  %read_left = chunk.read left %x, %S : !rows, !state
  %previous = chunk.previous %A, %x : !vector, !rows
  chunk.output "read" %read : !rows
  chunk.output "read_left" %read_left : !rows
  chunk.output "previous" %previous : !rows
  chunk.next %S, %S : !state
  chunk.next %A, %A : !vector
}

// Cumulative decays, of which some are zero.
chunk.program @decays {} chunk 4 {
  %y = chunk.input "y" : !rows
  %b = chunk.input "b" : !rows
  %a = chunk.input "a" : !numbers
  %through_log = chunk.cumulative_decay through log(%y) : !rows
  %through_linear = chunk.cumulative_decay through linear(%b) : !rows
  %through_numbers = chunk.cumulative_decay through linear(%a) : !numbers
  %before_log = chunk.cumulative_decay before log(%y) : !rows
  %before_linear = chunk.cumulative_decay before linear(%b) : !rows
  %before_numbers = chunk.cumulative_decay before linear(%a) : !numbers
  %after_log = chunk.cumulative_decay after log(%y) : !rows
  %after_linear = chunk.cumulative_decay after linear(%b) : !rows
  %after_numbers = chunk.cumulative_decay after linear(%a) : !numbers
  chunk.output "through_log" %through_log : !rows
  chunk.output "through_linear" %through_linear : !rows
  chunk.output "through_numbers" %through_numbers : !numbers
  chunk.output "before_log" %before_log : !rows
  chunk.output "before_linear" %before_linear : !rows
  chunk.output "before_numbers" %before_numbers : !numbers
  chunk.output "after_log" %after_log : !rows
  chunk.output "after_linear" %after_linear : !rows
  chunk.output "after_numbers" %after_numbers : !numbers
}

// The decay of a whole chunk.
chunk.program @total {} chunk 4 {
  %x = chunk.input "x" : !rows
  %b = chunk.input "b" : !rows
  %t = chunk.cumulative_decay total linear(%b) : !rows
  %o = chunk.map mul %t, %x : !row, !rows
  chunk.output "o" %o : !rows
}

// Two rows and two writes a token.
chunk.program @interleaved {} chunk 4 {
  %x = chunk.input "x" : !rows
  %y = chunk.input "y" : !rows
  %z = chunk.input "z" : !rows
  %b = chunk.input "b" : !rows
  %s = chunk.input "s" : !numbers
  %v = chunk.interleave %x, %y : !rows, !rows
  %w = chunk.interleave %y, %z : !rows, !rows
  %I = chunk.interaction %v, %w points [before, 1] of [0, 1] decay linear(%b : !rows) : !twice, !twice
  %second = chunk.deinterleave %I 1 of 2 : !twice_pairs
  %J = chunk.interaction %v, %w points [0, 1] of [0, 1] decay log(%s : !numbers) : !twice, !twice
  %U = chunk.solve %J, %w points [0, 1] of [0, 1] decay linear(%b : !rows) : !twice_pairs, !twice
  %first = chunk.deinterleave %U 0 of 2 : !twice
  chunk.output "second" %second : tensor<4x8xf32>
  chunk.output "first" %first : !rows
}

// Scans.
chunk.program @scans {} chunk 4 {
  %x = chunk.input "x" : !rows
  %y = chunk.input "y" : !rows
  %b = chunk.input "b" : !rows
  %s = chunk.input "s" : !numbers
  %p = chunk.input "p" : !rows
  %A = chunk.state "A" : !vector
  %B = chunk.state "B" : !vector
  %C = chunk.state "C" : !vector
  %D = chunk.state "D" : !vector
  %E = chunk.state "E" : !vector
  %F = chunk.state "F" : !vector
  %G = chunk.state "G" : !vector
  %H = chunk.state "H" : !vector
  %I = chunk.state "I" : !vector
  %linear, %A1 = chunk.scan %A, %x decay linear(%b : !rows) : !vector, !rows
  %log, %B1 = chunk.scan %B, %x decay log(%s : !numbers) : !vector, !rows
  %plain, %C1 = chunk.scan %C, %x : !vector, !rows
  %max, %D1 = chunk.tropical_scan %D, %x, %y : !vector, !rows, !rows
  %min, %E1 = chunk.tropical_scan %E, %x, %y as min : !vector, !rows, !rows
  %soft_max, %F1 = chunk.tropical_scan %F, %x, %y as soft_max : !vector, !rows, !rows
  %soft_min, %G1 = chunk.tropical_scan %G, %x, %y as soft_min : !vector, !rows, !rows
  %turned, %H1 = chunk.scan %H, %x angles : !vector, !rows
  %four = chunk.constant 4.0 : tensor<1xf32>
  %w = chunk.map exp %b : !rows
  %c = chunk.map sigmoid %p : !rows
  %d = chunk.map add %four, %w : tensor<1xf32>, !rows
  %quotient, %I1 = chunk.moebius_scan %I, (%x, %y) over (%c, %d) : !vector, !rows
  chunk.output "turned" %turned : !rows
  chunk.next %H, %H1 : !vector
  chunk.output "quotient" %quotient : !rows
  chunk.next %I, %I1 : !vector
  chunk.output "linear" %linear : !rows
  chunk.next %A, %A1 : !vector
  chunk.output "log" %log : !rows
  chunk.next %B, %B1 : !vector
  chunk.output "plain" %plain : !rows
  chunk.next %C, %C1 : !vector
  chunk.output "max" %max : !rows
  chunk.next %D, %D1 : !vector
  chunk.output "min" %min : !rows
  chunk.next %E, %E1 : !vector
  chunk.output "soft_max" %soft_max : !rows
  chunk.next %F, %F1 : !vector
  chunk.output "soft_min" %soft_min : !rows
  chunk.next %G, %G1 : !vector
}

// Conjugate gradients.
chunk.program @conjugate_gradients {} chunk 4 {
  %x = chunk.input "x" : !rows
  %y = chunk.input "y" : !rows
  %p = chunk.input "p" : !rows
  %two = chunk.constant 2.0 : !number
  %c = chunk.map add %two, %p : !number, !rows
  %o = chunk.cg %x ridge %c iterations 20 : !rows, !rows {
  ^bb0(%q: !rows):
    %r = chunk.interaction %q, %y inclusive : !rows, !rows
    %r1 = chunk.apply %r, %y : !pairs, !rows
    chunk.yield %r1 : !rows
  }
  chunk.output "o" %o : !rows
}

// Token by token.
chunk.program @token_loops {} chunk 4 {
  %x = chunk.input "x" : !rows
  %y = chunk.input "y" : !rows
  %m = chunk.param "m" : !row
  %S = chunk.state "S" : !state
  %A = chunk.state "A" : !vector
  %o, %S1 = chunk.token_loop (%x1 = %x : !rows, %y1 = %y : !rows) carry (%S0 = %S : !state) -> (!rows, !state) {
    %a1 = chunk.map tanh %S0 : !matrix
    %u1 = chunk.map outer %x1, %m : !row, !row
    %b1 = chunk.map sub %a1, %u1 : !matrix, !matrix
    %o1 = chunk.map matvec %b1, %y1 : !matrix, !row
    chunk.yield %o1, %b1 : !row, !matrix
  }
  // A state that its loop does not read again.
  %delayed, %A1 = chunk.token_loop (%x1 = %x : !rows) carry (%A0 = %A : !vector) -> (!rows, !vector) {
    %d1 = chunk.map exp %x1 : !row
    chunk.yield %A0, %d1 : !row, !row
  }
  chunk.output "o" %o : !rows
  chunk.output "delayed" %delayed : !rows
  chunk.next %S, %S1 : !state
  chunk.next %A, %A1 : !vector
}

// Summaries one after another, of each kind.
chunk.program @compositions {} chunk 4 {
  %A = chunk.state "A" : !state
  %B = chunk.state "B" : !state
  %C = chunk.state "C" : !state
  %D = chunk.state "D" : !state
  %right_map = chunk.state "right_map" : !state
  %right_offset = chunk.state "right_offset" : !state
  %left_map = chunk.state "left_map" : !state
  %left_offset = chunk.state "left_offset" : !state
  %elementwise_map = chunk.state "elementwise_map" : !state
  %elementwise_offset = chunk.state "elementwise_offset" : !state
  %tropical_map = chunk.state "tropical_map" : !state
  %tropical_offset = chunk.state "tropical_offset" : !state
  %tropical_min_map = chunk.state "tropical_min_map" : !state
  %tropical_min_offset = chunk.state "tropical_min_offset" : !state
  %soft_max_map = chunk.state "soft_max_map" : !state
  %soft_max_offset = chunk.state "soft_max_offset" : !state
  %soft_min_map = chunk.state "soft_min_map" : !state
  %soft_min_offset = chunk.state "soft_min_offset" : !state
  %right:2 = chunk.compose right(%A, %B), (%C, %D) : !state, !state
  %left:2 = chunk.compose left(%A, %B), (%C, %D) : !state, !state
  %elementwise:2 = chunk.compose elementwise(%A, %B), (%C, %D) : !state, !state
  %tropical:2 = chunk.compose tropical(%A, %B), (%C, %D) : !state, !state
  %tropical_min:2 = chunk.compose tropical_min(%A, %B), (%C, %D) : !state, !state
  %soft_max:2 = chunk.compose soft_max(%A, %B), (%C, %D) : !state, !state
  %soft_min:2 = chunk.compose soft_min(%A, %B), (%C, %D) : !state, !state
  chunk.next %A, %A : !state
  chunk.next %B, %B : !state
  chunk.next %C, %C : !state
  chunk.next %D, %D : !state
  chunk.next %right_map, %right#0 : !state
  chunk.next %right_offset, %right#1 : !state
  chunk.next %left_map, %left#0 : !state
  chunk.next %left_offset, %left#1 : !state
  chunk.next %elementwise_map, %elementwise#0 : !state
  chunk.next %elementwise_offset, %elementwise#1 : !state
  chunk.next %tropical_map, %tropical#0 : !state
  chunk.next %tropical_offset, %tropical#1 : !state
  chunk.next %tropical_min_map, %tropical_min#0 : !state
  chunk.next %tropical_min_offset, %tropical_min#1 : !state
  chunk.next %soft_max_map, %soft_max#0 : !state
  chunk.next %soft_max_offset, %soft_max#1 : !state
  chunk.next %soft_min_map, %soft_min#0 : !state
  chunk.next %soft_min_offset, %soft_min#1 : !state
}

// RUN: recur-opt --verify-diagnostics --split-input-file %s

// The program and its declarations.
// expected-error@+1 {{'chunk.program' op needs a chunk of at least 1 token, but it is 0}}
chunk.program @p {} chunk 0 {
}

// -----

chunk.program @p {} chunk 8 {
  // expected-note@+1 {{first declared here}}
  %k = chunk.input "k" : tensor<8x3xf32>
  // expected-error@+1 {{'chunk.input' op declares 'k' a second time}}
  %k1 = chunk.input "k" : tensor<8x3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  // expected-error@+1 {{'chunk.input' op has 7 tokens, but the chunk has 8}}
  %x = chunk.input "x" : tensor<7x3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  // expected-note@+1 {{first declared here}}
  chunk.output "o" %k : tensor<8x3xf32>
  // expected-error@+1 {{'chunk.output' op declares 'o' a second time}}
  chunk.output "o" %k : tensor<8x3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %p = chunk.param "p" : tensor<1xf32>
  // expected-error@+1 {{'chunk.output' op has 1 tokens, but the chunk has 8}}
  chunk.output "o" %p : tensor<1xf32>
}

// -----

chunk.program @p {} chunk 8 {
  // expected-error@+1 {{'chunk.input' op has 1 dimensions, but sizes of 2}}
  %x = chunk.input "x" of [3, 3] : tensor<8x4xf32>
}

// -----

chunk.program @p {} chunk 8 {
  // expected-error@+1 {{'chunk.state' op has 4 numbers along a dimension, of which the caller cannot have 5}}
  %S = chunk.state "S" of [5] : tensor<4xf32>
  chunk.next %S, %S : tensor<4xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %x = chunk.input "x" : tensor<8x4xf32>
  // expected-error@+1 {{'chunk.output' op has 4 numbers along a dimension, of which the caller cannot have 0}}
  chunk.output "x" of [0] %x : tensor<8x4xf32>
}

// -----

chunk.program @p {} chunk 8 {
  // expected-error@+1 {{'chunk.param' op has 4 numbers along a dimension, of which the caller cannot have 6}}
  %p = chunk.param "p" of [6] : tensor<1x4xf32>
}

// -----

chunk.program @p {} chunk 8 {
  // expected-error@+1 {{'chunk.param' op is the same for every token, so its token dimension must be 1, but it is 8}}
  %p = chunk.param "p" : tensor<8xf32>
}

// -----

chunk.program @p {} chunk 8 {
  // expected-error@+1 {{'chunk.state' op has no chunk.next that says what 'S' becomes}}
  %S = chunk.state "S" : tensor<2x3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %S = chunk.state "S" : tensor<2x3xf32>
  // expected-note@+1 {{first updated here}}
  chunk.next %S, %S : tensor<2x3xf32>
  // expected-error@+1 {{'chunk.next' op updates state 'S' a second time}}
  chunk.next %S, %S : tensor<2x3xf32>
}

// -----

chunk.program @p {} chunk 2 {
  %x = chunk.input "x" : tensor<2x3xf32>
  // expected-error@+1 {{'chunk.next' op expects the result of a chunk.state as its first operand}}
  chunk.next %x, %x : tensor<2x3xf32>
}

// -----

// Functions of one token's values.
chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  // expected-error@+1 {{'add' takes 2 operands, but there are 1}}
  %x = chunk.map add %k : tensor<8x3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  // expected-error@+1 {{'exp' takes 1 operand, but there are 2}}
  %x = chunk.map exp %k, %k : tensor<8x3xf32>, tensor<8x3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  // expected-error@+1 {{'add' needs equal shapes or a scalar, but each token has 3 and 2}}
  %x = chunk.map add %k, %v : tensor<8x3xf32>, tensor<8x2xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %i = chunk.interleave %k, %k : tensor<8x3xf32>, tensor<8x3xf32>
  // expected-error@+1 {{the operands have 8 and 16 tokens}}
  %x = chunk.map add %k, %i : tensor<8x3xf32>, tensor<16x3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  // expected-error@+1 {{'dot' needs two vectors of one size, but each token has 3 and 2}}
  %x = chunk.map dot %k, %v : tensor<8x3xf32>, tensor<8x2xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %g = chunk.input "g" : tensor<8xf32>
  // expected-error@+1 {{'outer' needs two vectors, but each token has 3 and a scalar}}
  %x = chunk.map outer %k, %g : tensor<8x3xf32>, tensor<8xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %g = chunk.input "g" : tensor<8xf32>
  // expected-error@+1 {{'select' needs equal shapes or scalars, but each token has a scalar, 3 and 2}}
  %x = chunk.map select %g, %k, %v : tensor<8xf32>, tensor<8x3xf32>, tensor<8x2xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %g = chunk.input "g" : tensor<8xf32>
  // expected-error@+1 {{'softmax' needs a vector, but each token has a scalar}}
  %x = chunk.map softmax %g : tensor<8xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %m = chunk.map outer %k, %v : tensor<8x3xf32>, tensor<8x2xf32>
  // expected-error@+1 {{'matvec' needs a matrix and a vector as long as its rows, but each token has 3x2 and 3}}
  %x = chunk.map matvec %m, %k : tensor<8x3x2xf32>, tensor<8x3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %m = chunk.map outer %k, %v : tensor<8x3xf32>, tensor<8x2xf32>
  // expected-error@+1 {{'vecmat' needs a vector and a matrix with as many rows, but each token has 2 and 3x2}}
  %x = chunk.map vecmat %v, %m : tensor<8x2xf32>, tensor<8x3x2xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %m = chunk.map outer %k, %v : tensor<8x3xf32>, tensor<8x2xf32>
  // expected-error@+1 {{'scale_cols' needs a matrix and a vector as long as its rows, but each token has 3x2 and 3}}
  %x = chunk.map scale_cols %m, %k : tensor<8x3x2xf32>, tensor<8x3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %m = chunk.map outer %k, %v : tensor<8x3xf32>, tensor<8x2xf32>
  // expected-error@+1 {{'scale_rows' needs a vector and a matrix with as many rows, but each token has 2 and 3x2}}
  %x = chunk.map scale_rows %v, %m : tensor<8x2xf32>, tensor<8x3x2xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %g = chunk.input "g" : tensor<8xf32>
  // expected-error@+1 {{a scalar of each token has no elements to extract}}
  %x = chunk.extract %g[0] : tensor<8xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  // expected-error@+1 {{index 3 is outside of 'tensor<8x3xf32>', whose first size after the tokens is 3}}
  %x = chunk.extract %k[3] : tensor<8x3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %g = chunk.input "g" : tensor<8xf32>
  // expected-error@+1 {{a scalar of each token has no elements to slice}}
  %x = chunk.slice %g[0 for 1] : tensor<8xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  // expected-error@+1 {{a slice has at least one element, but the size of this one is 0}}
  %x = chunk.slice %k[1 for 0] : tensor<8x3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  // expected-error@+1 {{3 from 1 on are not within 'tensor<8x3xf32>', whose first size after the tokens is 3}}
  %x = chunk.slice %k[1 for 3] : tensor<8x3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  // expected-error@+1 {{'chunk.concat' op needs at least one operand}}
  %x = "chunk.concat"() : () -> tensor<8x3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %g = chunk.input "g" : tensor<8xf32>
  // expected-error@+1 {{'chunk.concat' op gives a vector or a matrix of each token, but its result is a scalar}}
  %x = chunk.concat %g : tensor<8xf32> to tensor<8xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  // expected-error@+1 {{'chunk.concat' op cannot make 'tensor<8x3xf32>' a part of 'tensor<8x2x4xf32>'}}
  %x = chunk.concat %k, %k : tensor<8x3xf32>, tensor<8x3xf32> to tensor<8x2x4xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  // expected-error@+1 {{'chunk.concat' op has 16 tokens, but an operand has 8}}
  %x = chunk.concat %k, %k : tensor<8x3xf32>, tensor<8x3xf32> to tensor<16x6xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  // expected-error@+1 {{'chunk.concat' op has 6 elements in its operands, but 'tensor<8x7xf32>' has 7}}
  %x = chunk.concat %k, %k : tensor<8x3xf32>, tensor<8x3xf32> to tensor<8x7xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  // expected-error@+1 {{'chunk.broadcast' op cannot make 16 tokens of 8}}
  %x = chunk.broadcast %k : tensor<8x3xf32> to tensor<16x3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  // expected-error@+1 {{'chunk.broadcast' op cannot make 'tensor<8x4xf32>' of 'tensor<8x3xf32>': each token's value must keep its shape or be a scalar}}
  %x = chunk.broadcast %k : tensor<8x3xf32> to tensor<8x4xf32>
}

// -----

chunk.program @p {} chunk 8 {
  // expected-error@+2 {{at least one operand is needed}}
  // expected-error@+1 {{'chunk.interleave' op failed to infer returned types}}
  %x = "chunk.interleave"() : () -> tensor<8x3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  // expected-error@+1 {{3 steps a token do not divide 8 rows}}
  %x = chunk.deinterleave %k 0 of 3 : tensor<8x3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  // expected-error@+1 {{step 2 is not one of 2 steps}}
  %x = chunk.deinterleave %k 2 of 2 : tensor<8x3xf32>
}

// -----

// Interactions.
chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  // expected-error@+1 {{the rows have 3 channels, but the writes have 2}}
  %x = chunk.interaction %k, %v strict : tensor<8x3xf32>, tensor<8x2xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  // expected-error@+1 {{3 rows a token do not divide 8 rows}}
  %x = chunk.interaction %k, %k points [0, 1, 2] of [0] : tensor<8x3xf32>, tensor<8x3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  // expected-error@+1 {{3 writes a token do not divide 8 writes}}
  %x = chunk.interaction %k, %k points [0] of [0, 1, 2] : tensor<8x3xf32>, tensor<8x3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  // expected-error@+1 {{the rows are of 4 tokens, but the writes of 8}}
  %x = chunk.interaction %k, %k points [0, 1] of [0] : tensor<8x3xf32>, tensor<8x3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  // expected-error@+1 {{at least one row and one write a token are needed}}
  %x = chunk.interaction %k, %k points [] of [0] : tensor<8x3xf32>, tensor<8x3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  // expected-error@+1 {{a point is 'before' or a number of writes, but one is -2}}
  %x = chunk.interaction %k, %k points [-2] of [0] : tensor<8x3xf32>, tensor<8x3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  // expected-error@+1 {{the place of a write is 0 or more, but one is -1}}
  %x = chunk.interaction %k, %k points [0] of [-1] : tensor<8x3xf32>, tensor<8x3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %g = chunk.param "g" : tensor<1xf32>
  // expected-error@+1 {{the decay has steps for 1 tokens, but there are 8}}
  %x = chunk.interaction %k, %k strict decay log(%g : tensor<1xf32>) : tensor<8x3xf32>, tensor<8x3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  // expected-error@+1 {{the decay must have one step a token or one for each of 3 channels, but it is 'tensor<8x2xf32>'}}
  %x = chunk.interaction %k, %k strict decay log(%v : tensor<8x2xf32>) : tensor<8x3xf32>, tensor<8x3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  // expected-error@+1 {{custom op 'chunk.interaction' expected 'before', 'strict', 'inclusive' or 'points'}}
  %x = chunk.interaction %k, %k : tensor<8x3xf32>, tensor<8x3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %g = chunk.input "g" : tensor<8xf32>
  // expected-error@+1 {{custom op 'chunk.interaction' expected 'log' or 'linear'}}
  %x = chunk.interaction %k, %k strict decay exp(%g : tensor<8xf32>) : tensor<8x3xf32>, tensor<8x3xf32>
}

// -----

// Apply, solve and inverse.
chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %A = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
  %x = chunk.input "x" : tensor<8x2xf32>
  %i = chunk.interleave %x, %x : tensor<8x2xf32>, tensor<8x2xf32>
  // expected-error@+1 {{the matrix has 8 columns, but there are 16 values}}
  %y = chunk.apply %A, %i : tensor<8x8xf32>, tensor<16x2xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %A = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %g = chunk.input "g" : tensor<8xf32>
  // expected-error@+2 {{a decay of the channels needs to know what the rows see}}
  // expected-error@+1 {{'chunk.apply' op failed to infer returned types}}
  %y = "chunk.apply"(%A, %v, %g) : (tensor<8x8xf32>, tensor<8x2xf32>, tensor<8xf32>) -> tensor<8x2xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %A = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
  // expected-error@+1 {{the decay must have one step a token or one for each of 2 channels, but it is 'tensor<8x3xf32>'}}
  %y = chunk.apply %A, %v strict decay log(%k : tensor<8x3xf32>) : tensor<8x8xf32>, tensor<8x2xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  // expected-error@+1 {{the matrix must be square, but it is 'tensor<8x3xf32>'}}
  %y = chunk.solve %k, %v : tensor<8x3xf32>, tensor<8x2xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %A = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %i = chunk.interleave %v, %v : tensor<8x2xf32>, tensor<8x2xf32>
  // expected-error@+1 {{the matrix has 8 columns, but there are 16 values}}
  %y = chunk.solve %A, %i : tensor<8x8xf32>, tensor<16x2xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %c = chunk.input "c" : tensor<8xf32>
  // expected-error@+1 {{the matrix must be square, but it is 'tensor<8x3xf32>'}}
  %y = chunk.eliminate %k, %k columns %c diagonal %c : tensor<8x3xf32>, tensor<8xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x8xf32>
  %c = chunk.constant 1.0 : tensor<1xf32>
  // expected-error@+1 {{the matrix has 8 columns, but there are 1 factors}}
  %y = chunk.eliminate %k, %k columns %c diagonal %c : tensor<8x8xf32>, tensor<1xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  // expected-error@+1 {{the matrix must be square, but it is 'tensor<8x3xf32>'}}
  %y = chunk.inverse %k : tensor<8x3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x8xf32>
  %c = chunk.constant 1.0 : tensor<1xf32>
  // expected-error@+1 {{the matrix has 8 columns, but there are 1 gains}}
  %y = chunk.inverse %k columns(%c : tensor<1xf32>) : tensor<8x8xf32>
}

// -----

// Reads and advances.
chunk.program @p {} chunk 8 {
  %v = chunk.input "v" : tensor<8x2xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  // expected-error@+1 {{a row has 2 elements, but the state 'tensor<2x3xf32>' has 3 columns}}
  %x = chunk.read %v, %S : tensor<8x2xf32>, tensor<2x3xf32>
  chunk.next %S, %S : tensor<2x3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  // expected-error@+1 {{a row has 3 elements, but the state 'tensor<2x3xf32>' has 2 rows}}
  %x = chunk.read left %k, %S : tensor<8x3xf32>, tensor<2x3xf32>
  chunk.next %S, %S : tensor<2x3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  %i = chunk.interleave %v, %v : tensor<8x2xf32>, tensor<8x2xf32>
  // expected-error@+1 {{there are 16 values, but 8 keys}}
  %x = chunk.advance %S, %i, %k : tensor<2x3xf32>, tensor<16x2xf32>, tensor<8x3xf32>
  chunk.next %S, %S : tensor<2x3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  // expected-error@+1 {{values of 3 elements and keys of 2 make a write of 3x2, but the state is 'tensor<2x3xf32>'}}
  %x = chunk.advance %S, %k, %v : tensor<2x3xf32>, tensor<8x3xf32>, tensor<8x2xf32>
  chunk.next %S, %S : tensor<2x3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  %g = chunk.input "g" : tensor<8xf32>
  // expected-error@+1 {{the column decay must be one number or 3, but it is 'tensor<8xf32>'}}
  %x = chunk.advance %S, %v, %k columns(%g : tensor<8xf32>) : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  chunk.next %S, %S : tensor<2x3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  %d = chunk.cumulative_decay total log(%k) : tensor<8x3xf32>
  // expected-error@+1 {{the row decay must be one number or 2, but it is 'tensor<1x3xf32>'}}
  %x = chunk.advance %S, %v, %k rows(%d : tensor<1x3xf32>) : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  chunk.next %S, %S : tensor<2x3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %S = chunk.state "S" : tensor<2x3xf32>
  // expected-error@+1 {{'chunk.reshape_state' op cannot make 'tensor<5xf32>' of 'tensor<2x3xf32>': they have 5 and 6 elements}}
  %x = chunk.reshape_state %S : tensor<2x3xf32> to tensor<5xf32>
  chunk.next %S, %S : tensor<2x3xf32>
}

// -----

// Scans.
chunk.program @p {} chunk 8 {
  %A = chunk.state "A" : tensor<3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  // expected-error@+1 {{the additions of each token must have the shape of the state 'tensor<3xf32>', but they are 'tensor<8x2xf32>'}}
  %x, %y = chunk.scan %A, %v : tensor<3xf32>, tensor<8x2xf32>
  chunk.next %A, %A : tensor<3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %A = chunk.state "A" : tensor<3xf32>
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  // expected-error@+1 {{the decay steps of each token must have the shape of the state 'tensor<3xf32>', but they are 'tensor<8x2xf32>'}}
  %x, %y = chunk.scan %A, %k decay log(%v : tensor<8x2xf32>) : tensor<3xf32>, tensor<8x3xf32>
  chunk.next %A, %A : tensor<3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %A = chunk.state "A" : tensor<3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  // expected-error@+1 {{the factors of each token must have the shape of the state 'tensor<3xf32>', but they are 'tensor<8x2xf32>'}}
  %x, %y = chunk.moebius_scan %A, (%v, %v) over (%v, %v) : tensor<3xf32>, tensor<8x2xf32>
  chunk.next %A, %A : tensor<3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %A = chunk.state "A" : tensor<3xf32>
  %k = chunk.input "k" : tensor<8x3xf32>
  %g = chunk.input "g" : tensor<8xf32>
  // expected-error@+1 {{angles do not decay}}
  %x, %y = chunk.scan %A, %k decay log(%g : tensor<8xf32>) angles : tensor<3xf32>, tensor<8x3xf32>
  chunk.next %A, %A : tensor<3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %A = chunk.state "A" : tensor<3xf32>
  %k = chunk.input "k" : tensor<8x3xf32>
  %g = chunk.param "g" : tensor<1xf32>
  // expected-error@+1 {{the decay has steps for 1 tokens, but there are additions for 8}}
  %x, %y = chunk.scan %A, %k decay log(%g : tensor<1xf32>) : tensor<3xf32>, tensor<8x3xf32>
  chunk.next %A, %A : tensor<3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %A = chunk.state "A" : tensor<3xf32>
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  // expected-error@+1 {{the shifts of each token must have the shape of the state 'tensor<3xf32>', but they are 'tensor<8x2xf32>'}}
  %x, %y = chunk.tropical_scan %A, %v, %k : tensor<3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  chunk.next %A, %A : tensor<3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %A = chunk.state "A" : tensor<3xf32>
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  // expected-error@+1 {{the bounds of each token must have the shape of the state 'tensor<3xf32>', but they are 'tensor<8x2xf32>'}}
  %x, %y = chunk.tropical_scan %A, %k, %v : tensor<3xf32>, tensor<8x3xf32>, tensor<8x2xf32>
  chunk.next %A, %A : tensor<3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %A = chunk.state "A" : tensor<3xf32>
  %k = chunk.input "k" : tensor<8x3xf32>
  %p = chunk.param "p" : tensor<1x3xf32>
  // expected-error@+1 {{the shifts are 'tensor<8x3xf32>', but the bounds 'tensor<1x3xf32>'}}
  %x, %y = chunk.tropical_scan %A, %k, %p : tensor<3xf32>, tensor<8x3xf32>, tensor<1x3xf32>
  chunk.next %A, %A : tensor<3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %A = chunk.state "A" : tensor<3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  // expected-error@+1 {{the values of each token must have the shape of the state 'tensor<3xf32>', but they are 'tensor<8x2xf32>'}}
  %x = chunk.previous %A, %v : tensor<3xf32>, tensor<8x2xf32>
  chunk.next %A, %A : tensor<3xf32>
}

// -----

// Token loops.
chunk.program @p {} chunk 8 {
  %A = chunk.state "A" : tensor<3xf32>
  %k = chunk.input "k" : tensor<8x3xf32>
  %l:2 = chunk.token_loop (%k1 = %k : tensor<8x3xf32>) carry (%a = %A : tensor<3xf32>) -> (tensor<8x3xf32>, tensor<3xf32>) {
    // expected-error@+1 {{'chunk.yield' op gives 1 values, but the loop around it has 2 results, the last 1 of them states}}
    chunk.yield %k1 : tensor<1x3xf32>
  }
  chunk.next %A, %A : tensor<3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %A = chunk.state "A" : tensor<3xf32>
  %k = chunk.input "k" : tensor<8x3xf32>
  %l:2 = chunk.token_loop (%k1 = %k : tensor<8x3xf32>) carry (%a = %A : tensor<3xf32>) -> (tensor<8xf32>, tensor<3xf32>) {
    // expected-error@+1 {{'chunk.yield' op value 0 must be 'tensor<1xf32>', but it is 'tensor<1x3xf32>'}}
    chunk.yield %k1, %a : tensor<1x3xf32>, tensor<1x3xf32>
  }
  chunk.next %A, %A : tensor<3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %A = chunk.state "A" : tensor<3xf32>
  %k = chunk.input "k" : tensor<8x3xf32>
  // expected-error@+1 {{'chunk.token_loop' op streams must have equally many tokens, but there are 8 and 7}}
  %l:2 = chunk.token_loop (%k1 = %k : tensor<8x3xf32>) carry (%a = %A : tensor<3xf32>) -> (tensor<7x3xf32>, tensor<3xf32>) {
    chunk.yield %k1, %a : tensor<1x3xf32>, tensor<1x3xf32>
  }
  chunk.next %A, %A : tensor<3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %A = chunk.state "A" : tensor<3xf32>
  %k = chunk.input "k" : tensor<8x3xf32>
  // expected-error@+1 {{'chunk.token_loop' op has 1 streams and 1 states, but its body has 1 arguments}}
  %l:2 = "chunk.token_loop"(%k, %A) <{operandSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%k1: tensor<1x3xf32>):
    chunk.yield %k1, %k1 : tensor<1x3xf32>, tensor<1x3xf32>
  }) : (tensor<8x3xf32>, tensor<3xf32>) -> (tensor<8x3xf32>, tensor<3xf32>)
  chunk.next %A, %A : tensor<3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %A = chunk.state "A" : tensor<3xf32>
  %k = chunk.input "k" : tensor<8x3xf32>
  // expected-error@+1 {{'chunk.token_loop' op argument 1 of the body must be 'tensor<1x3xf32>', but it is 'tensor<3xf32>'}}
  %l:2 = "chunk.token_loop"(%k, %A) <{operandSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%k1: tensor<1x3xf32>, %a: tensor<3xf32>):
    chunk.yield %k1, %k1 : tensor<1x3xf32>, tensor<1x3xf32>
  }) : (tensor<8x3xf32>, tensor<3xf32>) -> (tensor<8x3xf32>, tensor<3xf32>)
  chunk.next %A, %A : tensor<3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %S = chunk.state "S" : tensor<2x3xf32>
  // expected-error@+1 {{'chunk.token_loop' op result 0 must have its state's type 'tensor<2x3xf32>', but it is 'tensor<4x3xf32>'}}
  %l = chunk.token_loop () carry (%a = %S : tensor<2x3xf32>) -> tensor<4x3xf32> {
    %c = chunk.constant 0.0 : tensor<1x4x3xf32>
    chunk.yield %c : tensor<1x4x3xf32>
  }
  chunk.next %S, %S : tensor<2x3xf32>
}

// -----

// Conjugate gradients.
chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %r = chunk.param "r" : tensor<1xf32>
  // expected-error@+1 {{'chunk.cg' op needs at least one iteration}}
  %y = chunk.cg %k ridge %r iterations 0 : tensor<8x3xf32>, tensor<1xf32> {
  ^bb0(%x: tensor<8x3xf32>):
    chunk.yield %x : tensor<8x3xf32>
  }
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %r = chunk.param "r" : tensor<1x2xf32>
  // expected-error@+1 {{'chunk.cg' op the ridge must be a scalar or a vector as long as those of 'tensor<8x3xf32>', but it is 'tensor<1x2xf32>'}}
  %y = chunk.cg %k ridge %r iterations 1 : tensor<8x3xf32>, tensor<1x2xf32> {
  ^bb0(%x: tensor<8x3xf32>):
    chunk.yield %x : tensor<8x3xf32>
  }
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %r = chunk.param "r" : tensor<1xf32>
  // expected-error@+1 {{'chunk.cg' op its region must have one argument of the vectors' type 'tensor<8x3xf32>'}}
  %y = chunk.cg %k ridge %r iterations 1 : tensor<8x3xf32>, tensor<1xf32> {
  ^bb0(%x: tensor<8x2xf32>):
    chunk.yield %x : tensor<8x2xf32>
  }
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %r = chunk.param "r" : tensor<1xf32>
  %y = chunk.cg %k ridge %r iterations 1 : tensor<8x3xf32>, tensor<1xf32> {
  ^bb0(%x: tensor<8x3xf32>):
    // expected-error@+1 {{'chunk.yield' op must give one value of the vectors' type 'tensor<8x3xf32>'}}
    chunk.yield %v : tensor<8x2xf32>
  }
}

// -----

// Steps.
chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  // expected-error@+1 {{'chunk.loop' op needs at least one iteration}}
  %y = chunk.loop carry (%k : tensor<8x3xf32>) iterations 0 -> tensor<8x3xf32> {
  ^bb0(%x: tensor<8x3xf32>):
    chunk.yield %x : tensor<8x3xf32>
  }
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  // expected-error@+1 {{'chunk.loop' op has 0 kept and 1 carried values, but its region has 2 arguments}}
  %y = chunk.loop carry (%k : tensor<8x3xf32>) iterations 2 -> tensor<8x3xf32> {
  ^bb0(%x: tensor<8x3xf32>, %y: tensor<8x3xf32>):
    chunk.yield %x : tensor<8x3xf32>
  }
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  // expected-error@+1 {{'chunk.loop' op takes 'tensor<8x2xf32>' in each of 2 steps, but keeps 'tensor<8x3xf32>'}}
  %y = chunk.loop kept (%k : tensor<8x3xf32>) carry (%k : tensor<8x3xf32>) iterations 2 -> tensor<8x3xf32> {
  ^bb0(%p: tensor<8x2xf32>, %x: tensor<8x3xf32>):
    chunk.yield %x : tensor<8x3xf32>
  }
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  // expected-error@+1 {{'chunk.loop' op carries 'tensor<8x3xf32>', but its region takes 'tensor<8x2xf32>'}}
  %y = chunk.loop carry (%k : tensor<8x3xf32>) iterations 2 -> tensor<8x3xf32> {
  ^bb0(%x: tensor<8x2xf32>):
    chunk.yield %k : tensor<8x3xf32>
  }
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %y = chunk.loop carry (%k : tensor<8x3xf32>) iterations 2 -> tensor<8x3xf32> {
  ^bb0(%x: tensor<8x3xf32>):
    // expected-error@+1 {{'chunk.yield' op gives 2 values, but the loop around it has 1 results, the last 1 of them carried}}
    chunk.yield %x, %x : tensor<8x3xf32>, tensor<8x3xf32>
  }
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  // expected-error@+1 {{'chunk.loop' op gives 'tensor<8x3xf32>' in each of 2 steps, but keeps 'tensor<8x5xf32>'}}
  %y:2 = chunk.loop carry (%k : tensor<8x3xf32>) iterations 2 -> tensor<8x5xf32>, tensor<8x3xf32> {
  ^bb0(%x: tensor<8x3xf32>):
    chunk.yield %x, %x : tensor<8x3xf32>, tensor<8x3xf32>
  }
}

// -----

chunk.program @p {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  // expected-error@+1 {{'chunk.loop' op carries 'tensor<8x3xf32>', but makes 'tensor<8x2xf32>' and gives 'tensor<8x3xf32>'}}
  %y = chunk.loop carry (%k : tensor<8x3xf32>) iterations 2 -> tensor<8x3xf32> {
  ^bb0(%x: tensor<8x3xf32>):
    chunk.yield %v : tensor<8x2xf32>
  }
}

// -----

// Summaries.
chunk.program @p {} chunk 8 {
  %S = chunk.state "S" : tensor<2x3xf32>
  chunk.next %S, %S : tensor<2x3xf32>
  // expected-error@+1 {{a map from the right must be a square matrix as wide as the offset 'tensor<2x3xf32>', but it is 'tensor<2x3xf32>'}}
  %a, %b = chunk.compose right(%S, %S), (%S, %S) : tensor<2x3xf32>, tensor<2x3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %S = chunk.state "S" : tensor<2x3xf32>
  %A = chunk.state "A" : tensor<3xf32>
  chunk.next %S, %S : tensor<2x3xf32>
  chunk.next %A, %A : tensor<3xf32>
  // expected-error@+1 {{a map of kind 'elementwise' must have the offset's type 'tensor<2x3xf32>', but it is 'tensor<3xf32>'}}
  %a, %b = chunk.compose elementwise(%A, %S), (%A, %S) : tensor<3xf32>, tensor<2x3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %S = chunk.state "S" : tensor<2x3xf32>
  chunk.next %S, %S : tensor<2x3xf32>
  // expected-error@+1 {{a map from the left must be a square matrix as high as the offset 'tensor<2x3xf32>', but it is 'tensor<2x3xf32>'}}
  %a, %b = chunk.compose left(%S, %S), (%S, %S) : tensor<2x3xf32>, tensor<2x3xf32>
}

// -----

// What phases leave to each other.
chunk.program @p {} chunk 8 {
  // expected-note@+1 {{first declared here}}
  %x = chunk.take "x" : tensor<16x3xf32>
  // expected-error@+1 {{'chunk.give' op declares 'x' a second time}}
  chunk.give "x" %x : tensor<16x3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  // expected-error@+1 {{'chunk.take' op has rows of a chunk of 8 tokens unless it is whole, but is 'tensor<12x3xf32>'}}
  %x = chunk.take "x" : tensor<12x3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  // expected-error@+1 {{'chunk.take' op has a triangle, as matrices have, but it is 'tensor<8xf32>'}}
  %x = chunk.take "x" triangle [1, 1] : tensor<8xf32>
}

// -----

chunk.program @p {} chunk 8 {
  // expected-error@+1 {{'chunk.take' op has a triangle of rows and writes a token, which are two numbers above zero}}
  %x = chunk.take "x" triangle [1, 0] : tensor<8x8xf32>
}

// -----

// A state as the sequence begins with it, and rows of tokens before the chunk.
chunk.program @p {} chunk 8 {
  // expected-note@+1 {{first declared here}}
  %S = chunk.state "S" : tensor<3xf32>
  // expected-error@+1 {{'chunk.initial' op declares 'S' a second time}}
  %T = chunk.initial "S" : tensor<3xf32>
  chunk.next %S, %T : tensor<3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %x = chunk.input "x" : tensor<8x3xf32>
  %y = chunk.map neg %x : tensor<8x3xf32>
  %S = chunk.initial "S" : tensor<3xf32>
  // expected-error@+1 {{'chunk.held' op expects the result of a chunk.input as its first operand}}
  %h = chunk.held %y[1], %S : tensor<8x3xf32>, tensor<3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %x = chunk.input "x" : tensor<8x3xf32>
  %S = chunk.initial "S" : tensor<3xf32>
  // expected-error@+1 {{'chunk.held' op is the row of 1 to 8 tokens before the chunk, but of 9}}
  %h = chunk.held %x[9], %S : tensor<8x3xf32>, tensor<3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %x = chunk.input "x" : tensor<8x3xf32>
  %S = chunk.initial "S" : tensor<2xf32>
  // expected-error@+1 {{'chunk.held' op is a row of 'x', which is 'tensor<8x3xf32>', but where the sequence begins it is 'tensor<2xf32>'}}
  %h = chunk.held %x[1], %S : tensor<8x3xf32>, tensor<2xf32>
}

// -----

chunk.program @back_without_rows {} chunk 8 {
  // expected-error@+1 {{'chunk.input' op has rows of earlier tokens, so it needs both how many tokens earlier and what is behind them}}
  %x = chunk.input "x" back 9 : tensor<8x3xf32>
}

// -----

chunk.program @back_of_padded {} chunk 8 {
  %S = chunk.initial "S" : tensor<9x3xf32>
  // expected-error@+1 {{'chunk.input' op has rows of earlier tokens, which are as large as the caller's}}
  %x = chunk.input "x" of [2] back 9 behind %S : tensor<9x3xf32> : tensor<8x3xf32>
}

// -----

chunk.program @back_behind_too_few {} chunk 8 {
  %S = chunk.initial "S" : tensor<8x3xf32>
  // expected-error@+1 {{'chunk.input' op has rows of 9 tokens earlier, behind which are at least as many of its rows, but there is 'tensor<8x3xf32>'}}
  %x = chunk.input "x" back 9 behind %S : tensor<8x3xf32> : tensor<8x3xf32>
}

// -----

chunk.program @back_of_none {} chunk 8 {
  %S = chunk.initial "S" : tensor<8x3xf32>
  // expected-error@+1 {{'chunk.input' op has rows of 0 tokens earlier, behind which are at least as many of its rows, but there is 'tensor<8x3xf32>'}}
  %x = chunk.input "x" back 0 behind %S : tensor<8x3xf32> : tensor<8x3xf32>
}

// -----

chunk.program @held_window_of_other_rows {} chunk 8 {
  %x = chunk.input "x" : tensor<8x3xf32>
  %S = chunk.initial "S" : tensor<10x3xf32>
  // expected-error@+1 {{'chunk.held' op has the rows of 9 tokens before the chunk, but where the sequence begins 10}}
  %h = chunk.held %x[9], %S : tensor<8x3xf32>, tensor<10x3xf32>
}

// -----

// What remains is said of a matrix that the program has, by one number or one for each row or column.
chunk.program @p {} chunk 8 {
  %x = chunk.input "x" : tensor<8xf32>
  %d = chunk.cumulative_decay total log(%x) : tensor<8xf32>
  // expected-error@+1 {{'chunk.remains' op is about state 'S', which the program does not have}}
  chunk.remains "S" %d : tensor<1xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %x = chunk.input "x" : tensor<8xf32>
  %d = chunk.cumulative_decay total log(%x) : tensor<8xf32>
  %A = chunk.state "A" : tensor<3xf32>
  // expected-error@+1 {{'chunk.remains' op is about a state that is a matrix, but 'A' is 'tensor<3xf32>'}}
  chunk.remains "A" %d : tensor<1xf32>
  chunk.next %A, %A : tensor<3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %x = chunk.input "x" : tensor<8xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  // expected-error@+1 {{'chunk.remains' op bounds with one number, or one for each row or column of 'tensor<2x3xf32>', but has 'tensor<8xf32>'}}
  chunk.remains "S" %x : tensor<8xf32>
  chunk.next %S, %S : tensor<2x3xf32>
}

// -----

chunk.program @p {} chunk 8 {
  %x = chunk.input "x" : tensor<8x5xf32>
  %d = chunk.cumulative_decay total log(%x) : tensor<8x5xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  // expected-error@+1 {{'chunk.remains' op bounds with one number, or one for each row or column of 'tensor<2x3xf32>', but has 'tensor<1x5xf32>'}}
  chunk.remains "S" %d : tensor<1x5xf32>
  chunk.next %S, %S : tensor<2x3xf32>
}

// -----

chunk.program @both {} chunk 8 {
  // expected-error@+1 {{'chunk.take' op is rounded to the type of the data or precise, but not both}}
  %x = chunk.take "x" rounded precise triangle [1, 1] : tensor<8x8xf32>
}

// -----

chunk.program @typed {} chunk 4 {
  // expected-error @+1 {{'chunk.input' op attribute 'stored' failed to satisfy constraint: a type of data that is not f32: bf16, f16 or i32}}
  %x = chunk.input "x" stored f64 : tensor<4xf32>
}

// -----

chunk.program @p {} chunk 8 {
  // expected-error@+1 {{'chunk.state' op is transposed, so it must be a matrix, but it is 'tensor<3xf32>'}}
  %S = chunk.state "S" transposed : tensor<3xf32>
  chunk.next %S, %S : tensor<3xf32>
}

// -----

chunk.program @p {} chunk 8 backward {
  // expected-error@+1 {{'chunk.kept' op is transposed, so it must be a matrix, but it is 'tensor<f32>'}}
  %S = chunk.kept "S" transposed : tensor<f32>
}

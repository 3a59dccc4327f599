// RUN: recur-opt --verify-diagnostics --split-input-file %s

// What a program that runs forward cannot have.
chunk.program @p {} chunk 8 {
  // expected-error@+1 {{'chunk.kept' op is a state of another run, which only a program that runs backward has}}
  %S = chunk.kept "S" : tensor<2x3xf32>
}

// -----

// expected-error@+1 {{'chunk.program' op keeps its states, which a program does that goes forward}}
chunk.program @p {} chunk 8 backward keeps {
}

// -----

chunk.program @p {} chunk 8 {
  %x = chunk.input "x" : tensor<8xf32>
  // expected-error@+1 {{'chunk.token_loop' op goes from the last token to the first, which only a program that runs backward may}}
  %y = chunk.token_loop reverse (%x1 = %x : tensor<8xf32>) -> tensor<8xf32> {
    chunk.yield %x1 : tensor<1xf32>
  }
}

// -----

chunk.program @p {} chunk 8 backward {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %g = chunk.input "g" : tensor<8x2xf32>
  %A = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
  %z = chunk.state "z" : tensor<3xf32>
  chunk.next %z, %z : tensor<3xf32>
  %h = chunk.deinterleave %v 0 of 2 : tensor<8x2xf32>
  // expected-error@+1 {{the matrix has 8 rows, but there are 4 values}}
  %x = chunk.apply_transposed %A, %h : tensor<8x8xf32>, tensor<4x2xf32>
}

// -----

chunk.program @p {} chunk 8 backward {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %g = chunk.input "g" : tensor<8x2xf32>
  %A = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
  %z = chunk.state "z" : tensor<3xf32>
  chunk.next %z, %z : tensor<3xf32>
  // expected-error@+1 {{the decay must have one step a token or one for each of 3 channels, but it is 'tensor<8x2xf32>'}}
  %x = chunk.apply_transposed %A, %k inclusive decay log(%g : tensor<8x2xf32>) : tensor<8x8xf32>, tensor<8x3xf32>
}

// -----

chunk.program @p {} chunk 8 backward {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %g = chunk.input "g" : tensor<8x2xf32>
  %A = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
  %z = chunk.state "z" : tensor<3xf32>
  chunk.next %z, %z : tensor<3xf32>
  // expected-error@+2 {{a decay of the channels needs to know what the rows see}}
  // expected-error@+1 {{'chunk.apply_transposed' op failed to infer returned types}}
  %x = "chunk.apply_transposed"(%A, %v, %g) : (tensor<8x8xf32>, tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
}

// -----

chunk.program @p {} chunk 8 backward {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %g = chunk.input "g" : tensor<8x2xf32>
  %A = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
  %z = chunk.state "z" : tensor<3xf32>
  chunk.next %z, %z : tensor<3xf32>
  // expected-error@+1 {{the matrix must be square, but it is 'tensor<8x3xf32>'}}
  %x = chunk.solve_transposed %k, %v : tensor<8x3xf32>, tensor<8x2xf32>
}

// -----

chunk.program @p {} chunk 8 backward {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %g = chunk.input "g" : tensor<8x2xf32>
  %A = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
  %z = chunk.state "z" : tensor<3xf32>
  chunk.next %z, %z : tensor<3xf32>
  %h = chunk.deinterleave %v 0 of 2 : tensor<8x2xf32>
  // expected-error@+1 {{the matrix has 8 columns, but there are 4 values}}
  %x = chunk.solve_transposed %A, %h : tensor<8x8xf32>, tensor<4x2xf32>
}

// -----

chunk.program @p {} chunk 8 backward {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %g = chunk.input "g" : tensor<8x2xf32>
  %A = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
  %z = chunk.state "z" : tensor<3xf32>
  chunk.next %z, %z : tensor<3xf32>
  // expected-error@+1 {{the rows have 3 channels, but the writes have 2}}
  %x = chunk.decay_cotangent %A, %k, %v strict decay log(%g : tensor<8x2xf32>) : tensor<8x8xf32>, tensor<8x3xf32>, tensor<8x2xf32>
}

// -----

chunk.program @p {} chunk 8 backward {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %g = chunk.input "g" : tensor<8x2xf32>
  %A = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
  %z = chunk.state "z" : tensor<3xf32>
  chunk.next %z, %z : tensor<3xf32>
  // expected-error@+1 {{the matrix must be 8x8, for so many rows and writes, but it is 'tensor<8x3xf32>'}}
  %x = chunk.decay_cotangent %k, %v, %v strict decay log(%g : tensor<8x2xf32>) : tensor<8x3xf32>, tensor<8x2xf32>, tensor<8x2xf32>
}

// -----

chunk.program @p {} chunk 8 backward {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %g = chunk.input "g" : tensor<8x2xf32>
  %A = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
  %z = chunk.state "z" : tensor<3xf32>
  chunk.next %z, %z : tensor<3xf32>
  // expected-error@+1 {{the decay must have one step a token or one for each of 3 channels, but it is 'tensor<8x2xf32>'}}
  %x = chunk.decay_cotangent %A, %k, %k strict decay log(%g : tensor<8x2xf32>) : tensor<8x8xf32>, tensor<8x3xf32>, tensor<8x3xf32>
}

// -----

chunk.program @p {} chunk 8 backward {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %g = chunk.input "g" : tensor<8x2xf32>
  %A = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
  %z = chunk.state "z" : tensor<3xf32>
  chunk.next %z, %z : tensor<3xf32>
  // expected-error@+1 {{the additions of each token must have the shape of the state 'tensor<3xf32>', but they are 'tensor<8x2xf32>'}}
  %x, %y = chunk.reverse_scan %z, %v : tensor<3xf32>, tensor<8x2xf32>
}

// -----

chunk.program @p {} chunk 8 backward {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %g = chunk.input "g" : tensor<8x2xf32>
  %A = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
  %z = chunk.state "z" : tensor<3xf32>
  chunk.next %z, %z : tensor<3xf32>
  // expected-error@+1 {{the decay steps of each token must have the shape of the state 'tensor<3xf32>', but they are 'tensor<8x2xf32>'}}
  %x, %y = chunk.reverse_scan %z, %k decay log(%g : tensor<8x2xf32>) : tensor<3xf32>, tensor<8x3xf32>
}

// -----

chunk.program @p {} chunk 8 backward {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %g = chunk.input "g" : tensor<8x2xf32>
  %A = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
  %z = chunk.state "z" : tensor<3xf32>
  chunk.next %z, %z : tensor<3xf32>
  // expected-error@+1 {{the values of each token must have the shape of the state 'tensor<3xf32>', but they are 'tensor<8x2xf32>'}}
  %x, %y = chunk.following %z, %v : tensor<3xf32>, tensor<8x2xf32>
}

// -----

chunk.program @p {} chunk 8 backward {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %g = chunk.input "g" : tensor<8x2xf32>
  %A = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
  %z = chunk.state "z" : tensor<3xf32>
  chunk.next %z, %z : tensor<3xf32>
  // expected-error@+1 {{index 4 is not one of 4 places}}
  %x = chunk.insert %k[4] of 4 : tensor<8x3xf32>
}

// -----

chunk.program @p {} chunk 8 backward {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %g = chunk.input "g" : tensor<8x2xf32>
  %A = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
  %z = chunk.state "z" : tensor<3xf32>
  chunk.next %z, %z : tensor<3xf32>
  %m = chunk.insert %k[1] of 4 : tensor<8x3xf32>
  // expected-error@+1 {{what is inserted must be a scalar or a vector of each token, but it is 'tensor<8x4x3xf32>'}}
  %x = chunk.insert %m[1] of 4 : tensor<8x4x3xf32>
}

// -----

chunk.program @p {} chunk 8 backward {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %g = chunk.input "g" : tensor<8x2xf32>
  %A = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
  %z = chunk.state "z" : tensor<3xf32>
  chunk.next %z, %z : tensor<3xf32>
  // expected-note@+1 {{first declared here}}
  %S = chunk.kept "S" : tensor<2x3xf32>
  // expected-error@+1 {{'chunk.kept' op declares 'S' a second time}}
  %S1 = chunk.kept "S" : tensor<2x3xf32>
}

// Programs for ChunkStructureTest.cpp.

chunk.program @scaled_and_added {} chunk 8 {
  %q = chunk.input "q" : tensor<8x3xf32>
  %b = chunk.input "b" : tensor<8xf32>
  %A = chunk.interaction %q, %q strict : tensor<8x3xf32>, tensor<8x3xf32>
  %scaled = chunk.map mul %b, %A : tensor<8xf32>, tensor<8x8xf32>
  %sum = chunk.map add %scaled, %A : tensor<8x8xf32>, tensor<8x8xf32>
  %negative = chunk.map neg %sum : tensor<8x8xf32>
  %e = chunk.map exp %A : tensor<8x8xf32>
  %mixed = chunk.map add %e, %A : tensor<8x8xf32>, tensor<8x8xf32>
  chunk.output "negative" %negative : tensor<8x8xf32>
  chunk.output "e" %e : tensor<8x8xf32>
  chunk.output "mixed" %mixed : tensor<8x8xf32>
}

chunk.program @read_states {} chunk 8 {
  %q = chunk.input "q" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  %L = chunk.state "L" : tensor<2x3xf32>
  %o = chunk.read %q, %S : tensor<8x3xf32>, tensor<2x3xf32>
  %p = chunk.read left %v, %L : tensor<8x2xf32>, tensor<2x3xf32>
  %S1 = chunk.advance %S, %v, %q : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  chunk.output "o" %o : tensor<8x2xf32>
  chunk.output "p" %p : tensor<8x3xf32>
  chunk.next %S, %S1 : tensor<2x3xf32>
  chunk.next %L, %L : tensor<2x3xf32>
}

chunk.program @added_states {} chunk 8 {
  %q = chunk.input "q" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %one = chunk.constant 0.5 : tensor<1xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  %Z = chunk.state "Z" : tensor<2x3xf32>
  %o = chunk.read %q, %S : tensor<8x3xf32>, tensor<2x3xf32>
  chunk.output "o" %o : tensor<8x2xf32>
  %S1 = chunk.advance %S, %v, %q : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  %a = chunk.reshape_state %S1 : tensor<2x3xf32> to tensor<1x2x3xf32>
  %b = chunk.reshape_state %Z : tensor<2x3xf32> to tensor<1x2x3xf32>
  %c = chunk.map mul %one, %b : tensor<1xf32>, tensor<1x2x3xf32>
  %d = chunk.map add %a, %c : tensor<1x2x3xf32>, tensor<1x2x3xf32>
  %S2 = chunk.reshape_state %d : tensor<1x2x3xf32> to tensor<2x3xf32>
  chunk.next %S, %S2 : tensor<2x3xf32>
  chunk.next %Z, %Z : tensor<2x3xf32>
}

chunk.program @added_states_read_from_both_sides {} chunk 8 {
  %q = chunk.input "q" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %one = chunk.constant 0.5 : tensor<1xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  %Z = chunk.state "Z" : tensor<2x3xf32>
  %o = chunk.read %q, %S : tensor<8x3xf32>, tensor<2x3xf32>
  chunk.output "o" %o : tensor<8x2xf32>
  %p = chunk.read left %v, %Z : tensor<8x2xf32>, tensor<2x3xf32>
  chunk.output "p" %p : tensor<8x3xf32>
  %S1 = chunk.advance %S, %v, %q : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  %a = chunk.reshape_state %S1 : tensor<2x3xf32> to tensor<1x2x3xf32>
  %b = chunk.reshape_state %Z : tensor<2x3xf32> to tensor<1x2x3xf32>
  %c = chunk.map mul %one, %b : tensor<1xf32>, tensor<1x2x3xf32>
  %d = chunk.map add %a, %c : tensor<1x2x3xf32>, tensor<1x2x3xf32>
  %S2 = chunk.reshape_state %d : tensor<1x2x3xf32> to tensor<2x3xf32>
  chunk.next %S, %S2 : tensor<2x3xf32>
  chunk.next %Z, %Z : tensor<2x3xf32>
}

chunk.program @state_scaled_by_rows {} chunk 8 {
  %q = chunk.input "q" : tensor<8x3xf32>
  %w = chunk.param "w" : tensor<1x2xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  %o = chunk.read %q, %S : tensor<8x3xf32>, tensor<2x3xf32>
  chunk.output "o" %o : tensor<8x2xf32>
  %a = chunk.reshape_state %S : tensor<2x3xf32> to tensor<1x2x3xf32>
  %b = chunk.map scale_rows %w, %a : tensor<1x2xf32>, tensor<1x2x3xf32>
  %S1 = chunk.reshape_state %b : tensor<1x2x3xf32> to tensor<2x3xf32>
  chunk.next %S, %S1 : tensor<2x3xf32>
}

chunk.program @state_multiplied_token_by_token {} chunk 8 {
  %q = chunk.input "q" : tensor<8x3xf32>
  %w = chunk.param "w" : tensor<1x3xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  %z = chunk.state "z" : tensor<2xf32>
  %o = chunk.read %q, %S : tensor<8x3xf32>, tensor<2x3xf32>
  chunk.output "o" %o : tensor<8x2xf32>
  %a = chunk.reshape_state %S : tensor<2x3xf32> to tensor<1x2x3xf32>
  %b = chunk.map matvec %a, %w : tensor<1x2x3xf32>, tensor<1x3xf32>
  %z1 = chunk.reshape_state %b : tensor<1x2xf32> to tensor<2xf32>
  chunk.next %S, %S : tensor<2x3xf32>
  chunk.next %z, %z1 : tensor<2xf32>
}

chunk.program @rounded_state {} chunk 8 {
  %q = chunk.input "q" : tensor<8x8xf32>
  %S = chunk.state "S" : tensor<2x8xf32>
  %o = chunk.read %q, %S : tensor<8x8xf32>, tensor<2x8xf32>
  chunk.output "o" %o : tensor<8x2xf32>
  chunk.next %S, %S : tensor<2x8xf32>
}

chunk.program @passes {} chunk 8 {
  %x = chunk.input "x" : tensor<8x3xf32>
  %a = chunk.map exp %x : tensor<8x3xf32>
  %b = chunk.map mul %a, %a : tensor<8x3xf32>, tensor<8x3xf32>
  %c = chunk.map log %x : tensor<8x3xf32>
  %d = chunk.map neg %c : tensor<8x3xf32>
  %e = chunk.map abs %c : tensor<8x3xf32>
  chunk.output "b" %b : tensor<8x3xf32>
  chunk.output "d" %d : tensor<8x3xf32>
  chunk.output "e" %e : tensor<8x3xf32>
}

chunk.program @precise {} chunk 8 {
  %v = chunk.input "v" : tensor<8x2xf32>
  %k = chunk.input "k" : tensor<8x8xf32>
  %g = chunk.input "g" : tensor<8xf32>
  %S = chunk.state "S" : tensor<2x8xf32>
  %A = chunk.interaction %k, %k inclusive : tensor<8x8xf32>, tensor<8x8xf32>
  %x = chunk.read %k, %S : tensor<8x8xf32>, tensor<2x8xf32>
  %y = chunk.map sub %v, %x : tensor<8x2xf32>, tensor<8x2xf32>
  %u = chunk.apply %A, %y : tensor<8x8xf32>, tensor<8x2xf32>
  %w = chunk.map mul %g, %u : tensor<8xf32>, tensor<8x2xf32>
  %S1 = chunk.advance precise %S, %w, %k : tensor<2x8xf32>, tensor<8x2xf32>, tensor<8x8xf32>
  %S2 = chunk.advance %S1, %x, %k : tensor<2x8xf32>, tensor<8x2xf32>, tensor<8x8xf32>
  %o = chunk.apply %A, %v : tensor<8x8xf32>, tensor<8x2xf32>
  chunk.output "o" %o : tensor<8x2xf32>
  chunk.next %S, %S2 : tensor<2x8xf32>
}

chunk.program @of_numbers {} chunk 4 {
  %v = chunk.input "v" : tensor<4x2xf32>
  %g = chunk.input "g" : tensor<4xf32>
  %p = chunk.param "p" : tensor<1x2xf32>
  %mu = chunk.param "mu" : tensor<1xf32>
  %n = chunk.state "n" : tensor<2xf32>
  %c = chunk.constant 0.9 : tensor<4xf32>
  %gate = chunk.map mul %g, %mu : tensor<4xf32>, tensor<1xf32>
  %gates = chunk.concat %gate, %c : tensor<4xf32>, tensor<4xf32> to tensor<4x2xf32>
  %scaled = chunk.map mul %g, %v : tensor<4xf32>, tensor<4x2xf32>
  %turned = chunk.map mul %p, %gates : tensor<1x2xf32>, tensor<4x2xf32>
  chunk.output "gates" %gates : tensor<4x2xf32>
  chunk.output "scaled" %scaled : tensor<4x2xf32>
  chunk.output "turned" %turned : tensor<4x2xf32>
  chunk.next %n, %n : tensor<2xf32>
}

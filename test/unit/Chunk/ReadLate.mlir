// What reads a state in the pass of a later op, for TilePlansTest.cpp: B's pass multiplies A, which was advanced before it.
chunk.program @read_late {} chunk 16 {
  %half = chunk.constant 0.5 : tensor<1xf32>
  %k = chunk.input "k" : tensor<16x3xf32>
  %v = chunk.input "v" : tensor<16x2xf32>
  %A = chunk.state "A" : tensor<2x3xf32>
  %B = chunk.state "B" : tensor<2x3xf32>
  %w = chunk.map mul %A, %half : tensor<2x3xf32>, tensor<1xf32>
  %A1 = chunk.advance %A, %v, %k : tensor<2x3xf32>, tensor<16x2xf32>, tensor<16x3xf32>
  %B1 = chunk.advance %B, %v, %k : tensor<2x3xf32>, tensor<16x2xf32>, tensor<16x3xf32>
  %B2 = chunk.map add %B1, %w : tensor<2x3xf32>, tensor<2x3xf32>
  %o = chunk.read %k, %B : tensor<16x3xf32>, tensor<2x3xf32>
  chunk.output "o" %o : tensor<16x2xf32>
  chunk.next %A, %A1 : tensor<2x3xf32>
  chunk.next %B, %B2 : tensor<2x3xf32>
}

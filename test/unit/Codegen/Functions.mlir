// A program for each function, named after it, for ChunkOpsTest.cpp: how exact the emitted polynomials are.

chunk.program @exp {} chunk 64 {
  %x = chunk.input "x" : tensor<64x16xf32>
  %y = chunk.map exp %x : tensor<64x16xf32>
  chunk.output "y" %y : tensor<64x16xf32>
}

chunk.program @expm1 {} chunk 64 {
  %x = chunk.input "x" : tensor<64x16xf32>
  %y = chunk.map expm1 %x : tensor<64x16xf32>
  chunk.output "y" %y : tensor<64x16xf32>
}

chunk.program @log {} chunk 64 {
  %x = chunk.input "x" : tensor<64x16xf32>
  %y = chunk.map log %x : tensor<64x16xf32>
  chunk.output "y" %y : tensor<64x16xf32>
}

chunk.program @sin {} chunk 64 {
  %x = chunk.input "x" : tensor<64x16xf32>
  %y = chunk.map sin %x : tensor<64x16xf32>
  chunk.output "y" %y : tensor<64x16xf32>
}

chunk.program @cos {} chunk 64 {
  %x = chunk.input "x" : tensor<64x16xf32>
  %y = chunk.map cos %x : tensor<64x16xf32>
  chunk.output "y" %y : tensor<64x16xf32>
}

chunk.program @tanh {} chunk 64 {
  %x = chunk.input "x" : tensor<64x16xf32>
  %y = chunk.map tanh %x : tensor<64x16xf32>
  chunk.output "y" %y : tensor<64x16xf32>
}

chunk.program @sigmoid {} chunk 64 {
  %x = chunk.input "x" : tensor<64x16xf32>
  %y = chunk.map sigmoid %x : tensor<64x16xf32>
  chunk.output "y" %y : tensor<64x16xf32>
}

chunk.program @softplus {} chunk 64 {
  %x = chunk.input "x" : tensor<64x16xf32>
  %y = chunk.map softplus %x : tensor<64x16xf32>
  chunk.output "y" %y : tensor<64x16xf32>
}

chunk.program @erf {} chunk 64 {
  %x = chunk.input "x" : tensor<64x16xf32>
  %y = chunk.map erf %x : tensor<64x16xf32>
  chunk.output "y" %y : tensor<64x16xf32>
}

chunk.program @floor {} chunk 64 {
  %x = chunk.input "x" : tensor<64x16xf32>
  %y = chunk.map floor %x : tensor<64x16xf32>
  chunk.output "y" %y : tensor<64x16xf32>
}

chunk.program @elu {} chunk 64 {
  %x = chunk.input "x" : tensor<64x16xf32>
  %y = chunk.map elu %x : tensor<64x16xf32>
  chunk.output "y" %y : tensor<64x16xf32>
}

chunk.program @sqrt {} chunk 64 {
  %x = chunk.input "x" : tensor<64x16xf32>
  %y = chunk.map sqrt %x : tensor<64x16xf32>
  chunk.output "y" %y : tensor<64x16xf32>
}

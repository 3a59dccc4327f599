// The meaning of chunk ops that each token does by itself, on a chunk of two tokens. What `chunk.map` computes of a token is
// what the dgps op of that name does.
// RUN: recur-opt --interpret %s >/dev/null

chunk.program @maps {} chunk 2 {
  %s = chunk.input "s" : tensor<2xf32>
  %a = chunk.input "a" : tensor<2x2xf32>
  %b = chunk.input "b" : tensor<2x2xf32>
  %sum = chunk.map add %a, %b : tensor<2x2xf32>, tensor<2x2xf32>
  %scaled = chunk.map mul %s, %a : tensor<2xf32>, tensor<2x2xf32>
  %selected = chunk.map select %s, %a, %b : tensor<2xf32>, tensor<2x2xf32>, tensor<2x2xf32>
  %dot = chunk.map dot %a, %b : tensor<2x2xf32>, tensor<2x2xf32>
  chunk.output "sum" %sum : tensor<2x2xf32>
  chunk.output "scaled" %scaled : tensor<2x2xf32>
  chunk.output "selected" %selected : tensor<2x2xf32>
  chunk.output "dot" %dot : tensor<2xf32>
}
// Three tokens are a chunk and a half.
check.run @maps (s = [2, 0, -1], a = [[1, 2], [3, 4], [5, 6]], b = [[10, 20], [30, 40], [50, 60]])
  gives (sum = [[11, 22], [33, 44], [55, 66]], scaled = [[2, 4], [0, 0], [-5, -6]],
         selected = [[1, 2], [30, 40], [50, 60]], dot = [50, 250, 610])

chunk.program @shapes {} chunk 2 {
  %p = chunk.param "p" : tensor<1xf32>
  %k = chunk.input "k" : tensor<2x2x3xf32>
  %half = chunk.constant 5.000000e-01 : tensor<1xf32>
  %halves = chunk.broadcast %half : tensor<1xf32> to tensor<2x3xf32>
  %ps = chunk.broadcast %p : tensor<1xf32> to tensor<2xf32>
  %row = chunk.extract %k[1] : tensor<2x2x3xf32>
  chunk.output "halves" %halves : tensor<2x3xf32>
  chunk.output "ps" %ps : tensor<2xf32>
  chunk.output "row" %row : tensor<2x3xf32>
}
check.run @shapes (p = 7, k = [[[1, 2, 3], [4, 5, 6]], [[7, 8, 9], [10, 11, 12]]])
  gives (halves = [[0.5, 0.5, 0.5], [0.5, 0.5, 0.5]], ps = [7, 7], row = [[4, 5, 6], [10, 11, 12]])

// Two micro-steps a token: rows that see each other in order. Of four rows the second of each token sees the first.
chunk.program @steps {} chunk 2 {
  %r0 = chunk.input "r0" : tensor<2x1xf32>
  %r1 = chunk.input "r1" : tensor<2x1xf32>
  %w0 = chunk.input "w0" : tensor<2x1xf32>
  %w1 = chunk.input "w1" : tensor<2x1xf32>
  %rows = chunk.interleave %r0, %r1 : tensor<2x1xf32>, tensor<2x1xf32>
  %writes = chunk.interleave %w0, %w1 : tensor<2x1xf32>, tensor<2x1xf32>
  %A = chunk.interaction %rows, %writes points [0, 1] of [0, 1] : tensor<4x1xf32>, tensor<4x1xf32>
  %first = chunk.deinterleave %A 0 of 2 : tensor<4x4xf32>
  %second = chunk.deinterleave %A 1 of 2 : tensor<4x4xf32>
  chunk.output "first" %first : tensor<2x4xf32>
  chunk.output "second" %second : tensor<2x4xf32>
}
check.run @steps (r0 = [[1], [2]], r1 = [[3], [4]], w0 = [[1], [10]], w1 = [[100], [1000]])
  gives (first = [[0, 0, 0, 0], [2, 200, 0, 0]], second = [[3, 0, 0, 0], [4, 400, 40, 0]])

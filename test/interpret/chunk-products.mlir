// The meaning of decays, masks, products and solves, on a chunk of three tokens with the decay steps 2, 3 and 5.
// RUN: recur-opt --interpret %s >/dev/null

chunk.program @decays {} chunk 3 {
  %l = chunk.input "l" : tensor<3xf32>
  %through = chunk.cumulative_decay through linear(%l) : tensor<3xf32>
  %before = chunk.cumulative_decay before linear(%l) : tensor<3xf32>
  %after = chunk.cumulative_decay after linear(%l) : tensor<3xf32>
  %total = chunk.cumulative_decay total linear(%l) : tensor<3xf32>
  %totals = chunk.broadcast %total : tensor<1xf32> to tensor<3xf32>
  chunk.output "through" %through : tensor<3xf32>
  chunk.output "before" %before : tensor<3xf32>
  chunk.output "after" %after : tensor<3xf32>
  chunk.output "total" %totals : tensor<3xf32>
}
check.run @decays (l = [2, 3, 5]) gives (through = [2, 6, 30], before = [1, 2, 6], after = [15, 5, 1], total = [30, 30, 30])
check.run @decays (l = [2, 0, 5]) gives (through = [2, 0, 0], before = [1, 2, 0], after = [0, 5, 1], total = [0, 0, 0])

// Logarithms are added, and then exponentiated: minus infinity forgets what was before, and nothing after it.
chunk.program @logarithms {} chunk 3 {
  %g = chunk.input "g" : tensor<3xf32>
  %through = chunk.cumulative_decay through log(%g) : tensor<3xf32>
  %after = chunk.cumulative_decay after log(%g) : tensor<3xf32>
  chunk.output "through" %through : tensor<3xf32>
  chunk.output "after" %after : tensor<3xf32>
}
check.run @logarithms (g = [0.6931471805599453, -inf, 0.6931471805599453]) gives (through = [2, 0, 0], after = [0, 2, 1])

// Row n sees write i of a token before, its own token's after its write only, with the steps between.
chunk.program @interactions {} chunk 3 {
  %r = chunk.input "r" : tensor<3x1xf32>
  %c = chunk.input "c" : tensor<3x1xf32>
  %l = chunk.input "l" : tensor<3xf32>
  %plain = chunk.interaction %r, %c strict : tensor<3x1xf32>, tensor<3x1xf32>
  %strict = chunk.interaction %r, %c strict decay linear(%l : tensor<3xf32>) : tensor<3x1xf32>, tensor<3x1xf32>
  %before = chunk.interaction %r, %c before decay linear(%l : tensor<3xf32>) : tensor<3x1xf32>, tensor<3x1xf32>
  %inclusive = chunk.interaction %r, %c inclusive decay linear(%l : tensor<3xf32>) : tensor<3x1xf32>, tensor<3x1xf32>
  chunk.output "plain" %plain : tensor<3x3xf32>
  chunk.output "strict" %strict : tensor<3x3xf32>
  chunk.output "before" %before : tensor<3x3xf32>
  chunk.output "inclusive" %inclusive : tensor<3x3xf32>
}
check.run @interactions (r = [[1], [2], [3]], c = [[1], [10], [100]], l = [2, 3, 5])
  gives (plain = [[0, 0, 0], [2, 0, 0], [3, 30, 0]],
         strict = [[0, 0, 0], [6, 0, 0], [45, 150, 0]],
         before = [[0, 0, 0], [2, 0, 0], [9, 30, 0]],
         inclusive = [[1, 0, 0], [6, 20, 0], [45, 150, 300]])

// A matrix of ones below the diagonal, whose solve is a difference and whose inverse says so.
chunk.program @solves {} chunk 3 {
  %one = chunk.input "one" : tensor<3x1xf32>
  %b = chunk.input "b" : tensor<3x1xf32>
  %l = chunk.input "l" : tensor<3x1xf32>
  %A = chunk.interaction %one, %one inclusive : tensor<3x1xf32>, tensor<3x1xf32>
  %sum = chunk.apply %A, %b : tensor<3x3xf32>, tensor<3x1xf32>
  %decayed = chunk.apply %A, %b inclusive decay linear(%l : tensor<3x1xf32>) : tensor<3x3xf32>, tensor<3x1xf32>
  // Of the matrix only what lies below the diagonal is read.
  %x = chunk.solve %A, %b : tensor<3x3xf32>, tensor<3x1xf32>
  %y = chunk.solve %A, %b strict decay linear(%l : tensor<3x1xf32>) : tensor<3x3xf32>, tensor<3x1xf32>
  %T = chunk.inverse %A : tensor<3x3xf32>
  %gain = chunk.extract %l[0] : tensor<3x1xf32>
  %G = chunk.inverse %A columns(%gain : tensor<3xf32>) : tensor<3x3xf32>
  chunk.output "sum" %sum : tensor<3x1xf32>
  chunk.output "decayed" %decayed : tensor<3x1xf32>
  chunk.output "x" %x : tensor<3x1xf32>
  chunk.output "y" %y : tensor<3x1xf32>
  chunk.output "T" %T : tensor<3x3xf32>
  chunk.output "G" %G : tensor<3x3xf32>
}
check.run @solves (one = [[1], [1], [1]], b = [[1], [4], [25]], l = [[2], [3], [5]])
  gives (sum = [[1], [5], [30]], decayed = [[1], [7], [60]], x = [[1], [3], [21]], y = [[1], [1], [5]],
         T = [[1, 0, 0], [-1, 1, 0], [0, -1, 1]], G = [[2, 0, 0], [-2, 3, 0], [0, -3, 5]])

// The factors of [[2, 4, 6], [1, 5, 4], [3, 9, 14]], whose lower triangle is the first matrix' and whose upper one mirrors
// the second's.
chunk.program @factors {} chunk 3 {
  %lower = chunk.input "lower" : tensor<3x3xf32>
  %upper = chunk.input "upper" : tensor<3x3xf32>
  %c = chunk.input "c" : tensor<3xf32>
  %d = chunk.input "d" : tensor<3xf32>
  %F = chunk.eliminate %lower, %upper columns %c diagonal %d : tensor<3x3xf32>, tensor<3xf32>
  chunk.output "F" %F : tensor<3x3xf32>
}
check.run @factors (lower = [[1, 9, 9], [1, 3, 9], [3, 4.5, 6]], upper = [[8, 8, 8], [2, 8, 8], [3, 2, 8]],
                    c = [1, 2, 2], d = [1, -1, 2])
  gives (F = [[2, 4, 6], [0.5, 3, 1], [1.5, 1, 4]])

chunk.program @states {} chunk 2 {
  %x = chunk.input "x" : tensor<2x2xf32>
  %y = chunk.input "y" : tensor<2x3xf32>
  %S = chunk.state "S" : tensor<3x2xf32>
  %z = chunk.state "z" : tensor<2xf32>
  %right = chunk.read %x, %S : tensor<2x2xf32>, tensor<3x2xf32>
  %left = chunk.read left %y, %S : tensor<2x3xf32>, tensor<3x2xf32>
  %row = chunk.reshape_state %z : tensor<2xf32> to tensor<1x2xf32>
  %by_row = chunk.read %x, %row : tensor<2x2xf32>, tensor<1x2xf32>
  chunk.output "right" %right : tensor<2x3xf32>
  chunk.output "left" %left : tensor<2x2xf32>
  chunk.output "row" %by_row : tensor<2x1xf32>
  chunk.next %S, %S : tensor<3x2xf32>
  chunk.next %z, %z : tensor<2xf32>
}
check.run @states (x = [[1, 10], [1, 0]], y = [[1, 10, 100], [0, 0, 1]], S = [[1, 2], [3, 4], [5, 6]], z = [7, 8])
  gives (right = [[21, 43, 65], [1, 3, 5]], left = [[531, 642], [5, 6]], row = [[87], [7]], S = [[1, 2], [3, 4], [5, 6]])

// diag(row) S diag(column) + values^T keys, of each chunk.
chunk.program @advance {} chunk 2 {
  %v = chunk.input "v" : tensor<2x2xf32>
  %k = chunk.input "k" : tensor<2x2xf32>
  %row = chunk.param "row" : tensor<1x2xf32>
  %column = chunk.param "column" : tensor<1x2xf32>
  %S = chunk.state "S" : tensor<2x2xf32>
  %S1 = chunk.advance %S, %v, %k columns(%column : tensor<1x2xf32>) rows(%row : tensor<1x2xf32>) : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>
  chunk.next %S, %S1 : tensor<2x2xf32>
  chunk.output "k" %k : tensor<2x2xf32>
}
check.run @advance (v = [[1, 0], [0, 1]], k = [[1, 1], [2, 3]], row = [1, 100], column = [2, 10], S = [[1, 2], [3, 4]])
  gives (S = [[3, 21], [602, 4003]])

// Parts of each token's value, and values of parts; what is the same for every token goes with any.
chunk.program @parts {} chunk 2 {
  %s = chunk.input "s" : tensor<2xf32>
  %v = chunk.input "v" : tensor<2x3xf32>
  %w = chunk.param "w" : tensor<1x2xf32>
  %end = chunk.slice %v[1 for 2] : tensor<2x3xf32>
  %longer = chunk.concat %w, %s, %end : tensor<1x2xf32>, tensor<2xf32>, tensor<2x2xf32> to tensor<2x5xf32>
  %rows = chunk.concat %end, %w : tensor<2x2xf32>, tensor<1x2xf32> to tensor<2x2x2xf32>
  %row = chunk.slice %rows[1 for 1] : tensor<2x2x2xf32>
  %taller = chunk.concat %row, %end : tensor<2x1x2xf32>, tensor<2x2xf32> to tensor<2x2x2xf32>
  chunk.output "end" %end : tensor<2x2xf32>
  chunk.output "longer" %longer : tensor<2x5xf32>
  chunk.output "rows" %rows : tensor<2x2x2xf32>
  chunk.output "taller" %taller : tensor<2x2x2xf32>
}
check.run @parts (s = [7, 8], v = [[1, 2, 3], [4, 5, 6]], w = [10, 20])
  gives (end = [[2, 3], [5, 6]],
         longer = [[10, 20, 7, 2, 3], [10, 20, 8, 5, 6]],
         rows = [[[2, 3], [10, 20]], [[5, 6], [10, 20]]],
         taller = [[[10, 20], [2, 3]], [[10, 20], [5, 6]]])

// Of a transposed state the caller has the transpose, before the tokens and after them.
chunk.program @transposed {} chunk 1 {
  %q = chunk.input "q" : tensor<1x2xf32>
  %k = chunk.input "k" : tensor<1x2xf32>
  %v = chunk.input "v" : tensor<1x3xf32>
  %S = chunk.state "S" transposed : tensor<3x2xf32>
  %o = chunk.read %q, %S : tensor<1x2xf32>, tensor<3x2xf32>
  %S1 = chunk.advance %S, %v, %k : tensor<3x2xf32>, tensor<1x3xf32>, tensor<1x2xf32>
  chunk.output "o" %o : tensor<1x3xf32>
  chunk.next %S, %S1 : tensor<3x2xf32>
}
check.run @transposed tokens 1 (q = [[1, 10]], k = [[1, 2]], v = [[3, 4, 5]], S = [[1, 2, 3], [4, 5, 6]])
  gives (o = [[41, 52, 63]], S = [[4, 6, 8], [10, 13, 16]])

// The meaning of scans, loops and iterations over the tokens of a chunk, from one chunk to the next.
// RUN: recur-opt --interpret %s >/dev/null

// x_t = a_t x_{t-1} + b_t
chunk.program @scan {} chunk 3 {
  %a = chunk.input "a" : tensor<3xf32>
  %b = chunk.input "b" : tensor<3xf32>
  %x = chunk.state "x" : tensor<f32>
  %all, %last = chunk.scan %x, %b decay linear(%a : tensor<3xf32>) : tensor<f32>, tensor<3xf32>
  %earlier = chunk.previous %x, %all : tensor<f32>, tensor<3xf32>
  chunk.output "all" %all : tensor<3xf32>
  chunk.output "earlier" %earlier : tensor<3xf32>
  chunk.next %x, %last : tensor<f32>
}
check.run @scan (a = [2, 3, 5, 7], b = [1, 2, 3, 4], x = 10)
  gives (all = [21, 65, 328, 2300], earlier = [10, 21, 65, 328], x = 2300)

// Angles stay within half a turn: 6 less one turn; what that and 10 are, less two turns.
chunk.program @angles {} chunk 2 {
  %b = chunk.input "b" : tensor<2xf32>
  %x = chunk.state "x" : tensor<f32>
  %all, %last = chunk.scan %x, %b angles : tensor<f32>, tensor<2xf32>
  chunk.output "all" %all : tensor<2xf32>
  chunk.next %x, %last : tensor<f32>
}
check.run @angles (b = [3, 3, 10], x = 0)
  gives (all = [3, -0.28318530717958647, -2.8495559215387596], x = -2.8495559215387596) within 1.0e-14

// x_t = (a_t x_{t-1} + b_t) / (c_t x_{t-1} + d_t)
chunk.program @quotients {} chunk 2 {
  %a = chunk.input "a" : tensor<2xf32>
  %b = chunk.input "b" : tensor<2xf32>
  %c = chunk.input "c" : tensor<2xf32>
  %d = chunk.input "d" : tensor<2xf32>
  %x = chunk.state "x" : tensor<f32>
  %all, %last = chunk.moebius_scan %x, (%a, %b) over (%c, %d) : tensor<f32>, tensor<2xf32>
  chunk.output "all" %all : tensor<2xf32>
  chunk.next %x, %last : tensor<f32>
}
check.run @quotients (a = [1, 2, 0], b = [2, 0, -3], c = [1, 1, 2], d = [0, 3, -1], x = 2)
  gives (all = [2, 0.8, -5], x = -5) within 1.0e-14

// x_t = max(x_{t-1} + a_t, b_t)
chunk.program @tropical {} chunk 3 {
  %a = chunk.input "a" : tensor<3xf32>
  %b = chunk.input "b" : tensor<3xf32>
  %x = chunk.state "x" : tensor<f32>
  %all, %last = chunk.tropical_scan %x, %a, %b : tensor<f32>, tensor<3xf32>, tensor<3xf32>
  chunk.output "all" %all : tensor<3xf32>
  chunk.next %x, %last : tensor<f32>
}
check.run @tropical (a = [-1, -1, -1, -1], b = [5, 0, 4, -inf], x = 0) gives (all = [5, 4, 4, 3], x = 3)

// The smaller of the two, and the soft ones: log(exp(0) + exp(0)) = 0.6931...; nothing is in minus infinity.
chunk.program @relatives {} chunk 3 {
  %a = chunk.input "a" : tensor<3xf32>
  %b = chunk.input "b" : tensor<3xf32>
  %x = chunk.state "x" : tensor<f32>
  %y = chunk.state "y" : tensor<f32>
  %z = chunk.state "z" : tensor<f32>
  %low, %x1 = chunk.tropical_scan %x, %a, %b as min : tensor<f32>, tensor<3xf32>, tensor<3xf32>
  %soft, %y1 = chunk.tropical_scan %y, %a, %b as soft_max : tensor<f32>, tensor<3xf32>, tensor<3xf32>
  %less, %z1 = chunk.tropical_scan %z, %a, %b as soft_min : tensor<f32>, tensor<3xf32>, tensor<3xf32>
  chunk.output "low" %low : tensor<3xf32>
  chunk.output "soft" %soft : tensor<3xf32>
  chunk.output "less" %less : tensor<3xf32>
  chunk.next %x, %x1 : tensor<f32>
  chunk.next %y, %y1 : tensor<f32>
  chunk.next %z, %z1 : tensor<f32>
}
check.run @relatives (a = [0, -1, 1, 0], b = [0, 5, -3, 2], x = 1, y = 0, z = 0)
  gives (low = [0, -1, -3, -3], soft = [0.6931471805599453, 5.004945256391497, 6.0050680498695765, 6.023127049243797],
         less = [-0.6931471805599453, -1.6943857892557277, -3.0950351843054507, -3.101143581058932], x = -3, y = 6.023127049243797, z = -3.101143581058932)
check.run @relatives (a = [0], b = [-inf], x = 1, y = -inf, z = 2)
  gives (low = [-inf], soft = [-inf], less = [-inf], x = -inf, y = -inf, z = -inf)

// The last token's, also where a chunk is not full.
chunk.program @last {} chunk 3 {
  %b = chunk.input "b" : tensor<3xf32>
  %x = chunk.state "x" : tensor<f32>
  %last = chunk.last %b : tensor<3xf32>
  %earlier = chunk.previous %x, %b : tensor<f32>, tensor<3xf32>
  chunk.output "earlier" %earlier : tensor<3xf32>
  chunk.next %x, %last : tensor<f32>
}
check.run @last (b = [1, 2, 3, 4], x = 10) gives (earlier = [10, 1, 2, 3], x = 4)

// S = S * S + x, token by token.
chunk.program @loop {} chunk 2 {
  %x = chunk.input "x" : tensor<2xf32>
  %S = chunk.state "S" : tensor<f32>
  %y, %S1 = chunk.token_loop (%x1 = %x : tensor<2xf32>) carry (%S0 = %S : tensor<f32>) -> (tensor<2xf32>, tensor<f32>) {
    %square = chunk.map mul %S0, %S0 : tensor<1xf32>, tensor<1xf32>
    %S2 = chunk.map add %square, %x1 : tensor<1xf32>, tensor<1xf32>
    chunk.yield %S2, %S2 : tensor<1xf32>, tensor<1xf32>
  }
  chunk.output "y" %y : tensor<2xf32>
  chunk.next %S, %S1 : tensor<f32>
}
check.run @loop (x = [1, 1, 1], S = 0) gives (y = [1, 2, 5], S = 5)

// (G + ridge) y = q with G the sum of k^2 so far: 1 / (1 + 1) and 1 / (5 + 1).
chunk.program @cg {} chunk 2 {
  %q = chunk.input "q" : tensor<2x1xf32>
  %k = chunk.input "k" : tensor<2x1xf32>
  %ridge = chunk.constant 1.000000e+00 : tensor<1xf32>
  %y = chunk.cg %q ridge %ridge iterations 3 : tensor<2x1xf32>, tensor<1xf32> {
  ^bb0(%x: tensor<2x1xf32>):
    %A = chunk.interaction %x, %k inclusive : tensor<2x1xf32>, tensor<2x1xf32>
    %y1 = chunk.apply %A, %k : tensor<2x2xf32>, tensor<2x1xf32>
    chunk.yield %y1 : tensor<2x1xf32>
  }
  chunk.output "y" %y : tensor<2x1xf32>
}
check.run @cg (q = [[1], [1]], k = [[1], [2]]) gives (y = [[0.5], [0.16666666666666666]])

// y = q + y k^2 of the writes so far, three times: of each token 1, 1 + G, 1 + G + G^2, 1 + G + G^2 + G^3 with G = 1 and 5.
chunk.program @steps {} chunk 2 {
  %q = chunk.input "q" : tensor<2x1xf32>
  %k = chunk.input "k" : tensor<2x1xf32>
  %all, %y = chunk.loop carry (%q : tensor<2x1xf32>) iterations 3 -> tensor<2x3xf32>, tensor<2x1xf32> {
  ^bb0(%x: tensor<2x1xf32>):
    %A = chunk.interaction %x, %k inclusive : tensor<2x1xf32>, tensor<2x1xf32>
    %y1 = chunk.apply %A, %k : tensor<2x2xf32>, tensor<2x1xf32>
    %x1 = chunk.map add %q, %y1 : tensor<2x1xf32>, tensor<2x1xf32>
    chunk.yield %x, %x1 : tensor<2x1xf32>, tensor<2x1xf32>
  }
  // The steps from the last to the first take 31, 6, 1 of the second token: ((0 * 2 + 31) * 2 + 6) * 2 + 1 and so on.
  %zero = chunk.constant 0.0 : tensor<2x1xf32>
  %back = chunk.loop reverse kept (%all : tensor<2x3xf32>) carry (%zero : tensor<2x1xf32>) iterations 3 -> tensor<2x1xf32> {
  ^bb0(%part: tensor<2x1xf32>, %sum: tensor<2x1xf32>):
    %twice = chunk.map add %sum, %sum : tensor<2x1xf32>, tensor<2x1xf32>
    %next = chunk.map add %twice, %part : tensor<2x1xf32>, tensor<2x1xf32>
    chunk.yield %next : tensor<2x1xf32>
  }
  chunk.output "y" %y : tensor<2x1xf32>
  chunk.output "all" %all : tensor<2x3xf32>
  chunk.output "back" %back : tensor<2x1xf32>
}
check.run @steps (q = [[1], [1]], k = [[1], [2]])
  gives (y = [[4], [156]], all = [[1, 2, 3], [1, 6, 31]], back = [[17], [137]])

// What two segments do to a state, one after the other: (S A1 + B1) A2 + B2, and so on.
chunk.program @compose {} chunk 1 {
  %x = chunk.input "x" : tensor<1xf32>
  %A1 = chunk.state "A1" : tensor<1x1xf32>
  %B1 = chunk.state "B1" : tensor<1x1xf32>
  %A2 = chunk.state "A2" : tensor<1x1xf32>
  %B2 = chunk.state "B2" : tensor<1x1xf32>
  %A, %B = chunk.compose right(%A1, %B1), (%A2, %B2) : tensor<1x1xf32>, tensor<1x1xf32>
  %M, %N = chunk.compose tropical(%A1, %B1), (%A2, %B2) : tensor<1x1xf32>, tensor<1x1xf32>
  %C1 = chunk.state "C1" : tensor<1x1xf32>
  %D1 = chunk.state "D1" : tensor<1x1xf32>
  %C, %D = chunk.compose tropical_min(%A1, %B1), (%A2, %B2) : tensor<1x1xf32>, tensor<1x1xf32>
  chunk.output "x" %x : tensor<1xf32>
  chunk.next %A1, %A : tensor<1x1xf32>
  chunk.next %B1, %B : tensor<1x1xf32>
  chunk.next %A2, %M : tensor<1x1xf32>
  chunk.next %B2, %N : tensor<1x1xf32>
  chunk.next %C1, %C : tensor<1x1xf32>
  chunk.next %D1, %D : tensor<1x1xf32>
}
check.run @compose (x = [0], A1 = [[2]], B1 = [[3]], A2 = [[5]], B2 = [[7]], C1 = [[0]], D1 = [[0]])
  gives (A1 = [[10]], B1 = [[22]], A2 = [[7]], B2 = [[8]], C1 = [[7]], D1 = [[7]])

// Maps from the left and elementwise: A2 (A1 S + B1) + B2.
chunk.program @compose_left {} chunk 1 {
  %x = chunk.input "x" : tensor<1xf32>
  %A1 = chunk.state "A1" : tensor<2x2xf32>
  %B1 = chunk.state "B1" : tensor<2x2xf32>
  %A2 = chunk.state "A2" : tensor<2x2xf32>
  %B2 = chunk.state "B2" : tensor<2x2xf32>
  %A, %B = chunk.compose left(%A1, %B1), (%A2, %B2) : tensor<2x2xf32>, tensor<2x2xf32>
  %M, %N = chunk.compose elementwise(%A1, %B1), (%A2, %B2) : tensor<2x2xf32>, tensor<2x2xf32>
  chunk.output "x" %x : tensor<1xf32>
  chunk.next %A1, %A : tensor<2x2xf32>
  chunk.next %B1, %B : tensor<2x2xf32>
  chunk.next %A2, %M : tensor<2x2xf32>
  chunk.next %B2, %N : tensor<2x2xf32>
}
check.run @compose_left (x = [0], A1 = [[1, 2], [0, 1]], B1 = [[1, 0], [0, 1]], A2 = [[0, 1], [1, 0]], B2 = [[10, 20], [30, 40]])
  gives (A1 = [[0, 1], [1, 2]], B1 = [[10, 21], [31, 40]], A2 = [[0, 2], [0, 0]], B2 = [[10, 20], [30, 40]])

// Rounded as a target with bf16 products: 1.00390625 is 1 there, but stays itself where nothing is multiplied.
chunk.program @rounded {} chunk 1 {
  %a = chunk.input "a" : tensor<1x1xf32>
  %S = chunk.state "S" : tensor<1x1xf32>
  %read = chunk.read %a, %S : tensor<1x1xf32>, tensor<1x1xf32>
  chunk.output "read" %read : tensor<1x1xf32>
  chunk.output "a" %a : tensor<1x1xf32>
  chunk.next %S, %S : tensor<1x1xf32>
}
check.run @rounded (a = [[1.00390625]], S = [[1]]) gives (read = [[1.00390625]], a = [[1.00390625]])
check.run @rounded rounding bf16 (a = [[1.00390625]], S = [[1]]) gives (read = [[1]], a = [[1.00390625]])

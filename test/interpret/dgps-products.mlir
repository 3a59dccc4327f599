// The meaning of dgps ops that make one shape of another.
// RUN: recur-opt --interpret %s >/dev/null

dgps.recurrence @constants {} {
  %s = dgps.input "s" : <scalar>
  %filled = dgps.constant 2.5 : <2x2>
  %spread = dgps.broadcast %s : <3>
  dgps.output "filled" %filled : <2x2>
  dgps.output "spread" %spread : <3>
}
check.run @constants (s = [7]) gives (filled = [[[2.5, 2.5], [2.5, 2.5]]], spread = [[7, 7, 7]])

dgps.recurrence @extract {} {
  %v = dgps.input "v" : <3>
  %m = dgps.input "m" : <2x3>
  %element = dgps.extract %v[2] : <3>
  %row = dgps.extract %m[1] : <2x3>
  dgps.output "element" %element : <scalar>
  dgps.output "row" %row : <3>
}
check.run @extract (v = [[5, 6, 7]], m = [[[1, 2, 3], [4, 5, 6]]]) gives (element = [7], row = [[4, 5, 6]])

dgps.recurrence @parts {} {
  %s = dgps.input "s" : <scalar>
  %v = dgps.input "v" : <3>
  %m = dgps.input "m" : <3x2>
  %w = dgps.input "w" : <2>
  %middle = dgps.slice %v[1 for 2] : <3>
  %below = dgps.slice %m[1 for 2] : <3x2>
  %longer = dgps.concat %middle, %s, %v : !dgps.real<2>, !dgps.real<scalar>, !dgps.real<3> to <6>
  %stacked = dgps.concat %w, %middle : !dgps.real<2>, !dgps.real<2> to <2x2>
  %taller = dgps.concat %below, %w : !dgps.real<2x2>, !dgps.real<2> to <3x2>
  dgps.output "middle" %middle : <2>
  dgps.output "below" %below : <2x2>
  dgps.output "longer" %longer : <6>
  dgps.output "stacked" %stacked : <2x2>
  dgps.output "taller" %taller : <3x2>
}
check.run @parts (s = [7], v = [[1, 2, 3]], m = [[[1, 2], [3, 4], [5, 6]]], w = [[8, 9]])
  gives (middle = [[2, 3]],
         below = [[[3, 4], [5, 6]]],
         longer = [[2, 3, 7, 1, 2, 3]],
         stacked = [[[8, 9], [2, 3]]],
         taller = [[[3, 4], [5, 6], [8, 9]]])

dgps.recurrence @products {} {
  %m = dgps.input "m" : <2x3>
  %a = dgps.input "a" : <2>
  %b = dgps.input "b" : <3>
  %outer = dgps.outer %a, %b : <2>, <3>
  %dot = dgps.dot %b, %b : <3>
  %matvec = dgps.matvec %m, %b : <2x3>, <3>
  %vecmat = dgps.vecmat %a, %m : <2>, <2x3>
  %columns = dgps.scale_cols %m, %b : <2x3>, <3>
  %rows = dgps.scale_rows %a, %m : <2>, <2x3>
  dgps.output "outer" %outer : <2x3>
  dgps.output "dot" %dot : <scalar>
  dgps.output "matvec" %matvec : <2>
  dgps.output "vecmat" %vecmat : <3>
  dgps.output "columns" %columns : <2x3>
  dgps.output "rows" %rows : <2x3>
}
check.run @products (m = [[[1, 2, 3], [4, 5, 6]]], a = [[1, 10]], b = [[1, 10, 100]])
  gives (outer = [[[1, 10, 100], [10, 100, 1000]]],
         dot = [10101],
         matvec = [[321, 654]],
         vecmat = [[41, 52, 63]],
         columns = [[[1, 20, 300], [4, 50, 600]]],
         rows = [[[1, 2, 3], [40, 50, 60]]])

dgps.recurrence @sums {} {
  %s = dgps.input "s" : <scalar>
  %v = dgps.input "v" : <3>
  %m = dgps.input "m" : <2x2>
  %scalar = dgps.sum %s : <scalar>
  %vector = dgps.sum %v : <3>
  %matrix = dgps.sum %m : <2x2>
  dgps.output "scalar" %scalar : <scalar>
  dgps.output "vector" %vector : <scalar>
  dgps.output "matrix" %matrix : <scalar>
}
check.run @sums (s = [3], v = [[1, 2, 4]], m = [[[1, 2], [4, 8]]]) gives (scalar = [3], vector = [7], matrix = [15])

// exp(a) / sum(exp(a)), without overflow.
dgps.recurrence @softmax {} { %a = dgps.input "a" : <2>
  %r = dgps.softmax %a : <2>
  dgps.output "r" %r : <2> }
check.run @softmax (a = [[0, 1.0986122886681098], [1000, 1000], [-1000, -inf]]) gives (r = [[0.25, 0.75], [0.5, 0.5], [1, 0]])

// [[3, 1], [1, 2]] + diag(1, 0) = [[4, 1], [1, 2]]: two steps solve it exactly, up to rounding.
dgps.recurrence @cg {} {
  %G = dgps.input "G" : <2x2>
  %x = dgps.input "x" : <2>
  %ridge = dgps.input "ridge" : <2>
  %y = dgps.cg %G, %x ridge %ridge iterations 2 : <2x2>, <2>, <2>
  dgps.output "y" %y : <2>
}
check.run @cg (G = [[[3, 1], [1, 2]]], x = [[1, 1]], ridge = [[1, 0]])
  gives (y = [[0.14285714285714285, 0.42857142857142855]]) within 1.0e-14

// The first step alone goes along x by x.x / x.Gx = 2 / 8.
dgps.recurrence @one_step {} {
  %G = dgps.input "G" : <2x2>
  %x = dgps.input "x" : <2>
  %ridge = dgps.input "ridge" : <scalar>
  %y = dgps.cg %G, %x ridge %ridge iterations 1 : <2x2>, <2>, <scalar>
  dgps.output "y" %y : <2>
}
check.run @one_step (G = [[[3, 1], [1, 1]]], x = [[1, 1]], ridge = [1]) gives (y = [[0.25, 0.25]])

// It stands still where there is no residual from the start, none after an exact first step, and no curvature.
dgps.recurrence @still {} {
  %G = dgps.input "G" : <2x2>
  %x = dgps.input "x" : <2>
  %ridge = dgps.input "ridge" : <scalar>
  %y = dgps.cg %G, %x ridge %ridge iterations 5 : <2x2>, <2>, <scalar>
  dgps.output "y" %y : <2>
}
check.run @still (G = [[[3, 1], [1, 2]], [[1, 0], [0, 1]], [[0, 0], [0, 0]]], x = [[0, 0], [2, 4], [2, 4]], ridge = [1, 1, 0])
  gives (y = [[0, 0], [1, 2], [0, 0]])

// Three steps of x = G x + b, and of the pair (x, y) = (y, x + y) as parts of one vector.
dgps.recurrence @loop {} {
  %G = dgps.input "G" : <2x2>
  %b = dgps.input "b" : <2>
  %y = dgps.loop %b (%G, %b : !dgps.real<2x2>, !dgps.real<2>) iterations 3 : <2> {
  ^bb0(%x: !dgps.real<2>, %G1: !dgps.real<2x2>, %b1: !dgps.real<2>):
    %image = dgps.matvec %G1, %x : <2x2>, <2>
    %next = dgps.add %image, %b1 : <2>, <2>
    dgps.yield %next : !dgps.real<2>
  }
  dgps.output "y" %y : <2>
}
check.run @loop (G = [[[2, 0], [1, 1]]], b = [[1, 2]]) gives (y = [[15, 19]])

dgps.recurrence @loop_of_parts {} {
  %p = dgps.param "p" : <2>
  %y = dgps.loop %p iterations 5 : <2> {
  ^bb0(%x: !dgps.real<2>):
    %first = dgps.extract %x[0] : <2>
    %second = dgps.extract %x[1] : <2>
    %sum = dgps.add %first, %second : <scalar>, <scalar>
    %next = dgps.concat %second, %sum : !dgps.real<scalar>, !dgps.real<scalar> to <2>
    dgps.yield %next : !dgps.real<2>
  }
  %x = dgps.input "x" : <scalar>
  %o = dgps.mul %x, %y : <scalar>, <2>
  dgps.output "o" %o : <2>
}
check.run @loop_of_parts (x = [1, 10], p = [1, 1]) gives (o = [[8, 13], [80, 130]])

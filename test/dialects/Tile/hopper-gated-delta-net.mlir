// The fused plan of gated DeltaNet (examples/gated_delta_net.recur) on one Hopper CTA, for one sequence and head with
// K = V = 128, bf16 data and an f32 state. dialects/Tile/Rationale.md explains it; test/unit/Interpreter runs it.
//
// Everything that belongs to values is transposed: row v of a tile in registers is a value channel. So the state
// [V, K] stays where it is, as the left factor of all its products, and the right factors are what tokens bring.

// RUN: recur-opt %s | recur-opt | FileCheck %s

!rows = !tile.tile<?x128xbf16, global>
!state = !tile.tile<?x128xf32, global>
!bfrow = !tile.tile<?xbf16, global>
!gate = !tile.tile<?xf32, global>

!keys2 = !tile.tile<2x64x128xbf16, shared, [8192, 64, 1], swizzle 128>
!keys = !tile.tile<64x128xbf16, shared, [64, 1], swizzle 128>
!values2x2 = !tile.tile<2x2x64x64xbf16, shared, [8192, 4096, 64, 1], swizzle 128>
!square2 = !tile.tile<2x64x64xbf16, shared, [4096, 64, 1], swizzle 128>
!square = !tile.tile<64x64xbf16, shared, [64, 1], swizzle 128>

!matrix = !tile.tile<64x64xf32, shared, [68, 1]>
!half = !tile.tile<32x32xf32, shared, [68, 1]>
!block = !tile.tile<16x16xf32, shared, [68, 1]>
!scratch32 = !tile.tile<32x32xf32, shared, [36, 1]>
!scratch16 = !tile.tile<16x16xf32, shared, [36, 1]>

!gates2 = !tile.tile<2x128xf32, shared, [128, 1]>
!gates = !tile.tile<128xf32, shared, [1]>
!numbers2 = !tile.tile<2x64xf32, shared, [64, 1]>
!numbers = !tile.tile<64xf32, shared, [1]>
!number = !tile.tile<1xf32, shared, [1]>

!wide = !tile.tile<64x128xf32, registers, [128, 1]>
!wide16 = !tile.tile<64x128xbf16, registers, [128, 1]>
!tall = !tile.tile<64x64xf32, registers, [64, 1]>
!tall16 = !tile.tile<64x64xbf16, registers, [64, 1]>

// CHECK-LABEL: tile.kernel @gated_delta_net required 5 workspace 189488 {
tile.kernel @gated_delta_net required 5 workspace 189488 {
^bb0(%q: !rows, %k: !rows, %v: !rows, %g: !gate, %beta: !bfrow, %before: !state, %o: !rows, %after: !state, %tokens: i64):
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c2 = arith.constant 2 : i64
  %c16 = arith.constant 16 : i64
  %c32 = arith.constant 32 : i64
  %c63 = arith.constant 63 : i64
  %c64 = arith.constant 64 : i64
  %c128 = arith.constant 128 : i64
  // What the producer brings, twice.
  %qs = tile.alloc at 0 : !keys2
  %ks = tile.alloc at 32768 : !keys2
  %vs = tile.alloc at 65536 : !values2x2
  %gs = tile.alloc at 186880 : !gates2
  %betas = tile.alloc at 187904 : !gates2
  // What the interactions make of it, twice: (I + L)^-1, the causal and decayed q k^T, and the logs of the decays.
  %inverses = tile.alloc at 98304 : !square2
  %reads = tile.alloc at 114688 : !square2
  %decays = tile.alloc at 188928 : !numbers2
  // Their own scratch: L, its inverse, and what a merge of two blocks needs.
  %L = tile.alloc at 147456 : !matrix
  %X = tile.alloc at 164864 : !matrix
  %W = tile.alloc at 182272 : !scratch32
  // The outputs of the two halves of the values.
  %outs = tile.alloc at 131072 : !square2
  // CHECK: tile.barriers arrivals 1 at 189440 : <2>
  %full = tile.barriers arrivals 1 at 189440 : <2>
  %ready = tile.barriers arrivals 1 at 189456 : <2>
  %empty = tile.barriers arrivals 3 at 189472 : <2>

  tile.roles {
    // CHECK: tile.role "loads" copies 1 of warp registers 24 {
    tile.role "loads" copies 1 of warp registers 24 {
    ^bb0(%copy: i64):
      %more = arith.addi %tokens, %c63 : i64
      %chunks = arith.divui %more, %c64 : i64
      scf.for %chunk = %c0 to %chunks step %c1 : i64 {
        %stage = arith.andi %chunk, %c1 : i64
        %round = arith.divui %chunk, %c2 : i64
        %last = arith.subi %round, %c1 : i64
        %first = arith.muli %chunk, %c64 : i64
        tile.wait %empty[%stage] phase %last : <2>
        %qt = tile.view %qs[%stage] offset 0 : !keys2 to !keys
        %kt = tile.view %ks[%stage] offset 0 : !keys2 to !keys
        %v2 = tile.view %vs[%stage] offset 0 : !values2x2 to !square2
        %v0 = tile.view %v2[%c0] offset 0 : !square2 to !square
        %v1 = tile.view %v2[%c1] offset 0 : !square2 to !square
        // CHECK: tile.fetch %{{.*}}[%{{.*}}] of %{{.*}} into %{{.*}} on %{{.*}}[%{{.*}}] : <?x128xbf16, global> into <64x128xbf16, shared, [64, 1], swizzle 128> on <2>
        tile.fetch %k[%first] of %tokens into %kt on %full[%stage] : !rows into !keys on <2>
        tile.fetch %q[%first] of %tokens into %qt on %full[%stage] : !rows into !keys on <2>
        tile.fetch %v[%first, %c0] of %tokens into %v0 on %full[%stage] : !rows into !square on <2>
        tile.fetch %v[%first, %c64] of %tokens into %v1 on %full[%stage] : !rows into !square on <2>
        // Tokens behind the last have no decay and beta = 0, and change nothing.
        %rest = arith.subi %tokens, %first : i64
        %count = arith.minsi %rest, %c64 : i64
        %g2 = tile.view %gs[%stage] offset 0 : !gates2 to !gates
        %gt = tile.view %g2 offset 0 : !gates to !numbers
        %gtail = tile.view %g2[%count] offset 0 : !gates to !numbers
        %beta2 = tile.view %betas[%stage] offset 0 : !gates2 to !gates
        %betat = tile.view %beta2 offset 0 : !gates to !numbers
        %betatail = tile.view %beta2[%count] offset 0 : !gates to !numbers
        tile.load %g[%first] rows %count into %gt : !gate into !numbers
        tile.map into %gtail rows %c64 dims [] into !numbers {
          %zero = arith.constant 0.0 : f32
          tile.yield %zero : f32
        }
        tile.load %beta[%first] rows %count into %betat : !bfrow into !numbers
        tile.map into %betatail rows %c64 dims [] into !numbers {
          %zero = arith.constant 0.0 : f32
          tile.yield %zero : f32
        }
        // CHECK: tile.arrive %{{.*}}[%{{.*}}] expect 49152 : <2>
        tile.arrive %full[%stage] expect 49152 : <2>
      }
    }

    // CHECK: tile.role "interactions" copies 1 of warpgroup registers 104 {
    tile.role "interactions" copies 1 of warpgroup registers 104 {
    ^bb0(%copy: i64):
      %kk = tile.alloc : !tall
      %qk = tile.alloc : !tall
      // Blocks above the diagonal are zero, and nothing writes them again.
      scf.for %stage = %c0 to %c2 step %c1 : i64 {
        %T = tile.view %inverses[%stage] offset 0 : !square2 to !square
        %A = tile.view %reads[%stage] offset 0 : !square2 to !square
        tile.map into %T rows %c64 dims [] blocks above 16 into !square {
          %zero = arith.constant 0.0 : f32
          tile.yield %zero : f32
        }
        tile.map into %A rows %c64 dims [] blocks above 16 into !square {
          %zero = arith.constant 0.0 : f32
          tile.yield %zero : f32
        }
      }
      tile.map into %X rows %c64 dims [] blocks above 16 into !matrix {
        %zero = arith.constant 0.0 : f32
        tile.yield %zero : f32
      }
      %more = arith.addi %tokens, %c63 : i64
      %chunks = arith.divui %more, %c64 : i64
      scf.for %chunk = %c0 to %chunks step %c1 : i64 {
        %stage = arith.andi %chunk, %c1 : i64
        %round = arith.divui %chunk, %c2 : i64
        %qt = tile.view %qs[%stage] offset 0 : !keys2 to !keys
        %kt = tile.view %ks[%stage] offset 0 : !keys2 to !keys
        %g2 = tile.view %gs[%stage] offset 0 : !gates2 to !gates
        %gt = tile.view %g2 offset 0 : !gates to !numbers
        %beta2 = tile.view %betas[%stage] offset 0 : !gates2 to !gates
        %betat = tile.view %beta2 offset 0 : !gates to !numbers
        %T = tile.view %inverses[%stage] offset 0 : !square2 to !square
        %A = tile.view %reads[%stage] offset 0 : !square2 to !square
        %G = tile.view %decays[%stage] offset 0 : !numbers2 to !numbers
        tile.wait %full[%stage] phase %round : <2>
        // CHECK: tile.product async %{{.*}}, right_transposed %{{.*}} into %{{.*}} rows %{{.*}} inner %{{.*}} : <64x128xbf16, shared, [64, 1], swizzle 128>, <64x128xbf16, shared, [64, 1], swizzle 128> into <64x64xf32, registers, [64, 1]>
        tile.product async %kt, right_transposed %kt into %kk rows %c64 inner %c128 : !keys, !keys into !tall
        tile.product async %qt, right_transposed %kt into %qk rows %c64 inner %c128 : !keys, !keys into !tall
        tile.scan %gt all %G rows %c64 dims [array<i64: 0>] start 0.0 : !numbers all !numbers {
        ^bb0(%step: f32, %sum: f32):
          %next = arith.addf %sum, %step : f32
          tile.yield %next, %next : f32, f32
        }
        tile.settle pending 1
        // -L below the diagonal blocks, where no mask is needed, and L on them. The solve does not read what is above
        // the diagonal there: the select keeps exponents from being positive.
        tile.map %kk, %betat, %G, %G into %L rows %c64 dims [array<i64: 0, 1>, array<i64: 0>, array<i64: 0>, array<i64: 1>]
            blocks below 16 : !tall, !numbers, !numbers, !numbers into !matrix {
        ^bb0(%dot: f32, %gain: f32, %row: f32, %column: f32):
          %log = arith.subf %row, %column : f32
          %decay = math.exp %log : f32
          %scaled = arith.mulf %dot, %gain : f32
          %element = arith.mulf %scaled, %decay : f32
          %negative = arith.negf %element : f32
          tile.yield %negative : f32
        }
        tile.map %kk, %betat, %G, %G into %L rows %c64 dims [array<i64: 0, 1>, array<i64: 0>, array<i64: 0>, array<i64: 1>]
            blocks diagonal 16 : !tall, !numbers, !numbers, !numbers into !matrix {
        ^bb0(%dot: f32, %gain: f32, %row: f32, %column: f32):
          %zero = arith.constant 0.0 : f32
          %i = tile.index 0
          %j = tile.index 1
          %counts = arith.cmpi slt, %j, %i : i32
          %difference = arith.subf %row, %column : f32
          %log = arith.select %counts, %difference, %zero : f32
          %decay = math.exp %log : f32
          %scaled = arith.mulf %dot, %gain : f32
          %element = arith.mulf %scaled, %decay : f32
          tile.yield %element : f32
        }
        tile.map into %X rows %c64 dims [] blocks diagonal 16 into !matrix {
          %zero = arith.constant 0.0 : f32
          %one = arith.constant 1.0 : f32
          %i = tile.index 0
          %j = tile.index 1
          %same = arith.cmpi eq, %i, %j : i32
          %element = arith.select %same, %one, %zero : f32
          tile.yield %element : f32
        }
        // The four diagonal blocks by forward substitution.
        %L0 = tile.view %L offset 0 : !matrix to !block
        %L1 = tile.view %L offset 1104 : !matrix to !block
        %L2 = tile.view %L offset 2208 : !matrix to !block
        %L3 = tile.view %L offset 3312 : !matrix to !block
        %X0 = tile.view %X offset 0 : !matrix to !block
        %X1 = tile.view %X offset 1104 : !matrix to !block
        %X2 = tile.view %X offset 2208 : !matrix to !block
        %X3 = tile.view %X offset 3312 : !matrix to !block
        tile.solve %L0, %X0 rows %c16 : !block, !block
        tile.solve %L1, %X1 rows %c16 : !block, !block
        tile.solve %L2, %X2 rows %c16 : !block, !block
        tile.solve %L3, %X3 rows %c16 : !block, !block
        // Two blocks become one of 32, X10 = X1 (-L10) X0, and so do the other two.
        %L10 = tile.view %L offset 1088 : !matrix to !block
        %L32 = tile.view %L offset 3296 : !matrix to !block
        %X10 = tile.view %X offset 1088 : !matrix to !block
        %X32 = tile.view %X offset 3296 : !matrix to !block
        %W0 = tile.view %W offset 0 : !scratch32 to !scratch16
        %W1 = tile.view %W offset 592 : !scratch32 to !scratch16
        tile.product %L10, %X0 into %W0 rows %c16 inner %c16 : !block, !block into !scratch16
        tile.product %L32, %X2 into %W1 rows %c16 inner %c16 : !block, !block into !scratch16
        tile.product %X1, %W0 into %X10 rows %c16 inner %c16 left_triangle [1, 1] : !block, !scratch16 into !block
        tile.product %X3, %W1 into %X32 rows %c16 inner %c16 left_triangle [1, 1] : !block, !scratch16 into !block
        // And the two of 32 one of 64.
        %Lhalf = tile.view %L offset 2176 : !matrix to !half
        %Xhalf = tile.view %X offset 2176 : !matrix to !half
        %Xtop = tile.view %X offset 0 : !matrix to !half
        %Xbottom = tile.view %X offset 2208 : !matrix to !half
        tile.product %Lhalf, %Xtop into %W rows %c32 inner %c32 : !half, !half into !scratch32
        tile.product %Xbottom, %W into %Xhalf rows %c32 inner %c32 left_triangle [1, 1] : !half, !scratch32 into !half
        tile.map %X into %T rows %c64 dims [array<i64: 0, 1>] blocks below 16 : !matrix into !square {
        ^bb0(%x: f32):
          tile.yield %x : f32
        }
        tile.map %X into %T rows %c64 dims [array<i64: 0, 1>] blocks diagonal 16 : !matrix into !square {
        ^bb0(%x: f32):
          tile.yield %x : f32
        }
        tile.settle pending 0
        tile.map %qk, %G, %G into %A rows %c64 dims [array<i64: 0, 1>, array<i64: 0>, array<i64: 1>] blocks below 16
            : !tall, !numbers, !numbers into !square {
        ^bb0(%dot: f32, %row: f32, %column: f32):
          %log = arith.subf %row, %column : f32
          %decay = math.exp %log : f32
          %element = arith.mulf %dot, %decay : f32
          tile.yield %element : f32
        }
        tile.map %qk, %G, %G into %A rows %c64 dims [array<i64: 0, 1>, array<i64: 0>, array<i64: 1>] blocks diagonal 16
            : !tall, !numbers, !numbers into !square {
        ^bb0(%dot: f32, %row: f32, %column: f32):
          %zero = arith.constant 0.0 : f32
          %i = tile.index 0
          %j = tile.index 1
          %counts = arith.cmpi sle, %j, %i : i32
          %difference = arith.subf %row, %column : f32
          %log = arith.select %counts, %difference, %zero : f32
          %decay = math.exp %log : f32
          %element = arith.mulf %dot, %decay : f32
          %masked = arith.select %counts, %element, %zero : f32
          tile.yield %masked : f32
        }
        // CHECK: tile.fence
        tile.fence
        tile.arrive %ready[%stage] : <2>
        tile.arrive %empty[%stage] : <2>
      }
    }

    // CHECK: tile.role "state" copies 2 of warpgroup registers 184 {
    tile.role "state" copies 2 of warpgroup registers 184 {
    ^bb0(%copy: i64):
      %S = tile.alloc : !wide
      %S16 = tile.alloc : !wide16
      %U = tile.alloc : !tall
      %O = tile.alloc : !tall
      %B16 = tile.alloc : !tall16
      %U16 = tile.alloc : !tall16
      %out = tile.view %outs[%copy] offset 0 : !square2 to !square
      %channel = arith.muli %copy, %c64 : i64
      tile.load %before[%channel] rows %c64 into %S : !state into !wide
      %more = arith.addi %tokens, %c63 : i64
      %chunks = arith.divui %more, %c64 : i64
      scf.for %chunk = %c0 to %chunks step %c1 : i64 {
        %stage = arith.andi %chunk, %c1 : i64
        %round = arith.divui %chunk, %c2 : i64
        %first = arith.muli %chunk, %c64 : i64
        %qt = tile.view %qs[%stage] offset 0 : !keys2 to !keys
        %kt = tile.view %ks[%stage] offset 0 : !keys2 to !keys
        %v2 = tile.view %vs[%stage] offset 0 : !values2x2 to !square2
        %vt = tile.view %v2[%copy] offset 0 : !square2 to !square
        %beta2 = tile.view %betas[%stage] offset 0 : !gates2 to !gates
        %betat = tile.view %beta2 offset 0 : !gates to !numbers
        %T = tile.view %inverses[%stage] offset 0 : !square2 to !square
        %A = tile.view %reads[%stage] offset 0 : !square2 to !square
        %G = tile.view %decays[%stage] offset 0 : !numbers2 to !numbers
        %Gend = tile.view %G[%c63] offset 0 : !numbers to !number
        // S k^T and S q^T of the state before the chunk need no interactions.
        tile.map %S into %S16 rows %c64 dims [array<i64: 0, 1>] : !wide into !wide16 {
        ^bb0(%s: f32):
          tile.yield %s : f32
        }
        tile.wait %full[%stage] phase %round : <2>
        tile.product async %S16, right_transposed %kt into %U rows %c64 inner %c128 : !wide16, !keys into !tall
        tile.product async %S16, right_transposed %qt into %O rows %c64 inner %c128 : !wide16, !keys into !tall
        tile.wait %ready[%stage] phase %round : <2>
        // CHECK: tile.settle pending 1
        tile.settle pending 1
        tile.map %vt, %U, %betat, %G into %B16 rows %c64
            dims [array<i64: 1, 0>, array<i64: 0, 1>, array<i64: 1>, array<i64: 1>]
            : !square, !tall, !numbers, !numbers into !tall16 {
        ^bb0(%value: f32, %read: f32, %gain: f32, %log: f32):
          %decay = math.exp %log : f32
          %old = arith.mulf %decay, %read : f32
          %new = arith.subf %value, %old : f32
          %scaled = arith.mulf %gain, %new : f32
          tile.yield %scaled : f32
        }
        // U = (I + L)^-1 B, while the outputs' share of the old state decays.
        tile.product async %B16, right_transposed %T into %U rows %c64 inner %c64 : !tall16, !square into !tall
        tile.settle pending 1
        tile.map %O, %G into %O rows %c64 dims [array<i64: 0, 1>, array<i64: 1>] : !tall, !numbers into !tall {
        ^bb0(%read: f32, %log: f32):
          %decay = math.exp %log : f32
          %element = arith.mulf %read, %decay : f32
          tile.yield %element : f32
        }
        tile.map %S, %Gend into %S rows %c64 dims [array<i64: 0, 1>, array<i64: 1>] : !wide, !number into !wide {
        ^bb0(%s: f32, %log: f32):
          %decay = math.exp %log : f32
          %element = arith.mulf %s, %decay : f32
          tile.yield %element : f32
        }
        tile.settle pending 0
        tile.map %U into %B16 rows %c64 dims [array<i64: 0, 1>] : !tall into !tall16 {
        ^bb0(%u: f32):
          tile.yield %u : f32
        }
        tile.product async %B16, right_transposed %A into %O rows %c64 inner %c64 plus %O : !tall16, !square into !tall plus !tall
        tile.map %U, %G, %Gend into %U16 rows %c64 dims [array<i64: 0, 1>, array<i64: 1>, array<i64: 1>]
            : !tall, !numbers, !number into !tall16 {
        ^bb0(%u: f32, %log: f32, %end: f32):
          %rest = arith.subf %end, %log : f32
          %decay = math.exp %rest : f32
          %element = arith.mulf %u, %decay : f32
          tile.yield %element : f32
        }
        tile.product async %U16, %kt into %S rows %c64 inner %c64 plus %S : !tall16, !keys into !wide plus !wide
        // The outputs leave while the state advances.
        tile.settle pending 1
        tile.sent pending 0
        tile.map %O into %out rows %c64 dims [array<i64: 1, 0>] : !tall into !square {
        ^bb0(%element: f32):
          // 1 / sqrt(K): a constant, once folded.
          %one = arith.constant 1.0 : f32
          %width = arith.constant 128.0 : f32
          %root = math.sqrt %width : f32
          %scale = arith.divf %one, %root : f32
          %scaled = arith.mulf %element, %scale : f32
          tile.yield %scaled : f32
        }
        tile.fence
        // CHECK: tile.send %{{.*}} to %{{.*}}[%{{.*}}, %{{.*}}] of %{{.*}} : <64x64xbf16, shared, [64, 1], swizzle 128> to <?x128xbf16, global>
        tile.send %out to %o[%first, %channel] of %tokens : !square to !rows
        tile.settle pending 0
        tile.arrive %empty[%stage] : <2>
      }
      // CHECK: tile.sent pending 0
      tile.sent pending 0
      tile.store %S rows %c64 to %after[%channel] : !wide to !state
    }
  }
}

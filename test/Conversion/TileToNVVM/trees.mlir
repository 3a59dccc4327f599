// RUN: recur-opt %s --convert-tile-to-nvvm | FileCheck %s

// A lane has the parent of the token of its number. Two masks are found of them before the loop: which states before a
// token are taken up again, and which replayed tokens lie on the path that was taken; the loop begins as many tokens
// late as do not. Before each token the state is stored in the workspace if a later token begins with it, and another
// one is loaded if the token is not behind the one before it, between barriers of their own.
// CHECK-LABEL: llvm.func @keeps_trees
// CHECK: llvm.getelementptr %arg0[34]
// CHECK-COUNT-5: nvvm.shfl.sync bfly
// CHECK: scf.for
// CHECK: nvvm.shfl.sync idx
// CHECK: %[[PATH:.*]] = arith.shli %{{.*}}, %c16_i32
// CHECK: %[[TREE:.*]] = arith.ori %{{.*}}, %[[PATH]]
// CHECK: %[[OWN:.*]] = arith.andi %[[TREE]], %c65535_i32
// CHECK: llvm.intr.ctpop(%[[OWN]])
// CHECK: scf.for %[[TOKEN:.*]] = %{{.*}} to
// CHECK: arith.shrui %[[TREE]]
// CHECK: llvm.getelementptr %arg0[34]
// CHECK: scf.if
// CHECK: llvm.getelementptr %arg0[37]
// CHECK: llvm.store %{{.*}} : f32, !llvm.ptr<1>
// CHECK: scf.if
// CHECK: llvm.getelementptr %arg0[37]
// CHECK: nvvm.barrier
// CHECK: llvm.load %{{.*}} : !llvm.ptr<1> -> f32
// CHECK: nvvm.barrier
// CHECK: llvm.return
tile.kernel @keeps_trees required 1 workspace 0 threads 64 shared 4096 attributes {tile.trees} {
^bb0(%x: !tile.tile<?x1xf32, global>, %y: !tile.tile<?x1xf32, global>, %final: !tile.tile<?x1xf32, global>, %kept: !tile.tile<?x1xf32, global>, %tokens: i64):
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %t = tile.alloc at 0 : !tile.tile<1x1xf32, shared, [1, 1]>
  scf.for %first = %zero to %tokens step %one : i64 {
    %before = tile.view %t offset 0 : !tile.tile<1x1xf32, shared, [1, 1]> to !tile.tile<1x1xf32, shared, [1, 1]>
    tile.store %before rows %one to %kept[%first] : !tile.tile<1x1xf32, shared, [1, 1]> to !tile.tile<?x1xf32, global>
    tile.load %x[%first] rows %one into %t : !tile.tile<?x1xf32, global> into !tile.tile<1x1xf32, shared, [1, 1]>
    tile.store %t rows %one to %y[%first] : !tile.tile<1x1xf32, shared, [1, 1]> to !tile.tile<?x1xf32, global>
  }
  tile.store %t rows %one to %final[%zero] : !tile.tile<1x1xf32, shared, [1, 1]> to !tile.tile<?x1xf32, global>
}

// RUN: recur-opt %s --convert-tile-to-nvvm | FileCheck %s

// Words say how many tokens are replayed, and where it is how many of these were taken: the loop begins as many tokens
// late as were not, and until it comes to the others it loads rows of tokens that lie so far before its own number.
// Outputs are those of the others. The state goes to its row when as many tokens as are replayed are before it.
// CHECK-LABEL: llvm.func @keeps
// CHECK: llvm.getelementptr %arg0[31]
// CHECK: %[[REPLAYED:.*]] = arith.trunci %{{.*}} : i64 to i32
// CHECK: %[[ARE_ANY:.*]] = arith.cmpi ne, %[[REPLAYED]], %{{.*}} : i32
// CHECK: %[[NOT_TAKEN:.*]] = scf.if %[[ARE_ANY]] -> (i32) {
// CHECK: llvm.getelementptr %arg0[32]
// CHECK: %[[TAKEN:.*]] = arith.maxsi
// CHECK: %[[LEFT:.*]] = arith.subi %[[REPLAYED]], %[[TAKEN]] : i32
// CHECK: arith.maxsi %[[LEFT]]
// CHECK: %[[LATE:.*]] = arith.extsi %[[NOT_TAKEN]] : i32 to i64
// CHECK: %[[BEGIN:.*]] = arith.addi %{{.*}}, %[[LATE]] : i64
// CHECK: scf.for %[[TOKEN:.*]] = %[[BEGIN]] to
// CHECK: arith.cmpi eq, %{{.*}}, %c2_i64
// CHECK: scf.yield %[[TOKEN]] : i64
// CHECK: %[[FIRST:.*]] = arith.maxsi
// CHECK: arith.subi %{{.*}}, %[[FIRST]]
// CHECK: %[[EARLIER:.*]] = arith.subi %[[TOKEN]], %{{.*}} : i64
// CHECK: arith.select %{{.*}}, %[[TOKEN]], %[[EARLIER]] : i64
// CHECK: %[[STORES:.*]] = arith.cmpi sge
// CHECK: scf.if %[[STORES]] {
// CHECK: llvm.store %{{.*}} : f32, !llvm.ptr<1>
// CHECK: llvm.return
tile.kernel @keeps required 1 workspace 0 threads 64 shared 4096 {
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

// A kernel that keeps no states has no such tokens.
// CHECK-LABEL: llvm.func @keeps_none
// CHECK-NOT: llvm.getelementptr %arg0[31]
// CHECK: llvm.return
tile.kernel @keeps_none required 1 workspace 0 threads 64 shared 4096 {
^bb0(%x: !tile.tile<?x1xf32, global>, %y: !tile.tile<?x1xf32, global>, %tokens: i64):
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %t = tile.alloc at 0 : !tile.tile<1x1xf32, shared, [1, 1]>
  scf.for %first = %zero to %tokens step %one : i64 {
    tile.load %x[%first] rows %one into %t : !tile.tile<?x1xf32, global> into !tile.tile<1x1xf32, shared, [1, 1]>
    tile.store %t rows %one to %y[%first] : !tile.tile<1x1xf32, shared, [1, 1]> to !tile.tile<?x1xf32, global>
  }
}

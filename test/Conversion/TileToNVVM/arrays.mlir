// RUN: recur-opt %s --convert-tile-to-nvvm | FileCheck %s

// Of three arrays a lane of each warp finds where one begins: its words, and the size of its elements (lane 1 has bf16;
// lanes behind the last array find that one's again). Where states are in a pool, which a word says, the row is read, and
// what lies beyond the pool is what stands for no row; of several rows of a sequence it is the one that is counted to.
// The others get it in two halves.
// CHECK-LABEL: llvm.func @by_lanes
// CHECK: %[[LANE:.*]] = arith.remui
// CHECK: %[[LAST:.*]] = arith.constant 2 : i32
// CHECK: %[[NUMBER:.*]] = arith.minsi %[[LANE]], %[[LAST]] : i32
// CHECK: %[[WORDS:.*]] = arith.muli %[[NUMBER]], %c10_i32
// CHECK: %[[OWN:.*]] = llvm.getelementptr %arg0[%[[WORDS]]] : (!llvm.ptr, i32) -> !llvm.ptr, i64
// CHECK: %[[LANES:.*]] = arith.constant 2 : i32
// CHECK: %[[BIT:.*]] = arith.shrui %[[LANES]], %[[NUMBER]] : i32
// CHECK: %[[HALF:.*]] = arith.trunci %[[BIT]] : i32 to i1
// CHECK: %[[BYTES:.*]] = arith.select %[[HALF]], %c2_i64{{.*}}, %c4_i64{{.*}} : i64
// CHECK: llvm.getelementptr %arg0[26]
// CHECK: %[[HAS_POOLS:.*]] = arith.cmpi ne
// CHECK: %[[PLACE:.*]]:3 = scf.if %[[HAS_POOLS]] -> (i64, i64, i64)
// CHECK: arith.muli %[[NUMBER]], %c6_i32
// CHECK: llvm.getelementptr %{{.*}}[68] : (!llvm.ptr) -> !llvm.ptr, i64
// CHECK: scf.if
// CHECK: llvm.getelementptr %{{.*}}[72] : (!llvm.ptr) -> !llvm.ptr, i64
// CHECK: %[[COLUMNS:.*]] = llvm.load
// CHECK: %[[OF_ALL:.*]] = scf.if %{{.*}} -> (i64)
// CHECK: llvm.getelementptr %{{.*}}[73] : (!llvm.ptr) -> !llvm.ptr, i64
// CHECK: %[[COUNT:.*]] = scf.if %{{.*}} -> (i64)
// CHECK: %[[BEFORE:.*]] = arith.subi %[[COUNT]], %c1_i64
// CHECK: %[[IS_COUNTED:.*]] = arith.cmpi ult, %[[BEFORE]], %[[COLUMNS]]
// CHECK: arith.select %[[IS_COUNTED]]
// CHECK: %[[HAS_ROW:.*]] = arith.cmpi sge, %[[OF_ALL]]
// CHECK: %[[ROW:.*]] = scf.if %[[HAS_ROW]] -> (i32)
// CHECK: llvm.load %{{.*}} : !llvm.ptr<1> -> i32
// CHECK: %[[IS_THERE:.*]] = arith.cmpi ult, %[[ROW]]
// CHECK: arith.select %[[IS_THERE]]
// CHECK: } else {
// CHECK: } else {
// CHECK: llvm.getelementptr %[[OWN]][38]
// CHECK: %[[OFFSET:.*]] = arith.muli %{{.*}}, %[[BYTES]] : i64
// CHECK: arith.addi %[[PLACE]]#0, %[[OFFSET]] : i64
// CHECK: %[[HIGH:.*]] = arith.shrui %{{.*}}, %c32_i64{{.*}} : i64
// CHECK: nvvm.shfl.sync {{ *}}idx
// CHECK: llvm.inttoptr
// CHECK-COUNT-2: nvvm.shfl.sync {{ *}}idx
// CHECK-NOT: nvvm.shfl.sync
// CHECK: llvm.return
tile.kernel @by_lanes required 1 workspace 0 threads 64 shared 4096 {
^bb0(%x: !tile.tile<?x16xf32, global>, %y: !tile.tile<?x16xbf16, global>, %z: !tile.tile<?x16xf32, global>, %tokens: i64):
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %size = arith.constant 16 : i64
  %t = tile.alloc at 0 : !tile.tile<16x16xf32, shared, [20, 1]>
  scf.for %first = %zero to %tokens step %size : i64 {
    %left = arith.subi %tokens, %first : i64
    %n = arith.minsi %left, %size : i64
    tile.load %x[%first] rows %n into %t : !tile.tile<?x16xf32, global> into !tile.tile<16x16xf32, shared, [20, 1]>
    tile.store %t rows %n to %y[%first] : !tile.tile<16x16xf32, shared, [20, 1]> to !tile.tile<?x16xbf16, global>
  }
  tile.store %t rows %one to %z[%zero] : !tile.tile<16x16xf32, shared, [20, 1]> to !tile.tile<?x16xf32, global>
}

// Of two each thread finds both. Rows of theirs are those of tokens, so that neither is a state in a pool.
// CHECK-LABEL: llvm.func @one_by_one
// CHECK-NOT: llvm.getelementptr %arg0[26]
// CHECK-NOT: nvvm.shfl.sync
// CHECK: llvm.return
tile.kernel @one_by_one required 1 workspace 0 threads 64 shared 4096 {
^bb0(%x: !tile.tile<?x16xf32, global>, %y: !tile.tile<?x16xbf16, global>, %tokens: i64):
  %zero = arith.constant 0 : i64
  %size = arith.constant 16 : i64
  %t = tile.alloc at 0 : !tile.tile<16x16xf32, shared, [20, 1]>
  scf.for %first = %zero to %tokens step %size : i64 {
    %left = arith.subi %tokens, %first : i64
    %n = arith.minsi %left, %size : i64
    tile.load %x[%first] rows %n into %t : !tile.tile<?x16xf32, global> into !tile.tile<16x16xf32, shared, [20, 1]>
    tile.store %t rows %n to %y[%first] : !tile.tile<16x16xf32, shared, [20, 1]> to !tile.tile<?x16xbf16, global>
  }
}

// States that are kept before each token: where the word says that those after tokens go to rows of a pool, it is the row
// after so many tokens as the loop has had, which is found as that of the final state.
// CHECK-LABEL: llvm.func @keeps
// CHECK: scf.for %[[TOKEN:.*]] = %{{.*}} to
// CHECK: llvm.getelementptr %arg0[26]
// CHECK: %[[ARE_OF_TOKENS:.*]] = arith.cmpi eq, %{{.*}}, %c2_i64
// CHECK: %[[HAS_ROW:.*]] = arith.ori
// CHECK: %[[KEEPS_TOKENS:.*]] = arith.andi %[[ARE_OF_TOKENS]], %[[HAS_ROW]]
// CHECK: scf.if %[[KEEPS_TOKENS]] {
// CHECK: scf.yield %[[TOKEN]] : i64
// CHECK: arith.subi
// CHECK: llvm.store %{{.*}} : bf16, !llvm.ptr<1>
// CHECK: } else {
// CHECK: llvm.store %{{.*}} : f32, !llvm.ptr<1>
// CHECK: llvm.return
tile.kernel @keeps required 1 workspace 0 threads 64 shared 4096 {
^bb0(%x: !tile.tile<?xf32, global>, %final: !tile.tile<?x16xbf16, global>, %kept: !tile.tile<?x16xf32, global>, %tokens: i64):
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %t = tile.alloc at 0 : !tile.tile<1x16xf32, shared, [20, 1]>
  scf.for %first = %zero to %tokens step %one : i64 {
    %part = tile.view %t offset 0 : !tile.tile<1x16xf32, shared, [20, 1]> to !tile.tile<1x16xf32, shared, [20, 1]>
    tile.store %part rows %one to %kept[%first] : !tile.tile<1x16xf32, shared, [20, 1]> to !tile.tile<?x16xf32, global>
  }
  tile.store %t rows %one to %final[%zero] : !tile.tile<1x16xf32, shared, [20, 1]> to !tile.tile<?x16xbf16, global>
}

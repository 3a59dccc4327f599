// RUN: recur-opt %s --convert-tile-to-nvvm | FileCheck %s

// A state goes from chunk to chunk. Behind each, where the word says so, it is stored where the tokens by then are a
// multiple: counted from the sequence's position, in the column's row of the pool, between two barriers. The final state
// goes to its own row.
// CHECK-LABEL: llvm.func @at_multiples
// CHECK: scf.for %[[FIRST:.*]] = %{{.*}} to %[[TOKENS:.*]] step %[[STEP:[^ ]*]]
// CHECK: nvvm.barrier0
// CHECK: %[[END:.*]] = arith.addi %[[FIRST]], %[[STEP]]
// CHECK: llvm.getelementptr %arg0[27]
// CHECK: %[[KEEPS:.*]] = arith.cmpi ne
// CHECK: scf.if %[[KEEPS]] {
// CHECK: llvm.getelementptr %arg0[30]
// CHECK: %[[BEFORE:.*]] = scf.if
// CHECK: %[[NOW:.*]] = arith.addi %[[BEFORE]]
// CHECK: %[[NUMBER:.*]] = arith.divui %[[NOW]], %[[INTERVAL:.*]] : i32
// CHECK: %[[PRODUCT:.*]] = arith.muli %[[NUMBER]], %[[INTERVAL]]
// CHECK: %[[ENDS:.*]] = arith.cmpi eq, %[[PRODUCT]], %[[NOW]]
// CHECK: %[[IS_WHOLE:.*]] = arith.cmpi sle, %[[END]], %[[TOKENS]]
// CHECK: %[[IS_MULTIPLE:.*]] = arith.andi %[[ENDS]], %[[IS_WHOLE]]
// CHECK: scf.if %[[IS_MULTIPLE]] {
// CHECK: llvm.getelementptr %arg0[29]
// CHECK: %[[HAS_COLUMN:.*]] = arith.cmpi ult
// CHECK: %[[ROW:.*]] = scf.if %[[HAS_COLUMN]] -> (i32) {
// CHECK: llvm.getelementptr %arg0[28]
// CHECK: %[[IS_THERE:.*]] = arith.cmpi sge, %[[ROW]], %{{.*}} : i32
// CHECK: scf.if %[[IS_THERE]] {
// CHECK: llvm.store %{{.*}} : bf16, !llvm.ptr<1>
// CHECK: nvvm.barrier0
// CHECK: llvm.return
tile.kernel @at_multiples required 1 workspace 0 threads 64 shared 4096 {
^bb0(%x: !tile.tile<?x16xf32, global>, %final: !tile.tile<?x16xbf16, global>, %tokens: i64):
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %size = arith.constant 16 : i64
  %t = tile.alloc at 0 : !tile.tile<16x16xf32, shared, [20, 1]>
  scf.for %first = %zero to %tokens step %size : i64 {
    %left = arith.subi %tokens, %first : i64
    %n = arith.minsi %left, %size : i64
    tile.load %x[%first] rows %n into %t : !tile.tile<?x16xf32, global> into !tile.tile<16x16xf32, shared, [20, 1]>
  }
  %row = tile.view %t offset 0 : !tile.tile<16x16xf32, shared, [20, 1]> to !tile.tile<1x16xf32, shared, [20, 1]>
  tile.store %row rows %one to %final[%zero] : !tile.tile<1x16xf32, shared, [20, 1]> to !tile.tile<?x16xbf16, global>
}

// A loop that goes over the last chunks alone begins with the first where states are wanted on the way.
// CHECK-LABEL: llvm.func @last_chunks
// CHECK: llvm.getelementptr %arg0[27]
// CHECK: %[[BEGIN:.*]] = arith.select %{{.*}}, %c0_i64{{.*}}, %{{.*}} : i64
// CHECK: scf.for %{{.*}} = %[[BEGIN]] to
tile.kernel @last_chunks required 1 workspace 0 threads 64 shared 4096 {
^bb0(%x: !tile.tile<?x16xf32, global>, %final: !tile.tile<?x16xf32, global>, %tokens: i64):
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %size = arith.constant 16 : i64
  %chunks = arith.divui %tokens, %size : i64
  %last = arith.muli %chunks, %size : i64
  %t = tile.alloc at 0 : !tile.tile<16x16xf32, shared, [20, 1]>
  scf.for %first = %last to %tokens step %size : i64 {
    %left = arith.subi %tokens, %first : i64
    %n = arith.minsi %left, %size : i64
    tile.load %x[%first] rows %n into %t : !tile.tile<?x16xf32, global> into !tile.tile<16x16xf32, shared, [20, 1]>
  }
  %row = tile.view %t offset 0 : !tile.tile<16x16xf32, shared, [20, 1]> to !tile.tile<1x16xf32, shared, [20, 1]>
  tile.store %row rows %one to %final[%zero] : !tile.tile<1x16xf32, shared, [20, 1]> to !tile.tile<?x16xf32, global>
}

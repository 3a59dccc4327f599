// RUN: recur-opt %s --convert-tile-to-nvvm --cse | FileCheck %s

// A thread finds where one array begins, and lists it behind all tiles. Loads in front of the loop read the list, and are
// under way together before the first number is put into a tile. Where the call keeps states in rows of a pool, threads
// find these before a token, for a second list; one store takes what either list says. So do states at a multiple.
// What comes behind the loop goes by the first list again.
// CHECK-LABEL: llvm.func @layer
// CHECK: %[[IS_NUMBER:.*]] = arith.cmpi slt, %[[NUMBER:.*]], %c8_i32
// CHECK-NEXT: scf.if %[[IS_NUMBER]] {
// CHECK: %[[LIST:.*]] = llvm.getelementptr %{{.*}}[1024]
// CHECK: %[[PLACE:.*]] = llvm.getelementptr %[[LIST]][%[[NUMBER]]]
// CHECK: llvm.store %{{.*}}, %[[PLACE]] {{.*}} : i64, !llvm.ptr<3>
// CHECK: nvvm.barrier0
// CHECK: %[[FIRST:.*]] = llvm.load %{{.*}} : !llvm.ptr<3> -> i64
// CHECK: llvm.inttoptr %[[FIRST]]
// CHECK: llvm.load %{{.*}} : !llvm.ptr<1> -> bf16
// CHECK: llvm.load %{{.*}} : !llvm.ptr<1> -> bf16
// CHECK: llvm.load %{{.*}} : !llvm.ptr<1> -> bf16
// CHECK: llvm.store %{{.*}} : f32, !llvm.ptr<3>
// CHECK: llvm.store %{{.*}} : f32, !llvm.ptr<3>
// CHECK: llvm.store %{{.*}} : f32, !llvm.ptr<3>
// CHECK: scf.for %[[TOKEN:.*]] =
// CHECK: %[[KEEPS:.*]] = arith.cmpi eq, %{{.*}}, %c2_i64
// CHECK: scf.if %{{.*}} {
// CHECK-NEXT: nvvm.barrier0
// CHECK: %[[ON_THE_WAY:.*]] = arith.addi %{{.*}}, %c8_i32
// CHECK: llvm.getelementptr %{{.*}}[%[[ON_THE_WAY]]]
// CHECK: nvvm.barrier0
// CHECK: %[[POINTER:.*]] = arith.select %{{.*}} : !llvm.ptr<1>
// CHECK: scf.if
// CHECK: llvm.store %{{.*}} : bf16, !llvm.ptr<1>
// CHECK: llvm.getelementptr %arg0[27]
// CHECK: scf.if
// CHECK: nvvm.barrier0
// CHECK: arith.addi %{{.*}}, %c8_i32
// CHECK: nvvm.barrier0
// CHECK: llvm.store %{{.*}} : bf16, !llvm.ptr<1>
// CHECK: llvm.load %{{.*}} : !llvm.ptr<3> -> i64
// CHECK: llvm.store %{{.*}} : bf16, !llvm.ptr<1>
// CHECK: llvm.return
tile.kernel @layer required 2 workspace 0 threads 64 shared 1024 attributes {tile.lists_arrays} {
^bb0(%x: !tile.tile<?x16xbf16, global>, %w: !tile.tile<?x16xbf16, global>, %a: !tile.tile<?x16xbf16, global>, %b: !tile.tile<?x16xbf16, global>, %o: !tile.tile<?x16xbf16, global>, %final: !tile.tile<?x16xbf16, global>, %finalOfB: !tile.tile<?x16xbf16, global>, %kept: !tile.tile<?x16xbf16, global>, %tokens: i64):
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %wide = tile.alloc at 0 : !tile.tile<1x16xf32, shared, [16, 1]>
  %state = tile.alloc at 128 : !tile.tile<1x16xf32, shared, [16, 1]>
  %other = tile.alloc at 256 : !tile.tile<1x16xf32, shared, [16, 1]>
  %row = tile.alloc at 384 : !tile.tile<1x16xf32, shared, [16, 1]>
  tile.load %w[%zero] rows %one into %wide : !tile.tile<?x16xbf16, global> into !tile.tile<1x16xf32, shared, [16, 1]>
  tile.load %a[%zero] rows %one into %state : !tile.tile<?x16xbf16, global> into !tile.tile<1x16xf32, shared, [16, 1]>
  tile.load %b[%zero] rows %one into %other : !tile.tile<?x16xbf16, global> into !tile.tile<1x16xf32, shared, [16, 1]>
  scf.for %token = %zero to %tokens step %one : i64 {
    tile.load %x[%token] rows %one into %row : !tile.tile<?x16xbf16, global> into !tile.tile<1x16xf32, shared, [16, 1]>
    tile.store %state rows %one to %kept[%token] : !tile.tile<1x16xf32, shared, [16, 1]> to !tile.tile<?x16xbf16, global>
    tile.map %row, %wide, %state into %state rows %one dims [array<i64: 0, 1>, array<i64: 0, 1>, array<i64: 0, 1>] : !tile.tile<1x16xf32, shared, [16, 1]>, !tile.tile<1x16xf32, shared, [16, 1]>, !tile.tile<1x16xf32, shared, [16, 1]> into !tile.tile<1x16xf32, shared, [16, 1]> {
    ^bb0(%in: f32, %by: f32, %before: f32):
      %part = arith.mulf %in, %by : f32
      %sum = arith.addf %part, %before : f32
      tile.yield %sum : f32
    }
  }
  tile.store %state rows %one to %final[%zero] : !tile.tile<1x16xf32, shared, [16, 1]> to !tile.tile<?x16xbf16, global>
  tile.store %other rows %one to %finalOfB[%zero] : !tile.tile<1x16xf32, shared, [16, 1]> to !tile.tile<?x16xbf16, global>
}

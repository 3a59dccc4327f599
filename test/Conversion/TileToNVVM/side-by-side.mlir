// RUN: recur-opt %s --convert-tile-to-nvvm --split-input-file | FileCheck %s

// Two teams of 64 threads make up a CTA, each with 4096 bytes and a barrier of its own. The team's last warp finds where
// arrays begin for the first round, the chunk and its flag, and keeps them; in each round those of the next. The flags of
// the team's chunks, which come behind two arrays, are cleared before another kernel may start, which is behind the
// rounds that all teams share, and each is set once the team has stored its chunk and asked for the next. Nothing of that
// is done where there are no flags.
// CHECK-LABEL: llvm.func @announces
// CHECK-SAME: llvm.byval = !llvm.array<86 x i64>
// CHECK-SAME: nvvm.maxntid = array<i32: 128, 1, 1>
// CHECK: %[[TEAM:.*]] = nvvm.read.ptx.sreg.tid.y
// CHECK: %[[BYTES:.*]] = arith.muli %[[TEAM]], %{{.*}} : i32
// CHECK: llvm.getelementptr %{{.*}}[%[[BYTES]]] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
// CHECK: %[[UNIT:.*]] = arith.remui
// CHECK: %[[FLAGS:.*]] = llvm.ptrtoint %{{.*}} : !llvm.ptr<1> to i64
// CHECK: %[[USED:.*]] = arith.cmpi ne, %[[FLAGS]]
// CHECK: %[[LAST:.*]] = arith.cmpi eq, %{{.*}}, %c1_i32{{.*}} : i32
// CHECK: scf.if %[[LAST]]
// CHECK: llvm.store %{{.*}} : i64, !llvm.ptr<3>
// CHECK: llvm.store %{{.*}} : i64, !llvm.ptr<3>
// CHECK: @own bar.sync 1, 64;
// CHECK: scf.if %[[USED]]
// CHECK: scf.for
// CHECK: st.relaxed.gpu.global.u32 [$0], 0;
// CHECK: fence.acq_rel.gpu;
// CHECK: nvvm.barrier
// CHECK-NOT: nvvm.griddepcontrol
// CHECK: %[[LOOP:.*]]:2 = scf.while
// CHECK: %[[KEPT:.*]] = llvm.load volatile %{{.*}} : !llvm.ptr<3> -> i32
// CHECK: %[[IS_MINE:.*]] = arith.cmpi slt, %{{.*}}, %[[KEPT]]
// CHECK: scf.condition(%[[IS_MINE]]) %{{.*}}, %[[KEPT]]
// CHECK: ^bb0(%[[ROUND:.*]]: i32, %{{.*}}: i32):
// CHECK: %[[BEHIND:.*]] = arith.cmpi eq, %[[ROUND]], %{{.*}} : i32
// CHECK: %[[TIME:.*]] = arith.andi %[[USED]], %[[BEHIND]]
// CHECK: scf.if %[[TIME]]
// CHECK-NEXT: nvvm.griddepcontrol launch_dependents
// CHECK: %[[NEXT:.*]] = arith.addi %[[ROUND]], %{{.*}} : i32
// CHECK: llvm.store %{{.*}} : i64, !llvm.ptr<3>
// CHECK: arith.cmpi slt, %{{.*}}, %[[ROUND]]
// CHECK: fence.acq_rel.gpu;\0Ast.relaxed.gpu.global.u32 [$0], 1;
// CHECK: setp.eq.u32 own, $0, 0;\0A@own bar.sync 1, 64;\0Asetp.eq.u32 own, $0, 1;\0A@own bar.sync 2, 64;
// CHECK: llvm.store
// CHECK: @own bar.sync 1, 64;
// CHECK: scf.yield %{{.*}} : i32
// CHECK: arith.cmpi slt, %{{.*}}, %[[LOOP]]#0
// CHECK: fence.acq_rel.gpu;\0Ast.relaxed.gpu.global.u32 [$0], 1;
// CHECK: llvm.return
tile.kernel @announces required 1 workspace 0 threads 64 shared 4096 teams 2 {
^bb0(%x: !tile.tile<?x16xf32, global>, %y: !tile.tile<?x16xf32, global>, %tokens: i64):
  %zero = arith.constant 0 : index
  %end = arith.index_cast %tokens : i64 to index
  %size = arith.constant 16 : index
  %t = tile.alloc at 0 : !tile.tile<16x16xf32, shared, [20, 1]>
  scf.parallel (%at) = (%zero) to (%end) step (%size) {
    %first = arith.index_cast %at : index to i64
    %left = arith.subi %tokens, %first : i64
    %most = arith.constant 16 : i64
    %n = arith.minsi %left, %most : i64
    tile.load %x[%first] rows %n into %t : !tile.tile<?x16xf32, global> into !tile.tile<16x16xf32, shared, [20, 1]>
    tile.store %t rows %n to %y[%first] : !tile.tile<16x16xf32, shared, [20, 1]> to !tile.tile<?x16xf32, global>
  }
}

// -----

// Nothing is where the rows are loaded to behind the first map. So the team's next chunk is asked for there, behind the
// barrier that the next op waits for, and the first chunk before the loop; where there is no such chunk, no row of it.
// CHECK-LABEL: llvm.func @asks_ahead
// CHECK: nvvm.cp.async.shared.global
// CHECK: nvvm.cp.async.commit.group
// CHECK: scf.while
// CHECK: ^bb0(%[[ROUND:.*]]: i32, %{{.*}}: i32):
// CHECK: nvvm.griddepcontrol launch_dependents
// CHECK-NOT: nvvm.cp.async.shared.global
// CHECK: nvvm.cp.async.wait.group 0
// CHECK: @own bar.sync 1, 64;
// CHECK: arith.mulf
// CHECK: @own bar.sync 1, 64;
// CHECK: arith.addi %[[ROUND]], %{{.*}} : i32
// CHECK: %[[CHUNK:.*]] = llvm.load volatile %{{.*}} : !llvm.ptr<3> -> i32
// CHECK: %[[EXISTS:.*]] = arith.cmpi slt, %{{.*}}, %[[CHUNK]]
// CHECK: arith.select %[[EXISTS]], %{{.*}}, %{{.*}} : i32
// CHECK: nvvm.cp.async.shared.global
// CHECK: nvvm.cp.async.commit.group
// CHECK-NOT: nvvm.cp.async.wait.group
// CHECK: llvm.return
tile.kernel @asks_ahead required 1 workspace 0 threads 64 shared 4096 teams 2 {
^bb0(%x: !tile.tile<?x16xf32, global>, %y: !tile.tile<?x16xf32, global>, %tokens: i64):
  %zero = arith.constant 0 : index
  %end = arith.index_cast %tokens : i64 to index
  %size = arith.constant 16 : index
  %t = tile.alloc at 0 : !tile.tile<16x16xf32, shared, [20, 1]>
  %u = tile.alloc at 1280 : !tile.tile<16x16xf32, shared, [20, 1]>
  scf.parallel (%at) = (%zero) to (%end) step (%size) {
    %first = arith.index_cast %at : index to i64
    %left = arith.subi %tokens, %first : i64
    %most = arith.constant 16 : i64
    %n = arith.minsi %left, %most : i64
    tile.load %x[%first] rows %n into %t : !tile.tile<?x16xf32, global> into !tile.tile<16x16xf32, shared, [20, 1]>
    tile.map %t into %u rows %n dims [array<i64: 0, 1>] : !tile.tile<16x16xf32, shared, [20, 1]> into !tile.tile<16x16xf32, shared, [20, 1]> {
    ^bb0(%a: f32):
      %b = arith.mulf %a, %a : f32
      tile.yield %b : f32
    }
    tile.store %u rows %n to %y[%first] : !tile.tile<16x16xf32, shared, [20, 1]> to !tile.tile<?x16xf32, global>
  }
}

// -----

// A team that is alone in its CTA keeps its unit, so nothing is found out in a round but where there is a list of the
// chunks of packed sequences: else the chunk is counted.
// CHECK-LABEL: llvm.func @alone
// CHECK: %[[LISTED:.*]] = arith.cmpi ne, %{{.*}}, %c0_i64{{.*}} : i64
// CHECK: scf.while
// CHECK: scf.if %[[LISTED]] -> (i32, i1)
// CHECK: llvm.load volatile
// CHECK: } else {
// CHECK-NOT: llvm.load volatile
// CHECK: scf.condition
// CHECK: scf.if %[[LISTED]] {
// CHECK: llvm.store %{{.*}} : i64, !llvm.ptr<3>
// CHECK: llvm.return
tile.kernel @alone required 1 workspace 0 threads 64 shared 4096 teams 1 {
^bb0(%x: !tile.tile<?x16xf32, global>, %y: !tile.tile<?x16xf32, global>, %tokens: i64):
  %zero = arith.constant 0 : index
  %end = arith.index_cast %tokens : i64 to index
  %size = arith.constant 16 : index
  %t = tile.alloc at 0 : !tile.tile<16x16xf32, shared, [20, 1]>
  scf.parallel (%at) = (%zero) to (%end) step (%size) {
    %first = arith.index_cast %at : index to i64
    %left = arith.subi %tokens, %first : i64
    %most = arith.constant 16 : i64
    %n = arith.minsi %left, %most : i64
    tile.load %x[%first] rows %n into %t : !tile.tile<?x16xf32, global> into !tile.tile<16x16xf32, shared, [20, 1]>
    tile.store %t rows %n to %y[%first] : !tile.tile<16x16xf32, shared, [20, 1]> to !tile.tile<?x16xf32, global>
  }
}

// RUN: recur-opt %s --convert-tile-to-nvvm=lists=true --split-input-file | FileCheck %s

// A CTA has a chunk of the list, if there is one: of the sequence that the entry says, of which a word says where its
// tokens begin and end, wherever that is in all tokens. CTAs behind the last entry end at once, and so do those of
// sequences of other lengths than the kernel is for.
// CHECK-LABEL: llvm.func @apart(
// CHECK: %[[LISTED:.*]] = arith.cmpi ne, %{{.*}}, %c0_i64{{.*}} : i64
// CHECK: %[[CTA:.*]] = nvvm.read.ptx.sreg.ctaid.x
// CHECK: %[[OWN:.*]]:3 = scf.if %[[LISTED]] -> (i32, i32, i1)
// CHECK: %[[ENTRY:.*]] = arith.divui %[[CTA]]
// CHECK: %[[COUNT:.*]] = llvm.load
// CHECK: %[[IS_THERE:.*]] = arith.cmpi slt, %[[ENTRY]], %[[COUNT]]
// CHECK: arith.select %[[IS_THERE]], %[[ENTRY]], %c0_i32
// CHECK: llvm.load %{{.*}} : !llvm.ptr<1> -> vector<2xi32>
// CHECK: } else {
// CHECK: %[[ROW:.*]] = nvvm.read.ptx.sreg.ctaid.y
// CHECK: scf.yield %[[CTA]], %[[ROW]], %true
// CHECK: %[[TOKENS:.*]]:3 = scf.if %{{.*}} -> (i64, i64, i1)
// CHECK: arith.maxsi
// CHECK: arith.minsi
// CHECK: arith.cmpi sge
// CHECK: arith.cmpi slt
// CHECK: %[[HAS_WORK:.*]] = arith.andi %[[TOKENS]]#2, %[[OWN]]#2
// CHECK: llvm.cond_br %[[HAS_WORK]], ^[[REST:.*]], ^[[END:.*]]
// CHECK: ^[[REST]]:
// CHECK: %[[FIRST:.*]] = arith.extsi %[[OWN]]#1
// CHECK: %[[ALL:.*]] = arith.select %[[LISTED]], %c2147483647_i32
// CHECK: scf.for
// CHECK: ^[[END]]:
// CHECK-NEXT: llvm.return

// The list is one CTA's work. It comes before the kernels; each warp writes the chunks of its sequences, and each
// sequence that is listed goes behind those that are longer.
// CHECK-LABEL: llvm.func @apart_listing(
// CHECK-SAME: llvm.byval = !llvm.array<7 x i64>
// CHECK-SAME: nvvm.reqntid = array<i32: 1024, 1, 1>
// CHECK: scf.for
// CHECK: arith.addi %{{.*}}, %c15_i64
// CHECK: llvm.atomicrmw add %{{.*}} monotonic : !llvm.ptr<3>, i32
// CHECK: nvvm.shfl.sync {{ *}}up
// CHECK: llvm.store %{{.*}} : vector<2xi32>, !llvm.ptr<1>
// CHECK: %[[PLACE:.*]] = llvm.atomicrmw add %{{.*}} monotonic : !llvm.ptr<3>, i32
// CHECK: llvm.store %{{.*}} : i32, !llvm.ptr<1>
// CHECK: llvm.return
tile.kernel @apart required 1 workspace 0 threads 64 shared 4096 {
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

// A team finds the sequence of its chunk a round before, with where its arrays begin, and how many tokens there are from
// the chunk on beside the chunk's number.
// CHECK-LABEL: llvm.func @teams(
// CHECK: %[[LISTED:.*]] = arith.cmpi ne, %{{.*}}, %c0_i64{{.*}} : i64
// CHECK: scf.while
// CHECK: scf.if %[[LISTED]] -> (i32, i32, i1)
// CHECK: llvm.load %{{.*}} : !llvm.ptr<1> -> vector<2xi32>
// CHECK: scf.if %[[LISTED]] -> (i64, i64)
// CHECK: arith.maxsi
// CHECK: %[[REST:.*]] = arith.minsi %{{.*}}, %c2147483647_i64
// CHECK: %[[UPPER:.*]] = arith.shli %[[REST]], %c32_i64
// CHECK: arith.ori %[[UPPER]]
// CHECK: llvm.return
tile.kernel @teams required 1 workspace 0 threads 64 shared 4096 teams 2 {
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

// Tiles in a workspace are a CTA's, and there are only as many as work at once: no list.
// CHECK-LABEL: llvm.func @with_workspace(
// CHECK-NOT: arith.select %{{.*}}, %c2147483647_i32
// CHECK-NOT: _listing
tile.kernel @with_workspace required 1 workspace 1280 threads 64 shared 4096 {
^bb0(%x: !tile.tile<?x16xf32, global>, %y: !tile.tile<?x16xf32, global>, %tokens: i64):
  %zero = arith.constant 0 : index
  %end = arith.index_cast %tokens : i64 to index
  %size = arith.constant 16 : index
  %t = tile.alloc at 0 : !tile.tile<16x16xf32, local, [20, 1]>
  scf.parallel (%at) = (%zero) to (%end) step (%size) {
    %first = arith.index_cast %at : index to i64
    %left = arith.subi %tokens, %first : i64
    %most = arith.constant 16 : i64
    %n = arith.minsi %left, %most : i64
    tile.load %x[%first] rows %n into %t : !tile.tile<?x16xf32, global> into !tile.tile<16x16xf32, local, [20, 1]>
    tile.store %t rows %n to %y[%first] : !tile.tile<16x16xf32, local, [20, 1]> to !tile.tile<?x16xf32, global>
  }
}

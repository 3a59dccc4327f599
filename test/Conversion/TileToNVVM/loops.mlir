// RUN: recur-opt %s --convert-tile-to-nvvm | FileCheck %s

// The first rows are asked for before the loop, and those of the next iteration while this one is computed; behind the
// last there are none, which a load of a row for each chunk does not say by its rows.
// CHECK-LABEL: llvm.func @ahead
// CHECK: llvm.cond_br
// CHECK: %[[THERE:.*]] = arith.cmpi slt, %{{.*}}, %[[END:.*]] : i64
// CHECK: arith.select %[[THERE]], %{{.*}}, %c0_i32 : i32
// CHECK: llvm.load %{{.*}} : !llvm.ptr<1> -> vector<4xf32>
// CHECK: scf.for %{{.*}} iter_args(%[[HELD:.*]] = %{{.*}}) -> (vector<4xf32>)
// CHECK: llvm.extractelement %[[HELD]]
// CHECK: llvm.store %{{.*}} : vector<4xf32>, !llvm.ptr<3>
// CHECK: %[[MORE:.*]] = arith.cmpi slt, %{{.*}}, %[[END]] : i64
// CHECK: arith.select %[[MORE]], %{{.*}}, %{{.*}} : i32
// CHECK: %[[NEXT:.*]] = scf.if %{{.*}} -> (vector<4xf32>)
// CHECK: llvm.load %{{.*}} : !llvm.ptr<1> -> vector<4xf32>
// CHECK: nvvm.barrier
// CHECK: scf.yield %[[NEXT]] : vector<4xf32>
tile.kernel @ahead required 1 workspace 0 threads 64 shared 4096 {
^bb0(%x: !tile.tile<?x16xf32, global>, %y: !tile.tile<?x16xf32, global>, %tokens: i64):
  %zero = arith.constant 0 : i64
  %size = arith.constant 16 : i64
  %t = tile.alloc at 0 : !tile.tile<16x16xf32, shared, [20, 1]>
  scf.for %first = %zero to %tokens step %size : i64 {
    %left = arith.subi %tokens, %first : i64
    %n = arith.minsi %left, %size : i64
    tile.load %x[%first] rows %n into %t : !tile.tile<?x16xf32, global> into !tile.tile<16x16xf32, shared, [20, 1]>
    tile.store %t rows %n to %y[%first] : !tile.tile<16x16xf32, shared, [20, 1]> to !tile.tile<?x16xf32, global>
  }
}

// What is stored in the loop is loaded when it is needed.
// CHECK-LABEL: llvm.func @written
// CHECK-NOT: iter_args
// CHECK: llvm.return
tile.kernel @written required 1 workspace 0 threads 64 shared 4096 {
^bb0(%x: !tile.tile<?x16xf32, global>, %tokens: i64):
  %zero = arith.constant 0 : i64
  %size = arith.constant 16 : i64
  %t = tile.alloc at 0 : !tile.tile<16x16xf32, shared, [20, 1]>
  scf.for %first = %zero to %tokens step %size : i64 {
    tile.load %x[%first] rows %size into %t : !tile.tile<?x16xf32, global> into !tile.tile<16x16xf32, shared, [20, 1]>
    tile.store %t rows %size to %x[%first] : !tile.tile<16x16xf32, shared, [20, 1]> to !tile.tile<?x16xf32, global>
  }
}

// Chunks in any order: a row of the grid deals them out.
// CHECK-LABEL: llvm.func @parallel
// CHECK-DAG: nvvm.read.ptx.sreg.ctaid.y
// CHECK-DAG: nvvm.read.ptx.sreg.nctaid.y
// CHECK: scf.for
// CHECK-NOT: iter_args
// CHECK: llvm.return
tile.kernel @parallel required 1 workspace 0 threads 64 shared 4096 {
^bb0(%x: !tile.tile<?x16xf32, global>, %y: !tile.tile<?x16xf32, global>, %tokens: i64):
  %zero = arith.constant 0 : index
  %size = arith.constant 16 : index
  %n = arith.constant 16 : i64
  %all = arith.index_cast %tokens : i64 to index
  %t = tile.alloc at 0 : !tile.tile<16x16xf32, shared, [20, 1]>
  scf.parallel (%place) = (%zero) to (%all) step (%size) {
    %first = arith.index_cast %place : index to i64
    tile.load %x[%first] rows %n into %t : !tile.tile<?x16xf32, global> into !tile.tile<16x16xf32, shared, [20, 1]>
    tile.store %t rows %n to %y[%first] : !tile.tile<16x16xf32, shared, [20, 1]> to !tile.tile<?x16xf32, global>
  }
}

// A running sum is taken by one warp, 32 rows at once.
// CHECK-LABEL: llvm.func @running
// CHECK-COUNT-5: nvvm.shfl.sync up
// CHECK: nvvm.shfl.sync idx
// CHECK: llvm.return
tile.kernel @running required 0 workspace 0 threads 64 shared 4096 {
^bb0(%tokens: i64):
  %a = tile.alloc at 0 : !tile.tile<64xf32, shared, [1]>
  tile.scan %a all %a rows %tokens dims [array<i64: 0>] start 0.0 : !tile.tile<64xf32, shared, [1]> all !tile.tile<64xf32, shared, [1]> {
  ^bb0(%x: f32, %sum: f32):
    %next = arith.addf %sum, %x : f32
    tile.yield %next, %next : f32, f32
  }
}

// A team asks for a copy behind a branch in front of it, but for one that goes where the branch has a tile.
// CHECK-LABEL: llvm.func @branch
// CHECK: nvvm.cp.async.shared.global
// CHECK-NOT: nvvm.cp.async.shared.global
// CHECK: llvm.store %{{.*}} : f32, !llvm.ptr<3>
// CHECK: llvm.return
// CHECK-LABEL: llvm.func @apart
// CHECK: nvvm.cp.async.shared.global
// CHECK: nvvm.cp.async.shared.global
// CHECK: llvm.store %{{.*}} : f32, !llvm.ptr<3>
// CHECK-NOT: nvvm.cp.async.shared.global
// CHECK: llvm.return
tile.kernel @branch required 1 workspace 0 threads 128 shared 4096 teams 3 {
^bb0(%x: !tile.tile<?x16xbf16, global>, %y: !tile.tile<?x16xbf16, global>, %r: !tile.tile<?x16xf32, global>, %tokens: i64):
  %zero = arith.constant 0 : index
  %size = arith.constant 16 : index
  %none = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %n = arith.constant 16 : i64
  %all = arith.index_cast %tokens : i64 to index
  %a = tile.alloc at 0 : !tile.tile<16x16xbf16, shared, [24, 1]>
  %b = tile.alloc at 1024 : !tile.tile<16x16xbf16, shared, [24, 1]>
  %s = tile.alloc at 1024 : !tile.tile<1x16xf32, shared, [20, 1]>
  %c = tile.alloc at 2048 : !tile.tile<16x16xf32, shared, [20, 1]>
  scf.parallel (%first) = (%zero) to (%all) step (%size) {
    %i = arith.index_cast %first : index to i64
    tile.load %x[%i] rows %n into %a : !tile.tile<?x16xbf16, global> into !tile.tile<16x16xbf16, shared, [24, 1]>
    %is_first = arith.cmpi eq, %i, %none : i64
    scf.if %is_first {
      tile.load %r[%none] rows %one into %s : !tile.tile<?x16xf32, global> into !tile.tile<1x16xf32, shared, [20, 1]>
      tile.store %s rows %one to %r[%one] : !tile.tile<1x16xf32, shared, [20, 1]> to !tile.tile<?x16xf32, global>
    }
    tile.load %y[%i] rows %n into %b : !tile.tile<?x16xbf16, global> into !tile.tile<16x16xbf16, shared, [24, 1]>
    tile.product %a, right_transposed %b into %c rows %n inner %n : !tile.tile<16x16xbf16, shared, [24, 1]>, !tile.tile<16x16xbf16, shared, [24, 1]> into !tile.tile<16x16xf32, shared, [20, 1]>
  }
}
tile.kernel @apart required 1 workspace 0 threads 128 shared 4096 teams 3 {
^bb0(%x: !tile.tile<?x16xbf16, global>, %y: !tile.tile<?x16xbf16, global>, %r: !tile.tile<?x16xf32, global>, %tokens: i64):
  %zero = arith.constant 0 : index
  %size = arith.constant 16 : index
  %none = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %n = arith.constant 16 : i64
  %all = arith.index_cast %tokens : i64 to index
  %a = tile.alloc at 0 : !tile.tile<16x16xbf16, shared, [24, 1]>
  %b = tile.alloc at 1024 : !tile.tile<16x16xbf16, shared, [24, 1]>
  %s = tile.alloc at 3584 : !tile.tile<1x16xf32, shared, [20, 1]>
  %c = tile.alloc at 2048 : !tile.tile<16x16xf32, shared, [20, 1]>
  scf.parallel (%first) = (%zero) to (%all) step (%size) {
    %i = arith.index_cast %first : index to i64
    tile.load %x[%i] rows %n into %a : !tile.tile<?x16xbf16, global> into !tile.tile<16x16xbf16, shared, [24, 1]>
    %is_first = arith.cmpi eq, %i, %none : i64
    scf.if %is_first {
      tile.load %r[%none] rows %one into %s : !tile.tile<?x16xf32, global> into !tile.tile<1x16xf32, shared, [20, 1]>
      tile.store %s rows %one to %r[%one] : !tile.tile<1x16xf32, shared, [20, 1]> to !tile.tile<?x16xf32, global>
    }
    tile.load %y[%i] rows %n into %b : !tile.tile<?x16xbf16, global> into !tile.tile<16x16xbf16, shared, [24, 1]>
    tile.product %a, right_transposed %b into %c rows %n inner %n : !tile.tile<16x16xbf16, shared, [24, 1]>, !tile.tile<16x16xbf16, shared, [24, 1]> into !tile.tile<16x16xf32, shared, [20, 1]>
  }
}

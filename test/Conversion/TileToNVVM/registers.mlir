// RUN: recur-opt %s --convert-tile-to-nvvm | FileCheck %s

!bf = !tile.tile<64x64xbf16, shared, [72, 1]>
!sums = !tile.tile<64x64xf32, registers, [64, 1]>
!gates = !tile.tile<64xf32, shared, [1]>
!array = !tile.tile<?x64xbf16, global>

// Rows go to their tiles past the registers; each tile is waited for where it is needed. What a product gives stays in
// registers while a pass works on it, and goes to shared memory in pairs: no barrier in between. Two CTAs share a
// multiprocessor, and exponentials of rounded data are the hardware's.
// CHECK-LABEL: llvm.func @chained
// CHECK-SAME: nvvm.minctasm = 2 : i32
// CHECK-COUNT-2: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache = cg
// CHECK: nvvm.cp.async.wait.group 1
// CHECK: nvvm.barrier
// CHECK-NOT: nvvm.cp.async.wait
// CHECK: %[[SUMS:.*]]:16 = scf.if
// CHECK: nvvm.mma.sync
// CHECK-NOT: nvvm.barrier
// CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f"
// CHECK-NOT: nvvm.barrier
// CHECK: llvm.store %{{.*}} : vector<2xbf16>, !llvm.ptr<3>
// CHECK: nvvm.cp.async.wait.group 0
// CHECK: nvvm.barrier
// CHECK: nvvm.mma.sync
// CHECK: llvm.return
tile.kernel @chained required 2 workspace 0 threads 256 shared 60000 {
^bb0(%x: !array, %y: !array, %z: !array, %tokens: i64):
  %zero = arith.constant 0 : index
  %size = arith.constant 64 : index
  %k = arith.constant 64 : i64
  %all = arith.index_cast %tokens : i64 to index
  %a = tile.alloc at 0 : !bf
  %b = tile.alloc at 9216 : !bf
  %c = tile.alloc at 18432 : !bf
  %d = tile.alloc at 27648 : !bf
  %sums = tile.alloc : !sums
  scf.parallel (%place) = (%zero) to (%all) step (%size) {
    %first = arith.index_cast %place : index to i64
    %left = arith.subi %tokens, %first : i64
    %n = arith.minsi %left, %k : i64
    tile.load %x[%first] rows %n into %a : !array into !bf
    tile.load %y[%first] rows %n into %b : !array into !bf
    tile.product %a, right_transposed %a into %sums rows %n inner %k : !bf, !bf into !sums
    tile.map %sums into %c rows %n dims [array<i64: 0, 1>] : !sums into !bf {
    ^bb0(%s: f32):
      %e = math.exp %s : f32
      tile.yield %e : f32
    }
    tile.product %c, %b into %d rows %n inner %k : !bf, !bf into !bf
    tile.store %d rows %n to %z[%first] : !bf to !array
  }
}

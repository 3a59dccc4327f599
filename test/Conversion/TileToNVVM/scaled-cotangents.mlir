// RUN: recur-opt %s --convert-tile-to-nvvm | FileCheck %s

!rows = !tile.tile<32x16xf32, shared, [20, 1]>
!dots = !tile.tile<32x32xf32, shared, [36, 1]>

// Of a whole block all is spelled out: a thread has a channel, and goes over the indices with what is left of the columns
// before them, for the rows; another has it for the columns and the scales. What is left is read again by nobody.
// CHECK-LABEL: llvm.func @cotangents
// CHECK: nvvm.barrier
// CHECK-NOT: divf
// CHECK: arith.divui %{{.*}}, %c16_i32
// CHECK-NOT: nvvm.barrier
// A block that is cut short goes in loops.
// CHECK: scf.if
// CHECK: scf.for
// CHECK: scf.for
// The weights of a row come four at a time.
// CHECK: } else {
// CHECK: scf.if
// CHECK: llvm.load %{{.*}} -> vector<4xf32>
// CHECK-NOT: scf.for
// CHECK: llvm.intr.fma
// CHECK: } else {
// CHECK-NOT: vector<4xf32>
// CHECK-NOT: scf.for
// CHECK: llvm.intr.fma
// CHECK: nvvm.barrier
tile.kernel @cotangents required 1 workspace 0 threads 128 shared 22528 {
^bb0(%x: !tile.tile<?x16xf32, global>, %n: i64):
  %0 = arith.constant 0 : i64
  %D = tile.alloc at 0 : !dots
  %a = tile.alloc at 4608 : !rows
  %da = tile.alloc at 7168 : !rows
  %db = tile.alloc at 9728 : !rows
  %ds = tile.alloc at 12288 : !rows
  %work = tile.alloc at 14848 : !rows
  tile.load %x[%0] rows %n into %a : !tile.tile<?x16xf32, global> into !rows
  tile.scaled_cotangents %D, %a, %a scales %a into %da, %db, %ds work %work rows %n block 16 points [1] of [0]
      : !dots, !rows, !rows scales !rows into !rows, !rows, !rows work !rows
  tile.store %da rows %n to %x[%0] : !rows to !tile.tile<?x16xf32, global>
}

// A longer block goes from each column to the rows behind it, and leaves what is left of the column before each scale; and
// back again with what the rows make of it, which matters to the scales.
// CHECK-LABEL: llvm.func @long_block
// CHECK: nvvm.barrier
// CHECK-NOT: divf
// CHECK-NOT: vector<4xf32>
// CHECK: arith.divui %{{.*}}, %c32_i32
// CHECK: scf.for
// CHECK-NOT: nvvm.barrier
// CHECK: llvm.intr.fma
// CHECK: scf.for
// CHECK: arith.mulf
// CHECK: llvm.intr.fma
// CHECK: nvvm.barrier
tile.kernel @long_block required 1 workspace 0 threads 128 shared 22528 {
^bb0(%x: !tile.tile<?x16xf32, global>, %n: i64):
  %0 = arith.constant 0 : i64
  %D = tile.alloc at 0 : !dots
  %a = tile.alloc at 4608 : !rows
  %da = tile.alloc at 7168 : !rows
  %db = tile.alloc at 9728 : !rows
  %ds = tile.alloc at 12288 : !rows
  %work = tile.alloc at 14848 : !rows
  tile.load %x[%0] rows %n into %a : !tile.tile<?x16xf32, global> into !rows
  tile.scaled_cotangents %D, %a, %a scales %a into %da, %db, %ds work %work rows %n block 32 points [1] of [0]
      : !dots, !rows, !rows scales !rows into !rows, !rows, !rows work !rows
  tile.store %da rows %n to %x[%0] : !rows to !tile.tile<?x16xf32, global>
}

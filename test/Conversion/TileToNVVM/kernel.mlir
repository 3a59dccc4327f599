// RUN: recur-opt %s --convert-tile-to-nvvm | FileCheck %s

// CHECK: llvm.mlir.global external @twice_shared() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<0 x i8>
// One parameter: 38 words, and sixteen of each array.
// CHECK-LABEL: llvm.func @twice(%arg0: !llvm.ptr {llvm.align = 8 : i64, llvm.byval = !llvm.array<70 x i64>})
// CHECK-SAME: nvvm.kernel, nvvm.minctasm = 1 : i32, nvvm.reqntid = array<i32: 128, 1, 1>
// CHECK: nvvm.read.ptx.sreg.tid.x
// CHECK: nvvm.read.ptx.sreg.ctaid.x
// Where a packed sequence begins, and how many tokens it has.
// CHECK: scf.if %{{.*}} -> (i64, i64, i1)
// An absent array gives zeros. A thread has one element at most: it needs no loop, and takes no several at once.
// CHECK: llvm.icmp "ne"
// CHECK: scf.if
// CHECK-NOT: scf.for
// CHECK: %[[THERE:.*]] = arith.cmpi slt, %{{.*}}, %c16_i32
// CHECK-NOT: scf.for
// CHECK: scf.if %[[THERE]]
// CHECK-NOT: scf.for
// CHECK: llvm.load %{{.*}} : !llvm.ptr<1> -> f32
// CHECK: llvm.store %{{.*}} : f32, !llvm.ptr<3>
// CHECK: } else {
// CHECK-NOT: nvvm.barrier
// CHECK-NOT: scf.for
// What is read was written by others.
// CHECK: nvvm.barrier
// CHECK: scf.if
// CHECK: llvm.load %{{.*}} : !llvm.ptr<3> -> f32
// CHECK: llvm.store %{{.*}} : f32, !llvm.ptr<1>
// CHECK-NOT: nvvm.barrier
// CHECK: llvm.return
tile.kernel @twice required 1 workspace 0 threads 128 shared 64 {
^bb0(%x: !tile.tile<?x16xf32, global>, %y: !tile.tile<?x16xf32, global>, %tokens: i64):
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %t = tile.alloc at 0 : !tile.tile<1x16xf32, shared, [16, 1]>
  tile.load %x[%zero] rows %one into %t : !tile.tile<?x16xf32, global> into !tile.tile<1x16xf32, shared, [16, 1]>
  tile.store %t rows %one to %y[%zero] : !tile.tile<1x16xf32, shared, [16, 1]> to !tile.tile<?x16xf32, global>
}

// Where a thread has more of them it goes over them, and asks for eight before it has the first; never for more than it has.
// CHECK-LABEL: llvm.func @long
// CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %c1024_i32
// CHECK-COUNT-8: llvm.load %{{.*}} : !llvm.ptr<1> -> f32
// CHECK-NOT: llvm.load %{{.*}} : !llvm.ptr<1> -> f32
// CHECK: nvvm.barrier
// CHECK-NOT: scf.for
// CHECK-COUNT-3: llvm.load %{{.*}} : !llvm.ptr<1> -> f32
// CHECK-NOT: llvm.load %{{.*}} : !llvm.ptr<1> -> f32
tile.kernel @long required 1 workspace 0 threads 128 shared 7200 {
^bb0(%x: !tile.tile<?x3xf32, global>, %tokens: i64):
  %zero = arith.constant 0 : i64
  %all = tile.alloc at 0 : !tile.tile<500x3xf32, shared, [3, 1]>
  tile.load %x[%zero] rows %tokens into %all : !tile.tile<?x3xf32, global> into !tile.tile<500x3xf32, shared, [3, 1]>
  %some = tile.alloc at 0 : !tile.tile<100x3xf32, shared, [3, 1]>
  tile.load %x[%zero] rows %tokens into %some : !tile.tile<?x3xf32, global> into !tile.tile<100x3xf32, shared, [3, 1]>
}

// Numbers move 16 bytes at a time, where the caller's rows allow that.
// CHECK-LABEL: llvm.func @halves
// CHECK: llvm.load %{{.*}} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK: llvm.load %{{.*}} : !llvm.ptr<1> -> bf16
tile.kernel @halves required 1 workspace 0 threads 128 shared 4096 {
^bb0(%x: !tile.tile<?x16xbf16, global>, %tokens: i64):
  %zero = arith.constant 0 : i64
  %t = tile.alloc at 0 : !tile.tile<64x16xf32, shared, [16, 1]>
  tile.load %x[%zero] rows %tokens into %t : !tile.tile<?x16xbf16, global> into !tile.tile<64x16xf32, shared, [16, 1]>
}

// Local tiles lie in device memory, in the CTA's own part.
// CHECK-LABEL: llvm.func @local
// CHECK: llvm.store %{{.*}} : vector<4xf32>, !llvm.ptr<1>
tile.kernel @local required 0 workspace 4096 threads 128 shared 0 {
^bb0(%tokens: i64):
  %t = tile.alloc at 0 : !tile.tile<64x16xf32, local, [16, 1]>
  tile.map into %t rows %tokens dims [] into !tile.tile<64x16xf32, local, [16, 1]> {
    %x = arith.constant 1.0 : f32
    tile.yield %x : f32
  }
}

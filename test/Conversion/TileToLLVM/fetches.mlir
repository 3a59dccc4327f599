// RUN: recur-opt %s --convert-tile-to-llvm="fetches-evenly=true" --canonicalize | FileCheck %s --check-prefixes=CHECK,EVENLY
// RUN: recur-opt %s --convert-tile-to-llvm --canonicalize | FileCheck %s --check-prefixes=CHECK,BURSTS

// 16 x 16 numbers are 16 lines, and a product of two register tiles with 32 inner indices has 16 groups of four steps:
// each asks for one line to read and for one to write. In bursts, each register tile asks for eight, to read alone.
// CHECK-LABEL: llvm.func @product
// EVENLY: scf.for
// EVENLY: scf.for
// EVENLY: %[[READ:.*]] = llvm.getelementptr {{.*}} f32
// EVENLY-NEXT: "llvm.intr.prefetch"(%[[READ]]) <{cache = 1 : i32, hint = 2 : i32, rw = 0 : i32}>
// EVENLY: %[[WRITTEN:.*]] = llvm.getelementptr {{.*}} f32
// EVENLY-NEXT: "llvm.intr.prefetch"(%[[WRITTEN]]) <{cache = 1 : i32, hint = 2 : i32, rw = 1 : i32}>
// EVENLY-NOT: prefetch
// BURSTS: scf.for
// BURSTS-COUNT-8: "llvm.intr.prefetch"({{.*}}) <{cache = 1 : i32, hint = 2 : i32, rw = 0 : i32}>
// BURSTS-NOT: prefetch
// BURSTS: scf.for
// CHECK: llvm.return
tile.kernel @product required 1 workspace 16384 {
^bb0(%x: !tile.tile<?x16xf32, global>, %y: !tile.tile<?x16xf32, global>, %n: i64):
  %inner = arith.constant 32 : i64
  %zero = arith.constant 0 : i64
  %a = tile.alloc at 0 : !tile.tile<16x32xf32, local, [32, 1]>
  %b = tile.alloc at 2048 : !tile.tile<32x16xf32, local, [16, 1]>
  %c = tile.alloc at 4096 : !tile.tile<16x16xf32, local, [16, 1]>
  tile.product %a, %b into %c rows %n inner %inner ahead %x[%n] rows 16 written %y[%zero] rows 16 : !tile.tile<16x32xf32, local, [32, 1]>, !tile.tile<32x16xf32, local, [16, 1]> into !tile.tile<16x16xf32, local, [16, 1]> ahead !tile.tile<?x16xf32, global> written !tile.tile<?x16xf32, global>
}

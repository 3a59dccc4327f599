// RUN: recur-opt %s --convert-tile-to-nvvm --cse --fuse-multiply-adds --canonicalize | FileCheck %s
// RUN: sed 's/xbf16/xf32/' %s | recur-opt --convert-tile-to-nvvm --cse --fuse-multiply-adds | FileCheck %s --check-prefix=F32 --implicit-check-not=intr.fma

// A module with data of 16 bits, and of f32 alone.
// F32: llvm.func @sum
// F32: arith.mulf

// CHECK-LABEL: llvm.func @sum
// CHECK: %[[A:.*]] = llvm.load {{.*}} !llvm.ptr<3> -> f32
// CHECK: %[[B:.*]] = llvm.load {{.*}} !llvm.ptr<3> -> f32
// CHECK: %[[C:.*]] = llvm.load {{.*}} !llvm.ptr<3> -> f32
// CHECK-NEXT: llvm.intr.fma(%[[A]], %[[B]], %[[C]])
// CHECK-NOT: arith.{{addf|mulf}}
tile.kernel @sum required 1 workspace 0 threads 32 shared 4096 {
^bb0(%data: !tile.tile<?x8xbf16, global>, %n: i64):
  %a = tile.alloc at 0 : !tile.tile<8xf32, shared, [1]>
  %b = tile.alloc at 128 : !tile.tile<8xf32, shared, [1]>
  %c = tile.alloc at 256 : !tile.tile<8xf32, shared, [1]>
  tile.map %a, %b, %c into %c rows %n dims [array<i64: 0>, array<i64: 0>, array<i64: 0>] : !tile.tile<8xf32, shared, [1]>, !tile.tile<8xf32, shared, [1]>, !tile.tile<8xf32, shared, [1]> into <8xf32, shared, [1]> {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %product = arith.mulf %x, %y : f32
    %result = arith.addf %z, %product : f32
    tile.yield %result : f32
  }
}

// CHECK-LABEL: llvm.func @less_a_product
// CHECK: %[[A:.*]] = llvm.load {{.*}} !llvm.ptr<3> -> f32
// CHECK: %[[B:.*]] = llvm.load {{.*}} !llvm.ptr<3> -> f32
// CHECK: %[[C:.*]] = llvm.load {{.*}} !llvm.ptr<3> -> f32
// CHECK-NEXT: %[[MINUS:.*]] = arith.negf %[[A]]
// CHECK-NEXT: llvm.intr.fma(%[[MINUS]], %[[B]], %[[C]])
// CHECK-NOT: arith.{{subf|mulf}}
tile.kernel @less_a_product required 0 workspace 0 threads 32 shared 4096 {
^bb0(%n: i64):
  %a = tile.alloc at 0 : !tile.tile<8xf32, shared, [1]>
  %b = tile.alloc at 128 : !tile.tile<8xf32, shared, [1]>
  %c = tile.alloc at 256 : !tile.tile<8xf32, shared, [1]>
  tile.map %a, %b, %c into %c rows %n dims [array<i64: 0>, array<i64: 0>, array<i64: 0>] : !tile.tile<8xf32, shared, [1]>, !tile.tile<8xf32, shared, [1]>, !tile.tile<8xf32, shared, [1]> into <8xf32, shared, [1]> {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %product = arith.mulf %x, %y : f32
    %result = arith.subf %z, %product : f32
    tile.yield %result : f32
  }
}

// CHECK-LABEL: llvm.func @product_less
// CHECK: %[[A:.*]] = llvm.load {{.*}} !llvm.ptr<3> -> f32
// CHECK: %[[B:.*]] = llvm.load {{.*}} !llvm.ptr<3> -> f32
// CHECK: %[[C:.*]] = llvm.load {{.*}} !llvm.ptr<3> -> f32
// CHECK-NEXT: %[[MINUS:.*]] = arith.negf %[[C]]
// CHECK-NEXT: llvm.intr.fma(%[[A]], %[[B]], %[[MINUS]])
// CHECK-NOT: arith.{{subf|mulf}}
tile.kernel @product_less required 0 workspace 0 threads 32 shared 4096 {
^bb0(%n: i64):
  %a = tile.alloc at 0 : !tile.tile<8xf32, shared, [1]>
  %b = tile.alloc at 128 : !tile.tile<8xf32, shared, [1]>
  %c = tile.alloc at 256 : !tile.tile<8xf32, shared, [1]>
  tile.map %a, %b, %c into %c rows %n dims [array<i64: 0>, array<i64: 0>, array<i64: 0>] : !tile.tile<8xf32, shared, [1]>, !tile.tile<8xf32, shared, [1]>, !tile.tile<8xf32, shared, [1]> into <8xf32, shared, [1]> {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %product = arith.mulf %x, %y : f32
    %result = arith.subf %product, %z : f32
    tile.yield %result : f32
  }
}

// The upper bits of a number: with an exact product the difference would be the number itself.
// CHECK-LABEL: llvm.func @upper_bits
// CHECK: %[[WIDE:.*]] = arith.mulf
// CHECK-NEXT: %[[REST:.*]] = arith.subf %[[WIDE]]
// CHECK-NEXT: arith.subf %[[WIDE]], %[[REST]]
// CHECK-NOT: fma
// CHECK: llvm.return
tile.kernel @upper_bits required 0 workspace 0 threads 32 shared 4096 {
^bb0(%n: i64):
  %a = tile.alloc at 0 : !tile.tile<8xf32, shared, [1]>
  tile.map %a into %a rows %n dims [array<i64: 0>] : !tile.tile<8xf32, shared, [1]> into <8xf32, shared, [1]> {
  ^bb0(%x: f32):
    %c = arith.constant 65537.0 : f32
    %wide = arith.mulf %x, %c : f32
    %rest = arith.subf %wide, %x : f32
    %upper = arith.subf %wide, %rest : f32
    tile.yield %upper : f32
  }
}

// RUN: recur-opt %s --convert-tile-to-nvvm --cse | FileCheck %s

// Rows of two micro-steps of a token are dealt out like those of tokens: a thread has one step of every fourth token, whose
// addresses are each the one before and a step.
// CHECK-LABEL: llvm.func @steps
// CHECK: %[[ROW:.*]] = arith.divui %[[THREAD:.*]], %c16_i32
// CHECK: arith.remui %[[THREAD]], %c16_i32
// CHECK: arith.divui %[[ROW]], %c2_i32
// CHECK: arith.remui %[[ROW]], %c2_i32
// CHECK-NOT: arith.divui
// CHECK-COUNT-8: llvm.load %{{.*}} : !llvm.ptr<1> -> vector<8xbf16>
tile.kernel @steps required 1 workspace 0 threads 128 shared 17408 {
^bb0(%v: !tile.tile<?x2x128xbf16, global>, %n: i64):
  %zero = arith.constant 0 : i64
  %a = tile.alloc at 0 : !tile.tile<32x2x128xbf16, shared, [272, 136, 1]>
  tile.load %v[%zero] rows %n into %a : !tile.tile<?x2x128xbf16, global> into !tile.tile<32x2x128xbf16, shared, [272, 136, 1]>
}

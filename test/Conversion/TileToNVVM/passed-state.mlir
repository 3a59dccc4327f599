// RUN: recur-opt %s --chunk-store=types=bf16 --chunk-choose-factors --convert-chunk-to-tile="threads=256" --convert-tile-to-nvvm --cse | FileCheck %s

// A state of 16 bits at a multiple of tokens is passed to the copy unit, where a call's row has its numbers side by side:
// what is announced of the next stretch is negative then. The stage of the chunk in front of the multiple takes it, and is
// empty only behind that: the loop over chunks leaves the last one's. Lanes exchange what they have, so that what is
// written together lies in all banks. Elsewhere threads store the state, and the stage is empty.
// CHECK-LABEL: llvm.func @by_stage
// CHECK: scf.while
// CHECK: scf.for
// CHECK: %[[IS_BEFORE:.*]] = arith.cmpi slt, %{{.*}}, %{{.*}} : i64
// CHECK-NEXT: scf.if %[[IS_BEFORE]] {
// CHECK: nvvm.mbarrier.arrive
// CHECK: scf.yield
// CHECK: %[[ANNOUNCED:.*]] = llvm.load %{{.*}} : !llvm.ptr<3> -> vector<2xi32>
// CHECK: %[[NEXT:.*]] = llvm.extractelement %[[ANNOUNCED]][%c1_i32
// CHECK: %[[IS_PASSED:.*]] = arith.cmpi slt, %[[NEXT]], %c0_i32
// CHECK-NEXT: scf.if %[[IS_PASSED]] {
// CHECK-NOT: nvvm.barrier
// CHECK-COUNT-24: arith.select %{{.*}} : i32
// CHECK-COUNT-12: llvm.store %{{.*}} : i32, !llvm.ptr<3>
// CHECK-COUNT-24: arith.select %{{.*}} : i32
// CHECK-COUNT-12: llvm.store %{{.*}} : i32, !llvm.ptr<3>
// CHECK: nvvm.fence.proxy
// CHECK: "llvm.nvvm.barrier.cta.arrive.aligned.count"(%[[MADE:.*]], %
// CHECK: } else {
// CHECK-COUNT-24: llvm.store %{{.*}} : vector<2xbf16>, !llvm.ptr<1>
// CHECK: nvvm.mbarrier.arrive

// The warps that store read what is announced before those that have the state may go on, and meet them once the state is
// in the stage. One copy takes all rows where the array's lie one behind another, too. The stage is empty when they have
// been read.
// CHECK: %[[THERE:.*]] = arith.cmpi slt, %{{.*}}, %c0_i32
// CHECK-NEXT: scf.if %[[THERE]] {
// CHECK-NEXT: nvvm.barrier id = %[[MADE]]
// CHECK: scf.if %[[THERE]] {
// CHECK: arith.cmpi eq, %{{.*}}, %c96_i64
// CHECK: nvvm.cp.async.bulk.global.shared.cta
// CHECK: } else {
// CHECK: nvvm.cp.async.bulk.global.shared.cta
// CHECK: nvvm.cp.async.bulk.commit.group
// CHECK-NEXT: nvvm.cp.async.bulk.wait_group 0 {read}
// CHECK: nvvm.mbarrier.arrive %{{.*}}, %c4_i32
// CHECK: llvm.return
chunk.program @by_stage {} chunk 64 {
  %y = chunk.take "y" rounded : tensor<64x64xf32>
  %w = chunk.take "w" rounded : tensor<64x96xf32>
  %k = chunk.take "k" rounded : tensor<64x96xf32>
  %S = chunk.state "S" stored bf16 : tensor<64x96xf32>
  %x = chunk.read %w, %S : tensor<64x96xf32>, tensor<64x96xf32>
  %u = chunk.map add %y, %x : tensor<64x64xf32>, tensor<64x64xf32>
  %S1 = chunk.advance %S, %u, %k : tensor<64x96xf32>, tensor<64x64xf32>, tensor<64x96xf32>
  chunk.next %S, %S1 : tensor<64x96xf32>
  chunk.give "u" rounded %u : tensor<64x64xf32>
}

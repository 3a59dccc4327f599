// RUN: recur-opt %s --chunk-store=types=bf16 --chunk-choose-factors --convert-chunk-to-tile="threads=256" --convert-tile-to-nvvm --cse | FileCheck %s

// Channels that are carried from chunk to chunk by themselves have a thread each: nothing lies in shared memory and
// nobody waits. Loads of eight chunks of 4 arrays are on their way while eight chunks are computed, each behind the one
// before it; stores ask whether there is the chunk.
// CHECK-LABEL: llvm.func @carry
// CHECK: %[[CHANNELS:.*]] = arith.constant 128 : i32
// CHECK: arith.cmpi slt, %{{.*}}, %[[CHANNELS]] : i32
// CHECK-NOT: nvvm.barrier
// CHECK-NOT: llvm.store %{{.*}} : f32, !llvm.ptr<3>
// CHECK: %{{.*}}:33 = scf.for
// CHECK-COUNT-8: llvm.store
// CHECK: scf.yield
// CHECK-NOT: nvvm.barrier
// CHECK: llvm.return
chunk.program @carry {} chunk 16 {
  %S = chunk.state "S" : tensor<128xf32>
  %b = chunk.take "b" : tensor<1x128xf32>
  %c = chunk.take "c" : tensor<1x128xf32>
  %d = chunk.take "d" : tensor<1x128xf32>
  %a = chunk.take "a" : tensor<1xf32>
  %bc = chunk.map add %b, %c : tensor<1x128xf32>, tensor<1x128xf32>
  %bcd = chunk.map add %bc, %d : tensor<1x128xf32>, tensor<1x128xf32>
  %all, %last = chunk.scan %S, %bcd decay linear(%a : tensor<1xf32>) : tensor<128xf32>, tensor<1x128xf32>
  chunk.next %S, %last : tensor<128xf32>
  chunk.give "S" whole %S : tensor<128xf32>
}

// A state of one number is read by all threads and stored by one, perhaps where it was: all have read it before.
// CHECK-LABEL: llvm.func @counted
// CHECK: scf.if {{.*}} -> (f32)
// CHECK: nvvm.barrier0
// CHECK: scf.for
// CHECK-NOT: nvvm.barrier
// CHECK: llvm.return
chunk.program @counted {} chunk 16 {
  %S = chunk.state "S" : tensor<128xf32>
  %n = chunk.state "n" : tensor<f32>
  %b = chunk.take "b" : tensor<1x128xf32>
  %a = chunk.take "a" : tensor<1xf32>
  %all, %last = chunk.scan %S, %b : tensor<128xf32>, tensor<1x128xf32>
  %some, %count = chunk.scan %n, %a : tensor<f32>, tensor<1xf32>
  chunk.next %S, %last : tensor<128xf32>
  chunk.next %n, %count : tensor<f32>
  chunk.give "S" whole %S : tensor<128xf32>
  chunk.give "n" whole %n : tensor<f32>
}

// Where tokens follow one another in a chunk, or there are more channels than a CTA has threads with registers for
// them, it is the plan of a team.
// CHECK-LABEL: llvm.func @tokens
// CHECK: nvvm.barrier0
chunk.program @tokens {} chunk 16 {
  %S = chunk.state "S" : tensor<128xf32>
  %b = chunk.take "b" : tensor<16x128xf32>
  %all, %last = chunk.scan %S, %b : tensor<128xf32>, tensor<16x128xf32>
  chunk.next %S, %last : tensor<128xf32>
  chunk.give "all" %all : tensor<16x128xf32>
}
// CHECK-LABEL: llvm.func @many
// CHECK: nvvm.barrier0
chunk.program @many {} chunk 16 {
  %S = chunk.state "S" : tensor<513xf32>
  %b = chunk.take "b" : tensor<1x513xf32>
  %all, %last = chunk.scan %S, %b : tensor<513xf32>, tensor<1x513xf32>
  chunk.next %S, %last : tensor<513xf32>
  chunk.give "S" whole %S : tensor<513xf32>
}

// More channels than other plans have threads make the CTA as large as they need.
// CHECK-LABEL: llvm.func @more
// CHECK-SAME: nvvm.reqntid = array<i32: 384, 1, 1>
// CHECK: %[[CHANNELS:.*]] = arith.constant 380 : i32
// CHECK: arith.cmpi slt, %{{.*}}, %[[CHANNELS]] : i32
// CHECK-NOT: nvvm.barrier
// CHECK: llvm.return
chunk.program @more {} chunk 16 {
  %S = chunk.state "S" : tensor<380xf32>
  %b = chunk.take "b" : tensor<1x380xf32>
  %all, %last = chunk.scan %S, %b : tensor<380xf32>, tensor<1x380xf32>
  chunk.next %S, %last : tensor<380xf32>
  chunk.give "S" whole %S : tensor<380xf32>
}

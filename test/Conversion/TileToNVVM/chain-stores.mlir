// RUN: recur-opt %s --chunk-store=types=bf16 --chunk-choose-factors --convert-chunk-to-tile="threads=256" --convert-tile-to-nvvm --cse | FileCheck %s

// A chain that has its multiprocessor alone, and leaves the state of each chunk, has a warpgroup of four warps that store.
// Three warpgroups begin with 168 registers a thread; the two without the state give away so many that it has 248. With two
// that load and one that announces, one warp does nothing.
// CHECK-LABEL: llvm.func @stores
// CHECK-SAME: nvvm.reqntid = array<i32: 384, 1, 1>
// CHECK: nvvm.setmaxregister increase 248
// CHECK: nvvm.barrier id = %c3_i32{{(_[0-9]+)?}} number_of_threads = %c256_i32
// CHECK: llvm.call_intrinsic "llvm.nvvm.barrier.cta.arrive.aligned.count"(%c2_i32{{(_[0-9]+)?}}, %c256_i32
// CHECK: nvvm.setmaxregister decrease 128
// CHECK: nvvm.barrier id = %c2_i32{{(_[0-9]+)?}} number_of_threads = %c256_i32
// CHECK: llvm.call_intrinsic "llvm.nvvm.barrier.cta.arrive.aligned.count"(%c3_i32{{(_[0-9]+)?}}, %c256_i32
// CHECK-NOT: setmaxregister
// CHECK: llvm.return
chunk.program @stores {} chunk 64 {
  %y = chunk.take "y" rounded : tensor<64x64xf32>
  %w = chunk.take "w" rounded : tensor<64x128xf32>
  %k = chunk.take "k" rounded : tensor<64x128xf32>
  %d = chunk.take "d" : tensor<1xf32>
  %S = chunk.state "S" : tensor<64x128xf32>
  %x = chunk.read %w, %S : tensor<64x128xf32>, tensor<64x128xf32>
  %u = chunk.map add %y, %x : tensor<64x64xf32>, tensor<64x64xf32>
  %S1 = chunk.advance %S, %u, %k columns(%d : tensor<1xf32>) : tensor<64x128xf32>, tensor<64x64xf32>, tensor<64x128xf32>
  chunk.next %S, %S1 : tensor<64x128xf32>
  chunk.give "S" whole rounded %S : tensor<64x128xf32>
  chunk.give "u" rounded %u : tensor<64x64xf32>
}

// RUN: recur-opt %s --chunk-store=types=bf16 --chunk-choose-factors --convert-chunk-to-tile="threads=256" \
// RUN:   | sed -E 's/^( *tile.kernel @chain .*) \{/\1 awaits [3, 5] {/' | recur-opt --convert-tile-to-nvvm --cse | FileCheck %s

// The warps that load ask for what nobody leaves at the same time, wait for the chunk's flag, and then ask for the rest.
// They know how many chunks are there from chunk to chunk; without flags all are there. The copy unit brings nothing that
// is waited for.
// CHECK-LABEL: llvm.func @chain
// CHECK: %[[FLAGS:.*]] = llvm.ptrtoint %{{.*}} : !llvm.ptr<1> to i64
// CHECK: %[[USED:.*]] = arith.cmpi ne, %[[FLAGS]]
// CHECK: %[[KNOWN:.*]] = arith.select %[[USED]], %c0_i32, %c2147483647_i32 : i32
// CHECK: scf.for {{.*}} iter_args(%[[BEFORE:.*]] = %[[KNOWN]]) -> (i32)
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global
// CHECK: nvvm.cp.async.shared.global {{.*}}, cache = {{ *}}cg
// CHECK: %[[NOW:.*]] = llvm.inline_asm has_side_effects "{{.*}}ld.acquire.gpu.global.u32 flag{{.*}}bar.warp.sync -1;{{.*}} %[[BEFORE]],
// CHECK-NOT: cp.async.bulk.tensor
// CHECK: nvvm.cp.async.shared.global {{.*}}, cache = {{ *}}ca
// CHECK: nvvm.cp.async.shared.global {{.*}}, cache = {{ *}}cg
// CHECK: nvvm.cp.async.mbarrier.arrive {{.*}}noinc = true
// CHECK: scf.yield %[[NOW]] : i32
// The kernel ends behind the one that leaves chunks.
// CHECK: nvvm.griddepcontrol wait
// CHECK: llvm.return
chunk.program @chain {} chunk 16 {
  %y = chunk.take "y" rounded : tensor<16x64xf32>
  %w = chunk.take "w" rounded : tensor<16x32xf32>
  %k = chunk.take "k" rounded : tensor<16x32xf32>
  %d = chunk.take "d" : tensor<1xf32>
  %S = chunk.state "S" : tensor<64x32xf32>
  %x = chunk.read %w, %S : tensor<16x32xf32>, tensor<64x32xf32>
  %u = chunk.map add %y, %x : tensor<16x64xf32>, tensor<16x64xf32>
  %S1 = chunk.advance %S, %u, %k columns(%d : tensor<1xf32>) : tensor<64x32xf32>, tensor<16x64xf32>, tensor<16x32xf32>
  chunk.next %S, %S1 : tensor<64x32xf32>
  chunk.give "S" whole rounded %S : tensor<64x32xf32>
  chunk.give "u" rounded %u : tensor<16x64xf32>
}

// RUN: recur-opt %s --chunk-store=types=bf16 --chunk-choose-factors --convert-chunk-to-tile="threads=256" --convert-tile-to-nvvm --cse | FileCheck %s

// A chain that makes interactions and running decays itself has three warpgroups. The first has the state, and takes registers
// that the third gives; the second multiplies rows of a stage, masks and scales what comes of it, and leaves it in the stage
// as a matrix that the first applies.
// CHECK-LABEL: llvm.func @all
// CHECK-SAME: nvvm.reqntid = array<i32: 384, 1, 1>
// The state: reads, applies and advances.
// CHECK: nvvm.setmaxregister increase 232
// CHECK: mbarrier.try_wait.parity.shared::cta.b64
// CHECK: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16
// CHECK: wgmma.wait_group.sync.aligned
// CHECK: nvvm.stmatrix {{.*}}layout = #nvvm.mma_layout<col>
// Interactions: no number above the diagonal is kept, whatever it is.
// CHECK: mbarrier.try_wait.parity.shared::cta.b64
// CHECK-COUNT-4: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16
// CHECK: wgmma.wait_group.sync.aligned 0;
// CHECK: arith.cmpi slt
// CHECK: arith.select
// CHECK-COUNT-4: nvvm.stmatrix {{.*}}layout = #nvvm.mma_layout<row>
// CHECK: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// The others: copies, then one warp that makes running sums of gates, whose next ones are on their way.
// CHECK: nvvm.setmaxregister decrease 104
// CHECK: nvvm.cp.async.shared.global {{.*}}, cache = {{ *}}cg
// CHECK: nvvm.shfl.sync up
// CHECK: nvvm.shfl.sync down
chunk.program @all {} chunk 64 {
  %q = chunk.input "q" : tensor<64x64xf32>
  %k = chunk.input "k" : tensor<64x64xf32>
  %v = chunk.input "v" : tensor<64x64xf32>
  %g = chunk.input "g" : tensor<64xf32>
  %S = chunk.state "S" : tensor<64x64xf32>
  %d = chunk.cumulative_decay total log(%g) : tensor<64xf32>
  %r = chunk.cumulative_decay through log(%g) : tensor<64xf32>
  %a = chunk.cumulative_decay after log(%g) : tensor<64xf32>
  %A = chunk.interaction %q, %k inclusive decay log(%g : tensor<64xf32>) : tensor<64x64xf32>, tensor<64x64xf32>
  %past = chunk.read %q, %S : tensor<64x64xf32>, tensor<64x64xf32>
  %decayed = chunk.map mul %r, %past : tensor<64xf32>, tensor<64x64xf32>
  %present = chunk.apply %A, %v : tensor<64x64xf32>, tensor<64x64xf32>
  %o = chunk.map add %decayed, %present : tensor<64x64xf32>, tensor<64x64xf32>
  chunk.output "o" %o : tensor<64x64xf32>
  %u = chunk.map mul %a, %v : tensor<64xf32>, tensor<64x64xf32>
  %S1 = chunk.advance %S, %u, %k columns(%d : tensor<1xf32>) : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
  chunk.next %S, %S1 : tensor<64x64xf32>
}

// A param's number comes with each chunk, into the chunk's stage, and numbers of the tokens are made of it there.
// CHECK-LABEL: llvm.func @param
// CHECK-SAME: nvvm.reqntid = array<i32: 384, 1, 1>
// CHECK: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16
// CHECK: nvvm.shfl.sync up
chunk.program @param {} chunk 64 {
  %q = chunk.input "q" : tensor<64x64xf32>
  %k = chunk.input "k" : tensor<64x64xf32>
  %v = chunk.input "v" : tensor<64x64xf32>
  %p = chunk.param "p" : tensor<1xf32>
  %S = chunk.state "S" : tensor<64x64xf32>
  %g = chunk.broadcast %p : tensor<1xf32> to tensor<64xf32>
  %d = chunk.cumulative_decay total log(%g) : tensor<64xf32>
  %r = chunk.cumulative_decay through log(%g) : tensor<64xf32>
  %a = chunk.cumulative_decay after log(%g) : tensor<64xf32>
  %A = chunk.interaction %q, %k inclusive decay log(%g : tensor<64xf32>) : tensor<64x64xf32>, tensor<64x64xf32>
  %past = chunk.read %q, %S : tensor<64x64xf32>, tensor<64x64xf32>
  %decayed = chunk.map mul %r, %past : tensor<64xf32>, tensor<64x64xf32>
  %present = chunk.apply %A, %v : tensor<64x64xf32>, tensor<64x64xf32>
  %sum = chunk.map add %decayed, %present : tensor<64x64xf32>, tensor<64x64xf32>
  %o = chunk.map mul %p, %sum : tensor<1xf32>, tensor<64x64xf32>
  chunk.output "o" %o : tensor<64x64xf32>
  %u = chunk.map mul %a, %v : tensor<64xf32>, tensor<64x64xf32>
  %S1 = chunk.advance %S, %u, %k columns(%d : tensor<1xf32>) : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
  chunk.next %S, %S1 : tensor<64x64xf32>
}

// RUN: recur-opt %s --chunk-store=types=bf16 --chunk-choose-factors --convert-chunk-to-tile="threads=256" --convert-tile-to-nvvm --cse | FileCheck %s

// A chain that applies matrices and makes the output. A read that the next chunk does not wait for runs in company of one
// that it waits for; the state is advanced before the output is made. What a matrix is applied to may be no number: threads
// vote while the product runs, or behind one that goes on from another's sums, and do it again where any has met such, when
// no other product runs.
// CHECK-LABEL: llvm.func @outputs
// CHECK-SAME: nvvm.reqntid = array<i32: 256, 1, 1>
// CHECK: mbarrier.try_wait.parity.shared::cta.b64
// x = S k^T, and S q^T behind it
// CHECK: wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16
// CHECK-NOT: wgmma.wait_group
// CHECK: wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16
// CHECK: wgmma.wait_group.sync.aligned 1;
// CHECK: arith.subf
// U = T (v - x), while S q^T ends
// CHECK: wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16
// CHECK-NOT: wgmma.wait_group
// CHECK: fma.rn.bf16x2 sum0, $1, zero, sum0;\0Afma.rn.bf16x2 sum1, $2, zero, sum1;
// CHECK: bar.red.or.pred
// CHECK: wgmma.wait_group.sync.aligned 1;
// CHECK-NOT: wgmma.mma_async
// CHECK: wgmma.wait_group.sync.aligned 0;
// CHECK-NOT: bar.red.or.pred
// CHECK: scf.if
// CHECK: nvvm.shfl.sync bfly
// CHECK: wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16
// CHECK: wgmma.wait_group.sync.aligned 0;
// CHECK: } else {
// S + U^T k, and A U behind it
// CHECK: wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16
// CHECK-NOT: wgmma.wait_group
// CHECK: wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16
// CHECK-NOT: bar.red
// CHECK: wgmma.wait_group.sync.aligned 1;
// CHECK-NOT: wgmma.mma_async
// CHECK: wgmma.wait_group.sync.aligned 0;
// CHECK: arith.cmpf uno
// CHECK: bar.red.or.pred
// CHECK: nvvm.stmatrix {{.*}}layout = #nvvm.mma_layout<col>
// CHECK: scf.yield
chunk.program @outputs {} chunk 16 {
  %q = chunk.input "q" : tensor<16x32xf32>
  %k = chunk.input "k" : tensor<16x32xf32>
  %v = chunk.input "v" : tensor<16x64xf32>
  %T = chunk.take "T" rounded triangle [1, 1] : tensor<16x16xf32>
  %A = chunk.take "A" rounded triangle [1, 1] : tensor<16x16xf32>
  %S = chunk.state "S" : tensor<64x32xf32>
  %x = chunk.read %k, %S : tensor<16x32xf32>, tensor<64x32xf32>
  %y = chunk.map sub %v, %x : tensor<16x64xf32>, tensor<16x64xf32>
  %u = chunk.apply %T, %y : tensor<16x16xf32>, tensor<16x64xf32>
  %p = chunk.read %q, %S : tensor<16x32xf32>, tensor<64x32xf32>
  %a = chunk.apply %A, %u : tensor<16x16xf32>, tensor<16x64xf32>
  %o = chunk.map add %p, %a : tensor<16x64xf32>, tensor<16x64xf32>
  chunk.output "o" %o : tensor<16x64xf32>
  %S1 = chunk.advance %S, %u, %k : tensor<64x32xf32>, tensor<16x64xf32>, tensor<16x32xf32>
  chunk.next %S, %S1 : tensor<64x32xf32>
}

// A precise product is of tf32: eight tokens at a time, which are 32 bytes of a row of the matrix, from numbers as the
// product before it left them. The vote is on these.
// CHECK-LABEL: llvm.func @precise
// CHECK: wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16
// CHECK: arith.subf
// CHECK: add.u32 low, ${{[0-9]+}}, 2;\0Amov.b64 at1
// CHECK-SAME: wgmma.mma_async.sync.aligned.m64n32k8.f32.tf32.tf32 {$0, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15}, {$16, $17, $18, $19}, at0, first, 1, 1;
// CHECK-SAME: at3, adds, 1, 1;
// CHECK-NOT: wgmma.wait_group
// CHECK: fma.rn.f32 sum0, $1, zero, sum0;
// CHECK: bar.red.or.pred
// CHECK: scf.if
// CHECK: math.absf
// CHECK: wgmma.mma_async.sync.aligned.m64n32k8.f32.tf32.tf32
// CHECK: } else {
// CHECK: wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16
chunk.program @precise {} chunk 32 {
  %k = chunk.input "k" : tensor<32x32xf32>
  %v = chunk.input "v" : tensor<32x64xf32>
  %T = chunk.take "T" precise triangle [1, 1] : tensor<32x32xf32>
  %S = chunk.state "S" : tensor<64x32xf32>
  %x = chunk.read %k, %S : tensor<32x32xf32>, tensor<64x32xf32>
  %y = chunk.map sub %v, %x : tensor<32x64xf32>, tensor<32x64xf32>
  %u = chunk.apply %T, %y : tensor<32x32xf32>, tensor<32x64xf32>
  chunk.output "u" %u : tensor<32x64xf32>
  %S1 = chunk.advance %S, %u, %k : tensor<64x32xf32>, tensor<32x64xf32>, tensor<32x32xf32>
  chunk.next %S, %S1 : tensor<64x32xf32>
}

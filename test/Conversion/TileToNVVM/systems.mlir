// RUN: recur-opt %s --convert-tile-to-nvvm --split-input-file | FileCheck %s

// A step of 64 channels: twelve products of the directions and the matrix (both parts of each but for the lower of both), and
// for each half of the keys eight that give dots and four that take what these weigh. The matrix's are under way meanwhile.
// All threads ask whether any token goes on before each step, and the products of one follow those of the other without a barrier.
// CHECK-LABEL: llvm.func @systems
// CHECK: vote.any.sync
// CHECK: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK: nvvm.barrier0
// CHECK: scf.while
// CHECK: bar.red.or.pred all, 1, 128, own;
// CHECK: scf.condition
// CHECK-NOT: nvvm.barrier0
// CHECK: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {{.*}}, at11, adds, 1, 1, 0;
// CHECK-NOT: at12
// CHECK: wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 {{.*}}, at7, adds, 1, 1, 0;
// CHECK-NOT: at8
// CHECK: wgmma.wait_group.sync.aligned 1;
// CHECK: wgmma.wait_group.sync.aligned 0;
// CHECK: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {{.*}}, at3, adds, 1, 1, 1;
// CHECK: wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 {{.*}}, at7, adds, 1, 1, 0;
// CHECK: wgmma.wait_group.sync.aligned 1;
// CHECK: wgmma.wait_group.sync.aligned 0;
// CHECK: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {{.*}}, at3, adds, 1, 1, 1;
// CHECK: wgmma.wait_group.sync.aligned 0;
// CHECK-NOT: wgmma
// CHECK: scf.yield
// CHECK: nvvm.barrier0
// CHECK: llvm.return
tile.kernel @systems required 0 workspace 0 threads 128 shared 65536 {
^bb0(%q: !tile.tile<?x64xbf16, global>, %k: !tile.tile<?x64xbf16, global>, %G: !tile.tile<?x64x64xf32, global>, %n: i64):
  %zero = arith.constant 0 : i64
  %b = tile.alloc at 0 : !tile.tile<64xf32, shared, [1]>
  %d = tile.alloc at 256 : !tile.tile<64xf32, shared, [1]>
  %r = tile.alloc at 512 : !tile.tile<1x64xf32, shared, [68, 1]>
  %w = tile.alloc at 1024 : !tile.tile<10112xf32, shared, [1]>
  %x = tile.alloc at 1024 : !tile.tile<64x64xf32, shared, [68, 1]>
  tile.conjugate_gradients %q, %k[%zero] gains %b decays %d state %G[%zero] ridge %r into %x work %w rows %n iterations 30 : !tile.tile<?x64xbf16, global>, !tile.tile<?x64xbf16, global> gains !tile.tile<64xf32, shared, [1]> decays !tile.tile<64xf32, shared, [1]> state !tile.tile<?x64x64xf32, global> ridge !tile.tile<1x64xf32, shared, [68, 1]> into !tile.tile<64x64xf32, shared, [68, 1]> work !tile.tile<10112xf32, shared, [1]>
}

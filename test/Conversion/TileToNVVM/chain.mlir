// RUN: recur-opt %s --chunk-store=types=bf16 --chunk-choose-factors --convert-chunk-to-tile="threads=256" --convert-tile-to-nvvm --cse | FileCheck %s
// RUN: recur-opt %s --chunk-store=types=bf16 --chunk-choose-factors --convert-chunk-to-tile="threads=256" --convert-tile-to-nvvm --cse | FileCheck %s --check-prefix=STRIPS
// RUN: recur-opt %s --chunk-store=types=bf16 --chunk-choose-factors --convert-chunk-to-tile="threads=256" --convert-tile-to-nvvm --cse | FileCheck %s --check-prefix=MEETING
// RUN: recur-opt %s --chunk-store=types=bf16 --chunk-choose-factors --convert-chunk-to-tile="threads=256" --convert-tile-to-nvvm --cse | FileCheck %s --check-prefix=MAPS
// RUN: recur-opt %s --chunk-store=types=bf16 --chunk-choose-factors --convert-chunk-to-tile="threads=256" --convert-tile-to-nvvm=lists=true --cse | FileCheck %s --check-prefix=LISTED

// The state, 64 by 32, is 16 numbers of each thread of a warpgroup. What was read of it, rounded, is the left factor of
// the product that advances it.
// CHECK: llvm.mlir.global external @chain_shared() {addr_space = 3 : i32, alignment = 1024 : i64
// CHECK-LABEL: llvm.func @chain
// CHECK-COUNT-12: nvvm.mbarrier.init
// CHECK-NOT: mbarrier.init
// CHECK: nvvm.barrier0
// CHECK-COUNT-16: llvm.load %{{.*}} : !llvm.ptr<1> -> f32
// CHECK: scf.for {{.*}} -> (f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32)
// CHECK: mbarrier.try_wait.parity.shared::cta.b64
// CHECK: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// CHECK: wgmma.fence.sync.aligned
// CHECK-SAME: wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {$0, $1, $2, $3, $4, $5, $6, $7}, {$16, $17, $18, $19}, at0, first, 1, 1, 0
// CHECK-SAME: wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {$0, $1, $2, $3, $4, $5, $6, $7}, {$20, $21, $22, $23}, at1, adds, 1, 1, 0
// CHECK-SAME: wgmma.commit_group.sync.aligned
// CHECK-COUNT-2: nvvm.stmatrix {{.*}}layout = #nvvm.mma_layout<row>
// CHECK: wgmma.wait_group.sync.aligned 0
// CHECK: wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16
// CHECK-NOT: wgmma.mma_async
// CHECK: nvvm.stmatrix {{.*}}layout = #nvvm.mma_layout<col>
// CHECK: wgmma.wait_group.sync.aligned 0
// CHECK: scf.yield
// CHECK: nvvm.cp.async.shared.global {{.*}}, cache = {{ *}}ca
// CHECK: nvvm.cp.async.shared.global {{.*}}, cache = {{ *}}cg
// CHECK: nvvm.cp.async.mbarrier.arrive {{.*}}noinc = true
// CHECK: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK: llvm.return

// Of packed sequences each role goes from one head of a sequence to the next, and counts chunks through all of them, by
// which stages and barriers go on: so rows of the next one are on their way while the state is computed. What must be
// read of the next one, its sequence and the tokens of that, is asked for before this one is gone over. CTAs have units in
// turns, in every other round in reverse. Those who store say of each tile that it is free, and the last of it is awaited
// in the end. Threads copy all rows: packed sequences have no maps.
// LISTED-LABEL: llvm.func @chain_listed(%arg0: !llvm.ptr {llvm.align = 8 : i64,
// LISTED: nvvm.barrier0
// LISTED: %[[STATE:.*]]:4 = scf.for %[[TURN:.*]] = %c0_i32 to %{{.*}} step %c1_i32 iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %[[TOKENS:.*]] = %{{.*}}, %[[BEFORE:.*]] = %c0_i32) -> (i64, i64, i64, i32)
// LISTED: %[[NEXT:.*]] = arith.addi %[[TURN]], %c1_i32
// LISTED: arith.remui %[[NEXT]], %c2_i32
// LISTED: llvm.load %{{.*}} : !llvm.ptr<1> -> i32
// LISTED: scf.if %{{.*}} -> (i64, i64, i1)
// LISTED: scf.for %{{.*}} = %c0_i64 to %[[TOKENS]]
// LISTED: %[[OWN:.*]] = arith.trunci %{{.*}} : i64 to i32
// LISTED: %[[NUMBER:.*]] = arith.addi %[[OWN]], %[[BEFORE]]
// LISTED: arith.remui %[[NUMBER]]
// LISTED: nvvm.barrier id = %c3_i32{{(_[0-9]+)?}} number_of_threads = %c192_i32
// LISTED: nvvm.barrier id = %c5_i32{{(_[0-9]+)?}} number_of_threads = %c192_i32
// LISTED: %[[SOME:.*]] = arith.cmpi slt, %c0_i32, %[[STATE]]#3
// LISTED: scf.if %[[SOME]] {
// LISTED-NOT: }
// LISTED: nvvm.barrier id = %c3_i32{{(_[0-9]+)?}} number_of_threads = %c192_i32
// LISTED-NOT: }
// LISTED: nvvm.barrier id = %c5_i32{{(_[0-9]+)?}} number_of_threads = %c192_i32
// LISTED-COUNT-3: scf.for {{.*}} -> (i64, i64, i64, i32)
// LISTED-NOT: cp.async.bulk
// LISTED: llvm.call_intrinsic "llvm.nvvm.barrier.cta.arrive.aligned.count"(%c5_i32{{(_[0-9]+)?}}, %c192_i32
// LISTED: llvm.return
// LISTED-LABEL: llvm.func @chain_listing(

// The runtime's maps are behind the words, at a multiple of 64 bytes, and the copy unit reads them there. Where a word
// says that they are there, one thread tells the barrier how much will come, and asks for it; else all copy.
// MAPS-LABEL: llvm.func @chain(%arg0: !llvm.ptr {llvm.align = 64 : i64,
// MAPS-SAME: nvvm.grid_constant
// MAPS: %[[WORD:.*]] = llvm.getelementptr %arg0[5] : (!llvm.ptr) -> !llvm.ptr, i64
// MAPS: %[[MAPS:.*]] = llvm.load %[[WORD]]
// MAPS: %[[ARE_MAPPED:.*]] = arith.cmpi ne, %[[MAPS]]
// MAPS: scf.if %[[ARE_MAPPED]] {
// MAPS: %[[FIRST:.*]] = arith.cmpi slt, %{{.*}}, %c1_i32
// MAPS: scf.if %[[FIRST]] {
// MAPS: nvvm.mbarrier.expect_tx
// MAPS: nvvm.cp.async.bulk.tensor.shared.cluster.global
// MAPS: } else {
// MAPS-NOT: cp.async.bulk
// MAPS: nvvm.cp.async.shared.global {{.*}}, cache = {{ *}}cg
// MAPS: llvm.return

// Those who make a tile and the two warps that store it meet twice at barriers of their own: nobody arrives for others, and
// behind the last chunk nobody waits. Of the tokens' loads each thread of the one warp that announces them arrives.
// MEETING-LABEL: llvm.func @chain
// MEETING: nvvm.barrier id = %c3_i32{{(_[0-9]+)?}} number_of_threads = %c192_i32
// MEETING: llvm.call_intrinsic "llvm.nvvm.barrier.cta.arrive.aligned.count"(%c2_i32{{(_[0-9]+)?}}, %c192_i32
// MEETING: nvvm.barrier id = %c5_i32{{(_[0-9]+)?}} number_of_threads = %c192_i32
// MEETING: llvm.call_intrinsic "llvm.nvvm.barrier.cta.arrive.aligned.count"(%c4_i32{{(_[0-9]+)?}}, %c192_i32
// MEETING: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// MEETING-NOT: scf.if
// MEETING: nvvm.mbarrier.arrive
// MEETING: %[[ANOTHER:.*]] = arith.cmpi slt, {{.*}} : i64
// MEETING: nvvm.barrier id = %c2_i32{{(_[0-9]+)?}} number_of_threads = %c192_i32
// MEETING: scf.if %[[ANOTHER]] {
// MEETING-NOT: }
// MEETING: llvm.call_intrinsic "llvm.nvvm.barrier.cta.arrive.aligned.count"(%c3_i32{{(_[0-9]+)?}}, %c192_i32
// MEETING: nvvm.barrier id = %c4_i32{{(_[0-9]+)?}} number_of_threads = %c192_i32
// MEETING: scf.if %[[ANOTHER]] {
// MEETING-NOT: }
// MEETING: llvm.call_intrinsic "llvm.nvvm.barrier.cta.arrive.aligned.count"(%c5_i32{{(_[0-9]+)?}}, %c192_i32
// MEETING: llvm.return
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

// A state that later kernels have as it is: its threads store it two numbers at a time where columns lie side by side,
// before the chunk's products begin. It goes through no shared memory, so one warp stores, of nothing. Two products add to it
// one behind the other, and the first alone scales it.
// CHECK-LABEL: llvm.func @unrounded
// CHECK: scf.for {{.*}} -> (f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32)
// CHECK-COUNT-8: llvm.store %{{.*}} : vector<2xf32>, !llvm.ptr<1>
// CHECK-NOT: stmatrix
// CHECK: wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16
// CHECK: wgmma.wait_group.sync.aligned 0
// CHECK: wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16
// CHECK: wgmma.wait_group.sync.aligned 0
// CHECK-NOT: wgmma.mma_async
// CHECK: scf.yield
// CHECK: llvm.return
chunk.program @unrounded {} chunk 16 {
  %u = chunk.input "u" : tensor<16x64xf32>
  %k = chunk.take "k" rounded : tensor<16x32xf32>
  %l = chunk.take "l" rounded : tensor<16x32xf32>
  %d = chunk.take "d" : tensor<1xf32>
  %S = chunk.state "S" : tensor<64x32xf32>
  %S1 = chunk.advance %S, %u, %k columns(%d : tensor<1xf32>) : tensor<64x32xf32>, tensor<16x64xf32>, tensor<16x32xf32>
  %S2 = chunk.advance %S1, %u, %l : tensor<64x32xf32>, tensor<16x64xf32>, tensor<16x32xf32>
  chunk.next %S, %S2 : tensor<64x32xf32>
  chunk.give "S" whole %S : tensor<64x32xf32>
}

// Rows of 96 numbers are 12 pieces of 16 bytes, which do not divide 64 threads: 8 and then 4 of them, below each other.
// This kernel leaves no states of chunks, so a call may keep the state at multiples of tokens. Chunks are gone over up to
// the next one: behind their loop the threads read to which row the state goes, and where the next stretch ends, which the
// warp that makes numbers has announced.
// CHECK-LABEL: llvm.func @strips
// CHECK: scf.while
// CHECK: arith.cmpi slt, %[[BEGIN:[a-z0-9]+]], %[[END:[a-z0-9]+]] : i64
// CHECK: scf.condition(%{{.*}}) %[[BEGIN]], %[[END]],
// CHECK: scf.for
// CHECK: wgmma.mma_async.sync.aligned
// CHECK: scf.yield
// CHECK: %[[ANNOUNCED:.*]] = llvm.load %{{.*}} : !llvm.ptr<3> -> vector<2xi32>
// CHECK: %[[ROW:.*]] = llvm.extractelement %[[ANNOUNCED]][%{{.*}} : i32]
// CHECK: %[[HAS_ROW:.*]] = arith.cmpi sge, %[[ROW]]
// CHECK: scf.if %[[HAS_ROW]]
// CHECK-COUNT-24: llvm.store %{{.*}} : vector<2xf32>, !llvm.ptr<1>
// CHECK: llvm.store %{{.*}} : vector<2xi32>, !llvm.ptr<3>
// CHECK: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK: llvm.return
// STRIPS-LABEL: llvm.func @strips
// STRIPS-COUNT-32: nvvm.cp.async.shared.global {{.*}}, cache = {{ *}}cg
// STRIPS-NOT: nvvm.cp.async.shared.global {{.*}}, cache = {{ *}}cg
// STRIPS: nvvm.cp.async.mbarrier.arrive {{.*}}noinc = true
chunk.program @strips {} chunk 64 {
  %y = chunk.take "y" rounded : tensor<64x64xf32>
  %w = chunk.take "w" rounded : tensor<64x96xf32>
  %k = chunk.take "k" rounded : tensor<64x96xf32>
  %S = chunk.state "S" : tensor<64x96xf32>
  %x = chunk.read %w, %S : tensor<64x96xf32>, tensor<64x96xf32>
  %u = chunk.map add %y, %x : tensor<64x64xf32>, tensor<64x64xf32>
  %S1 = chunk.advance %S, %u, %k : tensor<64x96xf32>, tensor<64x64xf32>, tensor<64x96xf32>
  chunk.next %S, %S1 : tensor<64x96xf32>
  chunk.give "u" rounded %u : tensor<64x64xf32>
}

// A chain of a GPU without products of a warpgroup: each warp has its 16 rows, and loads blocks of 16 columns by 16 inner
// indices of the right factor, which two products of the matrix units take. What it stores goes through shared memory by
// lanes.
// RUN: recur-opt %S/chain-outputs.mlir --chunk-store=types=bf16 --chunk-choose-factors --convert-chunk-to-tile="threads=256 gpu=sm_80" --convert-tile-to-nvvm --cse \
// RUN:   | FileCheck %s --implicit-check-not='{{wgmma|fence.proxy|stmatrix|try_wait|bulk}}'
// CHECK-LABEL: llvm.func @outputs
// CHECK-SAME: nvvm.reqntid = array<i32: 256, 1, 1>
// CHECK: mbarrier.test_wait.parity.shared.b64
// x = S k^T of 32 keys, 16 by 16, and S q^T behind it
// CHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK-COUNT-2: nvvm.mma.sync
// CHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK-COUNT-2: nvvm.mma.sync
// CHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK-COUNT-2: nvvm.mma.sync
// U = T (v - x), whose inner index lies across
// CHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK-COUNT-2: nvvm.mma.sync
// CHECK: bar.red.or.pred
// S + U^T k: the keys are columns, 16 by 16
// CHECK: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// CHECK-COUNT-2: nvvm.mma.sync
// CHECK: movmatrix.sync.aligned.m8n8.trans.b16
// CHECK: st.shared.b32

// Where the copy unit is there, threads sleep at barriers and stores of matrices are one instruction, they are taken.
// RUN: recur-opt %S/chain-outputs.mlir --chunk-store=types=bf16 --chunk-choose-factors --convert-chunk-to-tile="threads=256 gpu=sm_120" --convert-tile-to-nvvm --cse \
// RUN:   | FileCheck %s --check-prefix=LATER --implicit-check-not=wgmma
// LATER-LABEL: llvm.func @outputs
// LATER: mbarrier.try_wait.parity.shared::cta.b64
// LATER: nvvm.mma.sync
// LATER: nvvm.stmatrix {{.*}}layout = #nvvm.mma_layout<col>
// LATER: cp.async.bulk.tensor
// RUN: not recur-opt %S/chain-outputs.mlir --convert-chunk-to-tile="threads=256 gpu=sm_75" 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: there is no GPU 'sm_75' to plan for

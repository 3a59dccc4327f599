// RUN: recur-opt %s --chunk-store=types=bf16 --chunk-choose-factors --convert-chunk-to-tile="threads=256" --convert-tile-to-nvvm --cse --split-input-file | FileCheck %s

// A state of 64 by 64 is 16 numbers of each of 256 threads, from the load to the store: nothing of it lies in shared
// memory. Of two rows of the state a thread has 8 columns, so a read is 16 multiplications and 2 sums over 8 lanes. At
// the first of 3 exchanges each lane keeps one of the sums, and what is computed of it, such as the output, is computed
// once; the lanes tell each other what the change of the state takes. A token has two reads and a product of two vectors
// of keys.
// Rows of eight tokens come to shared memory at once, as they are in the arrays, and are asked for before the state. The
// threads meet behind them, and make f32 of the numbers by which all of them multiply the state; from token to token
// they do not, for outputs go to the array from the threads that have them. They meet again where a call keeps a state,
// and before the next rows come.
// CHECK-LABEL: llvm.func @decode
// CHECK-COUNT-16: llvm.alloca
// CHECK-NOT: llvm.alloca
// CHECK-COUNT-3: nvvm.cp.async.commit.group
// CHECK: llvm.load %{{.*}} : !llvm.ptr<1> -> vector<4xf32>
// CHECK-COUNT-3: nvvm.cp.async.wait.group 0
// CHECK-NEXT: nvvm.barrier
// CHECK: llvm.load %{{.*}} : !llvm.ptr<3> -> vector<2xi32>
// CHECK: llvm.store %{{.*}} : vector<4xf32>, !llvm.ptr<3>
// CHECK: llvm.load %{{.*}} : !llvm.ptr<3> -> vector<2xi32>
// CHECK: llvm.store %{{.*}} : vector<4xf32>, !llvm.ptr<3>
// CHECK: nvvm.barrier
// CHECK-NEXT: scf.while
// CHECK: scf.for
// CHECK-NOT: nvvm.barrier
// CHECK: llvm.load %{{.*}} : !llvm.ptr<3> -> vector<4xf32>
// CHECK-NOT: nvvm.barrier
// CHECK-COUNT-16: llvm.intr.fma
// CHECK-NOT: nvvm.barrier
// CHECK: %[[KEPT:.*]] = arith.select %[[IS_UPPER:.*]], %[[SECOND:.*]], %[[FIRST:.*]] : f32
// CHECK-NEXT: %[[GIVEN:.*]] = arith.select %[[IS_UPPER]], %[[FIRST]], %[[SECOND]] : f32
// CHECK-NEXT: %[[TAKEN:.*]] = nvvm.shfl.sync bfly %{{.*}}, %[[GIVEN]], %c4_i32
// CHECK-NEXT: arith.addf %[[KEPT]], %[[TAKEN]]
// CHECK-COUNT-2: nvvm.shfl.sync bfly
// CHECK-NOT: nvvm.shfl
// CHECK-COUNT-16: llvm.intr.fma
// CHECK-NOT: nvvm.barrier
// CHECK-COUNT-3: nvvm.shfl.sync bfly
// CHECK-NOT: nvvm.barrier
// CHECK-COUNT-2: nvvm.shfl.sync idx
// CHECK-NOT: nvvm.shfl
// CHECK-NOT: nvvm.barrier
// CHECK-NOT: llvm.store %{{.*}} : f32, !llvm.ptr<3>
// CHECK: arith.divui
// CHECK: nvvm.barrier
// CHECK-NOT: nvvm.barrier
// CHECK: scf.if
// CHECK-NEXT: nvvm.barrier
// CHECK: nvvm.barrier
// CHECK: nvvm.barrier
// CHECK-NOT: nvvm.barrier
// CHECK: llvm.return
chunk.program @decode {} chunk 1 keeps {
  %q = chunk.input "q" : tensor<1x64xf32>
  %k = chunk.input "k" : tensor<1x64xf32>
  %v = chunk.input "v" : tensor<1x64xf32>
  %g = chunk.input "g" : tensor<1xf32>
  %S = chunk.state "S" : tensor<64x64xf32>
  %decay = chunk.cumulative_decay total log(%g) : tensor<1xf32>
  %read = chunk.read %k, %S : tensor<1x64xf32>, tensor<64x64xf32>
  %u = chunk.map sub %v, %read : tensor<1x64xf32>, tensor<1x64xf32>
  %o = chunk.read %q, %S : tensor<1x64xf32>, tensor<64x64xf32>
  %out = chunk.map add %o, %u : tensor<1x64xf32>, tensor<1x64xf32>
  chunk.output "o" %out : tensor<1x64xf32>
  %next = chunk.advance %S, %u, %k columns(%decay : tensor<1xf32>) : tensor<64x64xf32>, tensor<1x64xf32>, tensor<1x64xf32>
  chunk.next %S, %next : tensor<64x64xf32>
}

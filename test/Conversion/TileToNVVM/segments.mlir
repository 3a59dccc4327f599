// RUN: recur-opt %s --chunk-store=types=bf16 --chunk-choose-factors --convert-chunk-to-tile="threads=256" | FileCheck %s
// RUN: recur-opt %s --chunk-store=types=bf16 --chunk-choose-factors --convert-chunk-to-tile="threads=256" --convert-tile-to-nvvm --cse | FileCheck %s --check-prefix=NVVM

// The loop goes over what the CTA has and what it goes over before; of that it stores no rows. The state is that of the
// caller where the CTA begins at the first chunk, and is given back by the last CTA.
// CHECK-LABEL: tile.kernel @chain required 0
// CHECK-SAME: threads 288
// CHECK: ^bb0(%[[Y:[a-z0-9]+]]: !tile.tile<?x64x32xf32, global>, %[[FINAL:[a-z0-9]+]]: !tile.tile<?x64x32xf32, global>,
// CHECK: %[[BEGIN:[a-z0-9_]+]], %[[FIRST:[a-z0-9_]+]], %[[END:[a-z0-9_]+]], %[[START:[a-z0-9_]+]], %[[STORE:[a-z0-9_]+]] = tile.segment %[[TOKENS:[a-z0-9]+]] by 16 initial %[[Y]] final %[[FINAL]] remains %[[D:[a-z0-9]+]] : <?x64x32xf32, global>, !tile.tile<?xf32, global>
// CHECK: tile.load %[[START]][
// CHECK: scf.for %[[AT:.*]] = %[[BEGIN]] to %[[END]] step
// CHECK: %[[NONE:.*]] = arith.constant 0 : i64
// CHECK: %[[OWN:.*]] = arith.cmpi sge, %[[AT]], %[[FIRST]] : i64
// CHECK: %[[ROWS:.*]] = arith.select %[[OWN]], %{{.*}}, %[[NONE]] : i64
// CHECK: tile.store %{{.*}} rows %[[ROWS]] to
// CHECK: %[[ROWS2:.*]] = arith.select %[[OWN]], %{{.*}}, %{{.*}} : i64
// CHECK: tile.store %{{.*}} rows %[[ROWS2]] to
// CHECK: tile.store %{{.*}} to %[[STORE]][

// The CTAs of a column of the grid deal out the chunks. Eight bounds are on their way at once, and are multiplied until
// the product is 2^-25 or less.
// NVVM-LABEL: llvm.func @chain
// NVVM: nvvm.read.ptx.sreg.ctaid.y
// NVVM: nvvm.read.ptx.sreg.nctaid.y
// NVVM: scf.while
// NVVM: scf.condition
// NVVM-COUNT-8: llvm.load {{.*}} : !llvm.ptr<1> -> f32
// NVVM: %[[LITTLE:.*]] = arith.constant 2.98023224E-8 : f32
// NVVM: arith.cmpf ole
// Elsewhere there is no state to begin with, and none to give back.
// NVVM: arith.select %{{.*}}, %{{.*}}, %{{.*}} : !llvm.ptr<1>
// NVVM: arith.select %{{.*}}, %{{.*}}, %{{.*}} : !llvm.ptr<1>
chunk.program @chain {} chunk 16 {
  %y = chunk.take "y" rounded : tensor<16x64xf32>
  %w = chunk.take "w" rounded : tensor<16x32xf32>
  %k = chunk.take "k" rounded : tensor<16x32xf32>
  %d = chunk.take "d" : tensor<1xf32>
  %S = chunk.state "S" : tensor<64x32xf32>
  %x = chunk.read %w, %S : tensor<16x32xf32>, tensor<64x32xf32>
  %u = chunk.map add %y, %x : tensor<16x64xf32>, tensor<16x64xf32>
  %S1 = chunk.advance %S, %u, %k columns(%d : tensor<1xf32>) : tensor<64x32xf32>, tensor<16x64xf32>, tensor<16x32xf32>
  chunk.remains "S" %d : tensor<1xf32>
  chunk.next %S, %S1 : tensor<64x32xf32>
  chunk.give "S" whole rounded %S : tensor<64x32xf32>
  chunk.give "u" rounded %u : tensor<16x64xf32>
}

// RUN: recur-opt %s --chunk-store=types=bf16 --chunk-choose-factors --convert-chunk-to-tile="threads=256" \
// RUN:   | sed -E 's/^( *tile.kernel @chain .*) \{/\1 channels [96, 96, 96, 96, 0, 0] {/' | recur-opt --convert-tile-to-nvvm --cse | FileCheck %s

// Of 96 channels the second part has 32: each CTA finds out how many it has. In an initial state what it lacks has the
// place of its last channel; in a final one, or one on the way, it is not stored.
// CHECK-LABEL: llvm.func @chain
// CHECK: %[[PART:.*]] = nvvm.read.ptx.sreg.ctaid.z
// CHECK: %[[BEFORE:.*]] = arith.muli %[[PART]], %c-64_i32
// CHECK: %[[LEFT:.*]] = arith.addi %[[BEFORE]], %c96_i32
// CHECK: %[[OWN:.*]] = arith.minsi %[[LEFT]], %c64_i32
// CHECK: %[[LAST:.*]] = arith.addi %[[OWN]], %c-1_i32
// CHECK-COUNT-2: arith.minsi %{{.*}}, %[[LAST]]
// CHECK-COUNT-16: llvm.load %{{.*}} : !llvm.ptr<1> -> f32
// CHECK: scf.for
// CHECK: arith.addi %{{.*}}, %c96_i32
// CHECK-COUNT-2: arith.minsi %{{.*}}, %{{.*}} : i32
// CHECK: %[[HAS:.*]] = arith.cmpi slt, %{{.*}}, %[[OWN:.*]] : i32
// CHECK-NEXT: scf.if %[[HAS]] {
// CHECK-NEXT: llvm.store %{{.*}} : vector<2xf32>, !llvm.ptr<1>
// CHECK: llvm.store %{{.*}} : f32, !llvm.ptr<1>
// Of a row of values as many bytes come as there are channels; keys come whole.
// CHECK: scf.for
// CHECK: arith.addi %{{.*}}, %c96_i32
// CHECK: %[[OWN:.*]] = arith.minsi
// CHECK: %[[REST:.*]] = arith.subi %[[OWN]],
// CHECK: %[[BYTES:.*]] = arith.muli %[[REST]], %c2_i32
// CHECK: %[[MOST:.*]] = arith.minsi %[[BYTES]], %c16_i32
// CHECK: arith.select %{{.*}}, %c0_i32{{.*}}, %[[MOST]]
// CHECK: nvvm.cp.async.shared.global {{.*}}, cache = {{ *}}cg
// And as many rows are stored: none where a thread's columns are beyond.
// CHECK: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK: scf.for
// CHECK: arith.addi %{{.*}}, %c96_i32
// CHECK: arith.select %{{.*}}, %{{.*}}, %c0_i32
// CHECK: llvm.store %{{.*}} : vector<8xbf16>, !llvm.ptr<1>
// CHECK: llvm.return
chunk.program @chain {} chunk 16 {
  %v = chunk.input "v" : tensor<16x64xf32>
  %w = chunk.take "w" rounded : tensor<16x32xf32>
  %k = chunk.take "k" rounded : tensor<16x32xf32>
  %S = chunk.state "S" : tensor<64x32xf32>
  %x = chunk.read %w, %S : tensor<16x32xf32>, tensor<64x32xf32>
  %u = chunk.map add %v, %x : tensor<16x64xf32>, tensor<16x64xf32>
  %S1 = chunk.advance %S, %u, %k : tensor<64x32xf32>, tensor<16x64xf32>, tensor<16x32xf32>
  chunk.next %S, %S1 : tensor<64x32xf32>
  chunk.output "u" %u : tensor<16x64xf32>
}

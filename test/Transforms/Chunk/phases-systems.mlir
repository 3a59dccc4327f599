// RUN: recur-opt %s --chunk-phases="systems-apart" | FileCheck %s
// RUN: recur-opt %s --chunk-phases | FileCheck %s --check-prefix=TOGETHER

// What is added to the state of the systems is a product of keys as they came and of two parts of the scaled ones; the
// state is left as it is. The other state's rows are rounded, as any. Each state has a chain of its own, and what comes late is
// exact, but for what solves the systems.
// CHECK-LABEL: chunk.program @systems_early {} chunk 64 {
// CHECK-DAG: %[[K:.*]] = chunk.input "k"
// CHECK-DAG: %[[V:.*]] = chunk.input "v"
// CHECK-DAG: %[[B:.*]] = chunk.input "b"
// CHECK-DAG: %[[WIDE:.*]] = chunk.constant 6.553700e+04 : tensor<1xf32>
// CHECK-DAG: %[[AFTER:.*]] = chunk.map mul %{{.*}}, %[[K]]
// CHECK-DAG: %[[SCALED:.*]] = chunk.map mul %[[B]], %[[AFTER]]
// CHECK-DAG: %[[PRODUCT:.*]] = chunk.map mul %[[WIDE]], %[[SCALED]]
// CHECK-DAG: %[[REST:.*]] = chunk.map sub %[[PRODUCT]], %[[SCALED]]
// CHECK-DAG: %[[UPPER:.*]] = chunk.map sub %[[PRODUCT]], %[[REST]]
// CHECK-DAG: %[[LOWER:.*]] = chunk.map sub %[[SCALED]], %[[UPPER]]
// CHECK-DAG: chunk.give "[[U:.*]]" rounded %[[UPPER]]
// CHECK-DAG: chunk.give "[[L:.*]]" rounded %[[LOWER]]
// CHECK-LABEL: chunk.program @systems_chain_G {} chunk 64 {
// CHECK-NOT: chunk.input "v"
// CHECK: %[[G:.*]] = chunk.state "G"
// CHECK: %[[K:.*]] = chunk.input "k"
// CHECK: %[[G1:.*]] = chunk.advance %[[G]], %[[K]], %{{.*}} columns
// CHECK: %[[G2:.*]] = chunk.advance %[[G1]], %[[K]], %{{.*}} : tensor
// CHECK: chunk.next %[[G]], %[[G2]]
// CHECK: chunk.give "G" whole %[[G]]
// CHECK-LABEL: chunk.program @systems_chain_S {} chunk 64 {
// CHECK-NOT: chunk.state "G"
// CHECK: chunk.advance
// CHECK-NOT: chunk.advance
// CHECK: chunk.give "S" whole rounded
// CHECK-LABEL: chunk.program @systems_late {} chunk 64 exact {
// CHECK: chunk.take "G" whole :
// CHECK: chunk.take "S" whole rounded :

// Without that all is exact, and one chain has both states.
// TOGETHER-LABEL: chunk.program @systems_early {} chunk 64 exact {
// TOGETHER-LABEL: chunk.program @systems_chain {} chunk 64 exact {
// TOGETHER: chunk.give "S" whole %
// TOGETHER-LABEL: chunk.program @systems_late {} chunk 64 exact {
chunk.program @systems {} chunk 64 {
  %G = chunk.state "G" : tensor<64x64xf32>
  %S = chunk.state "S" : tensor<64x64xf32>
  %q = chunk.input "q" : tensor<64x64xf32>
  %k = chunk.input "k" : tensor<64x64xf32>
  %v = chunk.input "v" : tensor<64x64xf32>
  %g = chunk.input "g" : tensor<64xf32>
  %b = chunk.input "b" : tensor<64xf32>
  %ridge = chunk.param "ridge" : tensor<1x64xf32>
  %bk = chunk.map mul %b, %k : tensor<64xf32>, tensor<64x64xf32>
  %bv = chunk.map mul %b, %v : tensor<64xf32>, tensor<64x64xf32>
  %d = chunk.cumulative_decay through log(%g) : tensor<64xf32>
  %t = chunk.cumulative_decay total log(%g) : tensor<64xf32>
  %a = chunk.cumulative_decay after log(%g) : tensor<64xf32>
  %ak = chunk.map mul %a, %k : tensor<64xf32>, tensor<64x64xf32>
  %x = chunk.cg %q ridge %ridge iterations 4 : tensor<64x64xf32>, tensor<1x64xf32> {
  ^bb0(%p: tensor<64x64xf32>):
    %0 = chunk.map mul %d, %p : tensor<64xf32>, tensor<64x64xf32>
    %1 = chunk.read %0, %G : tensor<64x64xf32>, tensor<64x64xf32>
    %2 = chunk.interaction %p, %k inclusive decay log(%g : tensor<64xf32>) : tensor<64x64xf32>, tensor<64x64xf32>
    %3 = chunk.apply %2, %bk : tensor<64x64xf32>, tensor<64x64xf32>
    %4 = chunk.map add %1, %3 : tensor<64x64xf32>, tensor<64x64xf32>
    chunk.yield %4 : tensor<64x64xf32>
  }
  %o = chunk.read %x, %S : tensor<64x64xf32>, tensor<64x64xf32>
  chunk.output "o" %o : tensor<64x64xf32>
  %G1 = chunk.advance %G, %bk, %ak columns(%t : tensor<1xf32>) : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
  chunk.next %G, %G1 : tensor<64x64xf32>
  %S1 = chunk.advance %S, %bv, %ak columns(%t : tensor<1xf32>) : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
  chunk.next %S, %S1 : tensor<64x64xf32>
}

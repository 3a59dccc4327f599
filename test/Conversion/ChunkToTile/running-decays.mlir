// RUN: recur-opt %s --chunk-store=types=bf16 --chunk-choose-factors --convert-chunk-to-tile="threads=256" | FileCheck %s
// RUN: recur-opt %s --convert-chunk-to-tile="threads=256" | FileCheck %s --check-prefix=LONG

// Rows that two readers scale by the decay so far: a scan for each, one behind the other, since the matrix units sum up
// logarithms of bf16 for both. The first also ends with the decay of the chunk.
// CHECK-LABEL: tile.kernel @readers
// CHECK: tile.scan %[[G:.*]], %[[Q:.*]] all %{{.*}} last %[[T:.*]] rows
// CHECK: tile.scan %[[G]], %[[K:.*]] all %{{.*}} rows
// CHECK-NOT: tile.{{scan|map}}
// CHECK: tile.map %[[E:.*]] into %[[E]] rows
// CHECK: math.exp
// CHECK-NOT: tile.scan
// CHECK: scf.reduce
// Steps of f32 are summed up once, by a thread for each channel.
// LONG-LABEL: tile.kernel @readers
// LONG: tile.scan %{{[^,]*}} all
// LONG: tile.map
// LONG: tile.map
// LONG: tile.scan %{{[^,]*}} last
// LONG-NOT: tile.scan
// LONG: scf.reduce
chunk.program @readers {} chunk 32 {
  %q = chunk.input "q" : tensor<32x128xf32>
  %k = chunk.input "k" : tensor<32x128xf32>
  %g = chunk.input "g" : tensor<32x128xf32>
  %d = chunk.cumulative_decay through log(%g) : tensor<32x128xf32>
  %x = chunk.map mul %d, %q : tensor<32x128xf32>, tensor<32x128xf32>
  %y = chunk.map mul %d, %k : tensor<32x128xf32>, tensor<32x128xf32>
  %t = chunk.cumulative_decay total log(%g) : tensor<32x128xf32>
  %z = chunk.map mul %q, %t : tensor<32x128xf32>, tensor<1x128xf32>
  chunk.output "x" %x : tensor<32x128xf32>
  chunk.output "y" %y : tensor<32x128xf32>
  chunk.output "z" %z : tensor<32x128xf32>
}

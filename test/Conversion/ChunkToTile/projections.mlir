// RUN: recur-opt %s --chunk-store=types=bf16 --chunk-choose-factors --convert-chunk-to-tile="threads=256" | FileCheck %s
// RUN: recur-opt %s --chunk-store=types=bf16 --chunk-choose-factors --convert-chunk-to-tile | FileCheck %s --check-prefix=CORE

// A matrix that the vectors of all tokens are multiplied by is a factor of one product. For the matrix units of a CTA it is
// of data as they came where both are data, and of f32 where one was computed.
// CHECK-LABEL: tile.kernel @projections
// CHECK: tile.load %arg2[%{{.*}}] rows %{{.*}} into %[[W:.*]] : <?x24x16xbf16, global> into <1x24x16xbf16, shared, [1728, 72, 1]>
// CHECK: tile.load %arg3[%{{.*}}] rows %{{.*}} into %[[M:.*]] : <?x24x16xbf16, global> into <1x24x16xf32, shared, [864, 36, 1]>
// CHECK: %[[V:.*]] = tile.view %[[W]]
// CHECK: tile.product %{{.*}}, right_transposed %[[V]] into %{{.*}} rows %{{.*}} inner %c16_i64 : <32x16xbf16, shared, [72, 1]>, <24x16xbf16, shared, [72, 1]> into <32x24xf32
// CHECK: %[[N:.*]] = tile.view %[[M]]
// CHECK: tile.product %{{.*}}, %[[N]] into %{{.*}} rows %{{.*}} inner %c24_i64 : <32x24xf32, shared, [36, 1]>, <24x16xf32, shared, [36, 1]> into <32x16xf32
// CHECK-NOT: tile.reduce

// CORE-LABEL: tile.kernel @projections
// CORE: %[[T:.*]] = tile.alloc {{.*}} <16x24xf32, local, [32, 1]>
// CORE: tile.transpose %{{.*}} rows %{{.*}} into %[[T]]
// CORE: tile.product %{{.*}}, %[[T]] into %{{.*}}
// CORE: tile.product %{{.*}}, %{{.*}} into %{{.*}}
// CORE-NOT: tile.reduce
chunk.program @projections {} chunk 32 {
  %x = chunk.input "x" : tensor<32x16xf32>
  %y = chunk.input "y" : tensor<32x24xf32>
  %w = chunk.param "w" : tensor<1x24x16xf32>
  %m = chunk.param "m" : tensor<1x24x16xf32>
  %a = chunk.map matvec %w, %x : tensor<1x24x16xf32>, tensor<32x16xf32>
  %z = chunk.map tanh %y : tensor<32x24xf32>
  %b = chunk.map vecmat %z, %m : tensor<32x24xf32>, tensor<1x24x16xf32>
  chunk.output "a" %a : tensor<32x24xf32>
  chunk.output "b" %b : tensor<32x16xf32>
}

// A sum of outer products over the tokens is one product.
// CHECK-LABEL: tile.kernel @summed_outer
// CHECK: tile.product transposed %{{.*}}, %{{.*}} into %{{.*}} rows %c24_i64 inner %{{.*}} : <32x24xf32, {{.*}}>, <32x16xf32, {{.*}}> into <24x16xf32,
// CORE-LABEL: tile.kernel @summed_outer
// CORE: tile.product transposed %{{.*}}, %{{.*}} into %{{.*}} rows %c24_i64 inner %{{.*}} : <32x24xf32, {{.*}}>, <32x16xf32, {{.*}}> into <24x16xf32,
chunk.program @summed_outer {} chunk 32 {
  %d = chunk.input "d" : tensor<32x24xf32>
  %x = chunk.input "x" : tensor<32x16xf32>
  %G = chunk.state "G" : tensor<1x24x16xf32>
  %outer = chunk.map outer %d, %x : tensor<32x24xf32>, tensor<32x16xf32>
  %all = chunk.sum_tokens %outer : tensor<32x24x16xf32>
  %next = chunk.map add %G, %all : tensor<1x24x16xf32>, tensor<1x24x16xf32>
  chunk.next %G, %next : tensor<1x24x16xf32>
}

// RUN: recur-opt %s --chunk-store=types=bf16 --chunk-choose-factors --convert-chunk-to-tile="threads=256" | FileCheck %s
// RUN: recur-opt %s --chunk-store=types=bf16 --chunk-choose-factors --convert-chunk-to-tile | FileCheck %s --check-prefix=CORE

// A CTA's passes read parts of rows where they lie, as the data came, and write theirs where they stay. A core's rows begin
// where its instructions like them to.
// CHECK-LABEL: tile.kernel @turned
// CHECK: %[[ALL:.*]] = tile.alloc at {{.*}} : <16x32xf32, shared, [36, 1]>
// CHECK: tile.load %{{.*}} into %[[X:.*]] : <?x32xbf16, global> into <16x32xbf16, shared, [72, 1]>
// CHECK-DAG: %[[LOW:.*]] = tile.view %[[X]] offset 0 : {{.*}} to <16x16xbf16, shared, [72, 1]>
// CHECK-DAG: %[[HIGH:.*]] = tile.view %[[X]] offset 16 : {{.*}} to <16x16xbf16, shared, [72, 1]>
// CHECK-DAG: %[[FIRST:.*]] = tile.view %[[ALL]] offset 0 : {{.*}} to <16x16xf32, shared, [36, 1]>
// CHECK-DAG: %[[SECOND:.*]] = tile.view %[[ALL]] offset 16 : {{.*}} to <16x16xf32, shared, [36, 1]>
// CHECK-DAG: tile.map %[[LOW]], %{{.*}}, %[[HIGH]] into %[[FIRST]]
// CHECK-DAG: tile.map %[[HIGH]], %{{.*}}, %[[LOW]] into %[[SECOND]]
// CHECK-NOT: tile.map
// CHECK: tile.store %[[ALL]]
// CORE-LABEL: tile.kernel @turned
// CORE-COUNT-6: tile.map
chunk.program @turned {} chunk 16 {
  %x = chunk.input "x" : tensor<16x32xf32>
  %a = chunk.input "a" : tensor<16xf32>
  %low = chunk.slice %x[0 for 16] : tensor<16x32xf32>
  %high = chunk.slice %x[16 for 16] : tensor<16x32xf32>
  %0 = chunk.map mul %low, %a : tensor<16x16xf32>, tensor<16xf32>
  %1 = chunk.map sub %0, %high : tensor<16x16xf32>, tensor<16x16xf32>
  %2 = chunk.map mul %high, %a : tensor<16x16xf32>, tensor<16xf32>
  %3 = chunk.map add %2, %low : tensor<16x16xf32>, tensor<16x16xf32>
  %y = chunk.concat %1, %3 : tensor<16x16xf32>, tensor<16x16xf32> to tensor<16x32xf32>
  chunk.output "y" %y : tensor<16x32xf32>
}

// Parts that begin between words of 16 bytes are copied, as are those that products take; what is read elsewhere too
// has a tile of its own besides its place.
// CHECK-LABEL: tile.kernel @unaligned
// CHECK: %[[PART:.*]] = tile.view %{{.*}} offset 3 : {{.*}} to <16x8xf32
// CHECK-NEXT: tile.map %[[PART]] into %[[OWN:.*]] rows
// CHECK: tile.map %[[OWN]] into %[[EXP:.*]] rows
// CHECK: math.exp
// CHECK: %[[PLACE:.*]] = tile.view %{{.*}} offset 0 : {{.*}} to <16x8xf32
// CHECK: tile.map %[[EXP]] into %[[PLACE]]
chunk.program @unaligned {} chunk 16 {
  %x = chunk.input "x" : tensor<16x32xf32>
  %part = chunk.slice %x[3 for 8] : tensor<16x32xf32>
  %0 = chunk.map exp %part : tensor<16x8xf32>
  %y = chunk.concat %0, %x : tensor<16x8xf32>, tensor<16x32xf32> to tensor<16x40xf32>
  chunk.output "y" %y : tensor<16x40xf32>
  chunk.output "e" %0 : tensor<16x8xf32>
}

// What the two writes of a token are scaled by goes to the rows of each by itself. They are in no tile before.
// CHECK-LABEL: tile.kernel @steps
// CHECK-DAG: tile.load %arg3[%{{.*}}] rows %{{.*}} into %[[A:[0-9]+]] :
// CHECK-DAG: tile.load %arg4[%{{.*}}] rows %{{.*}} into %[[B:[0-9]+]] :
// CHECK-DAG: tile.load %arg1[%{{.*}}] rows %{{.*}} into %[[X:[0-9]+]] :
// CHECK-DAG: tile.load %arg2[%{{.*}}] rows %{{.*}} into %[[Z:[0-9]+]] :
// CHECK-NOT: tile.map
// CHECK: %[[EVEN:.*]] = tile.view %[[WRITES:.*]] offset 0 : {{.*}} to <16x32x{{.*}}, shared, [{{.*}}, 1]>
// CHECK: tile.map %[[A]], %[[X]] into %[[EVEN]] rows
// CHECK: %[[ODD:.*]] = tile.view %[[WRITES]] offset {{[1-9][0-9]*}} : {{.*}} to <16x32x{{.*}}, shared, [{{.*}}, 1]>
// CHECK: tile.map %[[B]], %[[Z]] into %[[ODD]] rows
chunk.program @steps {} chunk 16 {
  %q = chunk.input "q" : tensor<16x32xf32>
  %x = chunk.input "x" : tensor<16x32xf32>
  %z = chunk.input "z" : tensor<16x32xf32>
  %a = chunk.input "a" : tensor<16xf32>
  %b = chunk.input "b" : tensor<16xf32>
  %k = chunk.input "k" : tensor<16x2x32xf32>
  %k0 = chunk.extract %k[0] : tensor<16x2x32xf32>
  %k1 = chunk.extract %k[1] : tensor<16x2x32xf32>
  %keys = chunk.interleave %k0, %k1 : tensor<16x32xf32>, tensor<16x32xf32>
  %scales = chunk.interleave %a, %b : tensor<16xf32>, tensor<16xf32>
  %rows = chunk.interleave %x, %z : tensor<16x32xf32>, tensor<16x32xf32>
  %writes = chunk.map mul %scales, %rows : tensor<32xf32>, tensor<32x32xf32>
  %p = chunk.interaction %q, %keys points [2] of [0, 1] : tensor<16x32xf32>, tensor<32x32xf32>
  %o = chunk.apply %p, %writes : tensor<16x32xf32>, tensor<32x32xf32>
  chunk.output "o" %o : tensor<16x32xf32>
}

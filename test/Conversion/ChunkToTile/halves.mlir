// RUN: recur-opt %s --chunk-store=types=f16 --chunk-choose-factors=f16 --convert-chunk-to-tile="threads=256" | FileCheck %s

// Data of f16 that are read number by number are not rounded to the type of factors first. Products take them as they are
// where all products that take them do.
// CHECK-LABEL: tile.kernel @keys
// CHECK-DAG: tile.load %arg0{{.*}} into <64x64xf16, shared
// CHECK-DAG: tile.load %arg1{{.*}} into <64x64xf16, shared
// CHECK-DAG: tile.load %arg2{{.*}} into <64x64xf16, shared
// CHECK-NOT: tile.load
// CHECK: tile.product %{{.*}} : <64x64xf16, shared, [72, 1]>, <64x64xf16, shared, [72, 1]> into
chunk.program @keys {} chunk 64 {
  %q = chunk.input "q" : tensor<64x64xf32>
  %k = chunk.input "k" : tensor<64x64xf32>
  %v = chunk.input "v" : tensor<64x64xf32>
  %A = chunk.interaction %q, %k inclusive : tensor<64x64xf32>, tensor<64x64xf32>
  %kk = chunk.map mul %k, %k : tensor<64x64xf32>, tensor<64x64xf32>
  %vk = chunk.map mul %v, %kk : tensor<64x64xf32>, tensor<64x64xf32>
  chunk.give "A" rounded %A : tensor<64x64xf32>
  chunk.give "vk" rounded %vk : tensor<64x64xf32>
}

// Chunks that are apart have no room for rows in both types.
// CHECK-LABEL: tile.kernel @applied
// CHECK: tile.load %arg0{{.*}} into <64x64xbf16, shared
// CHECK-NOT: tile.load %arg0
// CHECK: tile.product
chunk.program @applied {} chunk 64 {
  %k = chunk.input "k" : tensor<64x64xf32>
  %A = chunk.interaction %k, %k inclusive : tensor<64x64xf32>, tensor<64x64xf32>
  %o = chunk.apply %A, %k : tensor<64x64xf32>, tensor<64x64xf32>
  %kk = chunk.map mul %k, %k : tensor<64x64xf32>, tensor<64x64xf32>
  chunk.give "o" rounded %o : tensor<64x64xf32>
  chunk.give "kk" rounded %kk : tensor<64x64xf32>
}

// One team that has all chunks of a sequence, and is no chain.
// CHECK-LABEL: tile.kernel @preconditioned
// CHECK-DAG: tile.load %arg0{{.*}} into <64x64xf16, shared
// CHECK-DAG: tile.load %arg0{{.*}} into <64x64xbf16, shared
// CHECK: tile.product
chunk.program @preconditioned {} chunk 64 {
  %k = chunk.input "k" : tensor<64x64xf32>
  %A = chunk.state "A" : tensor<64xf32>
  %S = chunk.state "S" : tensor<64x64xf32>
  %kk = chunk.map mul %k, %k : tensor<64x64xf32>, tensor<64x64xf32>
  %all, %last = chunk.scan %A, %kk : tensor<64xf32>, tensor<64x64xf32>
  %w = chunk.map mul %all, %k : tensor<64x64xf32>, tensor<64x64xf32>
  %o = chunk.read %k, %S : tensor<64x64xf32>, tensor<64x64xf32>
  %next = chunk.advance %S, %o, %w : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
  chunk.output "o" %o : tensor<64x64xf32>
  chunk.next %A, %last : tensor<64xf32>
  chunk.next %S, %next : tensor<64x64xf32>
}

// Rows of the steps of a token lie one below another.
// CHECK-LABEL: tile.kernel @steps
// CHECK: tile.load %arg0{{.*}} into <64x2x64xf16, shared
// CHECK-NOT: tile.load
// CHECK: tile.product %[[ROWS:.*]], right_transposed %[[ROWS]] into {{.*}} : <128x64xf16, shared, [72, 1]>, <128x64xf16, shared, [72, 1]> into
chunk.program @steps {} chunk 64 {
  %k = chunk.input "k" : tensor<64x2x64xf32>
  %first = chunk.extract %k[0] : tensor<64x2x64xf32>
  %second = chunk.extract %k[1] : tensor<64x2x64xf32>
  %rows = chunk.interleave %first, %second : tensor<64x64xf32>, tensor<64x64xf32>
  %A = chunk.interaction %rows, %rows points [0, 1] of [0, 1] : tensor<128x64xf32>, tensor<128x64xf32>
  chunk.give "A" rounded %A : tensor<128x128xf32>
}

// RUN: recur-opt %s --chunk-store=types=bf16 --chunk-choose-factors --convert-chunk-to-tile="threads=256" | FileCheck %s

// Keys that the decay behind them scales stand behind the interactions in the program, and take nothing but what was
// loaded: they are made and stored where the others are. What is left as it was loaded is stored behind the
// interactions, so that nothing waits for it before. Keys and decays are in use no longer when the inverse is made, and nothing else comes
// to lie in their places.
// CHECK-LABEL: tile.kernel @scaled
// CHECK: %[[G:[0-9]+]] = tile.alloc at [[DECAYS:[0-9]+]] : <32x128xbf16
// CHECK-NEXT: %[[K:[0-9]+]] = tile.alloc at [[KEYS:[0-9]+]] : <32x128xbf16
// CHECK-NOT: tile.alloc at [[DECAYS]] :
// CHECK-NOT: tile.alloc at [[KEYS]] :
// CHECK: tile.load %{{.*}} into %[[BETA:[0-9]+]] :
// CHECK-NEXT: tile.load %{{.*}} into %[[G]] :
// CHECK-NEXT: tile.load %{{.*}} into %[[K]] :
// CHECK: tile.scan %[[G]], %[[K]] all %[[SOFAR:[0-9]+]] rows
// CHECK: tile.scan %[[G]], %[[K]] all %[[BEHIND:[0-9]+]] reverse rows
// CHECK: tile.store %[[SOFAR]] rows
// CHECK-NEXT: tile.store %[[BEHIND]] rows
// CHECK: tile.scaled_dots rounded %[[K]], %[[K]] scales logarithms %[[G]] into %[[A:[0-9]+]]
// CHECK-NOT: tile.scan
// CHECK: tile.store %[[BETA]]
// CHECK-NEXT: tile.map %[[BETA]], %[[A]] into
// CHECK: tile.invert
// CHECK-NOT: tile.scan
// CHECK: scf.reduce
chunk.program @scaled {} chunk 32 {
  %k = chunk.input "k" : tensor<32x128xf32>
  %g = chunk.input "g" : tensor<32x128xf32>
  %beta = chunk.input "beta" : tensor<32xf32>
  chunk.give "0" %beta : tensor<32xf32>
  %through = chunk.cumulative_decay through log(%g) : tensor<32x128xf32>
  %sofar = chunk.map mul %through, %k : tensor<32x128xf32>, tensor<32x128xf32>
  chunk.give "1" rounded %sofar : tensor<32x128xf32>
  %A = chunk.interaction %k, %k strict decay log(%g : tensor<32x128xf32>) : tensor<32x128xf32>, tensor<32x128xf32>
  %L = chunk.map mul %beta, %A : tensor<32xf32>, tensor<32x32xf32>
  %T = chunk.inverse %L : tensor<32x32xf32>
  chunk.give "2" rounded %T : tensor<32x32xf32>
  %after = chunk.cumulative_decay after log(%g) : tensor<32x128xf32>
  %behind = chunk.map mul %after, %k : tensor<32x128xf32>, tensor<32x128xf32>
  chunk.give "3" rounded %behind : tensor<32x128xf32>
}

// Rows that are computed are not there at the beginning, and what shares its sums with them stays with them.
// CHECK-LABEL: tile.kernel @computed
// CHECK: tile.load %{{.*}} into %[[G:[0-9]+]] :
// CHECK-NEXT: tile.load %{{.*}} into %[[K:[0-9]+]] :
// CHECK-NEXT: tile.scan %[[G]], %[[K]] all
// CHECK-NOT: tile.scan
// CHECK: tile.scaled_dots
// CHECK-NOT: tile.scan
// CHECK: tile.product %{{.*}}, %[[K]] into %[[X:[0-9]+]]
// CHECK: tile.scan %[[G]], %[[K]] all %{{.*}} reverse
// CHECK: tile.scan %[[G]], %[[X]] all %{{.*}} reverse
// CHECK: scf.reduce
chunk.program @computed {} chunk 32 {
  %k = chunk.input "k" : tensor<32x32xf32>
  %g = chunk.input "g" : tensor<32x32xf32>
  %through = chunk.cumulative_decay through log(%g) : tensor<32x32xf32>
  %sofar = chunk.map mul %through, %k : tensor<32x32xf32>, tensor<32x32xf32>
  chunk.give "1" rounded %sofar : tensor<32x32xf32>
  %A = chunk.interaction %k, %k strict decay log(%g : tensor<32x32xf32>) : tensor<32x32xf32>, tensor<32x32xf32>
  %x = chunk.apply %A, %k : tensor<32x32xf32>, tensor<32x32xf32>
  %after = chunk.cumulative_decay after log(%g) : tensor<32x32xf32>
  %behind = chunk.map mul %after, %x : tensor<32x32xf32>, tensor<32x32xf32>
  chunk.give "3" rounded %behind : tensor<32x32xf32>
  %others = chunk.map mul %after, %k : tensor<32x32xf32>, tensor<32x32xf32>
  chunk.give "4" rounded %others : tensor<32x32xf32>
}

// RUN: recur-opt %s --convert-chunk-to-tile=symbol=kernel -split-input-file | FileCheck %s

// A loop that moves a window's rows by one is no loop: the chunk's rows lie behind those of the state, a row that a token
// finds is one of these, and the state becomes the last of them.
// CHECK-LABEL: tile.kernel @kernel
// CHECK: scf.for
// CHECK: [[ROWS:%.*]] = tile.view {{.*}} : <21x8xf32, local, [16, 1]> to <5x8xf32, local, [16, 1]>
// CHECK: tile.map %{{.*}} into [[ROWS]] rows %c5
// CHECK: [[OWN:%.*]] = tile.view {{.*}} offset 80 : <21x8xf32, local, [16, 1]> to <16x8xf32, local, [16, 1]>
// CHECK: tile.map %{{.*}} into [[OWN]] rows
// CHECK: [[FOUND:%.*]] = tile.view {{.*}} offset 16 : <21x8xf32, local, [16, 1]> to <16x8xf32, local, [16, 1]>
// CHECK: [[LAST:%.*]] = tile.view {{%.*}}[%{{.*}}] offset 0 : <21x8xf32, local, [16, 1]> to <5x8xf32, local, [16, 1]>
// CHECK: tile.map [[LAST]] into %{{.*}} rows %c5
// CHECK-NOT: scf.for
chunk.program @window {} chunk 16 {
  %x = chunk.input "x" : tensor<16x8xf32>
  %s = chunk.state "s" : tensor<5x8xf32>
  %y, %next = chunk.token_loop (%row = %x : tensor<16x8xf32>) carry (%w = %s : tensor<5x8xf32>) -> (tensor<16x8xf32>, tensor<5x8xf32>) {
    %found = chunk.extract %w[1] : tensor<1x5x8xf32>
    %kept = chunk.slice %w[1 for 4] : tensor<1x5x8xf32>
    %moved = chunk.concat %kept, %row : tensor<1x4x8xf32>, tensor<1x8xf32> to tensor<1x5x8xf32>
    chunk.yield %found, %moved : tensor<1x8xf32>, tensor<1x5x8xf32>
  }
  chunk.output "o" %y : tensor<16x8xf32>
  chunk.next %s, %next : tensor<5x8xf32>
}

// -----

// What is more than that stays a loop: here the rows move by two.
// CHECK-LABEL: tile.kernel @kernel
// CHECK: scf.for
// CHECK: scf.for
chunk.program @by_two {} chunk 16 {
  %x = chunk.input "x" : tensor<16x2x8xf32>
  %s = chunk.state "s" : tensor<6x8xf32>
  %y, %next = chunk.token_loop (%row = %x : tensor<16x2x8xf32>) carry (%w = %s : tensor<6x8xf32>) -> (tensor<16x8xf32>, tensor<6x8xf32>) {
    %found = chunk.extract %w[0] : tensor<1x6x8xf32>
    %kept = chunk.slice %w[2 for 4] : tensor<1x6x8xf32>
    %moved = chunk.concat %kept, %row : tensor<1x4x8xf32>, tensor<1x2x8xf32> to tensor<1x6x8xf32>
    chunk.yield %found, %moved : tensor<1x8xf32>, tensor<1x6x8xf32>
  }
  chunk.output "o" %y : tensor<16x8xf32>
  chunk.next %s, %next : tensor<6x8xf32>
}

// -----

// The rows that a token finds begin one row behind those of the token before. So their sum under weights is a
// reduction of a view, and nothing is written out tap by tap.
// CHECK-LABEL: tile.kernel @kernel
// CHECK: scf.for
// CHECK: [[FOUND:%.*]] = tile.view %{{.*}} offset 0 : <21x8xf32, local, [16, 1]> to <16x5x8xf32, local, [16, 16, 1]>
// CHECK: [[WEIGHTS:%.*]] = tile.view %{{.*}} offset 16 : <1x6x8xf32, local, [96, 16, 1]> to <1x5x8xf32, local, [96, 16, 1]>
// CHECK: tile.reduce sum [[WEIGHTS]], [[FOUND]] into %{{.*}} over [1] of [16, 5, 8]
// CHECK-NOT: scf.for
chunk.program @taps {} chunk 16 {
  %x = chunk.input "x" : tensor<16x8xf32>
  %u = chunk.param "u" : tensor<1x6x8xf32>
  %s = chunk.state "s" : tensor<5x8xf32>
  %ones = chunk.constant 1.0 : tensor<1x5xf32>
  %y, %next = chunk.token_loop (%row = %x : tensor<16x8xf32>) carry (%w = %s : tensor<5x8xf32>) -> (tensor<16x8xf32>, tensor<5x8xf32>) {
    %weights = chunk.slice %u[1 for 5] : tensor<1x6x8xf32>
    %scaled = chunk.map mul %weights, %w : tensor<1x5x8xf32>, tensor<1x5x8xf32>
    %found = chunk.map vecmat %ones, %scaled : tensor<1x5xf32>, tensor<1x5x8xf32>
    %kept = chunk.slice %w[1 for 4] : tensor<1x5x8xf32>
    %moved = chunk.concat %kept, %row : tensor<1x4x8xf32>, tensor<1x8xf32> to tensor<1x5x8xf32>
    chunk.yield %found, %moved : tensor<1x8xf32>, tensor<1x5x8xf32>
  }
  chunk.output "o" %y : tensor<16x8xf32>
  chunk.next %s, %next : tensor<5x8xf32>
}

// RUN: recur-opt %s --convert-chunk-to-tile=symbol=kernel -split-input-file | FileCheck %s

// What the token before had is the row before: a delay copies the state's row alone, and a delay of what is delayed is
// one row further back.
// CHECK-LABEL: tile.kernel @kernel
// CHECK-DAG: [[ROWS:%.*]] = tile.alloc at {{.*}} : <18x8xf32, local, [16, 1]>
// CHECK: scf.for
// CHECK: [[X:%.*]] = tile.view [[ROWS]] offset 32 : <18x8xf32, local, [16, 1]> to <16x8xf32, local, [16, 1]>
// CHECK: tile.load %arg0[%{{.*}}] rows %{{.*}} into [[X]]
// CHECK-NOT: tile.scan
// CHECK: [[FIRST:%.*]] = tile.view [[ROWS]] offset 16 : <18x8xf32, local, [16, 1]> to <1x8xf32, local, [16, 1]>
// CHECK: tile.map %{{.*}} into [[FIRST]] rows %c1
// CHECK: [[ONE:%.*]] = tile.view [[ROWS]] offset 16 : <18x8xf32, local, [16, 1]> to <16x8xf32, local, [16, 1]>
// CHECK: [[SECOND:%.*]] = tile.view [[ROWS]] offset 0 : <18x8xf32, local, [16, 1]> to <1x8xf32, local, [16, 1]>
// CHECK: tile.map %{{.*}} into [[SECOND]] rows %c1
// CHECK: [[TWO:%.*]] = tile.view [[ROWS]] offset 0 : <18x8xf32, local, [16, 1]> to <16x8xf32, local, [16, 1]>
// CHECK: tile.map [[X]], [[ONE]], [[TWO]] into
chunk.program @delays {} chunk 16 {
  %x = chunk.input "x" : tensor<16x8xf32>
  %s = chunk.state "s" : tensor<8xf32>
  %t = chunk.state "t" : tensor<8xf32>
  %one = chunk.previous %s, %x : tensor<8xf32>, tensor<16x8xf32>
  %two = chunk.previous %t, %one : tensor<8xf32>, tensor<16x8xf32>
  %last = chunk.last %x : tensor<16x8xf32>
  %last1 = chunk.last %one : tensor<16x8xf32>
  %sum = chunk.map add %x, %one : tensor<16x8xf32>, tensor<16x8xf32>
  %all = chunk.map mul %sum, %two : tensor<16x8xf32>, tensor<16x8xf32>
  chunk.output "o" %all : tensor<16x8xf32>
  chunk.next %s, %last : tensor<8xf32>
  chunk.next %t, %last1 : tensor<8xf32>
}

// -----

// Two states cannot both lie before the rows, and numbers of the tokens lie side by side: these are copied.
// CHECK-LABEL: tile.kernel @kernel
// CHECK: scf.for
// CHECK-COUNT-3: tile.scan
chunk.program @copies {} chunk 16 {
  %x = chunk.input "x" : tensor<16x8xf32>
  %g = chunk.input "g" : tensor<16xf32>
  %s = chunk.state "s" : tensor<8xf32>
  %t = chunk.state "t" : tensor<8xf32>
  %h = chunk.state "h" : tensor<f32>
  %one = chunk.previous %s, %x : tensor<8xf32>, tensor<16x8xf32>
  %other = chunk.previous %t, %x : tensor<8xf32>, tensor<16x8xf32>
  %before = chunk.previous %h, %g : tensor<f32>, tensor<16xf32>
  %last = chunk.last %x : tensor<16x8xf32>
  %lastg = chunk.last %g : tensor<16xf32>
  %sum = chunk.map add %one, %other : tensor<16x8xf32>, tensor<16x8xf32>
  %all = chunk.map mul %before, %sum : tensor<16xf32>, tensor<16x8xf32>
  chunk.output "o" %all : tensor<16x8xf32>
  chunk.next %s, %last : tensor<8xf32>
  chunk.next %t, %last : tensor<8xf32>
  chunk.next %h, %lastg : tensor<f32>
}

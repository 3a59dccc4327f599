// RUN: recur-opt %s --convert-chunk-to-tile=symbol=kernel -split-input-file | FileCheck %s
// RUN: recur-opt %s --chunk-store=types=bf16 --chunk-choose-factors --convert-chunk-to-tile="symbol=kernel threads=256" -split-input-file | FileCheck %s --check-prefix=CTA

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
// A CTA does the same; its tiles need no whole register tiles of rows.
// CTA-LABEL: tile.kernel @kernel
// CTA-DAG: [[ROWS:%.*]] = tile.alloc at {{.*}} : <18x8xf32, shared, [36, 1]>
// CTA: [[X:%.*]] = tile.view [[ROWS]] offset 72 : <18x8xf32, shared, [36, 1]> to <16x8xf32, shared, [36, 1]>
// CTA: tile.load %arg0[%{{.*}}] rows %{{.*}} into [[X]]
// CTA-NOT: tile.scan
// CTA: [[TWO:%.*]] = tile.view [[ROWS]] offset 0 : <18x8xf32, shared, [36, 1]> to <16x8xf32, shared, [36, 1]>
// CTA: tile.map [[X]], %{{.*}}, [[TWO]] into
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
// CTA-LABEL: tile.kernel @kernel
// CTA-COUNT-3: tile.scan
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

// -----

// Of an input of which nothing but rows of last tokens is read, no more is loaded. A chunk of one token has none before.
// CHECK-LABEL: tile.kernel @kernel
// CHECK-DAG: %[[ONE:.*]] = tile.alloc at {{.*}} : <8xf32,
// CHECK-DAG: %[[OTHER:.*]] = tile.alloc at {{.*}} : <8xf32,
// CHECK: %[[TOKENS:.*]] = arith.minsi
// CHECK: %[[GONE:.*]] = arith.subi %[[TOKENS]], %c1_i64{{.*}} : i64
// CHECK: %[[PLACE:.*]] = arith.maxsi %[[GONE]], %c0_i64
// CHECK: %[[TOKEN:.*]] = arith.addi %{{.*}}, %[[PLACE]]
// CHECK: %[[ROW:.*]] = tile.view %{{.*}} offset 0 : <8xf32, {{.*}}> to <1x8xf32,
// CHECK: tile.load %arg0[%[[TOKEN]]] rows %c1_i64{{.*}} into %[[ROW]]
// CHECK: %[[GONE2:.*]] = arith.subi %[[TOKENS]], %c2_i64{{.*}} : i64
// CHECK: %[[PLACE2:.*]] = arith.maxsi %[[GONE2]], %c0_i64
// CHECK: tile.load %arg0[
// CHECK: %[[LACKS:.*]] = arith.cmpi sle, %[[TOKENS]], %c1_i64
// CHECK: scf.if %[[LACKS]]
// CHECK: tile.map into %{{.*}} rows %c1_i64{{.*}} dims []
// CHECK: arith.constant 3.000000e+00
// CHECK-NOT: tile.load
chunk.program @last {} chunk 16 {
  %x = chunk.input "x" : tensor<16x8xf32>
  %s = chunk.state "s" : tensor<8xf32>
  %t = chunk.state "t" : tensor<8xf32>
  %row = chunk.constant 3.0 : tensor<1x8xf32>
  %three = chunk.reshape_state %row : tensor<1x8xf32> to tensor<8xf32>
  %before = chunk.previous %three, %x : tensor<8xf32>, tensor<16x8xf32>
  %last = chunk.last %x : tensor<16x8xf32>
  %last_before = chunk.last %before : tensor<16x8xf32>
  chunk.next %s, %last : tensor<8xf32>
  chunk.next %t, %last_before : tensor<8xf32>
}

// RUN: recur-opt %s --split-input-file --chunk-prologue | FileCheck %s

// CHECK-LABEL: chunk.program @shifted_prologue {} chunk 8 {
// CHECK-NOT: chunk.input "v"
// CHECK: %[[H:.*]] = chunk.held %k[1], %k_back1
// CHECK: %[[P:.*]] = chunk.previous %[[H]], %k
// CHECK: %[[R:.*]] = chunk.map add %k, %[[P]]
// CHECK: chunk.give "prologue.0" rounded %[[R]] : tensor<8x3xf32>
// CHECK-LABEL: chunk.program @shifted {} chunk 8 {
// CHECK: %[[R:.*]] = chunk.take "prologue.0" rounded : tensor<8x3xf32>
// CHECK-NOT: chunk.input "k"
// CHECK: chunk.advance %S, %v, %[[R]]
chunk.program @shifted {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %k_back1 = chunk.initial "k_back1" : tensor<3xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  %h = chunk.held %k[1], %k_back1 : tensor<8x3xf32>, tensor<3xf32>
  %p = chunk.previous %h, %k : tensor<3xf32>, tensor<8x3xf32>
  %r = chunk.map add %k, %p : tensor<8x3xf32>, tensor<8x3xf32>
  %S1 = chunk.advance %S, %v, %r : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  chunk.next %S, %S1 : tensor<2x3xf32>
}

// -----

// What keeps its states has the same in front, and keeps them where they are carried.
// CHECK-LABEL: chunk.program @keeping_prologue {} chunk 8 {
// CHECK: chunk.give "prologue.0" rounded
// CHECK-LABEL: chunk.program @keeping {} chunk 8 keeps {
// CHECK: chunk.take "prologue.0" rounded
// CHECK: chunk.state "S"
chunk.program @keeping {} chunk 8 keeps {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %k_back1 = chunk.initial "k_back1" : tensor<3xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  %h = chunk.held %k[1], %k_back1 : tensor<8x3xf32>, tensor<3xf32>
  %p = chunk.previous %h, %k : tensor<3xf32>, tensor<8x3xf32>
  %r = chunk.map add %k, %p : tensor<8x3xf32>, tensor<8x3xf32>
  %S1 = chunk.advance %S, %v, %r : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  chunk.next %S, %S1 : tensor<2x3xf32>
}

// -----

// A number times a row is the two; numbers of tokens are made here too, and those of decays as they are. Steps of decays that
// are rows stay where they are needed, made of what came and not of what is rounded.
// CHECK-LABEL: chunk.program @gated_prologue {} chunk 8 {
// CHECK-DAG: chunk.give "prologue.{{[0-9]}}" rounded %{{.*}} : tensor<8x3xf32>
// CHECK-DAG: %[[B:.*]] = chunk.map sigmoid %b : tensor<8xf32>
// CHECK-DAG: chunk.give "prologue.{{[0-9]}}" %[[B]] : tensor<8xf32>
// CHECK-NOT: rounded
// CHECK-LABEL: chunk.program @gated {} chunk 8 {
// CHECK-DAG: %[[R:.*]] = chunk.take "prologue.{{[0-9]}}" rounded : tensor<8x3xf32>
// CHECK-DAG: %[[N:.*]] = chunk.take "prologue.{{[0-9]}}" : tensor<8xf32>
// CHECK-DAG: %[[P:.*]] = chunk.previous %{{.*}}, %k
// CHECK-DAG: %[[SUM:.*]] = chunk.map add %k, %[[P]]
// CHECK-DAG: %[[G:.*]] = chunk.map neg %[[SUM]]
// CHECK: chunk.cumulative_decay total log(%[[G]])
// CHECK: %[[W:.*]] = chunk.map mul %[[N]], %[[R]]
// CHECK: chunk.advance %S, %v, %[[W]]
chunk.program @gated {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %b = chunk.input "b" : tensor<8xf32>
  %k_back1 = chunk.initial "k_back1" : tensor<3xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  %h = chunk.held %k[1], %k_back1 : tensor<8x3xf32>, tensor<3xf32>
  %p = chunk.previous %h, %k : tensor<3xf32>, tensor<8x3xf32>
  %r = chunk.map add %k, %p : tensor<8x3xf32>, tensor<8x3xf32>
  %g = chunk.map neg %r : tensor<8x3xf32>
  %d = chunk.cumulative_decay total log(%g) : tensor<8x3xf32>
  %n = chunk.map sigmoid %b : tensor<8xf32>
  %w = chunk.map mul %n, %r : tensor<8xf32>, tensor<8x3xf32>
  %S1 = chunk.advance %S, %v, %w columns(%d : tensor<1x3xf32>) : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  chunk.next %S, %S1 : tensor<2x3xf32>
}

// -----

// Functions of one token's rows stay with what takes them.
// CHECK-LABEL: chunk.program @plain {} chunk 8 {
// CHECK-NOT: chunk.take
chunk.program @plain {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  %r = chunk.map exp %k : tensor<8x3xf32>
  %S1 = chunk.advance %S, %v, %r : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  chunk.next %S, %S1 : tensor<2x3xf32>
}

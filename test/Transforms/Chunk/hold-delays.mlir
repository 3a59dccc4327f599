// RUN: recur-opt %s --split-input-file --chunk-hold-delays | FileCheck %s
// RUN: recur-opt %s --split-input-file --chunk-hold-delays --chunk-lead-states --canonicalize | FileCheck %s --check-prefix=LEADS

// What the gradient takes of a delay of an input is in the input's array, and of nothing else is it found there: the
// delay of what is computed is kept, and so is the sum.
// CHECK-LABEL: chunk.program @delays {} chunk 8 {
// CHECK-LABEL: chunk.program @delays_gradient {} chunk 8 backward {
// CHECK-NEXT: %x = chunk.input "x" : tensor<8x3xf32>
// CHECK-NEXT: %cotangent.o = chunk.input "cotangent.o" : tensor<8x3xf32>
// CHECK-NEXT: %one = chunk.initial "one" : tensor<3xf32>
// CHECK-NEXT: %[[ONE:.*]] = chunk.held %x[1], %one : tensor<8x3xf32>, tensor<3xf32>
// CHECK-NEXT: %two = chunk.initial "two" : tensor<3xf32>
// CHECK-NEXT: %[[TWO:.*]] = chunk.held %x[2], %two : tensor<8x3xf32>, tensor<3xf32>
// CHECK-NEXT: chunk.kept "made"
// CHECK-NEXT: chunk.kept "sum"
// CHECK-NEXT: %[[BACK:.*]] = chunk.previous %[[ONE]], %x
// CHECK-NEXT: chunk.previous %[[TWO]], %[[BACK]]

// Nor does the program that keeps states carry these; it leaves what it did of the others.
// LEADS-LABEL: chunk.program @delays_states_held {} chunk 2 {
// LEADS: chunk.state "one"
// LEADS-LABEL: chunk.program @delays_states_carry {} chunk 8 keeps {
// LEADS-NOT: chunk.state "one"
// LEADS: chunk.state "made"
// LEADS: chunk.state "sum"
// LEADS-NOT: chunk.program @delays_states {
chunk.program @delays {} chunk 8 {
  %x = chunk.input "x" : tensor<8x3xf32>
  %one = chunk.state "one" : tensor<3xf32>
  %two = chunk.state "two" : tensor<3xf32>
  %made = chunk.state "made" : tensor<3xf32>
  %sum = chunk.state "sum" : tensor<3xf32>
  %x1 = chunk.previous %one, %x : tensor<3xf32>, tensor<8x3xf32>
  %x2 = chunk.previous %two, %x1 : tensor<3xf32>, tensor<8x3xf32>
  %square = chunk.map mul %x, %x : tensor<8x3xf32>, tensor<8x3xf32>
  %square1 = chunk.previous %made, %square : tensor<3xf32>, tensor<8x3xf32>
  %product = chunk.map mul %x2, %square1 : tensor<8x3xf32>, tensor<8x3xf32>
  %all, %last = chunk.scan %sum, %product : tensor<3xf32>, tensor<8x3xf32>
  chunk.output "o" %all : tensor<8x3xf32>
  %one1 = chunk.last %x : tensor<8x3xf32>
  chunk.next %one, %one1 : tensor<3xf32>
  %two1 = chunk.last %x1 : tensor<8x3xf32>
  chunk.next %two, %two1 : tensor<3xf32>
  %made1 = chunk.last %square : tensor<8x3xf32>
  chunk.next %made, %made1 : tensor<3xf32>
  chunk.next %sum, %last : tensor<3xf32>
}
chunk.program @delays_states {} chunk 8 keeps {
  %x = chunk.input "x" : tensor<8x3xf32>
  %one = chunk.state "one" : tensor<3xf32>
  %two = chunk.state "two" : tensor<3xf32>
  %made = chunk.state "made" : tensor<3xf32>
  %sum = chunk.state "sum" : tensor<3xf32>
  %x1 = chunk.previous %one, %x : tensor<3xf32>, tensor<8x3xf32>
  %x2 = chunk.previous %two, %x1 : tensor<3xf32>, tensor<8x3xf32>
  %square = chunk.map mul %x, %x : tensor<8x3xf32>, tensor<8x3xf32>
  %square1 = chunk.previous %made, %square : tensor<3xf32>, tensor<8x3xf32>
  %product = chunk.map mul %x2, %square1 : tensor<8x3xf32>, tensor<8x3xf32>
  %all, %last = chunk.scan %sum, %product : tensor<3xf32>, tensor<8x3xf32>
  %one1 = chunk.last %x : tensor<8x3xf32>
  chunk.next %one, %one1 : tensor<3xf32>
  %two1 = chunk.last %x1 : tensor<8x3xf32>
  chunk.next %two, %two1 : tensor<3xf32>
  %made1 = chunk.last %square : tensor<8x3xf32>
  chunk.next %made, %made1 : tensor<3xf32>
  chunk.next %sum, %last : tensor<3xf32>
}
chunk.program @delays_gradient {} chunk 8 backward {
  %one = chunk.kept "one" : tensor<3xf32>
  %two = chunk.kept "two" : tensor<3xf32>
  %made = chunk.kept "made" : tensor<3xf32>
  %sum = chunk.kept "sum" : tensor<3xf32>
  %x = chunk.input "x" : tensor<8x3xf32>
  %x1 = chunk.previous %one, %x : tensor<3xf32>, tensor<8x3xf32>
  %x2 = chunk.previous %two, %x1 : tensor<3xf32>, tensor<8x3xf32>
  %made1 = chunk.previous %made, %x2 : tensor<3xf32>, tensor<8x3xf32>
  %all, %last = chunk.scan %sum, %made1 : tensor<3xf32>, tensor<8x3xf32>
  %c = chunk.input "cotangent.o" : tensor<8x3xf32>
  %g = chunk.map mul %c, %all : tensor<8x3xf32>, tensor<8x3xf32>
  chunk.output "gradient.x" %g : tensor<8x3xf32>
}

// -----

// A window that a loop moves by one is in the array too, and rows side by side are where each of them is.
// CHECK-LABEL: chunk.program @more_gradient {} chunk 8 backward {
// CHECK: %both = chunk.initial "both" : tensor<5xf32>
// CHECK: chunk.held %x[1], %{{.*}} : tensor<8x3xf32>, tensor<3xf32>
// CHECK: chunk.held %y[1], %{{.*}} : tensor<8x2xf32>, tensor<2xf32>
// CHECK: %w = chunk.initial "w" : tensor<10x3xf32>
// CHECK: chunk.held %x[10], %w : tensor<8x3xf32>, tensor<10x3xf32>
chunk.program @more {} chunk 8 {
  %x = chunk.input "x" : tensor<8x3xf32>
  %y = chunk.input "y" : tensor<8x2xf32>
  %both = chunk.state "both" : tensor<5xf32>
  %w = chunk.state "w" : tensor<10x3xf32>
  %rows = chunk.concat %x, %y : tensor<8x3xf32>, tensor<8x2xf32> to tensor<8x5xf32>
  %before = chunk.previous %both, %rows : tensor<5xf32>, tensor<8x5xf32>
  chunk.output "p" %before : tensor<8x5xf32>
  %last = chunk.last %rows : tensor<8x5xf32>
  chunk.next %both, %last : tensor<5xf32>
  %second, %next = chunk.token_loop (%row = %x : tensor<8x3xf32>) carry (%held = %w : tensor<10x3xf32>) -> (tensor<8x3xf32>, tensor<10x3xf32>) {
    %found = chunk.extract %held[1] : tensor<1x10x3xf32>
    %kept = chunk.slice %held[1 for 9] : tensor<1x10x3xf32>
    %moved = chunk.concat %kept, %row : tensor<1x9x3xf32>, tensor<1x3xf32> to tensor<1x10x3xf32>
    chunk.yield %found, %moved : tensor<1x3xf32>, tensor<1x10x3xf32>
  }
  chunk.output "q" %second : tensor<8x3xf32>
  chunk.next %w, %next : tensor<10x3xf32>
}
chunk.program @more_states {} chunk 8 keeps {
  %w = chunk.state "w" : tensor<10x3xf32>
  chunk.next %w, %w : tensor<10x3xf32>
}
chunk.program @more_gradient {} chunk 8 backward {
  %x = chunk.input "x" : tensor<8x3xf32>
  %y = chunk.input "y" : tensor<8x2xf32>
  %both = chunk.kept "both" : tensor<5xf32>
  %rows = chunk.concat %x, %y : tensor<8x3xf32>, tensor<8x2xf32> to tensor<8x5xf32>
  %before = chunk.previous %both, %rows : tensor<5xf32>, tensor<8x5xf32>
  %w = chunk.kept "w" : tensor<10x3xf32>
  %second, %next = chunk.token_loop (%row = %x : tensor<8x3xf32>) carry (%held = %w : tensor<10x3xf32>) -> (tensor<8x3xf32>, tensor<10x3xf32>) {
    %found = chunk.extract %held[1] : tensor<1x10x3xf32>
    %kept = chunk.slice %held[1 for 9] : tensor<1x10x3xf32>
    %moved = chunk.concat %kept, %row : tensor<1x9x3xf32>, tensor<1x3xf32> to tensor<1x10x3xf32>
    chunk.yield %found, %moved : tensor<1x3xf32>, tensor<1x10x3xf32>
  }
  chunk.output "gradient.x" %second : tensor<8x3xf32>
  %c = chunk.input "cotangent.p" : tensor<8x5xf32>
  %g = chunk.map mul %c, %before : tensor<8x5xf32>, tensor<8x5xf32>
  chunk.output "gradient.p" %g : tensor<8x5xf32>
}

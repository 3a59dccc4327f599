// RUN: recur-opt %s --split-input-file --chunk-lead-states --canonicalize | FileCheck %s
// RUN: recur-opt %s --split-input-file --chunk-lead-states --canonicalize --chunk-separate-states --canonicalize --chunk-phases | FileCheck %s --check-prefix=PHASES

// A state that writes are scaled with is found ahead; what is left of the program has the other state.
// CHECK-LABEL: chunk.program @scaled_ahead {} chunk 8 {
// CHECK-NOT: chunk.input "v"
// CHECK: %[[LOCAL:.*]], %[[LAST:.*]] = chunk.scan %{{.*}}, %k decay log(%g : tensor<8xf32>) : tensor<3xf32>, tensor<8x3xf32>
// CHECK: %[[ROW:.*]] = chunk.reshape_state %[[LAST]] : tensor<3xf32> to tensor<1x3xf32>
// CHECK: chunk.give "A.offset" %[[ROW]] : tensor<1x3xf32>
// CHECK: %[[TOTAL:.*]] = chunk.cumulative_decay total log(%g) : tensor<8xf32>
// CHECK: chunk.give "A.map" %[[TOTAL]] : tensor<1xf32>
// CHECK-LABEL: chunk.program @scaled_carry {} chunk 8 {
// CHECK: %A = chunk.state "A" : tensor<3xf32>
// CHECK: %[[OFFSET:.*]] = chunk.take "A.offset" : tensor<1x3xf32>
// CHECK: %[[MAP:.*]] = chunk.take "A.map" : tensor<1xf32>
// CHECK: %{{.*}}, %[[NEXT:.*]] = chunk.scan %A, %[[OFFSET]] decay linear(%[[MAP]] : tensor<1xf32>) : tensor<3xf32>, tensor<1x3xf32>
// CHECK: chunk.next %A, %[[NEXT]] : tensor<3xf32>
// CHECK: chunk.give "A" whole %A : tensor<3xf32>
// CHECK-LABEL: chunk.program @scaled {} chunk 8 {
// CHECK: %A = chunk.take "A" whole : tensor<3xf32>
// CHECK: %S = chunk.state "S" : tensor<2x3xf32>
// CHECK: chunk.scan %A, %k

// Keys that the scan makes are made once, early; the late phase takes them.
// PHASES-LABEL: chunk.program @scaled_early {} chunk 8
// PHASES: %A = chunk.take "A" whole : tensor<3xf32>
// PHASES: %[[ALL:.*]], %{{.*}} = chunk.scan %A, %k
// PHASES: chunk.give "0" %[[ALL]] : tensor<8x3xf32>
// PHASES-LABEL: chunk.program @scaled_chain {} chunk 8
// PHASES-NOT: chunk.scan
// PHASES-LABEL: chunk.program @scaled_late {} chunk 8
// PHASES-NOT: chunk.scan
// PHASES: chunk.interaction %q, %_0 inclusive
chunk.program @scaled {} chunk 8 {
  %q = chunk.input "q" : tensor<8x3xf32>
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %g = chunk.input "g" : tensor<8xf32>
  %A = chunk.state "A" : tensor<3xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  %all, %last = chunk.scan %A, %k decay log(%g : tensor<8xf32>) : tensor<3xf32>, tensor<8x3xf32>
  %S1 = chunk.advance %S, %v, %all : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  %past = chunk.read %q, %S : tensor<8x3xf32>, tensor<2x3xf32>
  %L = chunk.interaction %q, %all inclusive : tensor<8x3xf32>, tensor<8x3xf32>
  %present = chunk.apply %L, %v : tensor<8x8xf32>, tensor<8x2xf32>
  %o = chunk.map add %past, %present : tensor<8x2xf32>, tensor<8x2xf32>
  chunk.output "o" %o : tensor<8x2xf32>
  chunk.next %A, %last : tensor<3xf32>
  chunk.next %S, %S1 : tensor<2x3xf32>
}

// -----

// A running maximum moves by the sum of the chunk's shifts; without other states, all chunks are apart.
// CHECK-LABEL: chunk.program @highest_ahead {} chunk 8 {
// CHECK: %[[SHIFTS:.*]] = chunk.map min %f, %{{.*}} : tensor<8xf32>, tensor<1xf32>
// CHECK: chunk.tropical_scan %{{.*}}, %[[SHIFTS]], %i : tensor<f32>, tensor<8xf32>, tensor<8xf32>
// CHECK: chunk.give "m.offset"
// CHECK: chunk.scan %{{.*}}, %f : tensor<f32>, tensor<8xf32>
// CHECK: chunk.give "m.map"
// CHECK-LABEL: chunk.program @highest_carry {} chunk 8 {
// CHECK: %[[OFFSET:.*]] = chunk.take "m.offset" : tensor<1xf32>
// CHECK: %[[MAP:.*]] = chunk.take "m.map" : tensor<1xf32>
// CHECK: chunk.tropical_scan %m, %[[MAP]], %[[OFFSET]] : tensor<f32>, tensor<1xf32>, tensor<1xf32>
// CHECK-LABEL: chunk.program @highest {} chunk 8 {
// CHECK-NOT: chunk.state
// CHECK: chunk.output "o"
chunk.program @highest {} chunk 8 {
  %f = chunk.input "f" : tensor<8xf32>
  %i = chunk.input "i" : tensor<8xf32>
  %m = chunk.state "m" : tensor<f32>
  %all, %last = chunk.tropical_scan %m, %f, %i : tensor<f32>, tensor<8xf32>, tensor<8xf32>
  chunk.output "o" %all : tensor<8xf32>
  chunk.next %m, %last : tensor<f32>
}

// -----

// A state that is the soft minimum of all begins at what leaves every number as it is, and goes on as a soft minimum.
// CHECK-LABEL: chunk.program @lowest_ahead {} chunk 8 {
// CHECK: %[[NONE:.*]] = chunk.constant 0x7FF0000000000000 : tensor<1xf32>
// CHECK: %[[START:.*]] = chunk.reshape_state %[[NONE]] : tensor<1xf32> to tensor<f32>
// CHECK: %[[SHIFTS:.*]] = chunk.map max %f, %{{.*}} : tensor<8xf32>, tensor<1xf32>
// CHECK: chunk.tropical_scan %[[START]], %[[SHIFTS]], %i as soft_min : tensor<f32>, tensor<8xf32>, tensor<8xf32>
// CHECK-LABEL: chunk.program @lowest_carry {} chunk 8 {
// CHECK: %[[OFFSET:.*]] = chunk.take "m.offset" : tensor<1xf32>
// CHECK: %[[MAP:.*]] = chunk.take "m.map" : tensor<1xf32>
// CHECK: chunk.tropical_scan %m, %[[MAP]], %[[OFFSET]] as soft_min : tensor<f32>, tensor<1xf32>, tensor<1xf32>
chunk.program @lowest {} chunk 8 {
  %f = chunk.input "f" : tensor<8xf32>
  %i = chunk.input "i" : tensor<8xf32>
  %m = chunk.state "m" : tensor<f32>
  %all, %last = chunk.tropical_scan %m, %f, %i as soft_min : tensor<f32>, tensor<8xf32>, tensor<8xf32>
  chunk.output "o" %all : tensor<8xf32>
  chunk.next %m, %last : tensor<f32>
}

// -----

// A state that another one enters leads behind that one; a matrix stays.
// CHECK-LABEL: chunk.program @fed_ahead {} chunk 8 {
// CHECK-NOT: "B.offset"
// CHECK-LABEL: chunk.program @fed_carry {} chunk 8 {
// CHECK-LABEL: chunk.program @fed_ahead2 {} chunk 8 {
// CHECK-NOT: "y"
// CHECK: %A = chunk.take "A" whole
// CHECK: chunk.give "B.offset"
// CHECK-LABEL: chunk.program @fed_carry2 {} chunk 8 {
// CHECK: chunk.give "B" whole
// CHECK-LABEL: chunk.program @fed {} chunk 8 {
// CHECK: %A = chunk.take "A" whole
// CHECK: %B = chunk.take "B" whole
// CHECK: %M = chunk.state "M"
chunk.program @fed {} chunk 8 {
  %x = chunk.input "x" : tensor<8x3xf32>
  %y = chunk.input "y" : tensor<8x2x3xf32>
  %A = chunk.state "A" : tensor<3xf32>
  %B = chunk.state "B" : tensor<3xf32>
  %M = chunk.state "M" : tensor<2x3xf32>
  %all, %last = chunk.scan %A, %x : tensor<3xf32>, tensor<8x3xf32>
  %more, %end = chunk.scan %B, %all : tensor<3xf32>, tensor<8x3xf32>
  %wide, %matrix = chunk.scan %M, %y : tensor<2x3xf32>, tensor<8x2x3xf32>
  chunk.output "o" %more : tensor<8x3xf32>
  chunk.output "w" %wide : tensor<8x2x3xf32>
  chunk.next %A, %last : tensor<3xf32>
  chunk.next %B, %end : tensor<3xf32>
  chunk.next %M, %matrix : tensor<2x3xf32>
}

// -----

// What it solves with depends on A, and nothing of S decays: none leads.
// CHECK-LABEL: chunk.program @summed {} chunk 8 {
// CHECK: %A = chunk.state "A"
// CHECK-NOT: chunk.take
// PHASES-LABEL: chunk.program @summed {} chunk 8 {
// PHASES-NOT: chunk.take
chunk.program @summed {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %A = chunk.state "A" : tensor<3xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  %all, %last = chunk.scan %A, %k : tensor<3xf32>, tensor<8x3xf32>
  %L = chunk.interaction %k, %all strict : tensor<8x3xf32>, tensor<8x3xf32>
  %x = chunk.read %k, %S : tensor<8x3xf32>, tensor<2x3xf32>
  %y = chunk.map sub %v, %x : tensor<8x2xf32>, tensor<8x2xf32>
  %u = chunk.solve %L, %y : tensor<8x8xf32>, tensor<8x2xf32>
  %S1 = chunk.advance %S, %u, %all : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  chunk.output "o" %x : tensor<8x2xf32>
  chunk.next %A, %last : tensor<3xf32>
  chunk.next %S, %S1 : tensor<2x3xf32>
}

// -----

// What a token before had of an input is in the input's array, and what the states become in the end follows from the last
// tokens: a program of its own holds them, as many tokens at a time as the oldest is old.
// CHECK-LABEL: chunk.program @delays_held {} chunk 2 {
// CHECK-DAG: %one = chunk.state "one" : tensor<3xf32>
// CHECK-DAG: %two = chunk.state "two" : tensor<3xf32>
// CHECK: %[[LAST:.*]] = chunk.last %x : tensor<2x3xf32>
// CHECK: chunk.next %one, %[[LAST]]
// CHECK: %[[BEFORE:.*]] = chunk.previous %one, %x : tensor<3xf32>, tensor<2x3xf32>
// CHECK: %[[LAST:.*]] = chunk.last %[[BEFORE]] : tensor<2x3xf32>
// CHECK: chunk.next %two, %[[LAST]]
// CHECK-LABEL: chunk.program @delays {} chunk 8 {
// CHECK: %one = chunk.initial "one" : tensor<3xf32>
// CHECK: %[[ONE:.*]] = chunk.held %x[1], %one : tensor<8x3xf32>, tensor<3xf32>
// CHECK: %two = chunk.initial "two" : tensor<3xf32>
// CHECK: %[[TWO:.*]] = chunk.held %x[2], %two : tensor<8x3xf32>, tensor<3xf32>
// CHECK: %[[BEFORE:.*]] = chunk.previous %[[ONE]], %x
// CHECK: chunk.previous %[[TWO]], %[[BEFORE]]
// CHECK-NOT: chunk.last
chunk.program @delays {} chunk 8 {
  %x = chunk.input "x" : tensor<8x3xf32>
  %one = chunk.state "one" : tensor<3xf32>
  %two = chunk.state "two" : tensor<3xf32>
  %before = chunk.previous %one, %x : tensor<3xf32>, tensor<8x3xf32>
  %before_that = chunk.previous %two, %before : tensor<3xf32>, tensor<8x3xf32>
  %last = chunk.last %x : tensor<8x3xf32>
  %last_before = chunk.last %before : tensor<8x3xf32>
  chunk.output "o" %before_that : tensor<8x3xf32>
  chunk.next %one, %last : tensor<3xf32>
  chunk.next %two, %last_before : tensor<3xf32>
}

// -----

// What is computed is in no array, so its last rows are carried on. What tokens before had is the chunk's own, unless it has too
// few tokens: then it is another state, as it is and not multiplied by a number, for it may be none.
// CHECK-LABEL: chunk.program @computed_ahead {} chunk 8 {
// CHECK: %[[LAST:.*]] = chunk.last %{{.*}} : tensor<8x3xf32>
// CHECK: chunk.give "one.offset"
// CHECK: chunk.last %{{.*}} : tensor<8x3xf32>
// CHECK: chunk.give "two.offset"
// CHECK: %[[FIRST:.*]] = chunk.previous %{{.*}}, %{{.*}} : tensor<f32>, tensor<8xf32>
// CHECK: chunk.last %[[FIRST]] : tensor<8xf32>
// CHECK: chunk.give "tokens.1" %{{.*}} : tensor<1xf32>
// CHECK-LABEL: chunk.program @computed_carry {} chunk 8 {
// CHECK-DAG: %one = chunk.state "one" : tensor<3xf32>
// CHECK-DAG: %two = chunk.state "two" : tensor<3xf32>
// CHECK: %[[O:.*]] = chunk.take "one.offset" : tensor<1x3xf32>
// CHECK: chunk.give "one" whole %one : tensor<3xf32>
// CHECK: %[[T:.*]] = chunk.take "two.offset" : tensor<1x3xf32>
// CHECK: %[[N:.*]] = chunk.take "tokens.1" : tensor<1xf32>
// CHECK: %[[S:.*]] = chunk.reshape_state %one : tensor<3xf32> to tensor<1x3xf32>
// CHECK: chunk.map select %[[N]], %[[S]], %[[T]]
// CHECK: chunk.give "two" whole %two : tensor<3xf32>
// CHECK-LABEL: chunk.program @computed {} chunk 8 {
// CHECK-NOT: chunk.state
// CHECK: %one = chunk.take "one" whole : tensor<3xf32>
// PHASES-LABEL: chunk.program @computed_carry {} chunk 8 {
// PHASES-NOT: chunk.program @computed_carry_
chunk.program @computed {} chunk 8 {
  %x = chunk.input "x" : tensor<8x3xf32>
  %y = chunk.map exp %x : tensor<8x3xf32>
  %one = chunk.state "one" : tensor<3xf32>
  %two = chunk.state "two" : tensor<3xf32>
  %before = chunk.previous %one, %y : tensor<3xf32>, tensor<8x3xf32>
  %before_that = chunk.previous %two, %before : tensor<3xf32>, tensor<8x3xf32>
  %last = chunk.last %y : tensor<8x3xf32>
  %last_before = chunk.last %before : tensor<8x3xf32>
  chunk.output "o" %before_that : tensor<8x3xf32>
  chunk.next %one, %last : tensor<3xf32>
  chunk.next %two, %last_before : tensor<3xf32>
}

// -----

// Rows that are made of what leads are found in a second round, once that is there: of each chunk its last one alone, and
// of what makes it only that row. Flags of chunks that are too short have the round's name.
// CHECK-LABEL: chunk.program @turned_carry {} chunk 8 {
// CHECK-LABEL: chunk.program @turned_ahead2 {} chunk 8 {
// CHECK-NOT: chunk.state
// CHECK: %a = chunk.take "a" whole : tensor<2xf32>
// CHECK: %[[ALL:.*]], %{{.*}} = chunk.scan %a, %w
// CHECK: %[[LASTX:.*]] = chunk.last %x : tensor<8x4xf32>
// CHECK: %[[ROW:.*]] = chunk.reshape_state %[[LASTX]]
// CHECK: %[[PART:.*]] = chunk.slice %[[ROW]][2 for 2] : tensor<1x4xf32>
// CHECK: %[[LASTA:.*]] = chunk.last %[[ALL]] : tensor<8x2xf32>
// CHECK: %[[ANGLE:.*]] = chunk.reshape_state %[[LASTA]]
// CHECK: %[[COS:.*]] = chunk.map cos %[[ANGLE]] : tensor<1x2xf32>
// CHECK: chunk.map mul %[[PART]], %[[COS]] : tensor<1x2xf32>, tensor<1x2xf32>
// CHECK: chunk.give "one.offset"
// CHECK: chunk.give "two.offset"
// CHECK: chunk.give "tokens2.1"
// CHECK-LABEL: chunk.program @turned_carry2 {} chunk 8 {
// CHECK: chunk.take "tokens2.1" : tensor<1xf32>
// CHECK-LABEL: chunk.program @turned {} chunk 8 {
// CHECK-DAG: chunk.take "one" whole : tensor<2xf32>
// CHECK-DAG: chunk.take "two" whole : tensor<2xf32>
// CHECK-DAG: chunk.state "S"
// CHECK-NOT: _vectors
chunk.program @turned {} chunk 8 {
  %x = chunk.input "x" : tensor<8x4xf32>
  %w = chunk.input "w" : tensor<8x2xf32>
  %v = chunk.input "v" : tensor<8x3xf32>
  %a = chunk.state "a" : tensor<2xf32>
  %one = chunk.state "one" : tensor<2xf32>
  %two = chunk.state "two" : tensor<2xf32>
  %S = chunk.state "S" : tensor<3x2xf32>
  %all, %last = chunk.scan %a, %w : tensor<2xf32>, tensor<8x2xf32>
  %part = chunk.slice %x[2 for 2] : tensor<8x4xf32>
  %cos = chunk.map cos %all : tensor<8x2xf32>
  %key = chunk.map mul %part, %cos : tensor<8x2xf32>, tensor<8x2xf32>
  %before = chunk.previous %one, %key : tensor<2xf32>, tensor<8x2xf32>
  %before_that = chunk.previous %two, %before : tensor<2xf32>, tensor<8x2xf32>
  %last_key = chunk.last %key : tensor<8x2xf32>
  %last_before = chunk.last %before : tensor<8x2xf32>
  %S1 = chunk.advance %S, %v, %before_that : tensor<3x2xf32>, tensor<8x3xf32>, tensor<8x2xf32>
  %o = chunk.read %key, %S : tensor<8x2xf32>, tensor<3x2xf32>
  chunk.output "o" %o : tensor<8x3xf32>
  chunk.next %a, %last : tensor<2xf32>
  chunk.next %one, %last_key : tensor<2xf32>
  chunk.next %two, %last_before : tensor<2xf32>
  chunk.next %S, %S1 : tensor<3x2xf32>
}

// -----

// Of rows side by side each input has its own part.
// CHECK-LABEL: chunk.program @parts_held {} chunk 1 {
// CHECK: %[[BOTH:.*]] = chunk.concat %x, %y : tensor<1x3xf32>, tensor<1x2xf32> to tensor<1x5xf32>
// CHECK: chunk.last %[[BOTH]]
// CHECK-LABEL: chunk.program @parts {} chunk 8 {
// CHECK: %[[FIRST:.*]] = chunk.reshape_state %one : tensor<5xf32> to tensor<1x5xf32>
// CHECK: %[[X:.*]] = chunk.slice %[[FIRST]][0 for 3]
// CHECK: %[[XFIRST:.*]] = chunk.reshape_state %[[X]]
// CHECK: %[[XHELD:.*]] = chunk.held %x[1], %[[XFIRST]] : tensor<8x3xf32>, tensor<3xf32>
// CHECK: %[[Y:.*]] = chunk.slice %[[FIRST]][3 for 2]
// CHECK: chunk.held %y[1], %{{.*}} : tensor<8x2xf32>, tensor<2xf32>
// CHECK: chunk.concat %{{.*}}, %{{.*}} : tensor<1x3xf32>, tensor<1x2xf32> to tensor<1x5xf32>
chunk.program @parts {} chunk 8 {
  %x = chunk.input "x" : tensor<8x3xf32>
  %y = chunk.input "y" : tensor<8x2xf32>
  %one = chunk.state "one" : tensor<5xf32>
  %both = chunk.concat %x, %y : tensor<8x3xf32>, tensor<8x2xf32> to tensor<8x5xf32>
  %before = chunk.previous %one, %both : tensor<5xf32>, tensor<8x5xf32>
  %last = chunk.last %both : tensor<8x5xf32>
  chunk.output "o" %before : tensor<8x5xf32>
  chunk.next %one, %last : tensor<5xf32>
}

// -----

// Rows that tokens find in a window of an input's are the input's own of earlier tokens; what says what the window becomes
// has chunks of as many tokens as there are rows. As long as there are no such tokens, rows of the caller's are behind them.
// CHECK-LABEL: chunk.program @window_held {} chunk 16 {
// CHECK: %x = chunk.input "x" stored bf16 : tensor<16x3xf32>
// CHECK: %w = chunk.state "w" : tensor<10x3xf32>
// CHECK: chunk.token_loop (%{{.*}} = %x : tensor<16x3xf32>) carry (%{{.*}} = %w : tensor<10x3xf32>) -> tensor<10x3xf32> {
// CHECK-LABEL: chunk.program @window {} chunk 8 {
// CHECK: %w = chunk.initial "w" : tensor<10x3xf32>
// CHECK: %[[X:.*]] = chunk.input "x" stored bf16 back 9 behind %w : tensor<10x3xf32> : tensor<8x3xf32>
// CHECK-NOT: chunk.token_loop
// CHECK: chunk.output "o" %[[X]]
// CHECK-NOT: chunk.next
// CHECK-LABEL: chunk.program @rows_held
chunk.program @window {} chunk 8 {
  %x = chunk.input "x" stored bf16 : tensor<8x3xf32>
  %w = chunk.state "w" : tensor<10x3xf32>
  %second, %next = chunk.token_loop (%row = %x : tensor<8x3xf32>) carry (%rows = %w : tensor<10x3xf32>) -> (tensor<8x3xf32>, tensor<10x3xf32>) {
    %found = chunk.extract %rows[1] : tensor<1x10x3xf32>
    %kept = chunk.slice %rows[1 for 9] : tensor<1x10x3xf32>
    %moved = chunk.concat %kept, %row : tensor<1x9x3xf32>, tensor<1x3xf32> to tensor<1x10x3xf32>
    chunk.yield %found, %moved : tensor<1x3xf32>, tensor<1x10x3xf32>
  }
  chunk.output "o" %second : tensor<8x3xf32>
  chunk.next %w, %next : tensor<10x3xf32>
}

// -----

// Rows that tokens find together are found in the array as a whole.
// CHECK-LABEL: chunk.program @rows {} chunk 8 {
// CHECK: %w = chunk.initial "w" : tensor<10x3xf32>
// CHECK: %[[HELD:.*]] = chunk.held %x[10], %w : tensor<8x3xf32>, tensor<10x3xf32>
// CHECK: chunk.token_loop (%{{.*}} = %x : tensor<8x3xf32>) carry (%{{.*}} = %[[HELD]] : tensor<10x3xf32>)
// CHECK-NOT: chunk.next
chunk.program @rows {} chunk 8 {
  %x = chunk.input "x" : tensor<8x3xf32>
  %w = chunk.state "w" : tensor<10x3xf32>
  %oldest, %next = chunk.token_loop (%row = %x : tensor<8x3xf32>) carry (%rows = %w : tensor<10x3xf32>) -> (tensor<8x2x3xf32>, tensor<10x3xf32>) {
    %found = chunk.slice %rows[0 for 2] : tensor<1x10x3xf32>
    %kept = chunk.slice %rows[1 for 9] : tensor<1x10x3xf32>
    %moved = chunk.concat %kept, %row : tensor<1x9x3xf32>, tensor<1x3xf32> to tensor<1x10x3xf32>
    chunk.yield %found, %moved : tensor<1x2x3xf32>, tensor<1x10x3xf32>
  }
  chunk.output "o" %oldest : tensor<8x2x3xf32>
  chunk.next %w, %next : tensor<10x3xf32>
}

// -----

// A quotient of two sums for each channel: of its tokens a chunk leaves what zero becomes, and two numbers that say how
// the rest goes.
// CHECK-LABEL: chunk.program @quotient_ahead {} chunk 8 {
// CHECK: %[[ALL:.*]], %[[LAST:.*]] = chunk.moebius_scan %[[ZERO:.*]], (%a, %b) over(%c, %d)
// CHECK: %[[BEFORE:.*]] = chunk.previous %[[ZERO]], %[[ALL]]
// CHECK: %[[MOVED:.*]] = chunk.map mul %c, %[[BEFORE]]
// CHECK: %[[UNDER:.*]] = chunk.map add %[[MOVED]], %d
// CHECK: %[[SLOPES:.*]] = chunk.cumulative_decay before linear(%[[SLOPE:.*]])
// CHECK: chunk.give "P.offset"
// CHECK: %[[TOTAL:.*]] = chunk.cumulative_decay total linear(%[[SLOPE]])
// CHECK: chunk.give "P.map" %[[TOTAL]]
// CHECK: chunk.give "P.curve"
// CHECK-LABEL: chunk.program @quotient_carry {} chunk 8 {
// CHECK: %P = chunk.state "P" : tensor<3xf32>
// CHECK: chunk.take "P.curve" : tensor<1x3xf32>
// CHECK: chunk.give "P" whole %P : tensor<3xf32>
// CHECK-LABEL: chunk.program @quotient {} chunk 8 {
// CHECK: %P = chunk.take "P" whole : tensor<3xf32>
// CHECK: chunk.moebius_scan %P, (%a, %b) over(%c, %d)
chunk.program @quotient {} chunk 8 {
  %q = chunk.input "q" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %a = chunk.input "a" : tensor<8x3xf32>
  %b = chunk.input "b" : tensor<8x3xf32>
  %c = chunk.input "c" : tensor<8x3xf32>
  %d = chunk.input "d" : tensor<8x3xf32>
  %P = chunk.state "P" : tensor<3xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  %all, %last = chunk.moebius_scan %P, (%a, %b) over (%c, %d) : tensor<3xf32>, tensor<8x3xf32>
  %S1 = chunk.advance %S, %v, %all : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  %o = chunk.read %q, %S : tensor<8x3xf32>, tensor<2x3xf32>
  chunk.output "o" %o : tensor<8x2xf32>
  chunk.next %P, %last : tensor<3xf32>
  chunk.next %S, %S1 : tensor<2x3xf32>
}

// -----

// A vector that no scan carries on goes from chunk to chunk by itself, and leaves what it was at the beginning of each.
// CHECK-LABEL: chunk.program @rule_vectors {} chunk 8 {
// CHECK-NOT: chunk.state "S"
// CHECK: %p = chunk.state "p" : tensor<3xf32>
// CHECK-NOT: chunk.output
// CHECK: chunk.next %p
// CHECK: chunk.give "p" whole %p : tensor<3xf32>
// CHECK-LABEL: chunk.program @rule {} chunk 8 {
// CHECK: %p = chunk.take "p" whole : tensor<3xf32>
// CHECK: %S = chunk.state "S" : tensor<2x3xf32>

// What other programs find of it is the chain's.
// PHASES-LABEL: chunk.program @rule_vectors_early {} chunk 8
// PHASES: chunk.interaction %k, %k strict
// PHASES-LABEL: chunk.program @rule_vectors_chain {} chunk 8
// PHASES-NOT: chunk.interaction
// PHASES: chunk.give "p" whole %p : tensor<3xf32>
chunk.program @rule {} chunk 8 {
  %q = chunk.input "q" : tensor<8x3xf32>
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %t = chunk.input "t" : tensor<8x1xf32>
  %p = chunk.state "p" : tensor<3xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  %row = chunk.reshape_state %p : tensor<3xf32> to tensor<1x3xf32>
  %seen = chunk.read %k, %row : tensor<8x3xf32>, tensor<1x3xf32>
  %L = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
  %error = chunk.map sub %t, %seen : tensor<8x1xf32>, tensor<8x1xf32>
  %T = chunk.inverse %L : tensor<8x8xf32>
  %U = chunk.apply %T, %error : tensor<8x8xf32>, tensor<8x1xf32>
  %row1 = chunk.advance %row, %U, %k : tensor<1x3xf32>, tensor<8x1xf32>, tensor<8x3xf32>
  %p1 = chunk.reshape_state %row1 : tensor<1x3xf32> to tensor<3xf32>
  %u = chunk.extract %U[0] : tensor<8x1xf32>
  %written = chunk.map mul %u, %k : tensor<8xf32>, tensor<8x3xf32>
  %all, %last = chunk.scan %p, %written : tensor<3xf32>, tensor<8x3xf32>
  %S1 = chunk.advance %S, %v, %all : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  %o = chunk.read %q, %S : tensor<8x3xf32>, tensor<2x3xf32>
  chunk.output "o" %o : tensor<8x2xf32>
  chunk.next %p, %p1 : tensor<3xf32>
  chunk.next %S, %S1 : tensor<2x3xf32>
}

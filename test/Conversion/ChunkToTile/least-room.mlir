// RUN: recur-opt %s --chunk-advance-last --chunk-decay-reads --convert-chunk-to-tile="threads=256" | FileCheck %s
// RUN: recur-opt %s --chunk-advance-last --chunk-decay-reads --convert-chunk-to-tile="threads=256 gpu=sm_80" | FileCheck %s --check-prefix=WIDE

// The late phase of a gated delta rule's gradient, in the order in which adjoints are built, would take 219 KiB of shared
// memory. In the order that is found two CTAs have room: what takes the states and their cotangents comes first; sums go
// on from each other in registers, and sums of their rows are made there, by the parts that warps have.
// CHECK: tile.kernel @rule required 5 workspace 0 threads 256 shared 115200 {
// CHECK: %[[PARTS:.*]] = tile.alloc at {{.*}} : <64x4xf32, shared, [4, 1]>
// CHECK: tile.alloc : <64x128xf32, registers, [128, 1]>
// CHECK: %[[S:.*]] = tile.alloc at {{.*}} : <128x128xbf16, shared, [136, 1]>
// CHECK: %[[D:.*]] = tile.alloc at {{.*}} : <128x128xbf16, shared, [136, 1]>
// Of the loads that a chunk begins with, those come first that are read first: who waits for one waits for those before it.
// CHECK: scf.parallel
// CHECK: tile.load {{.*}} into %[[G:[0-9]*]] : <?xf32, global>
// CHECK-NEXT: tile.load {{.*}} into %[[K:[0-9]*]] : <?x128xbf16, global>
// CHECK-NEXT: tile.view %[[S]]
// CHECK-NEXT: tile.load
// CHECK-NEXT: tile.load {{.*}} into %[[BETA:[0-9]*]] : <?xf32, global>
// CHECK-NEXT: tile.load {{.*}} into %[[V:[0-9]*]] : <?x128xbf16, global>
// CHECK: tile.load {{.*}} into %[[T:[0-9]*]] : <?x64xbf16, global>
// CHECK-NEXT: tile.scan %[[G]] all
// CHECK: tile.product %[[K]], right_transposed %[[S]]
// CHECK: tile.map %[[BETA]], %[[V]],
// CHECK: tile.product %[[T]],
// CHECK: tile.reduce sum %[[D]], %[[S]] into {{.*}} over [1] of [128, 128]
// CHECK: tile.reduce sum {{.*}} : !tile.tile<64x128xf32, registers, [128, 1]>
// CHECK: tile.product transposed {{.*}} plus %[[DK:.*]] left_triangle [1, 1] {{.*}} into <64x128xf32, registers, [128, 1]>

// Where a multiprocessor has less shared memory, a CTA has it alone, and has twice the threads. So there are as many parts
// of rows of 64 columns too.
// WIDE: tile.kernel @rule required 5 workspace 0 threads 512 shared {{.*}} gpu "sm_80" {
// Such a CTA makes numbers of the tokens where its threads meet anyway: what needs a running sum stands behind the first
// product, and of the sums of rows the parts are added up beside products, and then scanned beside others.
// WIDE: tile.scan %{{[0-9]*}} all %[[SUMS:[0-9]*]] last %[[LAST:[0-9]*]]
// WIDE-NOT: tile.map
// WIDE: tile.product
// WIDE-NEXT: tile.map %[[SUMS]]
// WIDE: tile.map %[[LAST]]
// WIDE: tile.reduce sum {{.*}} into %[[OF_ROWS:[0-9]*]] {{.*}} : !tile.tile<64x128xf32, registers, [128, 1]>
// WIDE: tile.reduce sum %[[OF_ROWS]] into %[[TOTALS:[0-9]*]]
// WIDE: tile.product
// WIDE: tile.map %[[TOTALS]], %{{[0-9]*}} into %[[SCALED:[0-9]*]]
// WIDE: tile.product
// WIDE: tile.scan %[[SCALED]] initial
// WIDE: tile.reduce sum {{.*}} : !tile.tile<64x64xf32, registers, [64, 1]>{{.*}} into <64x4xf32, shared, [4, 1]>
chunk.program @rule {} chunk 64 backward factors bf16 {
  %_0 = chunk.take "0" rounded triangle [1, 1] : tensor<64x64xf32>
  %gradient.S = chunk.take "gradient.S" whole rounded : tensor<128x128xf32>
  %_8 = chunk.take "8" rounded : tensor<64x128xf32>
  %0 = chunk.constant 1.000000e+00 : tensor<64xf32>
  %1 = chunk.constant 0.000000e+00 : tensor<1xf32>
  %2 = chunk.constant 1.000000e+00 : tensor<1x128xf32>
  %3 = chunk.constant 1.000000e+00 : tensor<64x1xf32>
  %4 = chunk.constant 0.088388347648318433 : tensor<1xf32>
  %q = chunk.input "q" shared stored bf16 : tensor<64x128xf32>
  %k = chunk.input "k" shared stored bf16 : tensor<64x128xf32>
  %v = chunk.input "v" stored bf16 : tensor<64x128xf32>
  %g = chunk.input "g" : tensor<64xf32>
  %beta = chunk.input "beta" : tensor<64xf32>
  %S = chunk.kept "S" : tensor<128x128xf32>
  %5 = chunk.cumulative_decay through log(%g) : tensor<64xf32>
  %6 = chunk.read %k, %S : tensor<64x128xf32>, tensor<128x128xf32>
  %7 = chunk.map mul %5, %6 : tensor<64xf32>, tensor<64x128xf32>
  %8 = chunk.map sub %v, %7 : tensor<64x128xf32>, tensor<64x128xf32>
  %9 = chunk.map mul %beta, %8 : tensor<64xf32>, tensor<64x128xf32>
  %10 = chunk.apply %_0, %9 : tensor<64x64xf32>, tensor<64x128xf32>
  %11 = chunk.cumulative_decay total log(%g) : tensor<64xf32>
  %12 = chunk.cumulative_decay after log(%g) : tensor<64xf32>
  %cotangent.o = chunk.input "cotangent.o" stored bf16 : tensor<64x128xf32>
  %13 = chunk.interaction %cotangent.o, %10 inclusive decay log(%g : tensor<64xf32>) : tensor<64x128xf32>, tensor<64x128xf32>
  %14 = chunk.map mul %4, %13 : tensor<1xf32>, tensor<64x64xf32>
  %15 = chunk.interaction %q, %k inclusive : tensor<64x128xf32>, tensor<64x128xf32>
  %16 = chunk.map mul %14, %15 : tensor<64x64xf32>, tensor<64x64xf32>
  %17 = chunk.interaction %3, %3 inclusive : tensor<64x1xf32>, tensor<64x1xf32>
  %18 = chunk.interaction %3, %3 before : tensor<64x1xf32>, tensor<64x1xf32>
  %19 = chunk.apply_transposed %17, %16 : tensor<64x64xf32>, tensor<64x64xf32>
  %20 = chunk.map dot %18, %19 : tensor<64x64xf32>, tensor<64x64xf32>
  %21 = chunk.apply %14, %k : tensor<64x64xf32>, tensor<64x128xf32>
  %22 = chunk.apply_transposed %14, %q : tensor<64x64xf32>, tensor<64x128xf32>
  %23 = chunk.read left %cotangent.o, %S : tensor<64x128xf32>, tensor<128x128xf32>
  %24 = chunk.map mul %4, %23 : tensor<1xf32>, tensor<64x128xf32>
  %25 = chunk.map dot %24, %q : tensor<64x128xf32>, tensor<64x128xf32>
  %26 = chunk.map mul %24, %5 : tensor<64x128xf32>, tensor<64xf32>
  %27 = chunk.map add %21, %26 : tensor<64x128xf32>, tensor<64x128xf32>
  %28 = chunk.read left %10, %gradient.S : tensor<64x128xf32>, tensor<128x128xf32>
  %29 = chunk.reshape_state %gradient.S : tensor<128x128xf32> to tensor<1x128x128xf32>
  %30 = chunk.reshape_state %S : tensor<128x128xf32> to tensor<1x128x128xf32>
  %31 = chunk.map mul %29, %30 : tensor<1x128x128xf32>, tensor<1x128x128xf32>
  %32 = chunk.map vecmat %2, %31 : tensor<1x128xf32>, tensor<1x128x128xf32>
  %33 = chunk.map sum %32 : tensor<1x128xf32>
  %34 = chunk.map dot %28, %k : tensor<64x128xf32>, tensor<64x128xf32>
  %35 = chunk.map mul %28, %12 : tensor<64x128xf32>, tensor<64xf32>
  %36 = chunk.map add %22, %35 : tensor<64x128xf32>, tensor<64x128xf32>
  %37 = chunk.map mul %34, %12 : tensor<64xf32>, tensor<64xf32>
  %38 = chunk.reshape_state %1 : tensor<1xf32> to tensor<f32>
  %39 = chunk.previous %38, %37 : tensor<f32>, tensor<64xf32>
  %all, %last = chunk.scan %38, %39 : tensor<f32>, tensor<64xf32>
  %40 = chunk.map add %20, %all : tensor<64xf32>, tensor<64xf32>
  %41 = chunk.map mul %33, %11 : tensor<1xf32>, tensor<1xf32>
  %42 = chunk.map mul %41, %0 : tensor<1xf32>, tensor<64xf32>
  %43 = chunk.map add %40, %42 : tensor<64xf32>, tensor<64xf32>
  %44 = chunk.interaction %_8, %10 strict decay log(%g : tensor<64xf32>) : tensor<64x128xf32>, tensor<64x128xf32>
  %45 = chunk.map neg %44 : tensor<64x64xf32>
  %46 = chunk.map dot %_8, %10 : tensor<64x128xf32>, tensor<64x128xf32>
  %47 = chunk.interaction %k, %k strict : tensor<64x128xf32>, tensor<64x128xf32>
  %49 = chunk.map div %46, %beta : tensor<64xf32>, tensor<64xf32>
  %50 = chunk.map mul %45, %beta : tensor<64x64xf32>, tensor<64xf32>
  %51 = chunk.map mul %50, %47 : tensor<64x64xf32>, tensor<64x64xf32>
  %52 = chunk.apply_transposed %17, %51 : tensor<64x64xf32>, tensor<64x64xf32>
  %53 = chunk.map dot %18, %52 : tensor<64x64xf32>, tensor<64x64xf32>
  %54 = chunk.map add %43, %53 : tensor<64xf32>, tensor<64xf32>
  %55 = chunk.apply %50, %k : tensor<64x64xf32>, tensor<64x128xf32>
  %56 = chunk.map add %36, %55 : tensor<64x128xf32>, tensor<64x128xf32>
  %57 = chunk.apply_transposed %50, %k : tensor<64x64xf32>, tensor<64x128xf32>
  %58 = chunk.map add %56, %57 : tensor<64x128xf32>, tensor<64x128xf32>
  %59 = chunk.read left %_8, %S : tensor<64x128xf32>, tensor<128x128xf32>
  %60 = chunk.map mul %beta, %59 : tensor<64xf32>, tensor<64x128xf32>
  %61 = chunk.map neg %60 : tensor<64x128xf32>
  %62 = chunk.map dot %61, %k : tensor<64x128xf32>, tensor<64x128xf32>
  %63 = chunk.map add %25, %62 : tensor<64xf32>, tensor<64xf32>
  %64 = chunk.map mul %61, %5 : tensor<64x128xf32>, tensor<64xf32>
  %65 = chunk.map add %58, %64 : tensor<64x128xf32>, tensor<64x128xf32>
  %66 = chunk.map mul %63, %5 : tensor<64xf32>, tensor<64xf32>
  %all_0, %first = chunk.reverse_scan %38, %66 : tensor<f32>, tensor<64xf32>
  %67 = chunk.map add %54, %all_0 : tensor<64xf32>, tensor<64xf32>
  chunk.output "gradient.q" %27 stored bf16 : tensor<64x128xf32>
  chunk.output "gradient.k" %65 stored bf16 : tensor<64x128xf32>
  chunk.output "gradient.g" %67 : tensor<64xf32>
  chunk.output "gradient.beta" %49 : tensor<64xf32>
}

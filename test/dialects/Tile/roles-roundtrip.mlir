// RUN: recur-opt %s | recur-opt | FileCheck %s
// RUN: recur-opt --mlir-print-op-generic %s | recur-opt | FileCheck %s

!array = !tile.tile<?x128xbf16, global>
!ring = !tile.tile<2x64x128xbf16, shared, [8192, 64, 1], swizzle 128>
!tile = !tile.tile<64x128xbf16, shared, [64, 1], swizzle 128>
!narrow = !tile.tile<64x64xbf16, shared, [64, 1], swizzle 128>
!plain = !tile.tile<64x128xbf16, shared, [128, 1]>
!result = !tile.tile<64x64xf32, registers, [64, 1]>
!factor = !tile.tile<64x128xbf16, registers, [128, 1]>

// CHECK-LABEL: tile.kernel @roles required 1 workspace 49168 {
tile.kernel @roles required 1 workspace 49168 {
^bb0(%x: !array, %y: !array, %tokens: i64):
  %c0 = arith.constant 0 : i64
  %c64 = arith.constant 64 : i64
  %c128 = arith.constant 128 : i64
  // CHECK: tile.alloc at 0 : <2x64x128xbf16, shared, [8192, 64, 1], swizzle 128>
  %ring = tile.alloc at 0 : !ring
  // CHECK: tile.alloc : <64x64xf16, shared, [32, 1], swizzle 64>
  %small = tile.alloc : !tile.tile<64x64xf16, shared, [32, 1], swizzle 64>
  // CHECK: tile.alloc : <8x8xf32, shared, [8, 1], swizzle 32>
  %smallest = tile.alloc : !tile.tile<8x8xf32, shared, [8, 1], swizzle 32>
  %out = tile.alloc at 32768 : !plain
  // CHECK: tile.barriers arrivals 1 at 49152 : <2>
  %full = tile.barriers arrivals 1 at 49152 : <2>
  // CHECK: tile.barriers arrivals 2 : <2>
  %empty = tile.barriers arrivals 2 : <2>
  // CHECK: tile.roles {
  tile.roles {
    // CHECK: tile.role "loads" copies 1 of warp registers 24 {
    tile.role "loads" copies 1 of warp registers 24 {
    ^bb0(%copy: i64):
      // CHECK: tile.wait %{{.*}}[%{{.*}}] phase %{{.*}} : <2>
      tile.wait %empty[%c0] phase %c0 : <2>
      // CHECK: tile.view %{{.*}}[%{{.*}}] offset 0 : <2x64x128xbf16, shared, [8192, 64, 1], swizzle 128> to <64x128xbf16, shared, [64, 1], swizzle 128>
      %tile = tile.view %ring[%c0] offset 0 : !ring to !tile
      // CHECK: tile.fetch %{{.*}}[%{{.*}}, %{{.*}}] of %{{.*}} into %{{.*}} on %{{.*}}[%{{.*}}] : <?x128xbf16, global> into <64x128xbf16, shared, [64, 1], swizzle 128> on <2>
      tile.fetch %x[%c0, %c64] of %tokens into %tile on %full[%c0] : !array into !tile on <2>
      // CHECK: tile.fetch %{{.*}}[%{{.*}}] of %{{.*}} into %{{.*}} on %{{.*}}[%{{.*}}] : <?x128xbf16, global> into <64x128xbf16, shared, [64, 1], swizzle 128> on <2>
      tile.fetch %x[%c0] of %c64 into %tile on %full[%c0] : !array into !tile on <2>
      // CHECK: tile.arrive %{{.*}}[%{{.*}}] expect 16384 : <2>
      tile.arrive %full[%c0] expect 16384 : <2>
      // CHECK: tile.arrive %{{.*}}[%{{.*}}] : <2>
      tile.arrive %full[%c0] : <2>
      // CHECK: tile.send %{{.*}} to %{{.*}}[%{{.*}}] of %{{.*}} : <64x128xbf16, shared, [128, 1]> to <?x128xbf16, global>
      tile.send %out to %y[%c0] of %tokens : !plain to !array
      // CHECK: tile.send %{{.*}} to %{{.*}}[%{{.*}}, %{{.*}}] of %{{.*}} : <64x128xbf16, shared, [128, 1]> to <?x128xbf16, global>
      tile.send %out to %y[%c0, %c64] of %tokens : !plain to !array
      // CHECK: tile.sent pending 1
      tile.sent pending 1
    }
    // CHECK: tile.role "products" copies 2 of warpgroup registers 240 {
    tile.role "products" copies 2 of warpgroup registers 240 {
    ^bb0(%copy: i64):
      // CHECK: tile.alloc : <64x64xf32, registers, [64, 1]>
      %result = tile.alloc : !result
      %factor = tile.alloc : !factor
      %tile = tile.view %ring[%copy] offset 0 : !ring to !tile
      // CHECK: tile.product async %{{.*}}, right_transposed %{{.*}} into %{{.*}} rows %{{.*}} inner %{{.*}} : <64x128xbf16, registers, [128, 1]>
      tile.product async %factor, right_transposed %tile into %result rows %c64 inner %c128 : !factor, !tile into !result
      // CHECK: tile.product %{{.*}}, right_transposed %{{.*}} into %{{.*}} rows %{{.*}} inner %{{.*}} plus %{{.*}} : <64x128xbf16, shared, [64, 1], swizzle 128>
      tile.product %tile, right_transposed %tile into %result rows %c64 inner %c128 plus %result : !tile, !tile into !result plus !result
      // CHECK: tile.settle pending 0
      tile.settle pending 0
      // CHECK: tile.map into %{{.*}} rows %{{.*}} dims [] into <64x64xf32, registers, [64, 1]> {
      tile.map into %result rows %c64 dims [] into !result {
        %zero = arith.constant 0.0 : f32
        tile.yield %zero : f32
      }
      // CHECK: tile.map %{{.*}} into %{{.*}} rows %{{.*}} dims [array<i64: 0, 1>] blocks diagonal 16 : !tile.tile<64x64xf32, registers, [64, 1]> into <64x64xf32, registers, [64, 1]> {
      tile.map %result into %result rows %c64 dims [array<i64: 0, 1>] blocks diagonal 16 : !result into !result {
      ^bb0(%a: f32):
        tile.yield %a : f32
      }
      // CHECK: tile.fence
      tile.fence
    }
  }
}

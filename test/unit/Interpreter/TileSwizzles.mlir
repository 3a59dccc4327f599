// Tiles whose pieces of 16 bytes are permuted, for TileTeamsTest.cpp: in panels as wide as the pieces that change places.
tile.kernel @swizzle_32 required 0 workspace 0 {
^bb0(%tokens: i64):
  %a = tile.alloc : !tile.tile<2x16x128xbf16, shared, [2048, 16, 1], swizzle 32>
}

tile.kernel @swizzle_64 required 0 workspace 0 {
^bb0(%tokens: i64):
  %a = tile.alloc : !tile.tile<2x16x128xbf16, shared, [2048, 32, 1], swizzle 64>
}

tile.kernel @swizzle_128 required 0 workspace 0 {
^bb0(%tokens: i64):
  %a = tile.alloc : !tile.tile<2x16x128xbf16, shared, [2048, 64, 1], swizzle 128>
}

#ifndef RECUR_TILE_OPS_TD
#define RECUR_TILE_OPS_TD

include "dialects/Tile/TileDialect.td"
include "dialects/Tile/TileRoleOps.td"
include "dialects/Tile/TileSystemOps.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

// Which dimensions of the loop nest an operand has, one list an operand; a size of 1 repeats.
defvar Tile_Dims = TypedArrayAttrBase<DenseI64ArrayAttr, "a list of dimensions for each operand">;
// Row n matters in columns below (n / first + 1) * second only.
defvar Tile_Triangle = OptionalAttr<DenseI64ArrayAttr>;

//===----------------------------------------------------------------------===//
// Kernels and tiles
//===----------------------------------------------------------------------===//

def Tile_KernelOp : Tile_Op<"kernel", [IsolatedFromAbove, SingleBlock, NoTerminator, Symbol]> {
  let summary = "one plan of one core or CTA";
  let description = [{
    The body's arguments are the caller's arrays, tiles in global memory, and at last the number of tokens, an i64. The
    first `optional` arrays after the first `required` ones may be absent: loading one gives zeros, storing to one does
    nothing; that is what the `required` attribute counts. `workspace` is the number of bytes of scratch memory, or of a
    CTA's shared memory, that the tiles of the body take, once they have been placed. The plan of a CTA with several roles
    ends in `tile.roles`. With `threads`, the kernel is the plan of a CTA of so many threads that are one team: all of them
    take every op together, one after another. Its tiles in shared memory take `shared` bytes of that; its local tiles
    lie in the CTA's part of a workspace in device memory.

    Two kernels may run side by side, and the second uses chunks that the first computes. The first announces each
    chunk that it has finished, and up to `teams` of its teams make up a CTA, each with its own tiles. The second
    waits for a chunk before it loads from the arrays with the numbers `awaits`. If the caller runs one kernel after
    the other, they do neither.

    A CTA may have a part of the value channels of a head, as many as its tiles have. If the last part has fewer,
    `channels` has for each array the number of channels of all parts together, and 0 for arrays without value
    channels. The missing channels are loaded as zeros and are not stored.

    At least `occupancy` CTAs share a multiprocessor, or that many of a CTA's teams, which limits the registers of a
    thread. Without `occupancy` the lowering chooses the number of CTAs, or takes all teams. A kernel `in_turn` loads
    a chunk only when it comes to the chunk, and needs no registers for loads ahead. An `unlisted` kernel has no
    second form that goes through a list of packed sequences.

    `gpu` names the target for which a CTA is planned, whose limits it keeps to and whose instructions it takes; `sm_90a` where
    none is named.

    Verified: the arguments' types; where roles may stand; `threads` are 1 to 32 warps, and come with `shared`, which is at
    most what a CTA of any GPU has; they have no roles; `teams` are 1 to 15 of at most 1024 threads and the CTA's shared memory
    together, share no local tiles, and have one loop over chunks that go in any order; arrays that are awaited exist;
    `channels` are none or more, of each array; an `occupancy` is 1 to 32 CTAs, or at most all teams.

    Example:
    ```mlir
    tile.kernel @twice required 1 workspace 0 {
    ^bb0(%x: !tile.tile<?x16xf32, global>, %y: !tile.tile<?x16xf32, global>, %tokens: i64):
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$required, I64Attr:$workspace, OptionalAttr<I64Attr>:$threads,
                       OptionalAttr<I64Attr>:$shared, OptionalAttr<I64Attr>:$teams,
                       OptionalAttr<DenseI64ArrayAttr>:$awaits, OptionalAttr<DenseI64ArrayAttr>:$channels,
                       OptionalAttr<I64Attr>:$occupancy, UnitAttr:$in_turn, UnitAttr:$unlisted,
                       OptionalAttr<StrAttr>:$gpu);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `required` $required `workspace` $workspace (`threads` $threads^)? (`shared` $shared^)? (`teams` $teams^)? (`awaits` $awaits^)?
    (`channels` $channels^)? (`occupancy` $occupancy^)? (`in_turn` $in_turn^)? (`unlisted` $unlisted^)? (`gpu` $gpu^)? attr-dict-with-keyword $body
  }];
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// How many channels all parts of an array have together, where the last part has fewer; else 0.
    int64_t getChannelsOf(::mlir::Value array);
  }];
}

def Tile_AllocOp : Tile_Op<"alloc", [MemoryEffects<[MemAlloc]>]> {
  let summary = "a tile of its own";
  let description = [{
    `at` is where it begins in the scratch memory, in bytes; it is chosen once all uses are known, and tiles that are never
    in use at once share a place.

    Example: `%a = tile.alloc at 4096 : !tile.tile<64x64xf32, local, [64, 1]>`
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$offset);
  let results = (outs Tile_WorkTile:$result);
  let assemblyFormat = "(`at` $offset^)? attr-dict `:` type($result)";
}

def Tile_ViewOp : Tile_Op<"view", [Pure]> {
  let summary = "a part of a tile, or the tile in another shape";
  let description = [{
    Begins `offset` elements into the source, and at its row `row` if one is given. Sizes and strides are the result
    type's. Of a swizzled tile a view is one element of the first dimension: what else could be cut out of one has
    another pattern. A tile in registers has no views, since its neighbours lie in different threads.

    Verified: memory and element type stay; the above.

    Example: `%row = tile.view %a[%t] offset 0 : !tile.tile<64x16xf32, local, [16, 1]> to !tile.tile<1x16xf32, local, [16, 1]>`
  }];
  let arguments = (ins Tile_WorkTile:$source, Optional<I64>:$row, I64Attr:$offset);
  let results = (outs Tile_WorkTile:$result);
  let assemblyFormat = "$source (`[` $row^ `]`)? `offset` $offset attr-dict `:` type($source) `to` type($result)";
  let hasVerifier = 1;
}

def Tile_LoadOp : Tile_Op<"load", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "rows of an array into a tile";
  let description = [{
    Rows `first` to `first + rows`, converted to the tile's element type. Where a row of the tile is larger than one of the
    array, along any dimension, what is beyond the array's is zero. An absent array gives zeros. With `ahead`, as many
    rows after these are brought into the cache on the way: they are what the next load takes.

    Verified: a row of the array has the dimensions of a row of the tile, and is at most as large.

    Example: `tile.load %q[%first] rows %n into %tile ahead : !tile.tile<?x16xbf16, global> into !tile.tile<64x16xf32, local, [16, 1]>`
  }];
  let arguments = (ins Tile_GlobalTile:$array, I64:$first, I64:$rows, Tile_WorkTile:$tile, UnitAttr:$ahead);
  let assemblyFormat = [{
    $array `[` $first `]` `rows` $rows `into` $tile (`ahead` $ahead^)? attr-dict `:` type($array) `into` type($tile)
  }];
  let hasVerifier = 1;
}

def Tile_StoreOp : Tile_Op<"store", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "rows of a tile to an array";
  let description = [{
    Like `tile.load`, in the other direction: the part of a tile's row that is longer than the array's row is left
    out. Nothing is written to an absent array.

    Verified: as `tile.load`.

    Example: `tile.store %tile rows %n to %o[%first] : !tile.tile<64x16xf32, local, [16, 1]> to !tile.tile<?x16xf32, global>`
  }];
  let arguments = (ins Tile_WorkTile:$tile, I64:$rows, Tile_GlobalTile:$array, I64:$first);
  let assemblyFormat = "$tile `rows` $rows `to` $array `[` $first `]` attr-dict `:` type($tile) `to` type($array)";
  let hasVerifier = 1;
}

def Tile_SegmentOp : Tile_Op<"segment", [HasParent<"KernelOp">, MemoryEffects<[MemRead]>,
                                         AllTypesMatch<["initial", "final", "start", "store"]>]> {
  let summary = "the part of a sequence that this CTA has, and what its state begins with";
  let description = [{
    A launch may have several CTAs for one sequence, which divide its chunks of `size` tokens evenly among them, in
    their order. This CTA has the tokens from `first` up to `end`, and computes from the token `begin` on. It begins
    with the state in the array `start`, and stores its last state to `store`.

    With `remains`, a CTA does not wait for the one before, but also computes some chunks before its own, to find the
    state with which its own chunks begin. `begin` is the first token of the last chunk, at or before `first`, of
    whose initial state little remains at `first`: `remains` has a row for each chunk, and the rows of the chunks from
    there up to `first` multiply, column by column, to at most 2^-25. If there is no such chunk, `begin` is 0. A NaN
    never counts as little. So at most 2^-24 of the state at `begin` is left out, with a factor of two for the
    rounding of the rows. `start` is `initial` if `begin` is the first token, and otherwise an absent array, which is
    zero.

    With `summaries taken`, an earlier launch has summarised each segment but the last, `start` is the state that
    follows from these summaries, and `begin` is `first`. With `summaries made` this kernel is that earlier launch. It
    has CTAs for each segment but the last, which begin with `initial` in the first segment and with zeros in others.
    With `maps` the map of a segment is more than a factor for each column, and more CTAs compute the segment's effect
    on an identity: they follow those of the values' `parts`, each with as many rows of the identity as the state's
    part has. For them `start` is the identity, and the arrays whose numbers are in `maps`, which the state depends on
    affinely, are absent.

    With `forgets`, a segment at whose end little remains of any earlier state makes no map. Bounds of its last chunks
    decide this, with the same limit as above. The launch then computes only the chunks from which on little remains,
    beginning with zeros, and where summaries are taken, earlier segments have no effect. Other segments are treated
    as without `forgets`. The interpreter ignores `forgets`, because only negligible values are left out.

    `final` becomes an absent array for all CTAs but the last, so only the last CTA stores there. If summaries are
    made, they go to `store`.

    A launch with one CTA for each sequence has all of it: `begin` and `first` are 0, `end` is `tokens`, and nothing
    is summarised.

    Verified: there is one at most, in the plan of one team; it has remains or summaries; `remains` has one number or
    vector of f32 a row; a chunk has some tokens; where summaries are made there are parts, and nowhere else; maps have
    numbers of arrays; maps alone are forgotten.

    Examples:
    ```mlir
    %begin, %first, %end, %start, %store = tile.segment %tokens by 64 initial %initial final %final remains %remains
        : !tile.tile<?x64x128xf32, global>, !tile.tile<?xf32, global>
    %begin, %first, %end, %start, %store = tile.segment %tokens by 64 initial %initial final %final summaries made of 2 maps [3]
        : !tile.tile<?x64x128xf32, global>
    ```
  }];
  let arguments = (ins I64:$tokens, I64Attr:$size, Tile_GlobalTile:$initial, Tile_GlobalTile:$final,
                       Optional<Tile_GlobalTile>:$remains, OptionalAttr<Tile_Summaries>:$summaries,
                       OptionalAttr<I64Attr>:$parts, OptionalAttr<DenseI64ArrayAttr>:$maps, UnitAttr:$forgets);
  let results = (outs I64:$begin, I64:$first, I64:$end, Tile_GlobalTile:$start, Tile_GlobalTile:$store);
  let assemblyFormat = [{
    $tokens `by` $size `initial` $initial `final` $final (`remains` $remains^)? (`summaries` $summaries^ (`of` $parts^)?)?
    (`maps` $maps^)? (`forgets` $forgets^)? attr-dict `:` type($initial) (`,` type($remains)^)?
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$tokens, "int64_t":$size, "::mlir::Value":$initial, "::mlir::Value":$final,
                                 CArg<"::mlir::Value", "{}">:$remains), [{
    build($_builder, $_state, tokens.getType(), tokens.getType(), tokens.getType(), initial.getType(), initial.getType(),
          tokens, $_builder.getI64IntegerAttr(size), initial, final, remains, SummariesAttr(), ::mlir::IntegerAttr(),
          ::mlir::DenseI64ArrayAttr(), ::mlir::UnitAttr());
  }]>];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// What counts as little.
    static constexpr double little = 0x1p-25;
    bool makesSummaries() { return getSummaries() == Summaries::Made; }
    bool takesSummaries() { return getSummaries() == Summaries::Taken; }
    /// Where a summary lies in memory, what becomes of a state is in front of the state: a matrix, or a number for
    /// each column. Each number has 32 bits. Between them is a word that says whether the segment forgets what was before.
    int64_t getMapBytes() { return getForgottenOffset() + (getForgets() ? 256 : 0); }
    int64_t getForgottenOffset() { return 4 * getColumns() * (getMaps() ? getColumns() : 1); }
    /// Of a summary: those of the state, and of the padding that makes them a multiple of what a product has.
    int64_t getColumns() { return ::llvm::alignTo<16>(getInitial().getType().getShape().back()); }
  }];
}

//===----------------------------------------------------------------------===//
// Passes over elements
//===----------------------------------------------------------------------===//

class Tile_NestOp<string mnemonic, list<Trait> traits = []>
    : Tile_Op<mnemonic, !listconcat([MemoryEffects<[MemRead, MemWrite]>, SingleBlockImplicitTerminator<"YieldOp">], traits)> {
  let hasRegionVerifier = 1;
}

def Tile_MapOp : Tile_NestOp<"map"> {
  let summary = "a function of the elements";
  let description = [{
    The body gives an element of the result from the elements of the inputs at the same place. `dims` names for each input
    the dimensions of the result that it has; a size of 1 repeats. The last dimension is computed in vectors, so an input
    either lacks it or has it last, with neighbours side by side, unless it lies in shared memory or registers.

    `blocks` leaves all but some square blocks of a matrix as they are: those below the diagonal, on it or above it. So
    a mask is computed where it matters.

    Verified: one list of dimensions an input; sizes; body arguments and yield are f32; the size of blocks divides both
    sizes of a matrix, and is 16 where one of the tiles lies in registers.

    Example:
    ```mlir
    tile.map %s, %x into %y rows %n dims [array<i64: 0>, array<i64: 0, 1>]
        : !tile.tile<64xf32, local, [1]>, !tile.tile<64x16xf32, local, [16, 1]> into !tile.tile<64x16xf32, local, [16, 1]> {
    ^bb0(%a: f32, %b: f32):
      %c = arith.mulf %a, %b : f32
      tile.yield %c : f32
    }
    ```
  }];
  let arguments = (ins Variadic<Tile_WorkTile>:$inputs, Tile_WorkTile:$result, I64:$rows, Tile_Dims:$dims,
                       OptionalAttr<Tile_Blocks>:$blocks, OptionalAttr<I64Attr>:$block_size);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $inputs `into` $result `rows` $rows `dims` $dims (`blocks` $blocks^ $block_size)? attr-dict
    (`:` type($inputs)^)? `into` type($result) $body
  }];
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$inputs, "::mlir::Value":$result, "::mlir::Value":$rows,
                                 "::mlir::ArrayAttr":$dims), [{
    build($_builder, $_state, inputs, result, rows, dims, BlocksAttr(), ::mlir::IntegerAttr());
  }]>];
}

def Tile_ScanOp : Tile_NestOp<"scan", [AttrSizedOperandSegments]> {
  let summary = "a running value down the rows";
  let description = [{
    As `tile.map`, with one more body argument, the last: the value that the row before yielded first. Before the first
    row that is what `initial` holds, or else the number `start`. The body yields the running value and then the element of
    `all`. `reverse` goes from the last row to the first. `last` receives the running value after all rows.

    Verified: as `tile.map`; at least one of `all` and `last` is there.

    Example:
    ```mlir
    tile.scan %g all %sums rows %n dims [array<i64: 0, 1>] start 0.0 : !tile.tile<64x16xf32, local, [16, 1]>
        all !tile.tile<64x16xf32, local, [16, 1]> {
    ^bb0(%step: f32, %sum: f32):
      %next = arith.addf %sum, %step : f32
      tile.yield %next, %next : f32, f32
    }
    ```
  }];
  let arguments = (ins Variadic<Tile_WorkTile>:$inputs, Optional<Tile_WorkTile>:$initial, Optional<Tile_WorkTile>:$all,
                       Optional<Tile_WorkTile>:$last, I64:$rows, Tile_Dims:$dims, F64Attr:$start, UnitAttr:$reverse);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $inputs (`initial` $initial^)? (`all` $all^)? (`last` $last^)? (`reverse` $reverse^)? `rows` $rows `dims` $dims
    `start` $start attr-dict `:` type($inputs) (`initial` type($initial)^)? (`all` type($all)^)? (`last` type($last)^)? $body
  }];
}

def Tile_ReduceOp : Tile_NestOp<"reduce"> {
  let summary = "sums or maxima over some dimensions";
  let description = [{
    The body gives an element of a loop nest of the sizes `sizes` (the first is `rows`); the elements along the dimensions
    `over`, never the rows, are reduced. `dims` is as in `tile.map`, for the nest. The result has the dimensions that are
    left.

    Verified: as `tile.map`, and the result's sizes.

    Example:
    ```mlir
    tile.reduce sum %x, %y into %d rows %n over [1] of [64, 16] dims [array<i64: 0, 1>, array<i64: 0, 1>]
        : !tile.tile<64x16xf32, local, [16, 1]>, !tile.tile<64x16xf32, local, [16, 1]> into !tile.tile<64xf32, local, [1]> {
    ^bb0(%a: f32, %b: f32):
      %c = arith.mulf %a, %b : f32
      tile.yield %c : f32
    }
    ```
  }];
  let arguments = (ins Tile_Reduction:$kind, Variadic<Tile_WorkTile>:$inputs, Tile_WorkTile:$result, I64:$rows,
                       DenseI64ArrayAttr:$over, DenseI64ArrayAttr:$sizes, Tile_Dims:$dims);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $kind $inputs `into` $result `rows` $rows `over` $over `of` $sizes `dims` $dims attr-dict
    (`:` type($inputs)^)? `into` type($result) $body
  }];
}

def Tile_YieldOp : Tile_Op<"yield", [Pure, Terminator]> {
  let summary = "what a body gives";
  let description = [{
    Example: `tile.yield %x : f32`
  }];
  let arguments = (ins Variadic<F32>:$values);
  let builders = [OpBuilder<(ins), [{ /* gives nothing */ }]>];
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def Tile_IndexOp : Tile_Op<"index", [Pure]> {
  let summary = "where in the loop nest a body is";
  let description = [{
    The index along a dimension of the nest of the surrounding map, scan or reduction.

    Example: `%column = tile.index 1`
  }];
  let arguments = (ins I64Attr:$dim);
  let results = (outs I32:$result);
  let assemblyFormat = "$dim attr-dict";
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

def Tile_ProductOp : Tile_Op<"product", [MemoryEffects<[MemRead, MemWrite]>, AttrSizedOperandSegments]> {
  let summary = "a matrix product";
  let builders = [OpBuilder<(ins "::mlir::Value":$left, "::mlir::Value":$right, "::mlir::Value":$result,
                                 "::mlir::Value":$rows, "::mlir::Value":$inner)>];
  let description = [{
    `result = left right` for `rows` rows and `inner` inner indices, or `left^T right` where `left` is `transposed`.
    With `plus`, that tile, its rows scaled by `row_scale` and its columns by `column_scale`, is added; it may be the
    result itself. `right_transposed` multiplies by the right factor's transpose. `left_triangle [r, w]` promises that
    row n of the left factor is zero from column (n / r + 1) w on. These zeros are not multiplied, so the row does not
    depend on the right factor there, which may hold NaN. `result_triangle` says in the same way which part of the
    result will be used: the rest is not computed. While it runs, a product brings the `ahead_rows` rows of the array
    `ahead` from row `ahead_first` on into the cache, spread over its time: it computes long enough for memory to
    answer. In the same way it
    prefetches rows of an array that will be `written`, because writing to lines outside the cache would have to wait.

    With `left_exchanged` both factors are of f32 and cut off to tf32, and of each eight columns of the left one the first,
    third, fifth and seventh come before the others: the matrix units leave their sums so that these are the other factor
    of such a product as they lie. Only a chain with its state in registers has such products.

    With `tf32` both factors are of f32, and each is rounded to tf32 before it is multiplied. Without it the result is as
    exact as f32 allows.

    Factors of bf16 in a core's memory are multiplied two inner indices at a time: the right one, and a `transposed` left
    one, lie in pairs as `tile.pair` makes them, and a left one that is not transposed has a whole number of pairs in each
    row. Where `inner` is odd, the second half of the last pair is multiplied too, unless the triangle leaves it out.

    With a result in registers this is a product of one warpgroup on the matrix units, which takes whole tiles; `async`
    begins it, and `tile.settle` waits for its end. Without `async` it has ended when the next op begins.

    Verified: sizes; the factors are of one type; what lies in pairs is in a core's memory and not `right_transposed` (a
    kernel with `threads` has no core's memory). With
    a result in registers: it is f32, with 64 rows and a multiple of 8 columns, up to 256; the factors are both bf16 or
    both f16; the left one lies in registers or, swizzled, in shared memory, the right one, swizzled, in shared memory; the
    inner size is a multiple of 16, `rows` and `inner` are constants and count the whole tiles; what is added is the result
    itself, not scaled; there are no triangles, and nothing is brought `ahead`; in a role, the team is a warpgroup.
    Otherwise no factor lies in registers, and the product is not `async`. Exchanged columns are whole eights of f32, and
    neither factor is transposed. Factors are rounded to `tf32` in a kernel with `threads`, and are of f32 then.

    Example: `tile.product %a, %b into %c rows %n inner %k : !tile.tile<64x16xf32, local, [16, 1]>, !tile.tile<16x32xf32, local, [32, 1]> into !tile.tile<64x32xf32, local, [32, 1]>`
  }];
  let arguments = (ins Tile_WorkTile:$left, Tile_WorkTile:$right, Tile_WorkTile:$result, I64:$rows, I64:$inner,
                       Optional<Tile_WorkTile>:$plus, Optional<Tile_WorkTile>:$row_scale, Optional<Tile_WorkTile>:$column_scale,
                       Optional<Tile_GlobalTile>:$ahead, Optional<I64>:$ahead_first, OptionalAttr<I64Attr>:$ahead_rows,
                       Optional<Tile_GlobalTile>:$written, Optional<I64>:$written_first, OptionalAttr<I64Attr>:$written_rows,
                       UnitAttr:$transposed, UnitAttr:$right_transposed, Tile_Triangle:$left_triangle,
                       Tile_Triangle:$result_triangle, UnitAttr:$async, UnitAttr:$left_exchanged, UnitAttr:$tf32);
  let assemblyFormat = [{
    (`async` $async^)? (`transposed` $transposed^)? (`left_exchanged` $left_exchanged^)? (`tf32` $tf32^)? $left `,` (`right_transposed` $right_transposed^)? $right `into` $result `rows` $rows `inner` $inner
    (`plus` $plus^ (`scaled_rows` $row_scale^)? (`scaled_columns` $column_scale^)?)?
    (`left_triangle` $left_triangle^)? (`result_triangle` $result_triangle^)?
    (`ahead` $ahead^ `[` $ahead_first `]` `rows` $ahead_rows)?
    (`written` $written^ `[` $written_first `]` `rows` $written_rows)? attr-dict
    `:` type($left) `,` type($right) `into` type($result)
    (`plus` type($plus)^ (`scaled_rows` type($row_scale)^)? (`scaled_columns` type($column_scale)^)?)?
    (`ahead` type($ahead)^)? (`written` type($written)^)?
  }];
  let hasVerifier = 1;
}

def Tile_TransposeOp : Tile_Op<"transpose", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the transpose of a tile in another tile";
  let description = [{
    `rows` rows become columns, converted to the result's type. In bf16, whose columns products take two at a time, zeros lie
    behind an odd number of them, so that they fill whole pairs.

    Verified: sizes; a result of bf16 has an even number of columns.

    Example: `tile.transpose %a rows %n into %b : !tile.tile<64x16xf32, local, [16, 1]> into !tile.tile<16x64xf32, local, [64, 1]>`
  }];
  let arguments = (ins Tile_WorkTile:$source, I64:$rows, Tile_WorkTile:$result);
  let assemblyFormat = "$source `rows` $rows `into` $result attr-dict `:` type($source) `into` type($result)";
  let hasVerifier = 1;
}

def Tile_PairOp : Tile_Op<"pair", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "a matrix in bf16, two rows side by side";
  let description = [{
    Element [i, j, h] of the result is element [2 i + h, j] of the source, or with `transposed` element [j, 2 i + h], times
    the number of its row in `row_scale` if that is given, rounded to bf16: what a product of bf16 takes. There are `rows`
    rows of the source. Beside an odd last one lie zeros.

    Verified: sizes; the result is bf16, and so is a source that is transposed, which is not scaled.

    Example: `tile.pair %k scaled_rows %s rows %n into %p : !tile.tile<64x16xf32, local, [16, 1]> scaled_rows !tile.tile<64xf32, local, [1]> into !tile.tile<32x16x2xbf16, local, [32, 2, 1]>`
  }];
  let arguments = (ins UnitAttr:$transposed, Tile_WorkTile:$source, Optional<Tile_WorkTile>:$row_scale, I64:$rows,
                       Tile_WorkTile:$result);
  let assemblyFormat = [{
    (`transposed` $transposed^)? $source (`scaled_rows` $row_scale^)? `rows` $rows `into` $result attr-dict
    `:` type($source) (`scaled_rows` type($row_scale)^)? `into` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_ScaledDotsOp : Tile_Op<"scaled_dots", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "dots of each row with the columns of its block, under a running scale of each channel";
  let description = [{
    Groups of rows and of columns (as many as `points` and `steps` have numbers) belong to one index of `scales`. Going back
    from a row's index to the first index of its block of `block` indices, the row is multiplied elementwise by the scales
    of the indices it passes (the first one is its own, unless its point is -1), and element [row, column] of the result
    is its dot with the column there. Of its own index a row meets the columns whose step is below its point. No other
    element of the result is written.

    `rounded` lets products of the matrix units take the dots. The indices of a row and of an earlier column lie in two
    halves of an aligned range of a power of two; the row is scaled from where the halves meet, the column up to there,
    and both are rounded: to tf32 where halves have less than 16 indices, and to the type of `work` elsewhere. A pair of
    one index is rounded to tf32. Within 16 indices a row is instead scaled from the first of them and its columns by the
    inverse of the scales from there, where the products of these scales up to each index as far as the row's are, of
    every channel, at least 2^-96 and at most 2^96. With `logarithms`, `scales` has the logarithms of the scales, and it is
    within 8 indices that rows are scaled so, while the later 8 of 16 meet the earlier ones as halves. `work` has
    the scaled columns of halves of 16 and more indices, and the scaled rows too where scales are no logarithms; it holds
    nothing of meaning afterwards.

    Verified: sizes; what is rounded has blocks of 16 indices times a power of two, whole ones, channels by 16, and
    `work` where a block has more than 16 indices: a row for each column of half of the indices, for each size of halves,
    and as many for rows where scales are no logarithms.

    Example: `tile.scaled_dots %q, %k scales %a into %A rows %n block 16 points [1] of [0] : !tile.tile<64x16xf32, local, [16, 1]>, !tile.tile<64x16xf32, local, [16, 1]> scales !tile.tile<64x16xf32, local, [16, 1]> into !tile.tile<64x64xf32, local, [64, 1]>`
  }];
  let arguments = (ins Tile_WorkTile:$left, Tile_WorkTile:$right, Tile_WorkTile:$scales, Tile_WorkTile:$result,
                       Optional<Tile_WorkTile>:$work, I64:$rows, I64Attr:$block, UnitAttr:$rounded,
                       UnitAttr:$logarithms,
                       DenseI64ArrayAttr:$points, DenseI64ArrayAttr:$steps);
  let assemblyFormat = [{
    (`rounded` $rounded^)? $left `,` $right `scales` (`logarithms` $logarithms^)? $scales `into` $result (`work` $work^)?
    `rows` $rows `block` $block `points` $points `of` $steps attr-dict
    `:` type($left) `,` type($right) `scales` type($scales) `into` type($result) (`work` type($work)^)?
  }];
  let extraClassDeclaration = [{
    /// Pairs of indices this close meet within one warp.
    static constexpr int64_t unitIndices = 16;
    /// The rows that `work` has.
    static int64_t countWorkRows(int64_t indices, int64_t block, int64_t rowsPerIndex, int64_t columnsPerIndex,
                                 bool areLogarithms) {
      int64_t perIndex = columnsPerIndex + (areLogarithms ? 0 : rowsPerIndex);
      return int64_t(llvm::Log2_64(uint64_t(block / unitIndices))) * indices / 2 * perIndex;
    }
  }];
  let hasVerifier = 1;
}

def Tile_ScaledSumsOp : Tile_Op<"scaled_sums", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "sums of earlier rows by a matrix's weights, under a running scale of each channel";
  let description = [{
    Row n of the result is the sum over the rows i that it meets, as `tile.scaled_dots` says but back to index 0, of
    `matrix[n, i] D values[i]`, where D is the elementwise product of the scales passed. With `solve`, the values are the
    result's own earlier rows, and the sum is subtracted from what the result holds: forward substitution. One step a
    scale for all channels is a rank-1 `scales`.

    Verified: sizes.

    Example: `tile.scaled_sums %A, %v scales %a into %o rows %n points [1] of [0] : !tile.tile<64x64xf32, local, [64, 1]>, !tile.tile<64x16xf32, local, [16, 1]> scales !tile.tile<64x16xf32, local, [16, 1]> into !tile.tile<64x16xf32, local, [16, 1]>`
  }];
  let arguments = (ins Tile_WorkTile:$matrix, Tile_WorkTile:$values, Tile_WorkTile:$scales, Tile_WorkTile:$result, I64:$rows,
                       UnitAttr:$solve, DenseI64ArrayAttr:$points, DenseI64ArrayAttr:$steps);
  let assemblyFormat = [{
    (`solve` $solve^)? $matrix `,` $values `scales` $scales `into` $result `rows` $rows `points` $points `of` $steps attr-dict
    `:` type($matrix) `,` type($values) `scales` type($scales) `into` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_ScaledCotangentsOp : Tile_Op<"scaled_cotangents", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "what the dots of `tile.scaled_dots` matter, passed on to its rows, columns and scales";
  let description = [{
    The adjoint of `tile.scaled_dots`: `matrix` has the cotangent of each of its dots. The cotangent of a row of
    `left` sums the columns that the row meets, and that of a row of `right` the rows that meet it, each times the
    element of the matrix and the scales passed. The cotangent of a scale's logarithm sums all pairs that pass the
    scale; with `linear` the factor of the scale itself is left out, which gives the cotangent of the scale, even if
    it is zero. Each result is written, not added to. `work` is memory for a block of indices, or for all blocks if
    the threads of a CTA compute them at the same time; its contents have no meaning afterwards.

    The op goes from a column to the rows behind it and back, and multiplies scales into the column and into the sums
    of the rows; nothing is divided or subtracted, whatever the scales.

    Verified: sizes.

    Example: `tile.scaled_cotangents %D, %q, %k scales %a into %dq, %dk, %da work %w rows %n block 16 points [1] of [0] : !tile.tile<64x64xf32, local, [64, 1]>, !tile.tile<64x16xf32, local, [16, 1]>, !tile.tile<64x16xf32, local, [16, 1]> scales !tile.tile<64x16xf32, local, [16, 1]> into !tile.tile<64x16xf32, local, [16, 1]>, !tile.tile<64x16xf32, local, [16, 1]>, !tile.tile<64x16xf32, local, [16, 1]> work !tile.tile<16x16xf32, local, [16, 1]>`
  }];
  let arguments = (ins Tile_WorkTile:$matrix, Tile_WorkTile:$left, Tile_WorkTile:$right, Tile_WorkTile:$scales,
                       Tile_WorkTile:$leftResult, Tile_WorkTile:$rightResult, Tile_WorkTile:$scalesResult,
                       Tile_WorkTile:$work, I64:$rows, I64Attr:$block, UnitAttr:$linear, DenseI64ArrayAttr:$points,
                       DenseI64ArrayAttr:$steps);
  let assemblyFormat = [{
    (`linear` $linear^)? $matrix `,` $left `,` $right `scales` $scales
    `into` $leftResult `,` $rightResult `,` $scalesResult `work` $work
    `rows` $rows `block` $block `points` $points `of` $steps attr-dict
    `:` type($matrix) `,` type($left) `,` type($right) `scales` type($scales)
    `into` type($leftResult) `,` type($rightResult) `,` type($scalesResult) `work` type($work)
  }];
  let hasVerifier = 1;
}

#endif // RECUR_TILE_OPS_TD

#ifndef RECUR_TILE_SYSTEM_OPS_TD
#define RECUR_TILE_SYSTEM_OPS_TD

include "dialects/Tile/TileDialect.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===----------------------------------------------------------------------===//
// Systems of equations
//===----------------------------------------------------------------------===//

def Tile_SolveOp : Tile_Op<"solve", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the unit lower triangular solve (I + L) X = B, in place";
  let description = [{
    Blocks of rows: what the blocks above contribute is a product, the block itself is solved by forward substitution. Only
    the strictly lower triangle of the matrix is read. `values` holds B before and X after.

    Verified: sizes.

    Example: `tile.solve %L, %X rows %n : !tile.tile<64x64xf32, local, [64, 1]>, !tile.tile<64x16xf32, local, [16, 1]>`
  }];
  let arguments = (ins Tile_WorkTile:$matrix, Tile_WorkTile:$values, I64:$rows);
  let assemblyFormat = "$matrix `,` $values `rows` $rows attr-dict `:` type($matrix) `,` type($values)";
  let hasVerifier = 1;
}

def Tile_ScaledSolveOp : Tile_Op<"scaled_solve", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the triangular solve in which each channel of each row has a gain of its own";
  let description = [{
    Row n of the result is `values[n] - scales[n] * sum_{i < n} matrix[n, i] result[i]`, elementwise over the columns. Only the
    strictly lower triangle of the matrix is read. Blocks of rows as in `tile.solve`, but what is gathered is kept apart from
    the values until it is scaled, so the result is a tile of its own.

    Verified: sizes.

    Example: `tile.scaled_solve %L, %B scales %b into %X rows %n : !tile.tile<64x64xf32, local, [64, 1]>, !tile.tile<64x16xf32, local, [16, 1]> scales !tile.tile<64x16xf32, local, [16, 1]> into !tile.tile<64x16xf32, local, [16, 1]>`
  }];
  let arguments = (ins Tile_WorkTile:$matrix, Tile_WorkTile:$values, Tile_WorkTile:$scales, Tile_WorkTile:$result, I64:$rows);
  let assemblyFormat = [{
    $matrix `,` $values `scales` $scales `into` $result `rows` $rows attr-dict
    `:` type($matrix) `,` type($values) `scales` type($scales) `into` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_EliminateOp : Tile_Op<"eliminate", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the triangular factors of a matrix, in place and without exchanges";
  let description = [{
    `rows` rows of the matrix become those of its factors (I + L) U: L strictly below the diagonal, U on it and above. What is in
    columns behind `rows` is of no meaning before and after. Each step takes a multiple of the pivot's row from the rows
    below, a panel of columns in registers.

    Verified: the matrix is square.

    Example: `tile.eliminate %M rows %n : !tile.tile<64x64xf32, local, [64, 1]>`
  }];
  let arguments = (ins Tile_WorkTile:$matrix, I64:$rows);
  let assemblyFormat = "$matrix `rows` $rows attr-dict `:` type($matrix)";
  let hasVerifier = 1;
}

def Tile_InvertOp : Tile_Op<"invert", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the inverse of I + L, a unit lower triangular matrix";
  let description = [{
    `rows` rows of `result = (I + L)^-1`, its columns times the numbers of `column_scale` if that is given. Only the strictly
    lower triangle of the matrix is read, and what is above the diagonal of the result is zero. Row n depends on the rows
    of the matrix up to row n alone, whatever those behind it hold.

    Blocks of 16 rows on the diagonal are inverted by forward substitution, each by itself; then the blocks left of them
    are products, X[i, j] = -(sum over m from j + 1 to i of X[i, m] L[m, j]) X[j, j], whose factors are sums of two numbers of
    bf16.

    With `exchanged` the result is the left factor of a product that has it `left_exchanged`: numbers of tf32, and of each
    eight columns the first, third, fifth and seventh come before the others.

    Verified: sizes; what is exchanged is of f32, has whole eights of columns, and is not scaled.

    Example: `tile.invert %L into %T rows %n : !tile.tile<64x64xf32, shared, [68, 1]> into !tile.tile<64x64xbf16, shared, [72, 1]>`
  }];
  let arguments = (ins Tile_WorkTile:$matrix, Tile_WorkTile:$result, I64:$rows, Optional<Tile_WorkTile>:$column_scale,
                       UnitAttr:$exchanged);
  let assemblyFormat = [{
    $matrix `into` $result `rows` $rows (`exchanged` $exchanged^)? (`scaled_columns` $column_scale^)? attr-dict
    `:` type($matrix) `into` type($result) (`scaled_columns` type($column_scale)^)?
  }];
  let hasVerifier = 1;
}

def Tile_ConjugateGradientsOp : Tile_Op<"conjugate_gradients", [MemoryEffects<[MemRead, MemWrite]>, AttrSizedOperandSegments]> {
  let summary = "steps of conjugate gradients for all tokens, whose matrices are a decayed sum of squares of keys";
  let description = [{
    Row n of the result is where `iterations` steps of conjugate gradients come from zero on, towards the solution x of
    `(A_n + diag(ridge)) x = vectors[first + n]`. A_n is `d_n G + sum over i <= n of d_n / d_i gains_i k_i k_i^T`, where G is
    row `state_row` of the array `state`, k_i is row `first + i` of the array `keys`, and d_i is two to the power of `decays_i`.
    Without `gains` or `decays` these are one. A row whose curvature is zero, or whose residual is at most 2^-24 of the
    first one, which is what f32 rounds that by, stays where it is. Rows of later tokens do not matter to a row, whatever they
    hold.

    All is read before the result is written, so the result may lie where `work` does, which holds nothing of meaning
    afterwards.

    A team has one warpgroup for this, of which each thread has numbers of the vectors in registers: what goes from step to step
    are products of the matrix units, of factors that are sums of two numbers of bf16. `work` has the matrix and the keys as
    these take them. The steps end where all rows stay where they are.

    Verified: sizes; `work` has as many numbers of f32 as `countWork` says; there is an iteration at least.

    Example: `tile.conjugate_gradients %q, %k[%first] gains %b decays %d state %G[%chunk] ridge %r into %x work %w rows %n iterations 30 : !tile.tile<?x64xbf16, global>, !tile.tile<?x64xbf16, global> gains !tile.tile<64xf32, shared, [1]> decays !tile.tile<64xf32, shared, [1]> state !tile.tile<?x64x64xf32, global> ridge !tile.tile<1x64xf32, shared, [68, 1]> into !tile.tile<64x64xf32, shared, [68, 1]> work !tile.tile<10112xf32, shared, [1]>`
  }];
  let arguments = (ins Tile_GlobalTile:$vectors, Tile_GlobalTile:$keys, I64:$first, Optional<Tile_WorkTile>:$gains,
                       Optional<Tile_WorkTile>:$decays, Tile_GlobalTile:$state, I64:$state_row, Tile_WorkTile:$ridge,
                       Tile_WorkTile:$result, Tile_WorkTile:$work, I64:$rows, I64Attr:$iterations);
  let assemblyFormat = [{
    $vectors `,` $keys `[` $first `]` (`gains` $gains^)? (`decays` $decays^)? `state` $state `[` $state_row `]` `ridge` $ridge
    `into` $result `work` $work `rows` $rows `iterations` $iterations attr-dict `:` type($vectors) `,` type($keys)
    (`gains` type($gains)^)? (`decays` type($decays)^)? `state` type($state) `ridge` type($ridge) `into` type($result)
    `work` type($work)
  }];
  let extraClassDeclaration = [{
    /// What the matrix units take: tokens of a warpgroup, rows of 128 bytes.
    static constexpr int64_t tokens = 64, panelColumns = 64, panelRowBytes = 128, threads = 128;
    /// Of a thread's numbers of the solution, those that stay in registers.
    static constexpr int64_t solutionInRegisters = 4;
    /// Whether the matrix units take so many channels.
    static bool takes(int64_t channels) { return channels % 16 == 0 && channels <= 128; }
    /// Numbers of f32 that `work` has: both parts of the matrix, the keys, the solution, what each token gains and
    /// what counts as none of its residual, and what it takes to begin at a multiple of 1024 bytes.
    static int64_t countWork(int64_t channels) {
      int64_t panels = (channels + panelColumns - 1) / panelColumns;
      int64_t bytes = panels * panelRowBytes * (2 * channels + tokens);
      return bytes / 4 + std::max<int64_t>(0, channels / 2 - solutionInRegisters) * threads + 2 * tokens + 1024 / 4;
    }
  }];
  let hasVerifier = 1;
}

#endif // RECUR_TILE_SYSTEM_OPS_TD

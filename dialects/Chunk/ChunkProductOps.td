#ifndef RECUR_CHUNK_PRODUCT_OPS_TD
#define RECUR_CHUNK_PRODUCT_OPS_TD

include "dialects/Chunk/ChunkTokenOps.td"

// When the row of a token looks at the state. `before`: before the token's decay, so the decay of the row's own token does
// not reach it. A number p: after the token's decay and the first p of its writes.
defvar Chunk_Points = OptionalAttr<DenseI64ArrayAttr>;
// The place of each write among the writes of its token.
defvar Chunk_Steps = OptionalAttr<DenseI64ArrayAttr>;

//===----------------------------------------------------------------------===//
// Decay
//===----------------------------------------------------------------------===//

def Chunk_CumulativeDecayOp : Chunk_PureOp<"cumulative_decay"> {
  let summary = "the product of the decay steps of a range of tokens, for each token";
  let description = [{
    The range of token t is `through`: from the chunk's start to t; `before`: from the start to the token before t;
    `after`: from the token after t to the chunk's end; `total`: the whole chunk, one value with a token dimension of 1.
    The result is a factor, not a logarithm: `log` steps are added and then exponentiated.

    Example: `%d = chunk.cumulative_decay through log(%g) : tensor<64x128xf32>`
  }];
  let arguments = (ins Chunk_DecayRange:$range, Chunk_Decay:$decay, UnitAttr:$linear);
  let results = (outs Chunk_Tokens:$result);
  let assemblyFormat = "$range custom<Space>($linear) `(` $decay `)` attr-dict `:` type($decay)";
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Products of streams, and of streams with states
//===----------------------------------------------------------------------===//

def Chunk_InteractionOp : Chunk_PureOp<"interaction", [DeclareOpInterfaceMethods<Chunk_DecayedOpInterface>]> {
  let summary = "what each row sees of each write: the decayed, masked product of two streams";
  let description = [{
    Element [n, i] is `sum_c rows[n, c] D[c] columns[i, c]` where row n sees write i, and 0 where it does not. A row sees
    the writes of earlier tokens, and of its own token those before its point. D is the product of the decay steps of the
    tokens after write i's, up to and with the row's token, or without it for a row that looks `before` its token's decay.

    `before`, `strict` and `inclusive` say it all for one row and one write a token: the row looks before the token's decay;
    after it but before the write; after the write. The long form is `points [...] of [...]`: for each of a token's rows,
    `before` or how many of the token's writes it sees; for each of the token's columns, its place among the token's writes.

    The decay has one step a token, for all channels or for each. What is selected by the mask is selected before anything
    is exponentiated, and a range of steps is summed from its own beginning, never as a difference of longer sums.

    Verified: rows and columns have equally many channels; the rows and columns a token divide the dimensions and leave
    equally many tokens; the decay has a step for each token and channel.

    Example:
    ```mlir
    %A = chunk.interaction %k, %k strict decay log(%g : tensor<64xf32>) : tensor<64x128xf32>, tensor<64x128xf32>
    %L = chunk.interaction %r, %w points [0, 1] of [0, 1] : tensor<128x32xf32>, tensor<128x32xf32>
    ```
  }];
  let arguments = (ins Chunk_Vectors:$rows, Chunk_Vectors:$columns, DenseI64ArrayAttr:$points, DenseI64ArrayAttr:$steps,
                       Optional<Chunk_Decay>:$decay, UnitAttr:$linear);
  let results = (outs Chunk_Vectors:$result);
  let assemblyFormat = [{
    $rows `,` $columns custom<Visibility>($points, $steps) (`decay` custom<Decay>($decay, type($decay), $linear)^)?
    attr-dict `:` type($rows) `,` type($columns)
  }];
  let hasCanonicalizer = 1;
}

def Chunk_ApplyOp : Chunk_PureOp<"apply", [DeclareOpInterfaceMethods<Chunk_DecayedOpInterface, ["dropDecay"]>]> {
  let summary = "what the rows gather from the writes' values";
  let description = [{
    The product of a matrix (rows by writes) and the values of the writes. With a decay, the value's channels decay on their
    way: element [n, c] is `sum_i matrix[n, i] D[c] values[i, c]`, with D as in `chunk.interaction` and the same visibility.

    Verified: the matrix has as many columns as there are values; and as `chunk.interaction` where there is a decay.

    Example:
    ```mlir
    %o = chunk.apply %A, %v : tensor<64x64xf32>, tensor<64x32xf32>
    %o2 = chunk.apply %A, %v inclusive decay linear(%l : tensor<64x32xf32>) : tensor<64x64xf32>, tensor<64x32xf32>
    ```
  }];
  let arguments = (ins Chunk_Vectors:$matrix, Chunk_Vectors:$values, Chunk_Points:$points, Chunk_Steps:$steps,
                       Optional<Chunk_Decay>:$decay, UnitAttr:$linear);
  let results = (outs Chunk_Vectors:$result);
  let assemblyFormat = [{
    $matrix `,` $values (custom<OptionalVisibility>($points, $steps)^ `decay` custom<Decay>($decay, type($decay), $linear))?
    attr-dict `:` type($matrix) `,` type($values)
  }];
  let hasCanonicalizer = 1;
}

def Chunk_SolveOp : Chunk_PureOp<"solve", [DeclareOpInterfaceMethods<Chunk_DecayedOpInterface, ["dropDecay"]>]> {
  let summary = "the unit lower triangular solve (I + L) X = B";
  let description = [{
    Only the strictly lower triangle of L is read. With a decay, the channels of X decay on their way from one row to
    another as in `chunk.apply`: each channel is a solve of its own.

    Verified: L is square and as high as B; and as `chunk.apply` where there is a decay.

    Example: `%U = chunk.solve %L, %B : tensor<64x64xf32>, tensor<64x32xf32>`
  }];
  let arguments = (ins Chunk_Vectors:$matrix, Chunk_Vectors:$values, Chunk_Points:$points, Chunk_Steps:$steps,
                       Optional<Chunk_Decay>:$decay, UnitAttr:$linear);
  let results = (outs Chunk_Vectors:$result);
  let assemblyFormat = [{
    $matrix `,` $values (custom<OptionalVisibility>($points, $steps)^ `decay` custom<Decay>($decay, type($decay), $linear))?
    attr-dict `:` type($matrix) `,` type($values)
  }];
  let hasCanonicalizer = 1;
}

def Chunk_ScaledSolveOp : Chunk_PureOp<"scaled_solve", [TypesMatchWith<"scales have the values' type", "values", "scales", "$_self">]> {
  let summary = "a triangular solve in which each channel of each row has a gain of its own";
  let description = [{
    Row n of the result is `values[n] - scales[n] * sum_{i < n} matrix[n, i] X[i]`, elementwise over the channels: one matrix for
    all channels, of which each takes as much as its own gain says. With `reverse` it goes from the last row to the first, by
    the transposed matrix: `values[n] - scales[n] * sum_{i > n} matrix[i, n] X[i]`. Only the strictly lower triangle of the
    matrix is read. No explicit inverse serves all channels, so this is always done by substitution.

    Verified: the matrix is square and as high as the values.

    Example: `%U = chunk.scaled_solve %L, %B scales %b : tensor<64x64xf32>, tensor<64x32xf32>`
  }];
  let arguments = (ins Chunk_Vectors:$matrix, Chunk_Vectors:$values, Chunk_Vectors:$scales, UnitAttr:$reverse);
  let results = (outs Chunk_Vectors:$result);
  let assemblyFormat = [{
    (`reverse` $reverse^)? $matrix `,` $values `scales` $scales attr-dict `:` type($matrix) `,` type($values)
  }];
}

def Chunk_EliminateOp : Chunk_PureOp<"eliminate", [AllTypesMatch<["lower", "upper"]>,
                                                     AllTypesMatch<["columns", "diagonal"]>]> {
  let summary = "the triangular factors of a matrix of the tokens, without exchanges";
  let description = [{
    The matrix A has the lower triangle of `lower`, with its diagonal; its upper triangle mirrors the strictly lower
    triangle of `upper`. So both can be interactions, and a symmetric matrix is one operand given twice. `A
    diag(columns) + diag(diagonal)` is the product of I + L, where L is strictly lower triangular, and an upper
    triangular U. The result holds both: L below its diagonal, and U on it and above. Row n of L and column n of U
    depend on no later row or column, because rows and columns are tokens. Rows are not exchanged: each pivot is the
    number by which the token itself divides, whatever its size.

    Verified: the matrices are square, and there are as many columns and numbers on the diagonal.

    Example: `%F = chunk.eliminate %A, %A columns %f diagonal %n : tensor<64x64xf32>, tensor<64xf32>`
  }];
  let arguments = (ins Chunk_Vectors:$lower, Chunk_Vectors:$upper, Chunk_Numbers:$columns, Chunk_Numbers:$diagonal);
  let results = (outs Chunk_Vectors:$result);
  let assemblyFormat = [{
    $lower `,` $upper `columns` $columns `diagonal` $diagonal attr-dict `:` type($lower) `,` type($columns)
  }];
}

def Chunk_InverseOp : Chunk_PureOp<"inverse"> {
  let summary = "the inverse of I + L, for a strictly lower triangular L";
  let description = [{
    By forward substitution in diagonal blocks of 16 rows, and merges of neighbouring blocks: products of powers of L lose
    all digits for correlated keys. Only the strictly lower triangle of L is read. With a gain, each column is scaled by its
    number: `(I + L)^-1 diag(gain)` then multiplies values whose gain it has.

    Verified: L is square, and there are as many gains.

    Example:
    ```mlir
    %T = chunk.inverse %L : tensor<64x64xf32>
    %T2 = chunk.inverse %L columns(%beta : tensor<64xf32>) : tensor<64x64xf32>
    ```
  }];
  let arguments = (ins Chunk_Vectors:$matrix, Optional<Chunk_Numbers>:$gain);
  let results = (outs Chunk_Vectors:$result);
  let assemblyFormat = "$matrix (`columns` `(` $gain^ `:` type($gain) `)`)? attr-dict `:` type($matrix)";
  let builders = [OpBuilder<(ins "::mlir::Value":$matrix), [{ build($_builder, $_state, matrix, ::mlir::Value()); }]>];
}

def Chunk_ReadOp : Chunk_PureOp<"read"> {
  let summary = "a state read by every row";
  let description = [{
    Row n of the result is `S rows[n]`, or `rows[n] S` where the read is from the `left`.

    Verified: a row has as many elements as the state has columns, or rows for a left read.

    Example: `%past = chunk.read %q, %S : tensor<64x128xf32>, tensor<32x128xf32>`
  }];
  let arguments = (ins Chunk_Vectors:$rows, Chunk_MatrixState:$state, UnitAttr:$left);
  let results = (outs Chunk_Vectors:$result);
  let assemblyFormat = "(`left` $left^)? $rows `,` $state attr-dict `:` type($rows) `,` type($state)";
}

def Chunk_ReshapeStateOp : Chunk_Op<"reshape_state", [Pure, DeclareOpInterfaceMethods<Chunk_CostOpInterface, ["getFlops"]>,
                                                     DeclareOpInterfaceMethods<Chunk_DifferentiableOpInterface>]> {
  let summary = "the same state under another shape";
  let description = [{
    A vector state is read and advanced as the only row of a matrix.

    Verified: both shapes have equally many elements.

    Example: `%M = chunk.reshape_state %z : tensor<128xf32> to tensor<1x128xf32>`
  }];
  let arguments = (ins Chunk_Tensor:$state);
  let results = (outs Chunk_Tensor:$result);
  let assemblyFormat = "$state attr-dict `:` type($state) `to` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Chunk_AdvanceOp : Chunk_PureOp<"advance", [AttrSizedOperandSegments]> {
  let summary = "the state after the chunk's decay and writes";
  let description = [{
    `diag(row_decay) S diag(column_decay) + values^T keys`. The decays are those of the whole chunk, the values and keys
    those of the writes, already decayed to the chunk's end.

    `precise` says that later tokens do not correct an error of the values. If factors of products are rounded to 16
    bits, and a matrix of the tokens multiplies the values or the values that they are computed from, each of these is
    split into two numbers.

    Verified: as many values as keys; a value has as many elements as the state has rows, a key as it has columns; the
    decays have a token dimension of 1 and are scalars or have as many elements.

    Example:
    ```mlir
    %S1 = chunk.advance %S, %u, %k columns(%d : tensor<1xf32>) : tensor<32x128xf32>, tensor<64x32xf32>, tensor<64x128xf32>
    ```
  }];
  let arguments = (ins Chunk_MatrixState:$state, Chunk_Vectors:$values, Chunk_Vectors:$keys, Optional<Chunk_Tokens>:$column_decay,
                       Optional<Chunk_Tokens>:$row_decay, UnitAttr:$precise);
  let results = (outs Chunk_MatrixState:$result);
  let assemblyFormat = [{
    (`precise` $precise^)? $state `,` $values `,` $keys (`columns` `(` $column_decay^ `:` type($column_decay) `)`)?
    (`rows` `(` $row_decay^ `:` type($row_decay) `)`)? attr-dict `:` type($state) `,` type($values) `,` type($keys)
  }];
  let hasCanonicalizer = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$state, "::mlir::Value":$values, "::mlir::Value":$keys), [{
    build($_builder, $_state, state, values, keys, ::mlir::Value(), ::mlir::Value());
  }]>];
  let extraClassDeclaration = [{
    /// Whether all writes are zeros: then the state decays and that is all.
    bool writesNothing();
  }];
}

#endif // RECUR_CHUNK_PRODUCT_OPS_TD

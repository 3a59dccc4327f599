#ifndef RECUR_CHUNK_ADJOINT_OPS_TD
#define RECUR_CHUNK_ADJOINT_OPS_TD

include "dialects/Chunk/ChunkScanOps.td"

//===----------------------------------------------------------------------===//
// What a program's gradient is made of beside the program's own ops: these go from later tokens to earlier ones
//===----------------------------------------------------------------------===//

class Chunk_AdjointOp<string mnemonic>
    : Chunk_Op<mnemonic, [Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>, DeclareOpInterfaceMethods<Chunk_CostOpInterface, ["getFlops"]>]>;

class Chunk_TransposedOp<string mnemonic> : Chunk_AdjointOp<mnemonic> {
  let arguments = (ins Chunk_Vectors:$matrix, Chunk_Vectors:$values, Chunk_Points:$points, Chunk_Steps:$steps,
                       Optional<Chunk_Decay>:$decay, UnitAttr:$linear);
  let results = (outs Chunk_Vectors:$result);
  let assemblyFormat = [{
    $matrix `,` $values (custom<OptionalVisibility>($points, $steps)^ `decay` custom<Decay>($decay, type($decay), $linear))?
    attr-dict `:` type($matrix) `,` type($values)
  }];
}

def Chunk_ApplyTransposedOp : Chunk_TransposedOp<"apply_transposed"> {
  let summary = "what the writes gather from the rows' values";
  let description = [{
    The product of a matrix (rows by writes), transposed, and values of the rows: the way back through `chunk.apply`. With a
    decay, element [i, c] is `sum_n matrix[n, i] D[c] values[n, c]` over the rows n that see write i, with D as there.

    Verified: the matrix has as many rows as there are values; and as `chunk.apply` where there is a decay.

    Example: `%dv = chunk.apply_transposed %A, %do : tensor<64x64xf32>, tensor<64x32xf32>`
  }];
}

def Chunk_SolveTransposedOp : Chunk_TransposedOp<"solve_transposed"> {
  let summary = "the unit upper triangular solve (I + L)^T X = B";
  let description = [{
    Only the strictly lower triangle of L is read: the way back through `chunk.solve`. With a decay, the channels of X decay
    on their way from a row to an earlier one as in `chunk.apply_transposed`.

    Verified: L is square and as high as B; and as `chunk.apply` where there is a decay.

    Example: `%dB = chunk.solve_transposed %L, %dU : tensor<64x64xf32>, tensor<64x32xf32>`
  }];
}

def Chunk_DecayCotangentOp : Chunk_AdjointOp<"decay_cotangent"> {
  let summary = "the cotangent of each decay step of an interaction";
  let description = [{
    The derivative by each decay step of `sum_{n, i, c} matrix[n, i] rows[n, c] D[c] columns[i, c]`, over the rows n
    and the writes i that they see, where D is the product of steps that `chunk.interaction` says. Each pair
    contributes to the steps of its own range, with the product of the other steps of that range. Nothing is divided,
    and no two long sums are subtracted. So a step may be zero, minus infinity as a logarithm, or of any sign, and
    small contributions behind a strong decay keep their digits.

    Verified: the matrix has a row for each row and a column for each write; and as `chunk.interaction`.

    Example:
    ```mlir
    %dg = chunk.decay_cotangent %dA, %q, %k inclusive decay log(%g : tensor<64xf32>) : tensor<64x64xf32>, tensor<64x128xf32>, tensor<64x128xf32>
    ```
  }];
  let arguments = (ins Chunk_Vectors:$matrix, Chunk_Vectors:$rows, Chunk_Vectors:$columns, DenseI64ArrayAttr:$points,
                       DenseI64ArrayAttr:$steps, Chunk_Decay:$decay, UnitAttr:$linear);
  let results = (outs Chunk_Decay:$result);
  let assemblyFormat = [{
    $matrix `,` $rows `,` $columns custom<Visibility>($points, $steps) `decay` custom<Space>($linear)
    `(` $decay `:` type($decay) `)` attr-dict `:` type($matrix) `,` type($rows) `,` type($columns)
  }];
}

def Chunk_ReverseScanOp : Chunk_AdjointOp<"reverse_scan"> {
  let summary = "a scan from the last token to the first";
  let description = [{
    `z_t = b_t + a_{t+1} * z_{t+1}`, where the state stands for `a_{t+1} * z_{t+1}` behind the last token: the way back
    through `chunk.scan` by the same decay. `all` is z at each token, `first` is `a_0 * z_0`, what reaches the state before
    the first. Without a decay a is 1.

    Verified: as `chunk.scan`.

    Example:
    ```mlir
    %all, %first = chunk.reverse_scan %dA, %d decay log(%g : tensor<64xf32>) : tensor<128xf32>, tensor<64x128xf32>
    ```
  }];
  let arguments = (ins Chunk_Tensor:$state, Chunk_Tokens:$additions, Optional<Chunk_Decay>:$decay, UnitAttr:$linear);
  let results = (outs Chunk_Tokens:$all, Chunk_Tensor:$first);
  let assemblyFormat = [{
    $state `,` $additions (`decay` custom<Decay>($decay, type($decay), $linear)^)? attr-dict `:` type($state) `,` type($additions)
  }];
}

def Chunk_FollowingOp : Chunk_AdjointOp<"following"> {
  let summary = "each token's row one token earlier";
  let description = [{
    Row t of `all` is the operand's row t + 1, and the last row is the state: the way back through `chunk.previous`. `first` is
    the operand's row 0.

    Verified: without the token dimension, the operand has the state's shape.

    Example: `%all, %first = chunk.following %zero, %d : tensor<128xf32>, tensor<64x128xf32>`
  }];
  let arguments = (ins Chunk_Tensor:$state, Chunk_Tokens:$rows);
  let results = (outs Chunk_Tokens:$all, Chunk_Tensor:$first);
  let assemblyFormat = "$state `,` $rows attr-dict `:` type($state) `,` type($rows)";
}

def Chunk_SumTokensOp : Chunk_AdjointOp<"sum_tokens"> {
  let summary = "the sum over the tokens";
  let description = [{
    One value with a token dimension of 1: the way back of what is the same for every token.

    Example: `%dmu = chunk.sum_tokens %d : tensor<64x128xf32>`
  }];
  let arguments = (ins Chunk_Tokens:$operand);
  let results = (outs Chunk_Tokens:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand)";
}

def Chunk_InsertOp : Chunk_AdjointOp<"insert"> {
  let summary = "zeros but for one element of each token's vector, or one row of its matrix";
  let description = [{
    The way back through `chunk.extract`.

    Verified: the index lies within the size.

    Example: `%dk = chunk.insert %dk1[1] of 2 : tensor<64x128xf32>`
  }];
  let arguments = (ins Chunk_Tokens:$operand, I64Attr:$index, I64Attr:$size);
  let results = (outs Chunk_Tokens:$result);
  let assemblyFormat = "$operand `[` $index `]` `of` $size attr-dict `:` type($operand)";
}

#endif // RECUR_CHUNK_ADJOINT_OPS_TD

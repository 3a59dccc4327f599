#ifndef RECUR_CHUNK_TOKEN_OPS_TD
#define RECUR_CHUNK_TOKEN_OPS_TD

include "dialects/Chunk/ChunkProgramOps.td"

//===----------------------------------------------------------------------===//
// Arithmetic that each token does by itself
//===----------------------------------------------------------------------===//

class Chunk_PureOp<string mnemonic, list<Trait> traits = []>
    : Chunk_Op<mnemonic, !listconcat([Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>,
                                      DeclareOpInterfaceMethods<Chunk_DifferentiableOpInterface>,
                                      DeclareOpInterfaceMethods<Chunk_CostOpInterface, ["getFlops"]>], traits)>;

def Chunk_ConstantOp : Chunk_Op<"constant", [Pure, ConstantLike]> {
  let summary = "one number in every element";
  let description = [{
    A value of the tokens; with a token dimension of 1 where nothing asks for more.

    Example: `%half = chunk.constant 5.000000e-01 : tensor<1xf32>`
  }];
  let arguments = (ins F64Attr:$value);
  let results = (outs Chunk_Tokens:$result);
  let hasCustomAssemblyFormat = 1;
  let hasFolder = 1;
  let builders = [OpBuilder<(ins "double":$value, "::mlir::Type":$type)>];
  let extraClassDeclaration = [{ double getNumber() { return getValueAttr().getValueAsDouble(); } }];
}

def Chunk_MapOp : Chunk_PureOp<"map"> {
  let summary = "a function of one token's values, for every token";
  let description = [{
    Each function means what the `dgps` op of its name means for one token. Elementwise: `neg exp expm1 log sqrt abs
    sigmoid sin cos tanh softplus elu erf floor stop` of one operand, `add sub mul div max min` of two, whose shapes without the token dimension
    are equal, or one is a scalar of each token and goes with any; `select` of three, which gives the second where the
    first is above zero and the third elsewhere. Products: `outer dot matvec vecmat scale_cols scale_rows`;
    `sum` of all of a token's elements, `softmax` of its vector. A token dimension of 1 goes with any.

    Verified: the number of operands; their shapes; that the token dimensions are equal or 1.

    Example: `%u = chunk.map mul %beta, %v : tensor<64xf32>, tensor<64x128xf32>`
  }];
  let arguments = (ins Chunk_Function:$function, Variadic<Chunk_Tokens>:$operands);
  let results = (outs Chunk_Tokens:$result);
  let assemblyFormat = "$function $operands attr-dict `:` type($operands)";
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Chunk_ExtractOp : Chunk_PureOp<"extract"> {
  let summary = "one element of each token's vector, or one row of each token's matrix";
  let description = [{
    Verified: the index lies within the first size after the tokens.

    Example: `%k1 = chunk.extract %k[1] : tensor<64x2x128xf32>`
  }];
  let arguments = (ins Chunk_Tokens:$operand, I64Attr:$index);
  let results = (outs Chunk_Tokens:$result);
  let assemblyFormat = "$operand `[` $index `]` attr-dict `:` type($operand)";
  let hasFolder = 1;
}

def Chunk_SliceOp : Chunk_PureOp<"slice"> {
  let summary = "some elements of each token's vector, or some rows of its matrix";
  let description = [{
    `size` of them from `begin` on. Verified: there is at least one, and all lie within the first size after the tokens.

    Example: `%q = chunk.slice %qk[0 for 64] : tensor<64x128xf32>`
  }];
  let arguments = (ins Chunk_Tokens:$operand, I64Attr:$begin, I64Attr:$size);
  let results = (outs Chunk_Tokens:$result);
  let assemblyFormat = "$operand `[` $begin `for` $size `]` attr-dict `:` type($operand)";
  let hasFolder = 1;
}

def Chunk_ConcatOp : Chunk_Op<"concat", [Pure, DeclareOpInterfaceMethods<Chunk_CostOpInterface, ["getFlops"]>,
                                         DeclareOpInterfaceMethods<Chunk_DifferentiableOpInterface>]> {
  let summary = "values of each token one after the other along the first dimension after the tokens";
  let description = [{
    An operand of one dimension less than the result is one element of each token's vector, or one row of its matrix. A
    token dimension of 1 goes with any.

    Verified: there is an operand; each has the rank of the result or one less; the last dimension of a matrix is the same;
    the sizes add up; the token dimensions are those of the result or 1.

    Example: `%qk = chunk.concat %q, %k : tensor<64x128xf32>, tensor<1x128xf32> to tensor<64x256xf32>`
  }];
  let arguments = (ins Variadic<Chunk_Tokens>:$operands);
  let results = (outs Chunk_Tokens:$result);
  let assemblyFormat = "$operands attr-dict `:` type($operands) `to` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let extraClassDeclaration = [{
    /// Where each operand begins in the first dimension after the tokens, and behind them where the last one ends.
    ::llvm::SmallVector<int64_t> getPlaces();
  }];
}

def Chunk_BroadcastOp : Chunk_Op<"broadcast", [Pure, DeclareOpInterfaceMethods<Chunk_CostOpInterface, ["getFlops"]>,
                                               DeclareOpInterfaceMethods<Chunk_DifferentiableOpInterface>]> {
  let summary = "the same for every token, or a scalar in every element of each token's value";
  let description = [{
    `map` broadcasts by itself; this op is for the places that want the shape.

    Verified: the token dimension stays or is 1; the rest of the shape stays or is that of a scalar.

    Example: `%ridges = chunk.broadcast %ridge : tensor<1xf32> to tensor<64x128xf32>`
  }];
  let arguments = (ins Chunk_Tokens:$operand);
  let results = (outs Chunk_Tokens:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `to` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Chunk_InterleaveOp : Chunk_PureOp<"interleave", [SameTypeOperands]> {
  let summary = "the micro-steps of each token as rows, token by token";
  let description = [{
    R operands of C rows become one of R C rows: row t R + j is row t of operand j.

    Verified: there is at least one operand.

    Example: `%R = chunk.interleave %k0, %k1 : tensor<64x128xf32>`
  }];
  let arguments = (ins Variadic<Chunk_Tokens>:$operands);
  let results = (outs Chunk_Tokens:$result);
  let assemblyFormat = "$operands attr-dict `:` type($operands)";
  let hasCustomAssemblyFormat = 0;
  let hasFolder = 1;
}

def Chunk_DeinterleaveOp : Chunk_PureOp<"deinterleave"> {
  let summary = "one micro-step's rows";
  let description = [{
    Row t of the result is row t R + j of the operand, for step j of R.

    Verified: R divides the rows, and j is below R.

    Example: `%u1 = chunk.deinterleave %U 1 of 2 : tensor<128x64xf32>`
  }];
  let arguments = (ins Chunk_Tokens:$operand, I64Attr:$step, I64Attr:$steps);
  let results = (outs Chunk_Tokens:$result);
  let assemblyFormat = "$operand $step `of` $steps attr-dict `:` type($operand)";
  let hasFolder = 1;
}

#endif // RECUR_CHUNK_TOKEN_OPS_TD

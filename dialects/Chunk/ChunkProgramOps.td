#ifndef RECUR_CHUNK_PROGRAM_OPS_TD
#define RECUR_CHUNK_PROGRAM_OPS_TD

include "dialects/Chunk/ChunkDialect.td"
include "dialects/Chunk/ChunkInterfaces.td"
include "dialects/Interfaces/StoredType.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Chunk_Op<string mnemonic, list<Trait> traits = []> : Op<Chunk_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// The program, what enters it and what leaves it
//===----------------------------------------------------------------------===//

def Chunk_ProgramOp : Chunk_Op<"program", [IsolatedFromAbove, SingleBlock, NoTerminator, NoRegionArguments, Symbol]> {
  let summary = "the program for one chunk of tokens of one head";
  let description = [{
    Run once a chunk, in order; the states go from chunk to chunk. `dims` names the sizes that the specification was
    instantiated with. `summary_of` marks the summary of a segment: running this program over a segment's chunks gives, as
    the final values of its last two states, the map that the segment applies to the state named here. A `backward` program
    runs over the chunks from the last to the first: its states go from each chunk to the one before it, and `chunk.kept`
    gives the states that another program left at the chunk's start. A program that `keeps` them leaves its states at the
    start of each chunk, where the caller has room for them. A program may be one phase of several (`chunk-phases`):
    `chunk.give` leaves values of a chunk to later phases, which `chunk.take` them. An `exact` program has states that
    systems are solved with: below this level its products are not rounded.

    `stored` says of an input, a param, a state or an output which type its array has in the caller's memory, where that is not
    f32. `factors` is the type that the factors of products may be rounded to below this level, and absent they stay f32
    (`chunk-choose-factors`). Factors of tf32 lie in memory as f32, and each product rounds them. Neither changes what the
    program means.

    Verified: a program that `keeps` states goes forward; names are unique within their kind (inputs and params share one
    name space with states; outputs have their own, and so have the values given and taken); each `chunk.state` has
    exactly one `chunk.next`; inputs and outputs have as many tokens as the chunk.

    Example:
    ```mlir
    chunk.program @linear_attention {K = 128 : i64, V = 64 : i64} chunk 64 {
      %q = chunk.input "q" : tensor<64x128xf32>
      %k = chunk.input "k" : tensor<64x128xf32>
      %v = chunk.input "v" : tensor<64x64xf32>
      %S = chunk.state "S" : tensor<64x128xf32>
      %past = chunk.read %q, %S : tensor<64x128xf32>, tensor<64x128xf32>
      %A = chunk.interaction %q, %k inclusive : tensor<64x128xf32>, tensor<64x128xf32>
      %present = chunk.apply %A, %v : tensor<64x64xf32>, tensor<64x64xf32>
      %o = chunk.map add %past, %present : tensor<64x64xf32>, tensor<64x64xf32>
      %S1 = chunk.advance %S, %v, %k : tensor<64x128xf32>, tensor<64x64xf32>, tensor<64x128xf32>
      chunk.output "o" %o : tensor<64x64xf32>
      chunk.next %S, %S1 : tensor<64x128xf32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, DictionaryAttr:$dims, I64Attr:$chunk, OptionalAttr<StrAttr>:$summary_of,
                   OptionalAttr<Chunk_SummaryKind>:$summary_kind, UnitAttr:$backward, UnitAttr:$keeps, UnitAttr:$exact,
                   OptionalAttr<Recur_FactorType>:$factors);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name $dims `chunk` $chunk (`summary_of` $summary_of^ `as` $summary_kind)? (`backward` $backward^)? (`keeps` $keeps^)?
    (`exact` $exact^)? (`factors` $factors^)?
    attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::DictionaryAttr":$dims, "int64_t":$chunk)>];
  let extraClassDeclaration = [{
    /// Inputs, params, states and outputs in the order of their declaration.
    llvm::SmallVector<InputOp, 8> getInputs();
    llvm::SmallVector<ParamOp, 8> getParams();
    llvm::SmallVector<StateOp, 8> getStates();
    llvm::SmallVector<OutputOp, 8> getOutputs();
    llvm::SmallVector<InitialOp, 8> getInitials();
    llvm::SmallVector<KeptOp, 8> getKept();
    llvm::SmallVector<TakeOp, 8> getTaken();
    llvm::SmallVector<GiveOp, 8> getGiven();
    /// The type of 16 bits that factors of products may be rounded to; null where they stay f32 in memory.
    ::mlir::Type getShortFactors();
    /// Whether each product rounds its factors of f32 to tf32.
    bool hasTF32Factors();
    /// What says how much of the state remains; null for nothing.
    RemainsOp getRemains(llvm::StringRef state);
  }];
}

// What a row of the caller's array has, where its value has more, which is padding; a size for each dimension.
defvar Chunk_Sizes = OptionalAttr<DenseI64ArrayAttr>;

// Not pure: what a program takes and gives stays, whether or not it is used.
class Chunk_DeclarationOp<string mnemonic, list<Trait> traits = []>
    : Chunk_Op<mnemonic, !listconcat([HasParent<"ProgramOp">, DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>], traits)>;

def Chunk_InputOp : Chunk_DeclarationOp<"input"> {
  let summary = "a value that each token of each head brings";
  let description = [{
    A `shared` input has one value for a group of heads. If the value is larger than the caller's array, `of` says how
    many numbers the caller has along each dimension; the others are zero.

    With `back` each token has what the input had so many tokens before. As long as the sequence has no such token, it
    has one of the last `back` rows of `behind`, the first token the first of them.

    Verified: the sizes are as many as the value of one token has, and at most as large; `back` is at least 1, and
    `behind` has at least as many rows, each as large as the value of one token; no sizes are given with `back`.

    Examples:
    ```mlir
    %q = chunk.input "q" shared : tensor<64x128xf32>
    %k = chunk.input "k" stored bf16 of [100] : tensor<64x112xf32>
    %x = chunk.input "x" back 70 behind %x_last70 : tensor<70x32xf32> : tensor<64x32xf32>
    ```
  }];
  let arguments = (ins StrAttr:$name, UnitAttr:$shared, OptionalAttr<Recur_StoredInputType>:$stored, Chunk_Sizes:$sizes,
                   OptionalAttr<I64Attr>:$back, Optional<Chunk_Tensor>:$behind);
  let results = (outs Chunk_Tokens:$result);
  let assemblyFormat = [{
    $name (`shared` $shared^)? (`stored` $stored^)? (`of` $sizes^)? (`back` $back^)? (`behind` $behind^ `:` type($behind))?
    attr-dict `:` type($result)
  }];
  let builders = [OpBuilder<(ins "::mlir::Type":$type, "::mlir::StringAttr":$name, "::mlir::UnitAttr":$shared, "::mlir::TypeAttr":$stored), [{
    build($_builder, $_state, type, name, shared, stored, ::mlir::DenseI64ArrayAttr(), ::mlir::IntegerAttr(), ::mlir::Value());
  }]>, OpBuilder<(ins "::mlir::Type":$type, "::llvm::StringRef":$name, "bool":$shared, "::mlir::TypeAttr":$stored), [{
    build($_builder, $_state, type, $_builder.getStringAttr(name), shared ? $_builder.getUnitAttr() : ::mlir::UnitAttr(), stored, ::mlir::DenseI64ArrayAttr(),
          ::mlir::IntegerAttr(), ::mlir::Value());
  }]>];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Whether it is the cotangent of an output of the program that this one is the gradient of.
    bool isCotangent() { return getName().starts_with("cotangent."); }
    /// Whether its numbers are integers in memory. Nothing has a gradient with respect to them.
    bool isInteger() { return getStored() && getStored()->isInteger(32); }
  }];
}

def Chunk_ParamOp : Chunk_DeclarationOp<"param"> {
  let summary = "a value of the head, the same for every token";
  let description = [{
    `of` is as in `chunk.input`. Verified: its token dimension is 1; and as `chunk.input`.

    Example: `%mu = chunk.param "mu" : tensor<1xf32>`, `%ridge = chunk.param "ridge" : tensor<1x128xf32>`
  }];
  let arguments = (ins StrAttr:$name, OptionalAttr<Recur_StoredType>:$stored, Chunk_Sizes:$sizes);
  let results = (outs Chunk_Tokens:$result);
  let assemblyFormat = "$name (`stored` $stored^)? (`of` $sizes^)? attr-dict `:` type($result)";
  let builders = [OpBuilder<(ins "::mlir::Type":$type, "::mlir::StringAttr":$name, "::mlir::TypeAttr":$stored), [{
    build($_builder, $_state, type, name, stored, ::mlir::DenseI64ArrayAttr());
  }]>, OpBuilder<(ins "::mlir::Type":$type, "::llvm::StringRef":$name, "::mlir::TypeAttr":$stored), [{
    build($_builder, $_state, type, $_builder.getStringAttr(name), stored, ::mlir::DenseI64ArrayAttr());
  }]>];
  let hasVerifier = 1;
}

def Chunk_StateOp : Chunk_DeclarationOp<"state"> {
  let summary = "a state, as the previous chunk left it";
  let description = [{
    It has no token dimension. Zero before the first chunk unless the caller passes an initial state. For a
    `transposed` state the caller passes and gets the transpose. `of` says how much of the state, with its sides as in
    the program, the caller has: the rest is zero before the first chunk and is dropped after the last. `kept` is the
    type in which a program that `keeps` its states leaves this one, where that is not f32.

    Verified: as `chunk.input`; a transposed state is a matrix.

    Example: `%S = chunk.state "S" : tensor<64x128xf32>`, `%S = chunk.state "S" transposed of [70, 100] : tensor<80x112xf32>`
  }];
  let arguments = (ins StrAttr:$name, OptionalAttr<Recur_StoredType>:$stored, UnitAttr:$transposed, Chunk_Sizes:$sizes,
                   OptionalAttr<Recur_StoredType>:$kept);
  let results = (outs Chunk_Tensor:$result);
  let assemblyFormat = [{
    $name (`stored` $stored^)? (`transposed` $transposed^)? (`of` $sizes^)? (`kept` $kept^)? attr-dict `:` type($result)
  }];
  let builders = [OpBuilder<(ins "::mlir::Type":$type, "::mlir::StringAttr":$name, CArg<"::mlir::TypeAttr", "{}">:$stored,
                                 CArg<"::mlir::UnitAttr", "{}">:$transposed), [{
    build($_builder, $_state, type, name, stored, transposed, ::mlir::DenseI64ArrayAttr(), ::mlir::TypeAttr());
  }]>, OpBuilder<(ins "::mlir::Type":$type, "::llvm::StringRef":$name, CArg<"::mlir::TypeAttr", "{}">:$stored,
                      CArg<"bool", "false">:$transposed), [{
    build($_builder, $_state, type, name, stored, transposed, ::mlir::DenseI64ArrayAttr(), ::mlir::TypeAttr());
  }]>];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The op that says what the state becomes.
    NextOp getNext();
    /// The sizes of the array that the caller has.
    llvm::SmallVector<int64_t> getCallerShape();
  }];
}

def Chunk_KeptOp : Chunk_DeclarationOp<"kept", [Pure]> {
  let summary = "a state at the chunk's start, as the run over the chunks from first to last left it";
  let description = [{
    A gradient needs the values that the program computed, and these need the states that they were computed from. A
    `transposed` state was left as its transpose. `stored` is the type in which it was left, where that is not f32.

    Verified: the program is one that runs `backward`, and keeps no two states of one name; a transposed state is a matrix.

    Example: `%S = chunk.kept "S" : tensor<64x128xf32>`, `%S = chunk.kept "S" stored bf16 : tensor<64x128xf32>`
  }];
  let arguments = (ins StrAttr:$name, OptionalAttr<Recur_StoredType>:$stored, UnitAttr:$transposed);
  let results = (outs Chunk_Tensor:$result);
  let assemblyFormat = "$name (`stored` $stored^)? (`transposed` $transposed^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The sizes of the array that it was left in.
    llvm::SmallVector<int64_t> getCallerShape();
  }];
}

def Chunk_InitialOp : Chunk_DeclarationOp<"initial", [Pure]> {
  let summary = "a state as it was before the sequence's first token";
  let description = [{
    Every chunk of the sequence gets the same value, whatever the state is by then. So the chunks of a program with
    this op may be independent.

    Verified: the program has no state of that name, and no other `chunk.initial` of it.

    Example: `%k_back1 = chunk.initial "k_back1" : tensor<128xf32>`
  }];
  let arguments = (ins StrAttr:$name, OptionalAttr<Recur_StoredType>:$stored);
  let results = (outs Chunk_Tensor:$result);
  let assemblyFormat = "$name (`stored` $stored^)? attr-dict `:` type($result)";
}

def Chunk_HeldOp : Chunk_Op<"held", [Pure, HasParent<"ProgramOp">, AllTypesMatch<["first", "result"]>]> {
  let summary = "the row that an input had some tokens before the chunk";
  let description = [{
    The input's row `back` tokens before the chunk's first token. It is the value at the chunk's start of a state that
    holds an earlier token's row. The row is read from the input's array, so no state carries it from chunk to chunk.
    If the sequence begins with the chunk, it is `first`.

    If `first` has `back` rows, the result has as many: those of all tokens from `back` before the chunk on, the oldest first. Where
    the sequence has fewer tokens before the chunk, the others are the last rows of `first`, in front of them.

    Verified: the operand is the result of a `chunk.input`; `back` is 1 to as many tokens as the chunk has, or the number of
    `first`'s rows; `first` and the result have the shape of a token's row, or some such rows.

    Examples:
    ```mlir
    %s = chunk.held %k[1], %k_back1 : tensor<64x128xf32>, tensor<128xf32>
    %w = chunk.held %k[100], %k_last100 : tensor<64x128xf32>, tensor<100x128xf32>
    ```
  }];
  let arguments = (ins Chunk_Tokens:$input, I64Attr:$back, Chunk_Tensor:$first);
  let results = (outs Chunk_Tensor:$result);
  let assemblyFormat = "$input `[` $back `]` `,` $first attr-dict `:` type($input) `,` type($first)";
  let hasVerifier = 1;
}

// What phases of one plan leave to each other. A value of the tokens has a row for each of the chunk's tokens, or several;
// `whole` values have no token dimension. `rounded`: below this level it is kept in the type of the data, not in f32.
// `precise`: it is kept as a left factor of tf32, which has three bits more than bf16, in f32; never with `rounded`.

def Chunk_TakeOp : Chunk_DeclarationOp<"take", [Pure]> {
  let summary = "a value of this chunk that an earlier phase left";
  let description = [{
    `triangle [r, w]` says of a matrix of the tokens that row n is zero from column (n / r + 1) w on.

    Verified: no two values of one name are given or taken; a value of the tokens has some rows for each of the chunk's
    tokens, or one row; none is `rounded` and `precise`; a triangle is of a matrix, and has two numbers above zero.

    Example: `%S = chunk.take "S" whole rounded : tensor<64x128xf32>`
  }];
  let arguments = (ins StrAttr:$name, UnitAttr:$whole, UnitAttr:$rounded, OptionalAttr<DenseI64ArrayAttr>:$triangle,
                       UnitAttr:$precise);
  let results = (outs Chunk_Tensor:$result);
  let assemblyFormat = "$name (`whole` $whole^)? (`rounded` $rounded^)? (`precise` $precise^)? (`triangle` $triangle^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Chunk_GiveOp : Chunk_Op<"give", [HasParent<"ProgramOp">]> {
  let summary = "a value of this chunk that later phases take";
  let description = [{
    Verified: as `chunk.take`.

    Example: `chunk.give "S" whole rounded %S : tensor<64x128xf32>`
  }];
  let arguments = (ins StrAttr:$name, UnitAttr:$whole, UnitAttr:$rounded, Chunk_Tensor:$value, UnitAttr:$precise);
  let assemblyFormat = "$name (`whole` $whole^)? (`rounded` $rounded^)? (`precise` $precise^)? $value attr-dict `:` type($value)";
}

def Chunk_RemainsOp : Chunk_Op<"remains", [HasParent<"ProgramOp">]> {
  let summary = "how much of a state a chunk leaves at most";
  let description = [{
    The chunk maps any two states to two states that are at most `bound` times as far apart, by the root of the sum of
    squares. If `bound` has several numbers, each of them bounds one row or one column: number k bounds the k-th one,
    and no other row or column enters it. A bound that is not a number promises nothing. If the bounds of several
    consecutive chunks multiply to almost zero, the states after them can be computed from zeros as well as from the
    state before them. The op changes nothing that the program computes.

    Verified: the program has a state of that name, a matrix; the bound is one number, or as many as the state has rows or
    columns, with a token dimension of 1.

    Example: `chunk.remains "S" %x : tensor<1xf32>`, `chunk.remains "S" %d : tensor<1x128xf32>`
  }];
  let arguments = (ins StrAttr:$name, Chunk_Tokens:$bound);
  let assemblyFormat = "$name $bound attr-dict `:` type($bound)";
  let hasVerifier = 1;
}

def Chunk_NextOp : Chunk_Op<"next", [HasParent<"ProgramOp">, AllTypesMatch<["state", "value"]>]> {
  let summary = "what a state becomes after the chunk";
  let description = [{
    Verified: the first operand is the result of a `chunk.state`.

    Example: `chunk.next %S, %S1 : tensor<64x128xf32>`
  }];
  let arguments = (ins Chunk_Tensor:$state, Chunk_Tensor:$value);
  let assemblyFormat = "$state `,` $value attr-dict `:` type($state)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The state that is updated.
    StateOp getStateOp();
  }];
}

def Chunk_OutputOp : Chunk_Op<"output", [HasParent<"ProgramOp">]> {
  let summary = "a value that each token of each head gives";
  let description = [{
    If the value is larger than the caller's array, `of` says how many numbers the array has along each dimension; the
    others are dropped.

    Verified: as `chunk.input`.

    Example: `chunk.output "o" %o : tensor<64x64xf32>`, `chunk.output "o" of [70] %o : tensor<64x80xf32>`
  }];
  let arguments = (ins StrAttr:$name, Chunk_Tokens:$value, OptionalAttr<Recur_StoredType>:$stored, Chunk_Sizes:$sizes);
  let assemblyFormat = "$name (`of` $sizes^)? $value (`stored` $stored^)? attr-dict `:` type($value)";
  let builders = [OpBuilder<(ins "::mlir::StringAttr":$name, "::mlir::Value":$value, "::mlir::TypeAttr":$stored), [{
    build($_builder, $_state, name, value, stored, ::mlir::DenseI64ArrayAttr());
  }]>, OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::Value":$value, "::mlir::TypeAttr":$stored), [{
    build($_builder, $_state, $_builder.getStringAttr(name), value, stored, ::mlir::DenseI64ArrayAttr());
  }]>];
  let hasVerifier = 1;
}

def Chunk_YieldOp : Chunk_Op<"yield", [Pure, Terminator, ParentOneOf<["CgOp", "LoopOp", "TokenLoopOp"]>]> {
  let summary = "the values that a region gives";
  let description = [{
    Example: `chunk.yield %y : tensor<64x128xf32>`
  }];
  let arguments = (ins Variadic<Chunk_Tensor>:$values);
  let builders = [OpBuilder<(ins), [{ /* gives nothing */ }]>];
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

#endif // RECUR_CHUNK_PROGRAM_OPS_TD

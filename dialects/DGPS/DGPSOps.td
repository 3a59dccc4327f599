#ifndef RECUR_DGPS_OPS_TD
#define RECUR_DGPS_OPS_TD

include "dialects/DGPS/DGPSDialect.td"
include "dialects/DGPS/DGPSInterfaces.td"
include "dialects/Interfaces/StoredType.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class DGPS_Op<string mnemonic, list<Trait> traits = []> : Op<DGPS_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// The recurrence, what enters it and what leaves it
//===----------------------------------------------------------------------===//

def DGPS_RecurrenceOp : DGPS_Op<"recurrence", [IsolatedFromAbove, SingleBlock, NoTerminator, NoRegionArguments, Symbol]> {
  let summary = "the program for one token of one head";
  let description = [{
    The body is one block. `dims` names the sizes that the specification was instantiated with. `stored` says of an input, a
    param, a state or an output which type its array has in the caller's memory, where that is not f32 (`dgps-store`); it
    changes nothing that the recurrence means.

    Verified: names are unique within their kind (inputs and params share one name space with states; outputs have
    their own); each `dgps.state` has exactly one `dgps.next`.

    Example:
    ```mlir
    dgps.recurrence @linear_attention {K = 128 : i64, V = 64 : i64} {
      %k = dgps.input "k" : <128>
      %v = dgps.input "v" : <64>
      %q = dgps.input "q" : <128>
      %S = dgps.state "S" : <64x128>
      %write = dgps.outer %v, %k : <64>, <128>
      %S1 = dgps.add %S, %write : <64x128>, <64x128>
      %o = dgps.matvec %S1, %q : <64x128>, <128>
      dgps.output "o" %o : <64>
      dgps.next %S, %S1 : <64x128>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, DictionaryAttr:$dims);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name $dims attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::DictionaryAttr":$dims)>];
  let extraClassDeclaration = [{
    /// Inputs, params, states and outputs in the order of their declaration.
    llvm::SmallVector<InputOp, 8> getInputs();
    llvm::SmallVector<ParamOp, 8> getParams();
    llvm::SmallVector<StateOp, 8> getStates();
    llvm::SmallVector<OutputOp, 8> getOutputs();
    /// Forgets where states start, and what only that needs: below this level an initial state comes from the caller.
    void dropStarts();
  }];
}

// Not pure: what a recurrence takes stays, whether or not it is used.
class DGPS_DeclarationOp<string mnemonic, list<Trait> traits = []>
    : DGPS_Op<mnemonic, !listconcat([HasParent<"RecurrenceOp">, DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>], traits)> {
  let results = (outs DGPS_RealType:$result);
}

def DGPS_InputOp : DGPS_DeclarationOp<"input"> {
  let summary = "a value that each token of each head brings";
  let description = [{
    `shared` inputs are one for a group of heads.

    Example: `%q = dgps.input "q" shared : <128>`, `%k = dgps.input "k" stored bf16 : <128>`
  }];
  let arguments = (ins StrAttr:$name, UnitAttr:$shared, OptionalAttr<Recur_StoredInputType>:$stored);
  let assemblyFormat = "$name (`shared` $shared^)? (`stored` $stored^)? attr-dict `:` type($result)";
  let extraClassDeclaration = [{
    /// Whether its numbers are integers in memory. Nothing has a gradient with respect to them.
    bool isInteger() { return getStored() && getStored()->isInteger(32); }
  }];
}

def DGPS_ParamOp : DGPS_DeclarationOp<"param"> {
  let summary = "a value of the head, the same for every token";
  let description = [{
    Example: `%mu = dgps.param "mu" : <scalar>`
  }];
  let arguments = (ins StrAttr:$name, OptionalAttr<Recur_StoredType>:$stored);
  let assemblyFormat = "$name (`stored` $stored^)? attr-dict `:` type($result)";
}

def DGPS_StateOp : DGPS_DeclarationOp<"state", [OptionalTypesMatchWith<"the start has the type of the state", "result", "start", "$_self">]> {
  let summary = "a state, as the previous token left it";
  let description = [{
    Before the first token, unless the caller passes an initial state, it is the value `start`, and zero without one. Its
    value after the token is the second operand of the `dgps.next` that names it.

    Verified: `start` has the type of the state, and is made of params and constants alone.

    Example: `%S = dgps.state "S" : <64x128>`, `%Z = dgps.state "Z" start %W : <64x128>`
  }];
  let arguments = (ins StrAttr:$name, Optional<DGPS_RealType>:$start, OptionalAttr<Recur_StoredType>:$stored);
  let builders = [OpBuilder<(ins "::mlir::Type":$type, "::mlir::StringAttr":$name),
                            [{ build($_builder, $_state, type, name, ::mlir::Value(), ::mlir::TypeAttr()); }]>];
  let assemblyFormat = "$name (`start` $start^)? (`stored` $stored^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The op that says what the state becomes.
    NextOp getNext();
  }];
}

def DGPS_NextOp : DGPS_Op<"next", [HasParent<"RecurrenceOp">, AllTypesMatch<["state", "value"]>]> {
  let summary = "what a state becomes after the token";
  let description = [{
    Verified: the first operand is the result of a `dgps.state`.

    Example: `dgps.next %S, %S1 : <64x128>`
  }];
  let arguments = (ins DGPS_RealType:$state, DGPS_RealType:$value);
  let assemblyFormat = "$state `,` $value attr-dict `:` type($state)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The state that is updated.
    StateOp getStateOp();
  }];
}

def DGPS_OutputOp : DGPS_Op<"output", [HasParent<"RecurrenceOp">]> {
  let summary = "a value that each token of each head gives";
  let description = [{
    Example: `dgps.output "o" %o : <64>`
  }];
  let arguments = (ins StrAttr:$name, DGPS_RealType:$value, OptionalAttr<Recur_StoredType>:$stored);
  let assemblyFormat = "$name $value (`stored` $stored^)? attr-dict `:` type($value)";
}

//===----------------------------------------------------------------------===//
// Elementwise arithmetic
//===----------------------------------------------------------------------===//

class DGPS_PureOp<string mnemonic, list<Trait> traits = []>
    : DGPS_Op<mnemonic, !listconcat([Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>], traits)> {
  let results = (outs DGPS_RealType:$result);
}

def DGPS_ConstantOp : DGPS_Op<"constant", [Pure, ConstantLike]> {
  let summary = "one number in every element";
  let description = [{
    Example: `%half = dgps.constant 5.000000e-01 : <scalar>`, `%ones = dgps.constant 1.000000e+00 : <128>`
  }];
  let arguments = (ins F64Attr:$value);
  let results = (outs DGPS_RealType:$result);
  let hasCustomAssemblyFormat = 1;
  let hasFolder = 1;
  let builders = [OpBuilder<(ins "double":$value, CArg<"::llvm::ArrayRef<int64_t>", "{}">:$shape)>];
  let extraClassDeclaration = [{ double getNumber() { return getValueAttr().getValueAsDouble(); } }];
}

def DGPS_BroadcastOp : DGPS_Op<"broadcast", [Pure]> {
  let summary = "a scalar in every element of a vector or matrix";
  let description = [{
    Arithmetic broadcasts scalars by itself; this op is for the places that want the shape.

    Example: `%g1 = dgps.broadcast %g : <128>`
  }];
  let arguments = (ins DGPS_Scalar:$operand);
  let results = (outs DGPS_RealType:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
  let hasFolder = 1;
}

class DGPS_UnaryOp<string mnemonic, string what, string example>
    : DGPS_Op<mnemonic, [Pure, DeclareOpInterfaceMethods<DGPS_ElementwiseOpInterface>, SameOperandsAndResultType]> {
  let summary = what;
  let description = "Elementwise.\n\nExample: `" # example # "`";
  let arguments = (ins DGPS_RealType:$operand);
  let results = (outs DGPS_RealType:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand)";
  let hasFolder = 1;
}

def DGPS_NegOp : DGPS_UnaryOp<"neg", "the negative", "%m = dgps.neg %a : <128>">;
def DGPS_ExpOp : DGPS_UnaryOp<"exp", "the exponential", "%a = dgps.exp %g : <scalar>">;
def DGPS_Expm1Op : DGPS_UnaryOp<"expm1", "the exponential less one, exact near zero", "%a = dgps.expm1 %g : <scalar>"> {
  let description = [{
    `1 - exp(x)` and `exp(x) - 1` become this op, for their cancellation loses everything near zero.

    Example: `%a = dgps.expm1 %g : <scalar>`
  }];
}
def DGPS_LogOp : DGPS_UnaryOp<"log", "the natural logarithm", "%l = dgps.log %a : <128>">;
def DGPS_SqrtOp : DGPS_UnaryOp<"sqrt", "the square root", "%n = dgps.sqrt %a : <scalar>">;
def DGPS_AbsOp : DGPS_UnaryOp<"abs", "the magnitude", "%n = dgps.abs %a : <128>">;
def DGPS_SigmoidOp : DGPS_UnaryOp<"sigmoid", "1 / (1 + exp(-x)), without overflow", "%a = dgps.sigmoid %f : <128>">;
def DGPS_SinOp : DGPS_UnaryOp<"sin", "the sine", "%s = dgps.sin %x : <128>">;
def DGPS_CosOp : DGPS_UnaryOp<"cos", "the cosine", "%c = dgps.cos %x : <128>">;
def DGPS_TanhOp : DGPS_UnaryOp<"tanh", "the hyperbolic tangent", "%a = dgps.tanh %x : <128>">;
def DGPS_SoftplusOp : DGPS_UnaryOp<"softplus", "log(1 + exp(x)), without overflow", "%d = dgps.softplus %x : <scalar>">;
def DGPS_EluOp : DGPS_UnaryOp<"elu", "x above zero, exp(x) - 1 below", "%f = dgps.elu %q : <128>">;

def DGPS_ErfOp : DGPS_UnaryOp<"erf", "the error function", "%f = dgps.erf %x : <128>">;
def DGPS_FloorOp : DGPS_UnaryOp<"floor", "the largest whole number that is not above x", "%f = dgps.floor %x : <128>"> {
  let description = [{
    Elementwise. Its gradient is zero.

    Example: `%f = dgps.floor %x : <128>`
  }];
}

def DGPS_StopOp : DGPS_UnaryOp<"stop", "the value itself, whose gradient is zero", "%c = dgps.stop %a : <128>"> {
  let description = [{
    Elementwise. A gradient does not go through it; in all else it is what it is given.

    Example: `%c = dgps.stop %a : <128>`
  }];
}

class DGPS_BinaryOp<string mnemonic, string what, string example, list<Trait> traits = []>
    : DGPS_PureOp<mnemonic, !listconcat([DeclareOpInterfaceMethods<DGPS_ElementwiseOpInterface>], traits)> {
  let summary = what;
  let description = "Elementwise; equal shapes, or a scalar with any shape.\n\nExample: `" # example # "`";
  let arguments = (ins DGPS_RealType:$lhs, DGPS_RealType:$rhs);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs)";
  let hasFolder = 1;
}

def DGPS_AddOp : DGPS_BinaryOp<"add", "the sum", "%c = dgps.add %a, %b : <128>, <128>", [Commutative]> { let hasCanonicalizer = 1; }
def DGPS_SubOp : DGPS_BinaryOp<"sub", "the difference", "%c = dgps.sub %a, %b : <128>, <128>"> { let hasCanonicalizer = 1; }
def DGPS_MulOp : DGPS_BinaryOp<"mul", "the elementwise product", "%c = dgps.mul %g, %a : <scalar>, <128>", [Commutative]> { let hasCanonicalizer = 1; }
def DGPS_DivOp : DGPS_BinaryOp<"div", "the elementwise quotient", "%c = dgps.div %a, %n : <128>, <scalar>"> { let hasCanonicalizer = 1; }
def DGPS_MaxOp : DGPS_BinaryOp<"max", "the larger", "%m = dgps.max %a, %b : <scalar>, <scalar>", [Commutative]>;
def DGPS_MinOp : DGPS_BinaryOp<"min", "the smaller", "%m = dgps.min %a, %b : <scalar>, <scalar>", [Commutative]>;

def DGPS_SelectOp : DGPS_Op<"select", [Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "one of two values";
  let description = [{
    Elementwise: `first` where `condition` is above zero, and `second` elsewhere, also where `condition` is not a
    number. The other value does not matter, even if it is infinite or not a number. Equal shapes, or scalars with any
    shape. No gradient goes to the condition.

    Verified: all that are not scalars have one shape.

    Example: `%m = dgps.select %c, %a, %b : <scalar>, <128>, <128>`
  }];
  let arguments = (ins DGPS_RealType:$condition, DGPS_RealType:$first, DGPS_RealType:$second);
  let results = (outs DGPS_RealType:$result);
  let assemblyFormat =
      "$condition `,` $first `,` $second attr-dict `:` type($condition) `,` type($first) `,` type($second)";
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Vectors and matrices
//===----------------------------------------------------------------------===//

def DGPS_ExtractOp : DGPS_PureOp<"extract"> {
  let summary = "one element of a vector, or one row of a matrix";
  let description = [{
    Verified: the index lies within the first dimension.

    Example: `%k1 = dgps.extract %k[1] : <2x128>`
  }];
  let arguments = (ins DGPS_RealType:$operand, I64Attr:$index);
  let assemblyFormat = "$operand `[` $index `]` attr-dict `:` type($operand)";
  let hasFolder = 1;
}

def DGPS_SliceOp : DGPS_PureOp<"slice"> {
  let summary = "some elements of a vector, or some rows of a matrix";
  let description = [{
    `size` of them from `begin` on. Verified: there is at least one, and all lie within the first dimension.

    Example: `%q = dgps.slice %qk[0 for 64] : <128>`
  }];
  let arguments = (ins DGPS_RealType:$operand, I64Attr:$begin, I64Attr:$size);
  let assemblyFormat = "$operand `[` $begin `for` $size `]` attr-dict `:` type($operand)";
  let hasFolder = 1;
}

def DGPS_ConcatOp : DGPS_Op<"concat", [Pure]> {
  let summary = "values one after the other along the first dimension";
  let description = [{
    Vectors become a longer vector, matrices one with the rows of all. An operand of one dimension less than the result is
    one element of it, or one row: numbers become a vector, and vectors the rows of a matrix.

    Verified: there is an operand; each has the rank of the result or one less; the other dimension is the same, and the
    first sizes add up.

    Example: `%qk = dgps.concat %q, %k : !dgps.real<64>, !dgps.real<64> to <128>`, `%M = dgps.concat %a, %b : !dgps.real<64>, !dgps.real<64> to <2x64>`
  }];
  let arguments = (ins Variadic<DGPS_RealType>:$operands);
  let results = (outs DGPS_RealType:$result);
  let assemblyFormat = "$operands attr-dict `:` type($operands) `to` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let extraClassDeclaration = [{
    /// How many elements or rows of the result an operand is.
    static int64_t countParts(::llvm::ArrayRef<int64_t> operand, ::llvm::ArrayRef<int64_t> result) {
      return operand.size() < result.size() ? 1 : operand.front();
    }
  }];
}

def DGPS_OuterOp : DGPS_PureOp<"outer"> {
  let summary = "the outer product a b^T";
  let description = [{
    Example: `%w = dgps.outer %v, %k : <64>, <128>`
  }];
  let arguments = (ins DGPS_Vector:$lhs, DGPS_Vector:$rhs);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs)";
}

def DGPS_DotOp : DGPS_PureOp<"dot", [Commutative, SameTypeOperands]> {
  let summary = "the inner product of two vectors";
  let description = [{
    Example: `%n = dgps.dot %k, %k : <128>`
  }];
  let arguments = (ins DGPS_Vector:$lhs, DGPS_Vector:$rhs);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs)";
}

def DGPS_SumOp : DGPS_PureOp<"sum"> {
  let summary = "the sum of all elements";
  let description = [{
    Example: `%s = dgps.sum %a : <128>`
  }];
  let arguments = (ins DGPS_RealType:$operand);
  let assemblyFormat = "$operand attr-dict `:` type($operand)";
  let hasFolder = 1;
}

def DGPS_SoftmaxOp : DGPS_PureOp<"softmax"> {
  let summary = "exp(a) / sum(exp(a)), without overflow";
  let description = [{
    Example: `%p = dgps.softmax %a : <64>`
  }];
  let arguments = (ins DGPS_Vector:$operand);
  let assemblyFormat = "$operand attr-dict `:` type($operand)";
}

def DGPS_MatvecOp : DGPS_PureOp<"matvec"> {
  let summary = "matrix times vector: a right read of a state";
  let description = [{
    `M @ x`. Verified: the columns of the matrix are as many as the vector's elements.

    Example: `%o = dgps.matvec %S, %q : <64x128>, <128>`
  }];
  let arguments = (ins DGPS_Matrix:$matrix, DGPS_Vector:$vector);
  let assemblyFormat = "$matrix `,` $vector attr-dict `:` type($matrix) `,` type($vector)";
}

def DGPS_VecmatOp : DGPS_PureOp<"vecmat"> {
  let summary = "vector times matrix: a left read of a state";
  let description = [{
    `x @ M`. Verified: the rows of the matrix are as many as the vector's elements.

    Example: `%o = dgps.vecmat %q, %S : <64>, <64x128>`
  }];
  let arguments = (ins DGPS_Vector:$vector, DGPS_Matrix:$matrix);
  let assemblyFormat = "$vector `,` $matrix attr-dict `:` type($vector) `,` type($matrix)";
}

def DGPS_ScaleColsOp : DGPS_PureOp<"scale_cols"> {
  let summary = "M @ diag(a): column j of the matrix times a[j]";
  let description = [{
    Example: `%Sd = dgps.scale_cols %S, %a : <64x128>, <128>`
  }];
  let arguments = (ins DGPS_Matrix:$matrix, DGPS_Vector:$vector);
  let assemblyFormat = "$matrix `,` $vector attr-dict `:` type($matrix) `,` type($vector)";
}

def DGPS_ScaleRowsOp : DGPS_PureOp<"scale_rows"> {
  let summary = "diag(a) @ M: row i of the matrix times a[i]";
  let description = [{
    Example: `%Sd = dgps.scale_rows %b, %S : <64>, <64x128>`
  }];
  let arguments = (ins DGPS_Vector:$vector, DGPS_Matrix:$matrix);
  let assemblyFormat = "$vector `,` $matrix attr-dict `:` type($vector) `,` type($matrix)";
}

def DGPS_CgOp : DGPS_PureOp<"cg"> {
  let summary = "conjugate-gradient steps from zero on (G + diag(ridge)) y = x";
  let description = [{
    A fixed number of steps; a step whose residual or curvature is exactly zero changes nothing. The ridge is a scalar or
    a vector. The gradient is that of the solution, or with `by_steps` that of the steps.

    Example: `%y = dgps.cg %G, %q ridge %r iterations 30 : <128x128>, <128>, <128>`
  }];
  let arguments = (ins DGPS_Matrix:$matrix, DGPS_Vector:$vector, DGPS_RealType:$ridge, I64Attr:$iterations, UnitAttr:$by_steps);
  let assemblyFormat = "$matrix `,` $vector `ridge` $ridge `iterations` $iterations (`by_steps` $by_steps^)? attr-dict `:` type($matrix) `,` type($vector) `,` type($ridge)";
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

def DGPS_LoopOp : DGPS_Op<"loop", [Pure, IsolatedFromAbove, SingleBlockImplicitTerminator<"YieldOp">,
                                   AllTypesMatch<["initial", "result"]>]> {
  let summary = "steps of one token, each of which makes a value of the one that the step before it made";
  let description = [{
    The region is one step. Its arguments are the value as the step finds it, and what is captured: the same in every step.
    It yields the value that the next step finds, and the last one is the result. Several values that go from step to step
    are the parts of one vector.

    Verified: the value is a scalar or a vector; there is at least one step; the region's arguments and what it yields have
    the types of the operands and of the result; no op in it gives a matrix; a captured matrix is used by nothing but products
    with vectors and loops.

    Example:
    ```mlir
    %y = dgps.loop %q (%H, %q, %a : !dgps.real<64x64>, !dgps.real<64>, !dgps.real<scalar>) iterations 30 : <64> {
    ^bb0(%x: !dgps.real<64>, %H1: !dgps.real<64x64>, %q1: !dgps.real<64>, %a1: !dgps.real<scalar>):
      %image = dgps.matvec %H1, %x : <64x64>, <64>
      %residual = dgps.sub %image, %q1 : <64>, <64>
      %step = dgps.mul %a1, %residual : <scalar>, <64>
      %next = dgps.sub %x, %step : <64>, <64>
      dgps.yield %next : !dgps.real<64>
    }
    ```
  }];
  let arguments = (ins DGPS_RealType:$initial, Variadic<DGPS_RealType>:$captured, I64Attr:$iterations);
  let results = (outs DGPS_RealType:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$initial (`(` $captured^ `:` type($captured) `)`)? `iterations` $iterations attr-dict `:` type($initial) $body";
  let hasRegionVerifier = 1;
}

def DGPS_YieldOp : DGPS_Op<"yield", [Pure, Terminator, ParentOneOf<["LoopOp"]>]> {
  let summary = "the value that a loop's next step finds";
  let description = [{
    Example: `dgps.yield %next : !dgps.real<64>`
  }];
  let arguments = (ins Optional<DGPS_RealType>:$value);
  let assemblyFormat = "($value^ `:` type($value))? attr-dict";
  let builders = [OpBuilder<(ins)>];
}

#endif // RECUR_DGPS_OPS_TD

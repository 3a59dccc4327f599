#ifndef RECUR_CHUNK_DIALECT_TD
#define RECUR_CHUNK_DIALECT_TD

include "mlir/IR/CommonTypeConstraints.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Chunk_Dialect : Dialect {
  let name = "chunk";
  let cppNamespace = "::recur::chunk";
  let summary = "A chunk of tokens of one head of a recurrence, as dense linear algebra";
  let description = [{
    A `chunk.program` holds what one head does with C tokens at once: the values that the tokens bring, the states as the
    previous chunk left them, products, solves and scans over the chunk's tokens, and what leaves the chunk. The program
    is a scan over chunks: what `chunk.next` names is what the next chunk's `chunk.state` gives.

    Values are builtin tensors of f32. A value of the tokens has the tokens as its first dimension: `tensor<64xf32>` is a
    scalar of each of 64 tokens, `tensor<64x128xf32>` a vector of each. Size 1 there means the same value for every token,
    and broadcasts; a param is such a value. A state has no token dimension. R values a token lie as R C rows, the token
    slowest (`chunk.interleave`).

    C is a capacity. The last chunk of a sequence may hold fewer tokens, and then every op does what it says over those
    tokens alone: no op is defined by padding.

    A decay enters an op as the steps of the single tokens, as logarithms (`log`) or as they are (`linear`), and the op
    multiplies the steps of a range of tokens. Nothing is ever divided by a decay, so a step of zero, of minus infinity
    as a logarithm, or of any sign is as good as another.

    The dialect says nothing of threads, memory or storage types. Its meaning is given by the interpreter of chunk
    programs, which is itself compared with the token-by-token one.
  }];
  let hasConstantMaterializer = 1;
}

def Chunk_Tensor : StaticShapeTensorOf<[F32]>;
def Chunk_Tokens : Type<And<[Chunk_Tensor.predicate, HasRankGreaterOrEqualPred<1>]>, "a value of the tokens: a static tensor of f32 whose first dimension is the tokens",
                        "::mlir::RankedTensorType">;
def Chunk_Scalars : Type<And<[Chunk_Tensor.predicate, HasAnyRankOfPred<[1]>]>, "a scalar of each token", "::mlir::RankedTensorType">;
def Chunk_Vectors : Type<And<[Chunk_Tensor.predicate, HasAnyRankOfPred<[2]>]>, "a vector of each token", "::mlir::RankedTensorType">;
def Chunk_Numbers : Type<And<[Chunk_Tensor.predicate, HasAnyRankOfPred<[1]>]>, "a number of each token", "::mlir::RankedTensorType">;
def Chunk_MatrixState : Type<And<[Chunk_Tensor.predicate, HasAnyRankOfPred<[2]>]>, "a matrix without a token dimension", "::mlir::RankedTensorType">;
def Chunk_Decay : Type<And<[Chunk_Tensor.predicate, HasAnyRankOfPred<[1, 2, 3]>]>, "the decay steps of the tokens", "::mlir::RankedTensorType">;

class Chunk_Enum<string name, string what, list<I32EnumAttrCase> cases> : I32EnumAttr<name, what, cases> {
  let cppNamespace = "::recur::chunk";
}

// Elementwise functions come first: unary, then binary. `isUnary` and `isBinary` rely on this order.
def Chunk_Function : Chunk_Enum<"Function", "a function of one token's values", [
  I32EnumAttrCase<"Neg", 0, "neg">, I32EnumAttrCase<"Exp", 1, "exp">, I32EnumAttrCase<"Expm1", 2, "expm1">,
  I32EnumAttrCase<"Log", 3, "log">, I32EnumAttrCase<"Sqrt", 4, "sqrt">, I32EnumAttrCase<"Abs", 5, "abs">,
  I32EnumAttrCase<"Sigmoid", 6, "sigmoid">, I32EnumAttrCase<"Tanh", 7, "tanh">,
  I32EnumAttrCase<"Softplus", 8, "softplus">, I32EnumAttrCase<"Elu", 9, "elu">,
  I32EnumAttrCase<"Add", 10, "add">, I32EnumAttrCase<"Sub", 11, "sub">, I32EnumAttrCase<"Mul", 12, "mul">,
  I32EnumAttrCase<"Div", 13, "div">, I32EnumAttrCase<"Max", 14, "max">, I32EnumAttrCase<"Min", 15, "min">,
  I32EnumAttrCase<"Outer", 16, "outer">, I32EnumAttrCase<"Dot", 17, "dot">, I32EnumAttrCase<"Sum", 18, "sum">,
  I32EnumAttrCase<"Softmax", 19, "softmax">, I32EnumAttrCase<"Matvec", 20, "matvec">,
  I32EnumAttrCase<"Vecmat", 21, "vecmat">, I32EnumAttrCase<"ScaleCols", 22, "scale_cols">,
  I32EnumAttrCase<"ScaleRows", 23, "scale_rows">, I32EnumAttrCase<"Select", 24, "select">,
  I32EnumAttrCase<"Stop", 25, "stop">, I32EnumAttrCase<"Sin", 26, "sin">, I32EnumAttrCase<"Cos", 27, "cos">,
  I32EnumAttrCase<"Erf", 28, "erf">, I32EnumAttrCase<"Floor", 29, "floor">]>;

def Chunk_DecayRange : Chunk_Enum<"DecayRange", "the tokens whose decay steps are multiplied", [
  I32EnumAttrCase<"Through", 0, "through">, I32EnumAttrCase<"Before", 1, "before">,
  I32EnumAttrCase<"After", 2, "after">, I32EnumAttrCase<"Total", 3, "total">]>;

def Chunk_SummaryKind : Chunk_Enum<"SummaryKind", "how a segment's summary acts on a state", [
  I32EnumAttrCase<"Right", 0, "right">, I32EnumAttrCase<"Elementwise", 1, "elementwise">,
  I32EnumAttrCase<"Tropical", 2, "tropical">, I32EnumAttrCase<"Left", 3, "left">,
  I32EnumAttrCase<"TropicalMin", 4, "tropical_min">, I32EnumAttrCase<"SoftMax", 5, "soft_max">,
  I32EnumAttrCase<"SoftMin", 6, "soft_min">]>;

// The soft ones are log(exp(a) + exp(b)) and -log(exp(-a) + exp(-b)).
def Chunk_Extremum : Chunk_Enum<"Extremum", "what a tropical scan makes of two values", [
  I32EnumAttrCase<"Max", 0, "max">, I32EnumAttrCase<"Min", 1, "min">,
  I32EnumAttrCase<"SoftMax", 2, "soft_max">, I32EnumAttrCase<"SoftMin", 3, "soft_min">]>;

#endif // RECUR_CHUNK_DIALECT_TD

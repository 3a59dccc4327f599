#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace recur::frontend {

enum class Builtin : uint8_t {
  Exp,
  Log,
  Sqrt,
  Abs,
  Sigmoid,
  Silu,
  Relu,
  Elu,
  Stop,
  Sin,
  Cos,
  Tanh,
  Softplus,
  LogSigmoid,
  Max,
  Min,
  LogAddExp,
  Where,
  Mod,
  Floor,
  Erf,
  Gelu,
  Sign,
  Pow,
  Sum,
  Softmax,
  L2Norm,
  RMSNorm,
  LayerNorm,
  Concat,
  Stack,
  Delay,
  Conv,
  Outer,
  Dot,
  Diag,
  Ones,
  Cg,
  Dgps,
  Complex,
  Cis,
  Conj,
  Re,
  Im,
};

/// What sema needs to know of a built-in function. To add one: a row here, its shape rule in SemaCall.cpp unless it is
/// elementwise, and its lowering in EmitCall.cpp.
struct BuiltinInfo {
  Builtin id;
  llvm::StringRef name;
  unsigned numPositional;
  llvm::StringRef signature;                     // as messages show it
  llvm::ArrayRef<llvm::StringRef> keywords = {}; // the named arguments
  // For the elementwise ones, the function on numbers; compile-time arithmetic uses it.
  double (*unary)(double) = nullptr;
  double (*binary)(double, double) = nullptr;

  bool isVariadic = false; // takes as many unnamed arguments or more
  bool isFreeName = false; // a declaration may have the name all the same

  bool isElementwise() const { return unary || binary; }
};

llvm::ArrayRef<BuiltinInfo> getBuiltins();
/// The most steps of cg whose own gradient is asked for: each is some fifty operations of the gradient's program.
constexpr int64_t kMaxStepsBack = 64;

/// Null when there is no function of that name.
const BuiltinInfo *findBuiltin(llvm::StringRef name);
/// Whether a word follows the named argument, such as `solve = online`, and no expression.
bool takesWord(llvm::StringRef function, llvm::StringRef keyword);

} // namespace recur::frontend

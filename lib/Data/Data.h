// What a recurrence is run on and what it gives: named arrays with the sizes they share. Every engine takes and gives
// these.
#pragma once
#include "ABI/KernelSignature.h"
#include "Data/Array.h"
#include "dialects/DGPS/DGPS.h"
#include "llvm/Support/Error.h"
#include <map>

namespace recur::data {

/// How many sequences, tokens and heads there are, and how many groups of heads share a shared input.
struct Sizes {
  int64_t batch = 1;
  int64_t tokens = 0;
  int64_t heads = 1;
  int64_t groups = 1;
  bool operator==(const Sizes &) const = default;
};

using NamedArrays = std::map<std::string, Array>;

struct Data {
  Sizes sizes;
  NamedArrays inputs;  // [B, T, H, ...], and [B, T, Hq, ...] when shared
  NamedArrays params;  // [H, ...]
  NamedArrays initial; // [B, H, ...]; a state that is left out starts from zero
};

struct Results {
  NamedArrays outputs; // [B, T, H, ...]
  NamedArrays final;   // [B, H, ...], one for each state
};

/// What an array of a recurrence stands for.
enum class Role { Input, SharedInput, Param, Initial, Output, Final, OutputCotangent, FinalCotangent };
Role getRole(abi::Role role, bool isShared);

/// `input`, `param`, `initial`, `output`, `final` or `cotangent`: the word that files and messages use.
llvm::StringRef getWord(Role role);

/// The sizes that come before an array's own shape: `B, T, H` for an input.
llvm::SmallVector<int64_t, 4> getLeadingSizes(Role role, const Sizes &sizes);
/// Their names, in the same order.
llvm::ArrayRef<llvm::StringRef> getLeadingNames(Role role);
llvm::SmallVector<int64_t, 6> getFullShape(Role role, const Sizes &sizes, llvm::ArrayRef<int64_t> shape);

/// An array that an engine is given, before it is known whether it fits.
struct Given {
  Role role;
  std::string name;  // of the input, param or state
  std::string label; // what messages call it, such as a path
  llvm::ArrayRef<int64_t> shape;
};

/// Finds B, T, H and Hq in the arrays' shapes. Where two disagree the message names both; T is an error when no input
/// says it. Each array's rank and own shape are checked against the recurrence too.
llvm::Expected<Sizes> inferSizes(dgps::RecurrenceOp recurrence, llvm::ArrayRef<Given> arrays);

/// An error unless the sizes are not negative and the groups divide the heads.
llvm::Error checkSizes(const Sizes &sizes);
/// An array must be there and have the shape that the sizes ask for.
llvm::Error checkArray(Role role, llvm::StringRef name, const NamedArrays &arrays, const Sizes &sizes,
                       llvm::ArrayRef<int64_t> shape);

/// Says what is wrong when an input or param is missing, an array belongs to nothing, or a shape is not what the sizes
/// ask for.
llvm::Error checkData(dgps::RecurrenceOp recurrence, const Data &data);

/// sqrt(sum (got - want)^2 / sum want^2), without overflow; the numerator alone where `want` is all zero. Elements that
/// are the same infinity, or both not numbers, agree; where just one is not finite, or the shapes differ, the error is
/// infinite.
double relativeRms(const Array &got, const Array &want);
/// The largest over all arrays of both. A name that only one of them has makes it infinite.
double relativeRms(const NamedArrays &got, const NamedArrays &want);
double relativeRms(const Results &got, const Results &want);

} // namespace recur::data

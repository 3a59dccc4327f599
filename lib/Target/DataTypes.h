// The types that the arrays of a call have, array by array.
#pragma once
#include "Target/DataType.h"
#include "llvm/Support/Error.h"
#include <map>

namespace recur {

/// One type for all inputs, params and outputs, and others by name. States are F32 unless they are named.
struct DataTypes {
  DataTypes() = default;
  DataTypes(DataType all) : all(all) {}

  DataType of(llvm::StringRef name, bool isState = false) const;
  /// Whether an array may have the type.
  bool contain(DataType type) const;
  /// `bf16,beta=f32,g=f32`
  std::string print() const;
  bool operator==(const DataTypes &) const = default;

  DataType all = DataType::F32;
  std::map<std::string, DataType> named;
};

/// Reads what `print` writes: the type of all that are not named, which may be left out, and `NAME=TYPE` for others.
/// Kernels have no data of F64.
llvm::Expected<DataTypes> parseDataTypes(llvm::StringRef list);

} // namespace recur

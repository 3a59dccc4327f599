// The types that numbers have in memory, in the compiler and in files.
#pragma once
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringRef.h"
#include <optional>

namespace recur {

/// Kernels have data of all but F64, which is the type of interpreters and files. I32 is the type of inputs that are
/// declared as integers, and of no other array.
enum class DataType { F32, BF16, F16, I32, F64 };

inline constexpr DataType everyDataType[] = {DataType::F32, DataType::BF16, DataType::F16, DataType::I32,
                                             DataType::F64};

/// `f32`, `bf16`, `f16`, `i32` or `f64`.
llvm::StringRef getName(DataType type);
std::optional<DataType> parseDataType(llvm::StringRef name);
int64_t getByteSize(DataType type);
/// Of all but I32.
const llvm::fltSemantics &getSemantics(DataType type);

/// The bits that the number has in the type: rounded to nearest, ties to even, and beyond the range to infinity, or to
/// the least or largest integer. An integer that is NaN is 0.
uint64_t toBits(double value, DataType type);
double fromBits(uint64_t bits, DataType type);
inline double roundTo(double value, DataType type) { return fromBits(toBits(value, type), type); }

} // namespace recur

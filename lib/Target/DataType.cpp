#include "Target/DataType.h"
#include "llvm/ADT/bit.h"
#include <algorithm>
#include <cmath>

using namespace llvm;
using namespace recur;

StringRef recur::getName(DataType type) {
  static constexpr StringRef names[] = {"f32", "bf16", "f16", "i32", "f64"};
  return names[size_t(type)];
}

/// Nobody asks for integers by an option: a text declares them.
std::optional<DataType> recur::parseDataType(StringRef name) {
  for (DataType type : everyDataType)
    if (type != DataType::I32 && name == getName(type))
      return type;
  return std::nullopt;
}

int64_t recur::getByteSize(DataType type) {
  static constexpr int64_t sizes[] = {4, 2, 2, 4, 8};
  return sizes[size_t(type)];
}

const fltSemantics &recur::getSemantics(DataType type) {
  switch (type) {
  case DataType::F32:
    return APFloat::IEEEsingle();
  case DataType::BF16:
    return APFloat::BFloat();
  case DataType::F16:
    return APFloat::IEEEhalf();
  case DataType::F64:
    return APFloat::IEEEdouble();
  case DataType::I32:
    break;
  }
  llvm_unreachable("a type of floating-point numbers");
}

uint64_t recur::toBits(double value, DataType type) {
  if (type == DataType::F64)
    return bit_cast<uint64_t>(value);
  if (type == DataType::F32)
    return bit_cast<uint32_t>(float(value));
  if (type == DataType::I32)
    return std::isnan(value) ? 0 : uint32_t(int32_t(std::nearbyint(std::clamp<double>(value, INT32_MIN, INT32_MAX))));
  APFloat rounded(value);
  bool losesInformation;
  rounded.convert(getSemantics(type), APFloat::rmNearestTiesToEven, &losesInformation);
  return rounded.bitcastToAPInt().getZExtValue();
}

double recur::fromBits(uint64_t bits, DataType type) {
  if (type == DataType::F64)
    return bit_cast<double>(bits);
  if (type == DataType::F32)
    return bit_cast<float>(uint32_t(bits));
  if (type == DataType::I32)
    return int32_t(uint32_t(bits));
  return APFloat(getSemantics(type), APInt(16, bits)).convertToDouble();
}

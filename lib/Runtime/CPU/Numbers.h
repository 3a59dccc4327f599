// Single numbers of any recur_dtype, as float32.
#pragma once
#include "recur/Runtime.h"
#include <cstdint>
#include <cstring>

namespace recur::runtime {

/// Numbers of 2 bytes, as their bits.
inline float widen(uint16_t bits, int32_t type) {
  uint32_t wide;
  if (type == RECUR_BF16) {
    wide = uint32_t(bits) << 16;
  } else {
    uint32_t sign = uint32_t(bits & 0x8000) << 16, exponent = (bits >> 10) & 31, fraction = bits & 1023;
    if (exponent == 0) {
      float small = float(fraction) * 0x1p-24f;
      return sign ? -small : small;
    }
    wide = sign | (exponent == 31 ? 0x7F800000 : (exponent + 112) << 23) | fraction << 13;
  }
  float number;
  memcpy(&number, &wide, sizeof number);
  return number;
}
/// Rounded to nearest, ties to even, and to infinity beyond the range.
inline uint16_t narrow(float number, int32_t type) {
  uint32_t bits;
  memcpy(&bits, &number, sizeof bits);
  uint32_t sign = bits >> 16 & 0x8000, size = bits & 0x7FFFFFFF;
  if (size > 0x7F800000)
    return uint16_t(type == RECUR_BF16 ? bits >> 16 | 0x40 : sign | 0x7E00);
  if (type == RECUR_BF16)
    return uint16_t((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
  if (size >= 0x477FF000) // 65520
    return uint16_t(sign | 0x7C00);
  if (size < 0x38800000) { // 2^-14: adding 1/2 leaves the bits of a multiple of 2^-24
    float magnitude;
    memcpy(&magnitude, &size, sizeof magnitude);
    magnitude += 0.5f;
    memcpy(&size, &magnitude, sizeof size);
    return uint16_t(sign | (size - 0x3F000000));
  }
  size += 0xFFF + (size >> 13 & 1);
  return uint16_t(sign | (size - 0x38000000) >> 13);
}

inline float readNumber(const char *from, int64_t index, int32_t type) {
  if (type == RECUR_F32)
    return reinterpret_cast<const float *>(from)[index];
  return widen(reinterpret_cast<const uint16_t *>(from)[index], type);
}
inline void writeNumber(char *to, int64_t index, int32_t type, float number) {
  if (type == RECUR_F32)
    reinterpret_cast<float *>(to)[index] = number;
  else
    reinterpret_cast<uint16_t *>(to)[index] = narrow(number, type);
}

} // namespace recur::runtime

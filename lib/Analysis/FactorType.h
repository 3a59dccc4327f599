// The type that factors of a program's products may be rounded to: that of the data that they are made of.
//
// Matrix units and vector units multiply 16-bit numbers faster than f32. Whether a factor may be rounded to 16 bits
// follows from the vectors of the tokens that it is made of. Where they are 16-bit data, or a 16-bit vector is scaled
// by something, rounding the factor is off by no more than what the data were rounded by before they came. Gates and
// other numbers of a token, decays and params are no data in this sense: keys that are scaled by f32 decays are
// rounded. A factor that a vector of f32 data is added to, or that is one, stays f32, and then all factors of the
// program do: its products depend on each other, and plans have factors of one type.
//
// That type is bf16, which has the range of f32: decayed keys, interactions, inverses and states of f16 data may be
// larger than f16 holds, or smaller. So f16 data count where the target's plans of bf16 are worth the digits that f16
// has more.
#pragma once
#include "dialects/Chunk/Chunk.h"

namespace recur::analysis {

/// The type that all factors of the program's products may be rounded to; null where they stay f32. `takesF16`: data of
/// f16 count as those of bf16 do.
mlir::FloatType findFactorType(chunk::ProgramOp program, bool takesF16);

} // namespace recur::analysis

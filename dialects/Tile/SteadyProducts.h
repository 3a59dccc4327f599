// Which running products of scales `tile.scaled_dots` divides by.
#pragma once
#include <cstdint>

namespace recur::tile {

/// Those of at most two to this power and at least its inverse: f32 has all digits of the inverse as well, and of what
/// either scales.
inline constexpr int64_t steadyBits = 96;

} // namespace recur::tile

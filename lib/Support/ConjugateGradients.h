// When conjugate gradients have come as far as their numbers go.
#pragma once

namespace recur {

/// A residual whose square is this part of the first one's is zero: it is far below what a product of the matrix and
/// the solution is rounded by. Steps from there on divide numbers that leave the range of float32, and may lead away
/// from the solution again.
inline constexpr double solvedInFloat32 = 0x1p-70;

/// The same where the factors of the products are sums of two numbers of bf16: as little as float32 rounds the first
/// residual by.
inline constexpr double solvedInPairs = 0x1p-48;

} // namespace recur

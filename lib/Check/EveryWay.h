// Kernels in every way that a call of them can be made, which must not change a bit.
#pragma once
#include "Engine/HostEngine.h"

namespace recur::check {

/// What kernels make of the data. They run twice, since a GPU's threads run in another order each time; with packed
/// sequences, for kernels find out themselves where these begin, also where the GPU alone knows; and leaving the states
/// on the way, those named here in the order of their declaration, or none, and those after tokens that are tried.
/// Final states have the types. An error says which ways differ.
llvm::Expected<data::Results> runInEveryWay(const engine::HostEngine &engine, const data::Data &data,
                                            llvm::ArrayRef<std::string> states, const DataTypes &types);

/// The gradient's kernels twice, and with packed sequences: the same bits. Gradients of params are sums over sequences.
llvm::Expected<data::Data> runGradientInEveryWay(const engine::HostEngine &engine, const data::Data &data,
                                                 const data::Results &cotangents);

/// The gradient with what a call forward hands over, also of packed sequences, for the same bits. Without it the last
/// digits of sums are others.
llvm::Expected<data::Data> runGradientHanded(const engine::HostEngine &engine, const data::Data &data,
                                             const data::Results &cotangents);

/// Tokens that are only tried, one behind another or as a tree, are those of calls of one token each, and the states
/// after each are kept: of states in float32, for between tokens they are that. Nothing is done where there are none,
/// or no plan for it.
llvm::Error checkTried(const engine::HostEngine &engine, const data::Data &data, llvm::ArrayRef<std::string> states,
                       const DataTypes &types);

} // namespace recur::check

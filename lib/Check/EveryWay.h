// Kernels in every way that a call of them can be made, which must not change a bit.
#pragma once
#include "Engine/HostEngine.h"

namespace recur::check {

/// What kernels make of the data. They run twice, since a GPU's threads run in another order each time; with packed
/// sequences, for kernels find out themselves where these begin, also where the GPU alone knows; and leaving the states
/// on the way, those named here in the order of their declaration, or none. Final states have the types. An error says
/// which ways differ.
llvm::Expected<data::Results> runInEveryWay(const engine::HostEngine &engine, const data::Data &data,
                                            llvm::ArrayRef<std::string> states, const DataTypes &types);

} // namespace recur::check

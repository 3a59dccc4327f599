// What a property test leaves behind when it fails: the seed, the text and the least text that still fails.
#pragma once
#include "property/Disguise.h"

namespace recur::property {

/// The seeds of a test. RECUR_PROPERTY_COUNT in the environment asks for more or fewer, RECUR_PROPERTY_FIRST for others
/// (one that failed, say).
struct Seeds {
  uint64_t first, count;
};
Seeds pickSeeds(uint64_t first, uint64_t count);

/// Writes `text` and, where `fails` is given, the least text that it still holds of, as files; returns a message that
/// names the seed and the files and shows the least text.
std::string describeFailure(uint64_t seed, llvm::StringRef what, llvm::StringRef text,
                            llvm::function_ref<bool(llvm::StringRef text)> fails = nullptr);

/// Finds the first change of the disguise after which `fails` holds; returns a message with the texts before and after
/// it.
std::string describeFailingDisguise(const DrawnRecurrence &recurrence, uint64_t variant, const DisguiseOptions &options,
                                    llvm::StringRef what, llvm::function_ref<bool(const Disguise &)> fails);

} // namespace recur::property

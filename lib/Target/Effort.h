// How much time the compiler takes for a kernel's code.
#pragma once

namespace recur {

enum class Effort {
  Full,  // all of LLVM's optimisations
  Quick, // none of them: compiled in a fifth of the time, slower to run, and rounding elsewhere perhaps
};

} // namespace recur

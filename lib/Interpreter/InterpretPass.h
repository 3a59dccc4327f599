// The pass `interpret`: runs what the check.run ops of a module ask for, and says where the numbers are others.
#pragma once

namespace recur::interpreter {

/// For recur-opt: no pipeline has this pass.
void registerInterpretPass();

} // namespace recur::interpreter

// How a kernel is called: its parameters, and the arrays that it is given with their roles and their order. Compiler,
// interpreters and runtime have all of it from here. No LLVM, and nothing of the C++ library that must be linked.
#pragma once
#include "recur/Runtime.h"
#include <array>
#include <cstddef>
#include <type_traits>

namespace recur::abi {

//===----------------------------------------------------------------------===//
// Arrays
//===----------------------------------------------------------------------===//

/// What an array is to a kernel. Kernels and callers have the arrays in this order, and those of one role in the order
/// of declaration. The last ones are of calls backward, of which `gradientRoles` has the order.
enum class Role {
  Input,
  Param,
  Initial,
  Output,
  Final,
  OutputCotangent,
  FinalCotangent,
  InputGradient,
  ParamGradient,
  InitialGradient,
  KeptOut, // of a call alone, never of a kernel
  KeptIn
};

struct RoleFacts {
  Role role;
  recur_kind kind; // what is declared: a state has two roles
  bool isWritten;
  const char *name;   // in manifests and names of files
  const char *word;   // in messages
  const char *prefix; // of the field for it in a struct of arguments
};

inline constexpr RoleFacts roles[] = {{Role::Input, RECUR_INPUT, false, "input", "input", ""},
                                      {Role::Param, RECUR_PARAM, false, "param", "param", ""},
                                      {Role::Initial, RECUR_STATE, false, "initial", "initial state", "initial_"},
                                      {Role::Output, RECUR_OUTPUT, true, "output", "output", ""},
                                      {Role::Final, RECUR_STATE, true, "final", "final state", "final_"}};
inline constexpr int roleCount = std::size(roles);

inline constexpr RoleFacts gradientRoles[] = {
    roles[int(Role::Input)],
    roles[int(Role::Param)],
    roles[int(Role::Initial)],
    {Role::OutputCotangent, RECUR_OUTPUT, false, "output_cotangent", "cotangent of output", "d_"},
    {Role::FinalCotangent, RECUR_STATE, false, "final_cotangent", "cotangent of final state", "d_final_"},
    {Role::InputGradient, RECUR_INPUT, true, "input_gradient", "gradient of input", "d_"},
    {Role::ParamGradient, RECUR_PARAM, true, "param_gradient", "gradient of param", "d_"},
    {Role::InitialGradient, RECUR_STATE, true, "initial_gradient", "gradient of initial state", "d_initial_"}};

/// States at multiples of a length, which a call forward writes and one backward reads.
inline constexpr RoleFacts keptRoles[] = {{Role::KeptOut, RECUR_STATE, true, "kept", "kept state", "kept_"},
                                          {Role::KeptIn, RECUR_STATE, false, "kept", "kept state", "kept_"}};

constexpr const RoleFacts &getFacts(Role role) {
  if (role >= Role::KeptOut)
    return keptRoles[int(role) - int(Role::KeptOut)];
  constexpr int first = int(Role::OutputCotangent), place = 3; // of the roles that only calls backward have
  return int(role) < first ? roles[int(role)] : gradientRoles[int(role) - first + place];
}

/// Calls visit(facts, i) for each array of a kernel, in their order, where declaration i of `count` is of kindOf(i).
template <size_t size, typename KindOf, typename Visit>
constexpr void forEachArray(const RoleFacts (&table)[size], int64_t count, KindOf kindOf, Visit visit) {
  for (const RoleFacts &facts : table)
    for (int64_t i = 0; i < count; ++i)
      if (kindOf(i) == facts.kind)
        visit(facts, i);
}
template <typename KindOf, typename Visit> constexpr void forEachArray(int64_t count, KindOf kindOf, Visit visit) {
  forEachArray(roles, count, kindOf, visit);
}

/// The same for what has its declarations by their kinds, such as an op of dgps or chunk: visit(facts, declaration).
template <typename Declarations, typename Visit> void forEachArrayOf(Declarations &&all, Visit visit) {
  for (const RoleFacts &facts : roles) {
    auto visitAll = [&](auto &&declarations) {
      for (auto &&declaration : declarations)
        visit(facts, declaration);
    };
    switch (facts.kind) {
    case RECUR_INPUT:
      visitAll(all.getInputs());
      break;
    case RECUR_PARAM:
      visitAll(all.getParams());
      break;
    case RECUR_STATE:
      visitAll(all.getStates());
      break;
    case RECUR_OUTPUT:
      visitAll(all.getOutputs());
      break;
    }
  }
}

/// Where an array lies, in the table that a kernel is given.
inline constexpr int64_t arrayBytes = sizeof(recur_array), dataOffset = offsetof(recur_array, data),
                         tokenStrideOffset = offsetof(recur_array, token_stride);

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

/// Those of recur_kernel.
enum Parameter { ArraysParameter, TokensParameter, WorkspaceParameter, ParameterCount };

template <typename... Types> constexpr std::array<bool, sizeof...(Types)> listPointers(void (*)(Types...)) {
  return {std::is_pointer_v<Types>...};
}
/// Which of them are pointers; the others are 64-bit numbers.
inline constexpr auto pointerParameters = listPointers(recur_kernel());
static_assert(pointerParameters.size() == ParameterCount && pointerParameters[ArraysParameter] &&
              !pointerParameters[TokensParameter] && pointerParameters[WorkspaceParameter]);

inline constexpr int64_t workspaceAlignment = 64;

} // namespace recur::abi

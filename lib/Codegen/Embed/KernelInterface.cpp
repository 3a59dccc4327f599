#include "Codegen/Embed/KernelInterface.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace llvm;
using namespace recur::codegen;

std::string recur::codegen::getVariant(StringRef target) {
  std::string text = "_" + target.str();
  for (char &c : text)
    if (!isAlnum(c))
      c = '_';
  return text;
}

std::string KernelInterface::getNextDescriptorSymbol() const {
  return lowerTargets.empty() ? "" : prefix + name + getVariant(lowerTargets.front()) + "_recurrence";
}

StringRef recur::codegen::getPlanName(recur_plan plan) {
  static constexpr StringRef names[] = {"auto", "step", "chunk", "segment", "scan", "token-loop"};
  return names[plan];
}

StringRef recur::codegen::getDataTypeName(recur_dtype dtype) {
  static constexpr StringRef names[] = {"f32", "bf16", "f16"};
  return names[dtype];
}

/// Names that no field may have: the other fields of the struct, and the keywords of C and C++ that a recurrence may
/// use as names.
static StringSet<> getTakenNames() {
  static constexpr StringRef words[] = {
      "B", "T", "H", "Hq", "threads", "parallel_for", "parallel_context", "workspace", "workspace_bytes", "plan",
      "sequence_offsets", "sequence_count", "states_transposed",
      // C and C++
      "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch", "char",
      "class", "compl", "concept", "const", "const_cast", "consteval", "constexpr", "constinit", "continue", "co_await",
      "co_return", "co_yield", "decltype", "default", "delete", "do", "double", "dynamic_cast", "else", "enum",
      "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if", "inline", "int", "long",
      "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr", "operator", "or", "or_eq", "private",
      "protected", "public", "register", "reinterpret_cast", "requires", "restrict", "return", "short", "signed",
      "sizeof", "static", "static_assert", "static_cast", "struct", "switch", "template", "this", "thread_local",
      "throw", "true", "try", "typedef", "typeid", "typename", "typeof", "union", "unsigned", "using", "virtual",
      "void", "volatile", "wchar_t", "while", "xor", "xor_eq",
      // macros of the standard headers and of usual compilers
      "NULL", "unix", "linux", "I", "errno", "stdin", "stdout", "stderr"};
  StringSet<> taken;
  for (StringRef word : words)
    taken.insert(word);
  return taken;
}

std::vector<ArgumentField> recur::codegen::getArgumentFields(const KernelInterface &interface) {
  static constexpr struct {
    recur_kind kind;
    bool isFinal;
    StringRef prefix;
  } groups[] = {{RECUR_INPUT, false, ""},
                {RECUR_PARAM, false, ""},
                {RECUR_STATE, false, "initial_"},
                {RECUR_OUTPUT, false, ""},
                {RECUR_STATE, true, "final_"}};
  StringSet<> taken = getTakenNames();
  std::vector<ArgumentField> fields;
  for (auto [kind, isFinal, prefix] : groups)
    for (const InterfaceArray &array : interface.arrays)
      if (array.kind == kind) {
        std::string name = (prefix + array.name).str();
        // `x` beside `x_strides` would take the name of x's strides.
        while (taken.contains(name) || taken.contains(name + "_strides"))
          name += "_";
        taken.insert(name);
        taken.insert(name + "_strides");
        fields.push_back({&array, kind, isFinal, name});
      }
  return fields;
}

std::string recur::codegen::printFullShape(const ArgumentField &field) {
  StringRef leading = field.kind == RECUR_PARAM   ? "[H"
                      : field.kind == RECUR_STATE ? "[B, H"
                      : field.array->isShared     ? "[B, T, Hq"
                                                  : "[B, T, H";
  std::string text = leading.str();
  for (int64_t size : field.array->shape)
    text += ", " + std::to_string(size);
  return text + "]";
}

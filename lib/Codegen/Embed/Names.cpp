#include "Codegen/Embed/Names.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace llvm;
using namespace recur::codegen;

static bool isWord(StringRef name) {
  static const StringSet<> words = {
      // keywords
      "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch", "char",
      "char8_t", "char16_t", "char32_t", "class", "compl", "concept", "const", "const_cast", "consteval", "constexpr",
      "constinit", "continue", "co_await", "co_return", "co_yield", "decltype", "default", "delete", "do", "double",
      "dynamic_cast", "else", "enum", "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if",
      "inline", "int", "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr", "operator", "or",
      "or_eq", "private", "protected", "public", "register", "reinterpret_cast", "requires", "restrict", "return",
      "short", "signed", "sizeof", "static", "static_assert", "static_cast", "struct", "switch", "template", "this",
      "thread_local", "throw", "true", "try", "typedef", "typeid", "typename", "typeof", "typeof_unqual", "union",
      "unsigned", "using", "virtual", "void", "volatile", "wchar_t", "while", "xor", "xor_eq",
      // macros, of the standard headers and of compilers
      "NULL", "EOF", "I", "complex", "imaginary", "noreturn", "offsetof", "assert", "errno", "stdin", "stdout",
      "stderr", "NAN", "INFINITY", "HUGE_VAL", "DECIMAL_DIG", "FLT_ROUNDS", "FLT_RADIX", "unreachable", "unix", "linux",
      "i386", "MAX_CANON", "MAX_INPUT", "NZERO", "PIPE_BUF", "PTHREAD_DESTRUCTOR_ITERATIONS",
      // types of the header's own fields
      "int32_t", "int64_t", "uint16_t"};
  return words.contains(name);
}

/// `INT64_MAX`, `SIZE_WIDTH`, `FLT_EPSILON`, `PATH_MAX`: what <stdint.h>, <limits.h> and <float.h> define, in the
/// versions there are and in later ones.
static bool isLimit(StringRef name) {
  static constexpr StringLiteral starts[] = {"FLT_", "DBL_", "LDBL_", "NL_", "SSIZE_"};
  static constexpr StringLiteral ends[] = {"_MAX", "_MIN", "_WIDTH", "_C", "_BIT"};
  return any_of(starts, [&](StringRef start) { return name.starts_with(start); }) ||
         (none_of(name, isLower) && any_of(ends, [&](StringRef end) { return name.ends_with(end); }));
}

/// `GDN_ARGUMENTS` and `GDN_DIM_K`, of whichever header.
static bool isOwnMacro(StringRef name) {
  auto isOfHeader = [](StringRef symbol) { return !symbol.empty() && none_of(symbol, isLower); };
  auto [symbol, dim] = name.split("_DIM_");
  return (name.consume_back("_ARGUMENTS") && isOfHeader(name)) || (!dim.empty() && isOfHeader(symbol));
}

/// Whether the name is reserved because of how it starts.
static bool isReservedFamily(StringRef name) {
  bool isOfCompilers = name.size() > 1 && name[0] == '_' && (name[1] == '_' || isUpper(name[1]));
  return isOfCompilers || name.starts_with("recur_") || name.starts_with("RECUR_") || isOwnMacro(name);
}

std::string recur::codegen::makeFieldName(StringRef name) {
  if (isReservedFamily(name))
    return ("array_" + name).str();
  return isWord(name) || isLimit(name) ? (name + "_").str() : name.str();
}

/// Everything that a recurrence declares beyond the fields of its struct.
static std::vector<std::string> getDeclaredNames(const KernelInterface &interface) {
  std::string symbol = interface.getSymbol(), upper = StringRef(symbol).upper();
  std::vector<std::string> names = {upper + "_ARGUMENTS", "RECUR_KERNEL_" + symbol};
  for (const auto &dim : interface.dims)
    names.push_back(upper + "_DIM_" + dim.first);
  std::vector<std::string> symbols = {symbol};
  for (const std::string &target : interface.lowerTargets)
    symbols.push_back(interface.prefix + interface.name + getVariant(target));
  for (const std::string &of : symbols) {
    for (StringRef end : {"_args", "_call", "_workspace_size", "_forward", "_recurrence", "_step", "_chunk"})
      names.push_back(of + end.str());
    for (const InterfaceArray &array : interface.arrays)
      if (array.kind == RECUR_STATE)
        for (StringRef part : {"_summary_", "_apply_"})
          names.push_back(of + part.str() + array.name);
  }
  return names;
}

Error recur::codegen::checkNames(ArrayRef<KernelInterface> interfaces) {
  StringMap<StringRef> owners;
  for (const KernelInterface &interface : interfaces) {
    if (interface.getSymbol() == "recur")
      return createStringError(
          "the recurrence '" + interface.name +
          "' would be 'recur_call' and 'recur_recurrence' in C, which recur/Runtime.h has already; "
          "rename it, or give its names a start with --prefix");
    for (const std::string &name : getDeclaredNames(interface))
      if (auto [owner, isNew] = owners.try_emplace(name, interface.name); !isNew)
        return createStringError("the recurrences '" + owner->second + "' and '" + interface.name +
                                 "' would both be '" + name +
                                 "' in C; rename one, or build each with --recurrence into a header of its own");
  }
  return Error::success();
}

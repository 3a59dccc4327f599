#include "Driver/Options.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace recur;
using namespace recur::driver;

#define OPTTABLE_STR_TABLE_CODE
#include "Driver/Options.inc"
#undef OPTTABLE_STR_TABLE_CODE

#define OPTTABLE_PREFIXES_TABLE_CODE
#include "Driver/Options.inc"
#undef OPTTABLE_PREFIXES_TABLE_CODE

using namespace llvm::opt; // of DefaultVis
static constexpr opt::OptTable::Info optionInfos[] = {
#define OPTION(...) LLVM_CONSTRUCT_OPT_INFO(__VA_ARGS__),
#include "Driver/Options.inc"
#undef OPTION
};

namespace {
class RecurcOptTable : public opt::GenericOptTable {
public:
  RecurcOptTable() : GenericOptTable(OptionStrTable, OptionPrefixesTable, optionInfos) {}
};
} // namespace

const opt::OptTable &driver::getOptTable() {
  static const RecurcOptTable table;
  return table;
}

/// `--dim=K` without what follows the name, which is what a message repeats.
static StringRef getName(StringRef word) {
  return word.take_until([](char c) { return c == '='; });
}

static Error makeUnknownOptionError(VerbOptions verb, StringRef word) {
  StringRef name = getName(word);
  std::string where = verb.verb.empty() ? "" : (" for '" + verb.verb + "'").str();
  std::vector<StringRef> here, elsewhere;
  std::vector<std::string> names;
  const opt::OptTable &table = getOptTable();
  for (unsigned id = 1; id <= table.getNumOptions(); ++id) {
    if (table.getOptionKind(id) == opt::Option::GroupClass || table.getOptionPrefixedName(id).empty())
      continue;
    StringRef known = table.getOptionPrefixedName(id).rtrim("=");
    (table.getOption(id).hasVisibilityFlag(verb.visibility) ? here : elsewhere).push_back(known);
  }
  if (is_contained(elsewhere, name))
    return makeError("option '" + name + (verb.verb.empty() ? "' goes after a verb" : "' is not one" + where) +
                     "; see 'recurc " + (verb.verb.empty() ? "" : verb.verb + " ") + "--help'");
  StringRef nearest = findNearest(name, here);
  if (!nearest.empty())
    return makeError("unknown option '" + name + "'" + where + "; did you mean '" + nearest + "'?");
  return makeError("unknown option '" + name + "'" + where + "; see 'recurc " +
                   (verb.verb.empty() ? "" : verb.verb + " ") + "--help'");
}

Expected<opt::InputArgList> driver::parseOptions(VerbOptions verb, ArrayRef<const char *> words) {
  unsigned missingIndex = 0, missingCount = 0;
  opt::InputArgList args = getOptTable().ParseArgs(words, missingIndex, missingCount, opt::Visibility(verb.visibility));
  for (const opt::Arg *arg : args.filtered(OPT_UNKNOWN))
    return makeUnknownOptionError(verb, arg->getSpelling());
  if (missingCount)
    return makeError("option '" + Twine(args.getArgString(missingIndex)) + "' needs a value");
  for (const opt::Arg *arg : args) {
    auto kind = arg->getOption().getKind();
    if (kind != opt::Option::FlagClass && kind != opt::Option::InputClass && StringRef(arg->getValue()).empty())
      return makeError("option '" + getName(arg->getSpelling()) + "' needs a value");
  }
  return args;
}

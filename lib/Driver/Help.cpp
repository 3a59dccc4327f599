#include "Driver/Help.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace recur;
using namespace recur::driver;

// tablegen sorts by name; a reader wants what is needed most first.
static constexpr OptionID groupOrder[] = {OPT_FilesGroup, OPT_SpecGroup,   OPT_TargetGroup,      OPT_PlanGroup,
                                          OPT_CheckGroup, OPT_StagesGroup, OPT_DiagnosticsGroup, OPT_DevelopersGroup};
static constexpr unsigned helpColumn = 28, lastColumn = 100;

/// `--dim=NAME=SIZE,...`, and the short forms before the long one.
static std::string printSpelling(opt::Option option) {
  const opt::OptTable &table = getOptTable();
  std::string text = table.getOptionPrefixedName(option.getID()).str();
  if (option.getID() == OPT_help)
    text = "-h, " + text;
  const char *metaVar = table.getOptionMetaVar(option.getID());
  if (!metaVar)
    return text;
  return text + (StringRef(text).ends_with("=") ? "" : " ") + metaVar;
}

static void printWrapped(raw_ostream &os, StringRef text, unsigned column) {
  for (StringRef word : split(text, ' ')) {
    if (column + word.size() + 1 > lastColumn) {
      os << '\n';
      os.indent(helpColumn);
      column = helpColumn;
    } else if (column > helpColumn) {
      os << ' ';
      ++column;
    }
    os << word;
    column += word.size();
  }
  os << '\n';
}

void driver::printOptionHelp(raw_ostream &os, OptionVisibility visibility) {
  const opt::OptTable &table = getOptTable();
  MapVector<unsigned, std::vector<opt::Option>> groups;
  for (OptionID group : groupOrder)
    groups.insert({group, {}});
  for (unsigned id = 1; id <= table.getNumOptions(); ++id) {
    opt::Option option = table.getOption(id);
    if (option.getGroup().isValid() && !option.getAlias().isValid() && option.hasVisibilityFlag(visibility))
      groups[option.getGroup().getID()].push_back(option);
  }
  for (const auto &[group, options] : groups) {
    if (options.empty())
      continue;
    os << '\n' << table.getOptionHelpText(group) << ":\n";
    for (opt::Option option : options) {
      std::string spelling = "  " + printSpelling(option);
      os << spelling;
      if (spelling.size() + 2 > helpColumn)
        os << '\n';
      os.indent(spelling.size() + 2 > helpColumn ? helpColumn : helpColumn - spelling.size());
      printWrapped(os, table.getOptionHelpText(option.getID(), opt::Visibility(visibility)), helpColumn);
    }
  }
}

#include "Target/DataTypes.h"
#include "Support/Errors.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace recur;

DataType DataTypes::of(StringRef name, bool isState) const {
  auto own = named.find(name.str());
  return own != named.end() ? own->second : isState ? DataType::F32 : all;
}

bool DataTypes::contain(DataType type) const {
  return all == type || any_of(named, [&](const auto &entry) { return entry.second == type; });
}

std::string DataTypes::print() const {
  std::string text = getName(all).str();
  for (const auto &[name, type] : named)
    text += "," + name + "=" + getName(type).str();
  return text;
}

static Expected<DataType> parseKernelType(StringRef word) {
  std::optional<DataType> type = parseDataType(word);
  if (type && *type != DataType::F64)
    return *type;
  return makeUnknownValueError("--dtype", word, {"f32", "bf16", "f16"});
}

Expected<DataTypes> recur::parseDataTypes(StringRef list) {
  DataTypes types;
  bool hasAll = false;
  if (list.empty())
    return types;
  for (StringRef item : split(list, ',')) {
    size_t sign = item.find('=');
    Expected<DataType> type = parseKernelType(sign == StringRef::npos ? item : item.drop_front(sign + 1));
    if (!type)
      return type.takeError();
    if (sign == StringRef::npos) {
      if (hasAll)
        return makeError(
            "--dtype: the type of all arrays is given twice; others have theirs by name, as in bf16,g=f32");
      hasAll = true;
      types.all = *type;
      continue;
    }
    StringRef name = item.take_front(sign);
    if (name.empty())
      return makeError("--dtype: '" + item + "' names no array; give types as in bf16,g=f32");
    if (!types.named.insert({name.str(), *type}).second)
      return makeError("--dtype: the type of '" + name + "' is given twice");
  }
  return types;
}

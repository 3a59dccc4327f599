#include "Codegen/Embed/KernelInterface.h"
#include "Codegen/Embed/Names.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/xxhash.h"

using namespace llvm;
using namespace recur;
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

std::string KernelInterface::getPreciseSymbol() const {
  std::string symbol = getDescriptorSymbol();
  for (const auto &[dim, size] : dims)
    symbol += "_" + dim + std::to_string(size);
  return symbol + "_" + getName(dataTypes.all).str() + "_" + utohexstr(digest, /*LowerCase=*/true, /*Width=*/8);
}

StringRef recur::codegen::getPlanName(recur_plan plan) {
  static constexpr StringRef names[] = {"auto", "step", "chunk", "segment", "scan", "token-loop"};
  return names[plan];
}

recur_dtype recur::codegen::getRuntimeType(DataType type) {
  static_assert(int(DataType::F32) == RECUR_F32 && int(DataType::BF16) == RECUR_BF16 &&
                int(DataType::F16) == RECUR_F16 && int(DataType::I32) == RECUR_I32);
  assert(type != DataType::F64 && "kernels have no data of float64");
  return recur_dtype(type);
}

template <size_t roleCount>
static std::vector<ArgumentField> makeFields(const KernelInterface &interface,
                                             const abi::RoleFacts (&table)[roleCount]) {
  StringSet<> taken;
  for (StringRef size : {"B", "T", "H", "Hq"})
    taken.insert(size);
  for (StringRef field : callFields)
    taken.insert(field);
  std::vector<ArgumentField> fields;
  const std::vector<InterfaceArray> &arrays = interface.arrays;
  auto kindOf = [&](int64_t i) { return arrays[i].kind; };
  abi::forEachArray(table, int64_t(arrays.size()), kindOf, [&](const abi::RoleFacts &facts, int64_t i) {
    std::string plain = facts.prefix + arrays[i].name, name = makeFieldName(plain);
    // `x` beside `x_strides` would take the name of x's strides.
    while (taken.contains(name) || taken.contains(name + "_strides"))
      name += "_";
    taken.insert(name);
    taken.insert(name + "_strides");
    fields.push_back({&arrays[i], facts.role, name, name != plain});
  });
  return fields;
}

std::vector<ArgumentField> recur::codegen::getArgumentFields(const KernelInterface &interface) {
  return makeFields(interface, abi::roles);
}
std::vector<ArgumentField> recur::codegen::getGradientFields(const KernelInterface &interface) {
  std::vector<ArgumentField> fields = makeFields(interface, abi::gradientRoles);
  for (ArgumentField &field : fields)
    if (!field.isRead() && interface.gradient)
      field.isLeftOut = is_contained(interface.gradient->without, int32_t(field.array - interface.arrays.data()));
  return fields;
}

std::string recur::codegen::printFullShape(const ArgumentField &field) {
  StringRef leading = field.array->kind == RECUR_PARAM ? "[H"
                      : field.isState()                ? "[B, H"
                      : field.array->isShared          ? "[B, T, Hq"
                                                       : "[B, T, H";
  std::string text = leading.str();
  for (int64_t size : field.array->shape)
    text += ", " + std::to_string(size);
  return text + "]";
}

void recur::codegen::linkHandedOver(InterfaceGradient &gradient) {
  gradient.handedBytes = 0;
  std::string all;
  if (!gradient.takingLaunches)
    return;
  for (InterfaceLeft &taken : gradient.takingLaunches->left) {
    if (!taken.isHanded)
      continue;
    auto left = find_if(gradient.handingLaunches->left, [&](const InterfaceLeft &one) {
      return one.meaning == taken.meaning && one.rows == taken.rows && one.elementBytes == taken.elementBytes &&
             one.shape == taken.shape;
    });
    assert(left != gradient.handingLaunches->left.end() && "it was offered");
    left->isHanded = true;
    left->handedOffset = taken.handedOffset = gradient.handedBytes;
    gradient.handedBytes += taken.countHandedBytes();
    all += std::to_string(taken.meaning) + ' ' + std::to_string(taken.elementBytes) + '\n';
  }
  gradient.handedDigest = xxh3_64bits(all);
}

// The descriptor that lies beside the kernels: constant data with the layout of recur_recurrence.
#include "Codegen/Embed/KernelInterface.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Module.h"
#include <cstddef>

using namespace llvm;
using namespace recur;
using namespace recur::codegen;

// The constants below are written in this order.
static_assert(offsetof(recur_array_info, kind) == 8 && offsetof(recur_array_info, rank) == 20 &&
              offsetof(recur_array_info, shape) == 24 && sizeof(recur_array_info) == 40);
static_assert(offsetof(recur_kernel_info, workspace_bytes) == 8 && offsetof(recur_kernel_info, tokens_from) == 16 &&
              offsetof(recur_kernel_info, plan) == 24 && offsetof(recur_kernel_info, summaries) == 32 &&
              offsetof(recur_kernel_info, summary_count) == 40 && offsetof(recur_kernel_info, launches) == 48 &&
              offsetof(recur_kernel_info, left_count) == 64 && offsetof(recur_kernel_info, listing) == 72 &&
              offsetof(recur_kernel_info, trees) == 80 && sizeof(recur_kernel_info) == 88);
static_assert(offsetof(recur_launch_info, threads) == 8 && offsetof(recur_launch_info, workspace_bytes) == 16 &&
              offsetof(recur_launch_info, parts) == 24 && offsetof(recur_launch_info, arrays) == 32 &&
              offsetof(recur_launch_info, array_count) == 40 && offsetof(recur_launch_info, cost) == 52 &&
              offsetof(recur_launch_info, cuts) == 56 && offsetof(recur_launch_info, bounds) == 60 &&
              offsetof(recur_launch_info, listed) == 64 && offsetof(recur_launch_info, state_parts) == 72 &&
              sizeof(recur_launch_info) == 80);
static_assert(offsetof(recur_launch_array, part_size) == 8 && sizeof(recur_launch_array) == 24);
static_assert(offsetof(recur_left_info, element_bytes) == 8 && offsetof(recur_left_info, shape) == 16 &&
              offsetof(recur_left_info, handed_offset) == 32 && offsetof(recur_left_info, is_handed) == 40 &&
              sizeof(recur_left_info) == 48);
static_assert(offsetof(recur_summary_info, needs) == 16 && offsetof(recur_summary_info, need_count) == 24 &&
              offsetof(recur_summary_info, map_side) == 32 && offsetof(recur_summary_info, map_start) == 36 &&
              offsetof(recur_summary_info, apply_cost) == 48 && offsetof(recur_summary_info, scale_size) == 52 &&
              offsetof(recur_summary_info, map_is_left) == 56 && offsetof(recur_summary_info, extremum) == 60 &&
              offsetof(recur_summary_info, launches) == 64 && sizeof(recur_summary_info) == 72);
static_assert(offsetof(recur_parts_info, compose) == 8 && offsetof(recur_parts_info, summary_count) == 16 &&
              sizeof(recur_parts_info) == 24);
static_assert(offsetof(recur_recurrence, array_count) == 8 && offsetof(recur_recurrence, arrays) == 16 &&
              offsetof(recur_recurrence, kernels) == 24 && offsetof(recur_recurrence, name) == 32 &&
              offsetof(recur_recurrence, compiler) == 48 && offsetof(recur_recurrence, next) == 56 &&
              offsetof(recur_recurrence, image) == 64 && offsetof(recur_recurrence, device) == 72 &&
              offsetof(recur_recurrence, gradient) == 80 && offsetof(recur_recurrence, start) == 88 &&
              offsetof(recur_recurrence, parts) == 96 && sizeof(recur_recurrence) == 104);
static_assert(offsetof(recur_gradient_info, workspace_bytes) == 16 && offsetof(recur_gradient_info, carried) == 24 &&
              offsetof(recur_gradient_info, kept) == 32 && offsetof(recur_gradient_info, carried_count) == 40 &&
              offsetof(recur_gradient_info, chunk) == 48 && offsetof(recur_gradient_info, without) == 56 &&
              offsetof(recur_gradient_info, chain) == 64 && offsetof(recur_gradient_info, chain_kept_count) == 80 &&
              offsetof(recur_gradient_info, chain_cost) == 88 && offsetof(recur_gradient_info, states_launches) == 96 &&
              offsetof(recur_gradient_info, sum) == 112 && offsetof(recur_gradient_info, chain_launches) == 120 &&
              offsetof(recur_gradient_info, kept_dtypes) == 128 &&
              offsetof(recur_gradient_info, handing_launches) == 136 &&
              offsetof(recur_gradient_info, taking_launches) == 144 &&
              offsetof(recur_gradient_info, handed_bytes) == 152 &&
              offsetof(recur_gradient_info, handed_digest) == 160 && offsetof(recur_gradient_info, starts) == 168 &&
              offsetof(recur_gradient_info, chain_starts) == 176 && offsetof(recur_gradient_info, start_count) == 184 &&
              sizeof(recur_gradient_info) == 192);

uint32_t recur::codegen::getFeatureBit(StringRef feature) {
  return StringSwitch<uint32_t>(feature)
      .Case("avx2", RECUR_FEATURE_AVX2)
      .Case("fma", RECUR_FEATURE_FMA)
      .Case("f16c", RECUR_FEATURE_F16C)
      .Case("avx512f", RECUR_FEATURE_AVX512F)
      .Case("avx512bw", RECUR_FEATURE_AVX512BW)
      .Case("avx512dq", RECUR_FEATURE_AVX512DQ)
      .Case("avx512vl", RECUR_FEATURE_AVX512VL)
      .Case("avx512bf16", RECUR_FEATURE_AVX512BF16)
      .Case("amx-tile", RECUR_FEATURE_AMX_TILE)
      .Case("amx-bf16", RECUR_FEATURE_AMX_BF16)
      .Case("bmi", RECUR_FEATURE_BMI)
      .Case("bmi2", RECUR_FEATURE_BMI2)
      .Case("lzcnt", RECUR_FEATURE_LZCNT)
      .Case("movbe", RECUR_FEATURE_MOVBE)
      .Case("avx512cd", RECUR_FEATURE_AVX512CD)
      .Case("neon", RECUR_FEATURE_NEON)
      .Case("bf16", RECUR_FEATURE_ARM_BF16)
      .Default(0);
}

static uint32_t getFeatureBits(ArrayRef<std::string> features) {
  uint32_t all = 0;
  for (StringRef feature : features)
    all |= getFeatureBit(feature);
  return all;
}

namespace {
class DescriptorWriter {
public:
  DescriptorWriter(Module &module, StringRef image);
  Constant *write(const KernelInterface &interface);

private:
  Constant *int32(int64_t value) { return ConstantInt::get(Type::getInt32Ty(context), value); }
  Constant *int64(int64_t value) { return ConstantInt::get(Type::getInt64Ty(context), value); }
  Constant *float32(float value) { return ConstantFP::get(Type::getFloatTy(context), value); }
  Constant *makeStruct(ArrayRef<Constant *> fields) { return ConstantStruct::getAnon(context, fields); }
  Constant *makeData(Constant *value) {
    auto *global =
        new GlobalVariable(module, value->getType(), /*isConstant=*/true, GlobalValue::PrivateLinkage, value);
    global->setUnnamedAddr(GlobalValue::UnnamedAddr::Global);
    return global;
  }
  Constant *makeString(StringRef text) { return makeData(ConstantDataArray::getString(context, text)); }
  Constant *makeTable(ArrayRef<Constant *> rows) {
    if (rows.empty())
      return null();
    return makeData(ConstantArray::get(ArrayType::get(rows.front()->getType(), rows.size()), rows));
  }

  Constant *null() { return ConstantPointerNull::get(PointerType::getUnqual(context)); }
  Constant *getKernel(StringRef symbol);
  Constant *makeSummary(const InterfaceSummary &summary, const InterfaceKernel *ofGPU);
  Constant *makeParts(const InterfaceParts &parts);
  Constant *makeSides(ArrayRef<int64_t> shape);
  Constant *makeLaunch(const InterfaceLaunch &launch);
  Constant *makeKernel(const InterfaceKernel &kernel);
  Constant *makeGradient(const InterfaceGradient &gradient);

  Module &module;
  LLVMContext &context;
  Constant *image;
};
} // namespace

DescriptorWriter::DescriptorWriter(Module &module, StringRef bytes)
    : module(module), context(module.getContext()), image(null()) {
  if (bytes.empty())
    return;
  image = makeString(bytes);
  cast<GlobalVariable>(image)->setAlignment(Align(64));
}

Constant *DescriptorWriter::getKernel(StringRef symbol) {
  Type *pointer = PointerType::getUnqual(context);
  SmallVector<Type *> parameters;
  for (bool isPointer : abi::pointerParameters)
    parameters.push_back(isPointer ? pointer : Type::getInt64Ty(context));
  auto *type = FunctionType::get(Type::getVoidTy(context), parameters, false);
  return cast<Constant>(module.getOrInsertFunction(symbol, type).getCallee());
}

/// On a GPU it has a kernel of launches in place of functions.
Constant *DescriptorWriter::makeSummary(const InterfaceSummary &summary, const InterfaceKernel *ofGPU) {
  std::vector<Constant *> needs;
  for (int32_t state : summary.needs)
    needs.push_back(int32(state));
  return makeStruct({ofGPU ? null() : getKernel(summary.symbol), ofGPU ? null() : getKernel(summary.applySymbol),
                     makeTable(needs), int32(needs.size()), int32(summary.state), int32(summary.mapSide),
                     float32(summary.mapStart), float32(summary.offsetStart), float32(summary.cost),
                     float32(summary.applyCost), int32(summary.scaleSize), int32(summary.mapIsLeft),
                     int32(summary.extremum), ofGPU ? makeData(makeKernel(*ofGPU)) : null()});
}

Constant *DescriptorWriter::makeParts(const InterfaceParts &parts) {
  std::vector<Constant *> summaries;
  for (auto [summary, kernel] : zip_equal(parts.summaries, parts.kernels))
    summaries.push_back(makeSummary(summary, &kernel));
  return makeData(makeStruct({makeTable(summaries), makeData(makeLaunch(parts.compose)), int32(summaries.size())}));
}

Constant *DescriptorWriter::makeSides(ArrayRef<int64_t> shape) {
  Constant *sides[] = {int64(shape.empty() ? 0 : shape[0]), int64(shape.size() < 2 ? 0 : shape[1])};
  return ConstantArray::get(ArrayType::get(Type::getInt64Ty(context), 2), sides);
}

Constant *DescriptorWriter::makeLaunch(const InterfaceLaunch &launch) {
  std::vector<Constant *> arrays;
  for (const InterfaceLaunchArray &array : launch.arrays)
    arrays.push_back(
        makeStruct({int32(array.number), int32(array.partDim), int64(array.partSize), int64(array.copiedRows)}));
  return makeStruct({makeString(launch.symbol), int32(launch.threads), int32(launch.sharedBytes),
                     int64(launch.workspaceBytes), int32(launch.parts), int32(launch.chunksAreApart), makeTable(arrays),
                     int32(arrays.size()), int32(launch.teams), int32(launch.awaits), float32(launch.cost),
                     int32(launch.cuts), int32(launch.bounds),
                     launch.listed.empty() ? null() : makeString(launch.listed), int32(launch.stateParts)});
}

Constant *DescriptorWriter::makeKernel(const InterfaceKernel &kernel) {
  std::vector<Constant *> summaries, launches, left;
  for (const InterfaceSummary &summary : kernel.summaries)
    summaries.push_back(makeSummary(summary, nullptr));
  for (const InterfaceLaunch &launch : kernel.launches)
    launches.push_back(makeLaunch(launch));
  for (const InterfaceLeft &array : kernel.left)
    left.push_back(makeStruct({int64(array.rows), int32(array.elementBytes), int32(array.shape.size()),
                               makeSides(array.shape), int64(array.handedOffset), int32(array.isHanded)}));
  return makeStruct({launches.empty() ? getKernel(kernel.symbol) : null(), int64(kernel.workspaceBytes),
                     int64(kernel.tokensFrom), int32(kernel.plan), int32(kernel.chunk), makeTable(summaries),
                     int32(summaries.size()), int32(launches.size()), makeTable(launches), makeTable(left),
                     int32(left.size()), kernel.listing ? makeData(makeLaunch(*kernel.listing)) : null(),
                     kernel.trees ? makeData(makeLaunch(*kernel.trees)) : null()});
}

Constant *DescriptorWriter::makeGradient(const InterfaceGradient &gradient) {
  auto makePlaces = [&](ArrayRef<int32_t> places) {
    std::vector<Constant *> rows;
    for (int32_t place : places)
      rows.push_back(int32(place));
    return makeTable(rows);
  };
  auto getFunction = [&](StringRef symbol) { return symbol.empty() ? null() : getKernel(symbol); };
  auto makeLaunches = [&](const std::optional<InterfaceKernel> &kernel) {
    return kernel ? makeData(makeKernel(*kernel)) : null();
  };
  return makeData(makeStruct({getFunction(gradient.states),
                              getFunction(gradient.run),
                              int64(gradient.workspaceBytes),
                              makePlaces(gradient.carried),
                              makePlaces(gradient.kept),
                              int32(gradient.carried.size()),
                              int32(gradient.kept.size()),
                              int32(gradient.chunk),
                              int32(gradient.without.size()),
                              makePlaces(gradient.without),
                              getFunction(gradient.chain),
                              makePlaces(gradient.chainKept),
                              int32(gradient.chainKept.size()),
                              float32(gradient.statesCost),
                              float32(gradient.chainCost),
                              float32(gradient.forwardCost),
                              makeLaunches(gradient.statesLaunches),
                              makeLaunches(gradient.runLaunches),
                              gradient.sum ? makeData(makeLaunch(*gradient.sum)) : null(),
                              makeLaunches(gradient.chainLaunches),
                              gradient.keptTypes.empty() ? null() : makePlaces(gradient.keptTypes),
                              makeLaunches(gradient.handingLaunches),
                              makeLaunches(gradient.takingLaunches),
                              int64(gradient.handedBytes),
                              int64(int64_t(gradient.handedDigest)),
                              makePlaces(gradient.starts),
                              makePlaces(gradient.chainStarts),
                              int32(gradient.starts.size()),
                              int32(gradient.chainStarts.size())}));
}

Constant *DescriptorWriter::write(const KernelInterface &interface) {
  std::vector<Constant *> arrays, kernels;
  for (const InterfaceArray &array : interface.arrays) {
    arrays.push_back(makeStruct({makeString(array.name), int32(array.kind), int32(getRuntimeType(array.type)),
                                 int32(array.isShared), int32(array.shape.size()), makeSides(array.shape)}));
  }
  for (const InterfaceKernel &kernel : interface.kernels)
    kernels.push_back(makeKernel(kernel));
  Constant *next = null();
  if (std::string symbol = interface.getNextDescriptorSymbol(); !symbol.empty())
    next =
        new GlobalVariable(module, next->getType(), /*isConstant=*/true, GlobalValue::ExternalLinkage, nullptr, symbol);
  Constant *start = interface.start.empty() ? null() : write(interface.start.front());
  int64_t features = interface.device == RECUR_CPU ? getFeatureBits(interface.features) : interface.capability;
  Constant *descriptor = makeStruct(
      {int32(RECUR_ABI_VERSION), int32(features), int32(arrays.size()), int32(kernels.size()), makeTable(arrays),
       makeTable(kernels), makeString(interface.name), makeString(interface.target), makeString(interface.compiler),
       next, image, int32(interface.device), interface.gradient ? makeGradient(*interface.gradient) : null(), start,
       interface.parts ? makeParts(*interface.parts) : null()});
  auto *global = new GlobalVariable(module, descriptor->getType(), /*isConstant=*/true, GlobalValue::ExternalLinkage,
                                    descriptor, interface.getDescriptorSymbol());
  if (interface.variant.empty()) // the one that the header is for
    GlobalAlias::create(interface.getPreciseSymbol(), global);
  return global;
}

void recur::codegen::addDescriptors(Module &module, ArrayRef<KernelInterface> interfaces, StringRef image) {
  DescriptorWriter writer(module, image);
  for (const KernelInterface &interface : interfaces)
    writer.write(interface);
}

// Every specification of examples/ becomes a kernel that the assembler has nothing against, and a gradient. On a
// machine without a GPU that is all; with RECUR_GPU_CASES=DIR the kernels are left there with data and what must come
// out, for test/gpu/check.py on one that has a GPU.
#include "Compile/Kernels.h"
#include "../Codegen/Judging.h"
#include "../GPUFamilies.h"
#include "Compile/KernelPlans.h"
#include "Data/ArrayFolder.h"
#include "Interpreter/TileInterpreter.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "gmock/gmock.h"
#include <fstream>
#include <functional>

using namespace recur;
using ::testing::AnyOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

namespace {

struct Case {
  std::string path;
  DataType type;
  Dims dims;
  bool trees = false; // the kernel for them is made too
  std::string getName() const {
    return std::filesystem::path(path).stem().string() + "_" + ::getName(type).str() + "_" + std::to_string(dims.k);
  }
};

/// In an ordinary run every third example in bf16, and every sixth in f32.
std::vector<Case> listCases() {
  std::vector<Case> cases;
  for (const test::NumberedExample &example : test::listNumberedExamples()) {
    bool isWanted = std::getenv("RECUR_GPU_CASES");
    if (isWanted || test::takesTurn(example, 1, 6))
      cases.push_back({example.path, DataType::F32, Dims{16, 10}});
    // The kernel for trees does with the state what the one for chains does: every sixth example has both.
    if (isWanted || test::takesTurn(example, 0, 3))
      cases.push_back({example.path, DataType::BF16, {128, 128}, test::takesTurn(example, 0, 6)});
  }
  // With twice as many keys as dims say, which are more than a product of a warpgroup has columns.
  for (const std::string &path : test::listExamples())
    if (std::string name = std::filesystem::path(path).stem(); name == "hedgehog" || name == "gateloop")
      cases.push_back({path, DataType::BF16, Dims{160, 64}});
  return cases;
}

void write(const std::string &path, llvm::StringRef bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), std::streamsize(bytes.size()));
}

/// Data of so many tokens, and what the token-by-token interpreter makes of them.
void leaveData(dgps::RecurrenceOp recurrence, DataType type, int64_t tokens, const std::string &folder) {
  check::Tameness wanted;
  wanted.types = type;
  auto drawn = check::makeJudgedData(recurrence, {2, tokens, 2, 1}, uint64_t(tokens), wanted);
  ASSERT_TRUE(bool(drawn)) << llvm::toString(drawn.takeError());
  llvm::sys::fs::create_directories(folder);
  auto writeAll = [&](const char *word, const data::NamedArrays &arrays) {
    for (const auto &[name, array] : arrays)
      write(folder + "/" + word + "." + name + ".npy", npy::print(array, DataType::F64));
  };
  writeAll("input", drawn->data.inputs);
  writeAll("param", drawn->data.params);
  writeAll("initial", drawn->data.initial);
  writeAll("output", drawn->want.outputs);
  writeAll("final", drawn->want.final);
}

llvm::json::Object describe(const codegen::InterfaceKernel &kernel) {
  llvm::json::Array launches, left;
  for (const codegen::InterfaceLaunch &launch : kernel.launches) {
    llvm::json::Array own;
    for (const codegen::InterfaceLaunchArray &array : launch.arrays)
      own.push_back(llvm::json::Array{array.number, array.partDim, array.partSize});
    launches.push_back(llvm::json::Object{{"symbol", launch.symbol},
                                          {"threads", launch.threads},
                                          {"shared", launch.sharedBytes},
                                          {"workspace", launch.workspaceBytes},
                                          {"parts", launch.parts},
                                          {"parallel", launch.chunksAreApart},
                                          {"teams", launch.teams},
                                          {"awaits", launch.awaits},
                                          {"cost", launch.cost},
                                          {"cuts", launch.cuts},
                                          {"bounds", launch.bounds},
                                          {"state_parts", launch.stateParts},
                                          {"arrays", std::move(own)}});
  }
  for (const codegen::InterfaceLeft &array : kernel.left)
    left.push_back(llvm::json::Object{{"rows", array.rows},
                                      {"bytes", array.elementBytes},
                                      {"shape", llvm::json::Array(llvm::ArrayRef<int64_t>(array.shape))}});
  return llvm::json::Object{{"plan", int64_t(kernel.plan)},     {"chunk", kernel.chunk},
                            {"tokens_from", kernel.tokensFrom}, {"launches", std::move(launches)},
                            {"left", std::move(left)},          {"workspace", kernel.workspaceBytes}};
}

/// What a call must be told, for a script: the kernels, and their arrays in their order.
std::string describe(dgps::RecurrenceOp recurrence, const Case &example, const codegen::KernelInterface &interface) {
  PipelineOptions pipeline;
  auto program = compile::copyTo("chunk", recurrence, pipeline);
  if (!program)
    return llvm::toString(program.takeError());
  llvm::json::Array arrays, kernels;
  for (const auto &array : interpreter::listKernelArrays(*(**program).getOps<chunk::ProgramOp>().begin())) {
    bool isShared = array.role == data::Role::SharedInput;
    auto word = data::getWord(array.role);
    arrays.push_back(llvm::json::Object{
        {"role", word}, {"name", array.name}, {"shared", isShared}, {"shape", llvm::json::Array(array.shape)}});
  }
  for (const codegen::InterfaceKernel &kernel : interface.kernels)
    kernels.push_back(describe(kernel));
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(llvm::json::Object{{"name", example.getName()},
                                                                         {"type", ::getName(example.type)},
                                                                         {"kernels", std::move(kernels)},
                                                                         {"arrays", std::move(arrays)}});
  return text;
}

class CUDAKernels : public ::testing::TestWithParam<Case> {};

/// Summaries of parts of sequences, with the chain of the gradient.
TEST(CUDASummaries, AreAssembledWithoutFaults) {
  for (auto [name, backward] : {std::pair("gla", true), {"mlstm", false}}) {
    auto specification = openExample(std::string(RECUR_SOURCE_DIR "/examples/") + name + ".recur", {16, 16});
    ASSERT_TRUE(bool(specification)) << llvm::toString(specification.takeError());
    PipelineOptions pipeline;
    pipeline.target = *findTarget("sm_90a");
    pipeline.dataTypes = DataType::BF16;
    pipeline.summaries = true;
    pipeline.backward = backward;
    pipeline.plan = Plan::Step;
    compile::Listings listings;
    auto kernels = compile::compileKernels((*specification)->getRecurrences().front(), pipeline, {}, listings);
    ASSERT_TRUE(bool(kernels)) << llvm::toString(kernels.takeError());
    const codegen::KernelInterface &interface = kernels->interfaces.front();
    ASSERT_TRUE(interface.parts) << name;
    EXPECT_EQ(interface.parts->summaries.size(), interface.parts->kernels.size());
    for (const codegen::InterfaceKernel &kernel : interface.parts->kernels)
      EXPECT_GE(kernel.launches.size(), 1u);
    EXPECT_FALSE(interface.parts->compose.symbol.empty());
    EXPECT_TRUE(kernels->notes.empty()) << name << ": " << llvm::join(kernels->notes, "; ");
  }
}

TEST_P(CUDAKernels, AreAssembledWithoutFaults) {
  auto specification = openExample(GetParam().path, GetParam().dims);
  ASSERT_TRUE(bool(specification)) << llvm::toString(specification.takeError());
  dgps::RecurrenceOp recurrence = (*specification)->getRecurrences().front();
  PipelineOptions pipeline;
  pipeline.target = *findTarget("sm_90a");
  pipeline.dataTypes = GetParam().type;
  pipeline.trees = GetParam().trees;
  compile::Listings listings;
  auto kernels = compile::compileKernels(recurrence, pipeline, {}, listings);
  ASSERT_TRUE(bool(kernels)) << llvm::toString(kernels.takeError());
  EXPECT_GT(listings.registers, 0) << "no assembler";
  const codegen::KernelInterface &interface = kernels->interfaces.front();
  // One for a token, one for chunks of tokens, and one that cuts sequences where the state's decay lets it; nothing was
  // left out, or given a plainer plan, for faults.
  auto cuts = [](const codegen::InterfaceKernel &kernel) { return kernel.plan == RECUR_PLAN_SEGMENT; };
  EXPECT_LE(llvm::count_if(interface.kernels, cuts), 1);
  ASSERT_EQ(llvm::count_if(interface.kernels, std::not_fn(cuts)), 2);
  EXPECT_EQ(interface.kernels.front().plan, RECUR_PLAN_STEP);
  for (const codegen::InterfaceKernel &kernel : interface.kernels) {
    EXPECT_GE(kernel.launches.size(), 1u);
    if (kernel.trees) { // it holds what the one for chains does, for else it has other bits
      EXPECT_EQ(kernel.trees->stateParts, kernel.launches.front().stateParts);
    }
  }
  // With a state of 256 keys ptxas has too few registers for outputs in the chain, which is known only once it says so.
  std::string name = GetParam().getName();
  if (name == "cosformer_bf16_128" || name == "rotary_retention_bf16_128") {
    ASSERT_EQ(kernels->notes.size(), 1u);
    EXPECT_THAT(kernels->notes.front(), HasSubstr("_chunk' makes its outputs in a phase of their own: ptxas"));
  } else if (name == "mamba2_ssd_bf16_128") { // a register more, for its place in the list, is one too many
    ASSERT_EQ(kernels->notes.size(), 1u);
    EXPECT_THAT(kernels->notes.front(), HasSubstr("_chunk_chain_listed' is left out"));
  } else {
    EXPECT_TRUE(kernels->notes.empty()) << llvm::join(kernels->notes, "; ");
  }
  const char *folder = std::getenv("RECUR_GPU_CASES");
  if (!folder)
    return;
  std::string base = std::string(folder) + "/" + GetParam().getName();
  write(base + ".ptx", listings.ptx);
  write(base + ".json", describe(recurrence, GetParam(), interface));
  for (int64_t tokens : {0, 1, 5, 63, 64, 65, 200})
    leaveData(recurrence, GetParam().type, tokens, base + "/" + std::to_string(tokens));
}

/// Products of tf32 leave a chain its state in registers, as those of bf16 do.
TEST(CUDAPrecision, ChainsOfTF32HaveTheirStateInRegisters) {
  auto specification = openExample(RECUR_SOURCE_DIR "/examples/gated_delta_net.recur", {64, 64});
  ASSERT_TRUE(bool(specification)) << llvm::toString(specification.takeError());
  PipelineOptions pipeline;
  pipeline.target = *findTarget("sm_90a");
  pipeline.precision = Precision::TF32;
  compile::Listings listings;
  auto kernels = compile::compileKernels((*specification)->getRecurrences().front(), pipeline, {}, listings);
  ASSERT_TRUE(bool(kernels)) << llvm::toString(kernels.takeError());
  EXPECT_GT(listings.registers, 0) << "no assembler";
  EXPECT_TRUE(kernels->notes.empty()) << llvm::join(kernels->notes, "; ");
  size_t chain = listings.ptx.find(".entry gated_delta_net_chunk_chain(");
  ASSERT_NE(chain, std::string::npos);
  std::string code = listings.ptx.substr(chain, listings.ptx.find(".entry", chain + 1) - chain);
  EXPECT_THAT(code, HasSubstr("mbarrier.init")) << "the chain has no roles";
  EXPECT_THAT(code, HasSubstr("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"));
  EXPECT_THAT(code, Not(HasSubstr("bf16")));
}

/// In an ordinary run every sixth example in bf16 and every eighth in f32. Layers have 64 channels then: ptxas takes a
/// minute for their gradients with 128, which have the same ops.
std::vector<Case> listGradients() {
  std::vector<Case> cases;
  for (const test::NumberedExample &example : test::listNumberedExamples()) {
    bool isShort = !std::getenv("RECUR_EVERY_GPU") && llvm::StringRef(example.path).contains("_layer");
    int64_t channels = isShort ? 64 : 128;
    if (test::takesTurn(example, 3, 6))
      cases.push_back({example.path, DataType::BF16, {channels, channels}});
    if (test::takesTurn(example, 1, 8))
      cases.push_back({example.path, DataType::F32, {16, 10}});
  }
  return cases;
}

PipelineOptions chooseGradient(DataType type) {
  PipelineOptions pipeline;
  pipeline.target = *findTarget("sm_90a");
  pipeline.dataTypes = type;
  pipeline.backward = true;
  pipeline.plan = Plan::Step;
  return pipeline;
}

/// Products that wait for each other are for the compiler to mend, and no reason to give way to a plainer plan.
void expectNoWaits(const std::vector<std::string> &notes) {
  EXPECT_THAT(notes, Each(Not(AnyOf(HasSubstr("wgmma"), HasSubstr("warpgroup")))));
}

class CUDAGradients : public ::testing::TestWithParam<Case> {};

/// Where the assembler finds fault with phases, a gradient has a plainer plan, as notes say.
TEST_P(CUDAGradients, AreAssembled) {
  auto specification = openExample(GetParam().path, GetParam().dims);
  ASSERT_TRUE(bool(specification)) << llvm::toString(specification.takeError());
  compile::Listings listings;
  auto kernels = compile::compileKernels((*specification)->getRecurrences().front(), chooseGradient(GetParam().type),
                                         {}, listings);
  ASSERT_TRUE(bool(kernels)) << llvm::toString(kernels.takeError());
  EXPECT_GT(listings.registers, 0) << "no assembler";
  const std::optional<codegen::InterfaceGradient> &gradient = kernels->interfaces.front().gradient;
  ASSERT_TRUE(gradient && gradient->runLaunches && gradient->sum);
  EXPECT_GE(gradient->runLaunches->launches.size(), 1u);
  EXPECT_EQ(gradient->statesLaunches.has_value(), !gradient->kept.empty());
  expectNoWaits(kernels->notes);
  for (const std::string &note : kernels->notes)
    RecordProperty("note", note);
}

/// What goes by lists of packed sequences, and what summarises segments, is left out without a note where the assembler
/// finds fault with it: as it did where products of a loop with loaded bounds waited for each other.
TEST(CUDAGradientChains, HaveAllTheirForms) {
  for (const std::string name : {"gated_delta_net", "kda"}) {
    auto specification = openExample(RECUR_SOURCE_DIR "/examples/" + name + ".recur", {128, 128});
    ASSERT_TRUE(bool(specification)) << llvm::toString(specification.takeError());
    compile::Listings listings;
    auto kernels = compile::compileKernels((*specification)->getRecurrences().front(), chooseGradient(DataType::BF16),
                                           {}, listings);
    ASSERT_TRUE(bool(kernels)) << llvm::toString(kernels.takeError());
    expectNoWaits(kernels->notes);
    for (const char *form : {"", "_summaries", "_listed"})
      EXPECT_THAT(listings.ptx, HasSubstr(".entry " + name + "_gradient_chain" + form + "("));
  }
}

INSTANTIATE_TEST_SUITE_P(All, CUDAGradients, ::testing::ValuesIn(listGradients()),
                         [](const auto &info) { return info.param.getName(); });
INSTANTIATE_TEST_SUITE_P(All, CUDAKernels, ::testing::ValuesIn(listCases()),
                         [](const auto &info) { return info.param.getName(); });

} // namespace

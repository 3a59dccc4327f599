// Kernels that are made apart, and the image of several.
#include "ABI/GPUImage.h"
#include "Codegen/NVPTX/Image.h"
#include "Codegen/NVPTX/Kernels.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"
#include "gmock/gmock.h"

using namespace recur;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

namespace {

/// `kda` and `gdn` do the same; `other` does not.
constexpr const char *kernels = R"(
@kda_shared = external addrspace(3) global [0 x i8], align 128
@gdn_shared = external addrspace(3) global [0 x i8], align 128
@list = internal addrspace(3) global [8 x i32] undef
define ptx_kernel void @kda(ptr addrspace(1) %to) {
  %number = load float, ptr addrspace(3) @kda_shared
  store float %number, ptr addrspace(1) %to
  ret void
}
define ptx_kernel void @gdn(ptr addrspace(1) %to) {
  %number = load float, ptr addrspace(3) @gdn_shared
  store float %number, ptr addrspace(1) %to
  ret void
}
define ptx_kernel void @other(ptr addrspace(1) %to) {
  %lane = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %place = getelementptr i32, ptr addrspace(3) @list, i32 %lane
  store volatile i32 %lane, ptr addrspace(3) %place
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
)";

std::vector<codegen::KernelIR> split(const std::string &text = kernels) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, error, context);
  EXPECT_TRUE(module) << error.getMessage().str();
  return codegen::splitKernels(*module);
}

TEST(KernelCode, KernelsThatDoTheSameAreEqual) {
  std::vector<codegen::KernelIR> all = split();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].symbol, "kda");
  EXPECT_EQ(all[2].symbol, "other");
  EXPECT_EQ(all[0].bitcode, all[1].bitcode);
  EXPECT_NE(all[0].bitcode, all[2].bitcode);
}

/// Lowering declares what kernels call in the order of the first calls, which may be those of other kernels.
TEST(KernelCode, TheOrderOfDeclarationsIsNoDifference) {
  std::string kernel = R"(
define ptx_kernel void @kda(ptr addrspace(1) %to) {
  %lane = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %head = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %sum = add i32 %lane, %head
  store i32 %sum, ptr addrspace(1) %to
  ret void
})";
  std::string lane = "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n";
  std::string head = "declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()\n";
  EXPECT_EQ(split(lane + head + kernel).front().bitcode, split(head + lane + kernel).front().bitcode);
}

TEST(KernelCode, IsMadeOnceForAllThatAreEqual) {
  std::vector<codegen::KernelIR> all = split();
  Target target = *findTarget("sm_90a");
  codegen::KernelFactory factory(target, Effort::Full);
  auto made = factory.make({&all[2], &all[1], &all[0]}, /*assembles=*/true);
  ASSERT_TRUE(bool(made)) << llvm::toString(made.takeError());
  EXPECT_EQ((*made)[1], (*made)[2]);
  EXPECT_EQ((*made)[1]->symbol, "gdn");
  EXPECT_THAT((*made)[1]->cubin.bytes, StartsWith("\x7F"
                                                  "ELF"));
  EXPECT_GT((*made)[0]->cubin.registers, 0);
  EXPECT_THAT(codegen::getPTX(*(*made)[1], "kda"),
              AllOf(HasSubstr(".entry kda("), HasSubstr("kda_shared"), Not(HasSubstr("recur_kernel"))));
  auto again = factory.make({&all[0]}, /*assembles=*/true);
  ASSERT_TRUE(bool(again));
  EXPECT_EQ(again->front(), (*made)[1]);
}

TEST(KernelCode, TextsHaveOneHead) {
  std::string head = "//\n.version 8.5\n.target sm_90a\n.address_size 64\n";
  EXPECT_EQ(codegen::joinPTX({head + "a", head + "b"}), head + "ab");
}

TEST(KernelCode, TheTableOfCubinsHasEachOnce) {
  std::string image = codegen::joinCubins({{"kda", "code", "kda"}, {"gdn", "code", "kda"}, {"other", "else", "other"}});
  std::vector<uint64_t> aligned(image.size() / 8 + 1);
  std::memcpy(aligned.data(), image.data(), image.size());
  const recur::abi::ImageTable *table = recur::abi::findImageTable(aligned.data());
  ASSERT_NE(table, nullptr);
  EXPECT_FALSE(recur::abi::isPTX(aligned.data()));
  ASSERT_EQ(table->count, 3u);
  auto *bytes = reinterpret_cast<const char *>(aligned.data());
  std::vector<std::string> names, codes, functions;
  for (int i = 0; i < 3; ++i) {
    const recur::abi::ImageTable::Kernel &kernel = recur::abi::getKernels(table)[i];
    names.push_back(bytes + kernel.symbol);
    functions.push_back(bytes + kernel.function);
    codes.push_back(std::string(bytes + kernel.code, 4));
    EXPECT_EQ(kernel.code % recur::abi::imageAlignment, 0u);
  }
  EXPECT_THAT(names, ElementsAre("kda", "gdn", "other"));
  EXPECT_THAT(functions, ElementsAre("kda", "kda", "other"));
  EXPECT_THAT(codes, ElementsAre("code", "code", "else"));
  EXPECT_EQ(recur::abi::getKernels(table)[0].code, recur::abi::getKernels(table)[1].code);
  EXPECT_EQ(recur::abi::findImageTable("\x7F"
                                       "ELF"),
            nullptr);
}

} // namespace

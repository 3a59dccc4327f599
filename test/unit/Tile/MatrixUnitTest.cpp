// Matrix units, and GPUs that are not listed: that one more of either is an
// addition, and no change elsewhere.
#include "Conversion/TileToNVVM/MatrixUnits/MatrixUnit.h"
#include "Conversion/TileToNVVM/InlinePTX.h"
#include "Pipelines/Registration.h"
#include "Target/OtherGPUs.h"
#include "dialects/Tile/Tile.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "gmock/gmock.h"

using namespace mlir;
using namespace recur;
using namespace recur::conversion::nvvm;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

namespace {

/// What the third unit was asked for.
struct Asked {
  std::vector<UnitShape> begun; // rows, columns as the most of them, and inner
                                // indices of the whole product
  int64_t settled = 0;
} asked;

/// A unit that reads shared memory itself, and whose instructions are texts
/// that no assembler knows.
class ThirdUnit : public MatrixUnit {
public:
  bool isOf(const GPUProfile &gpu) const override { return gpu.name == "third"; }
  UnitShape getShape(FactorKind) const override { return {64, 8, 256, 16}; }
  FactorSource getRightSource() const override { return FactorSource::SharedMemory; }
  SmallVector<Value> begin(TeamCode &t, const UnitProduct &product) const override {
    EXPECT_TRUE(takesProduct(*this, product));
    asked.begun.push_back({64, 8, product.columns, int64_t(product.places.size()) * getShape(product.kind).inner});
    emitText(t, "third.begin;", "", {});
    return product.sums.empty() ? SmallVector<Value>(size_t(product.columns / 2), t.number(0))
                                : llvm::to_vector_of<Value>(product.sums);
  }
  SmallVector<Value> settle(TeamCode &t, ValueRange sums, int64_t) const override {
    ++asked.settled;
    emitText(t, "third.settle;", "", {});
    return llvm::to_vector_of<Value>(sums);
  }
};

/// A GPU like the smallest ones, but for its unit and its memory.
GPUProfile makeThird() {
  GPUProfile profile = *findGPUProfile("sm_86");
  profile.name = "third";
  profile.sharedBytes = 64 * 1024;
  return profile;
}

class MatrixUnits : public ::testing::Test {
protected:
  static void SetUpTestSuite() {
    registerAllPasses();
    addMatrixUnit(std::make_unique<ThirdUnit>());
    addGPUProfile(makeThird());
  }

  /// The kernels of a file of test/Conversion/TileToNVVM, planned for a GPU.
  std::string lower(const std::string &name, const std::string &gpu) {
    DialectRegistry registry;
    registerAllDialects(registry);
    MLIRContext context(registry);
    auto module = parseSourceFile<ModuleOp>(RECUR_SOURCE_DIR "/test/Conversion/TileToNVVM/" + name, &context);
    EXPECT_TRUE(module);
    PassManager passes(&context);
    std::string pipeline = "chunk.program(chunk-store{types=bf16},chunk-choose-factors),"
                           "convert-chunk-to-tile{threads=256 gpu=" +
                           gpu + "},convert-tile-to-nvvm";
    EXPECT_TRUE(succeeded(parsePassPipeline(pipeline, passes)));
    EXPECT_TRUE(succeeded(passes.run(*module)));
    std::string text;
    llvm::raw_string_ostream out(text);
    module->print(out);
    return text;
  }
};

/// Every unit gives a warpgroup 64 rows, of factors that plans round for it.
TEST_F(MatrixUnits, HaveTheShapesThatPlansCountOn) {
  for (const GPUProfile &gpu : getGPUProfiles()) {
    const MatrixUnit &unit = getMatrixUnit(gpu);
    EXPECT_EQ(unit.getRightSource() == FactorSource::SharedMemory, gpu.hasWarpgroupProducts) << gpu.name.str();
    for (auto [kind, inner] : {std::pair(FactorKind::BF16, 16), {FactorKind::F16, 16}, {FactorKind::TF32, 8}}) {
      EXPECT_EQ(unit.getShape(kind).rows, 64) << gpu.name.str();
      EXPECT_EQ(unit.getShape(kind).inner, inner) << gpu.name.str();
      EXPECT_GE(unit.getShape(kind).mostColumns, 256) << gpu.name.str();
    }
  }
}

TEST_F(MatrixUnits, TakeProductsOfTheirShapeAlone) {
  const MatrixUnit &unit = getMatrixUnit(getDefaultGPUProfile());
  SmallVector<Value> left(8);
  int64_t places[] = {0, 32};
  UnitProduct product{FactorKind::BF16, left, {}, places, 64, false, {}};
  EXPECT_TRUE(takesProduct(unit, product));
  product.columns = 60;
  EXPECT_FALSE(takesProduct(unit, product));
  product.columns = 264;
  EXPECT_FALSE(takesProduct(unit, product));
  product.columns = 64;
  product.left = ArrayRef(left).drop_front();
  EXPECT_FALSE(takesProduct(unit, product));
}

/// A chain's plan is the same as ever; its products are the unit's, and writes
/// are fenced for it.
TEST_F(MatrixUnits, AThirdOneMultipliesForAGPUThatIsNotListed) {
  asked = {};
  std::string text = lower("chain-outputs.mlir", "third");
  EXPECT_THAT(text, AllOf(HasSubstr("third.begin;"), HasSubstr("third.settle;"), Not(HasSubstr("wgmma")),
                          Not(HasSubstr("nvvm.mma.sync"))));
  EXPECT_THAT(text, HasSubstr("fence.proxy"));
  ASSERT_FALSE(asked.begun.empty());
  EXPECT_GE(asked.settled, int64_t(asked.begun.size()) / 2);
  for (const UnitShape &product : asked.begun) {
    EXPECT_EQ(product.mostColumns % 16, 0);
    EXPECT_EQ(product.inner % 16, 0);
  }
}

TEST_F(MatrixUnits, OthersMultiplyForTheirGPUs) {
  std::string warps = lower("chain-outputs.mlir", "sm_86"), warpgroup = lower("chain-outputs.mlir", "sm_90a");
  EXPECT_THAT(warps, AllOf(HasSubstr("nvvm.mma.sync"), Not(HasSubstr("wgmma")), Not(HasSubstr("fence.proxy"))));
  EXPECT_THAT(warpgroup, AllOf(HasSubstr("wgmma"), Not(HasSubstr("nvvm.mma.sync")), HasSubstr("fence.proxy")));
}

/// What its profile says is less, it has less of.
TEST_F(MatrixUnits, AGPUThatIsNotListedHasItsOwnLimits) {
  const GPUProfile *third = findGPUProfile("third");
  ASSERT_TRUE(third);
  EXPECT_EQ(third->explainNoRoom(64 * 1024), std::nullopt);
  EXPECT_EQ(third->explainNoRoom(64 * 1024 + 1),
            "it takes 65537 bytes of shared memory, and a CTA of 'third' has 65536");
  EXPECT_EQ(llvm::count_if(getGPUProfiles(), [](const GPUProfile &gpu) { return gpu.name == "third"; }), 0);
}

/// The most that the dialect lets a kernel have is what the largest GPU has.
TEST(GPUProfiles, HaveNoMoreSharedMemoryThanTheDialectLetsKernelsHave) {
  int64_t most = 0;
  for (const GPUProfile &gpu : getGPUProfiles())
    most = std::max(most, gpu.sharedBytes);
  EXPECT_EQ(most, tile::mostSharedBytes);
}

} // namespace

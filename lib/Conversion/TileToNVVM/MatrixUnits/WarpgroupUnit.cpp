// The matrix units of Hopper, which read shared memory beside the threads' work. Their instructions stand in one text
// from the fence to the commit, and a wait ties the sums that it stands for: NVVM's operations for these say nothing of
// the registers that a product is still writing, and LLVM would move numbers of these in between.
#include "Conversion/TileToNVVM/InlinePTX.h"
#include "Conversion/TileToNVVM/MatrixUnits/MatrixUnit.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace recur::conversion;
using namespace recur::tile;
using namespace recur::conversion::nvvm;

namespace {

class WarpgroupUnit : public MatrixUnit {
public:
  bool isOf(const recur::GPUProfile &gpu) const override { return gpu.hasWarpgroupProducts; }
  UnitShape getShape(FactorKind kind) const override {
    bool isShort = kind != FactorKind::TF32;
    return {4 * SumsLayout::unitRows, SumsLayout::unitColumns, 256,
            (isShort ? FactorLayout::ofHalves() : FactorLayout::ofTF32()).inner};
  }
  FactorSource getRightSource() const override { return FactorSource::SharedMemory; }
  SmallVector<Value> begin(TeamCode &t, const UnitProduct &product) const override;
  SmallVector<Value> settle(TeamCode &t, ValueRange sums, int64_t running) const override;
};

} // namespace

/// The lower half of a right factor's descriptor.
static Value describe(TeamCode &t, RightFactor right) {
  Value place = arith::ShRUIOp::create(t.builder, t.loc, right.address, t.constant(llvm::Log2_64(pieceBytes)));
  return arith::OrIOp::create(t.builder, t.loc, place, t.constant(right.panelBytes / pieceBytes << 16));
}

// One text has the fence, the products and what commits them: between NVVM's ops for these LLVM could write registers
// of factors and sums, and an op for one product alone gives and takes sums as a structure that is copied each time.
SmallVector<Value> WarpgroupUnit::begin(TeamCode &t, const UnitProduct &product) const {
  auto [kind, left, right, places, columns, isAcross, sums] = product;
  bool isTF32 = kind == FactorKind::TF32;
  StringRef types = isTF32 ? "k8.f32.tf32.tf32" : kind == FactorKind::F16 ? "k16.f32.f16.f16" : "k16.f32.bf16.bf16";
  StringRef last = isTF32 ? ", 1, 1" : isAcross ? ", 1, 1, 1" : ", 1, 1, 0";
  Value descriptor = describe(t, right);
  // How far groups of eight rows are apart, and that pieces are permuted by 128 bytes.
  constexpr unsigned upper = 1 << 30 | PanelLayout::alignment / pieceBytes;
  int64_t count = columns / 2; // of a thread's sums
  std::string text = "{\n.reg .pred adds, first;\n.reg .b32 low;\n", constraints, results;
  llvm::raw_string_ostream out(text);
  out << llvm::formatv(".reg .b64 at<{0}>;\nsetp.ne.b32 adds, 1, 0;\nsetp.ne.b32 first, {1}, 0;\n", places.size(),
                       sums.empty() ? 0 : 1);
  for (int64_t i = 0; i < count; ++i) {
    constraints += "=&f,";
    results += (i ? ", $" : "$") + std::to_string(i);
  }
  SmallVector<Value> operands(sums);
  for (size_t i = 0; i < sums.size(); ++i)
    constraints += std::to_string(i) + ",";
  size_t firstLeft = count + operands.size(), descriptorNumber = firstLeft + left.size();
  for (Value word : left) {
    operands.push_back(word);
    constraints += "r,";
  }
  operands.push_back(descriptor);
  constraints += "r";
  for (auto [i, place] : llvm::enumerate(places))
    out << llvm::formatv("add.u32 low, ${0}, {1};\nmov.b64 at{2}, {{low, {3}};\n", descriptorNumber, place / pieceBytes,
                         i, upper);
  out << "wgmma.fence.sync.aligned;\n";
  for (size_t i = 0; i < places.size(); ++i) {
    size_t a = firstLeft + FactorLayout::leftWords * i;
    out << llvm::formatv("wgmma.mma_async.sync.aligned.m64n{0}{8} {{{1}}, {{${2}, ${3}, ${4}, ${5}}, at{6}, {7}{9};\n",
                         columns, results, a, a + 1, a + 2, a + 3, i, i ? "adds" : "first", types, last);
  }
  out << "wgmma.commit_group.sync.aligned;\n}";
  return takeApart(t, emitText(t, text, constraints, operands, structOf(t, t.builder.getF32Type(), count)), count);
}

// As text, because it gives the sums: nothing that uses them comes before it. NVVM's op knows nothing of them.
SmallVector<Value> WarpgroupUnit::settle(TeamCode &t, ValueRange sums, int64_t running) const {
  std::string results, inputs;
  for (size_t i = 0; i < sums.size(); ++i) {
    results += "=f,";
    inputs += (i ? "," : "") + std::to_string(i);
  }
  int64_t count = sums.size();
  std::string text = llvm::formatv("wgmma.wait_group.sync.aligned {0};", running);
  return takeApart(t, emitText(t, text, results + inputs, sums, structOf(t, t.builder.getF32Type(), count)), count);
}

std::unique_ptr<MatrixUnit> nvvm::makeWarpgroupUnit() { return std::make_unique<WarpgroupUnit>(); }

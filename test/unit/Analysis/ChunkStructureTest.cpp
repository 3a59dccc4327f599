// What is found out about the matrices and the passes of a chunk program.
#include "Analysis/ChunkStructure.h"
#include "Analysis/ElementwisePasses.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace recur;
using namespace recur::analysis;

namespace {

class ChunkStructures : public ::testing::Test {
protected:
  ChunkStructures() { context.loadDialect<chunk::ChunkDialect>(); }

  /// The program of a body for chunks of 8 tokens; its values by the outputs and states that name them.
  chunk::ProgramOp parse(const std::string &body) {
    module = mlir::parseSourceString<mlir::ModuleOp>("chunk.program @p {} chunk 8 {\n" + body + "\n}", &context);
    EXPECT_TRUE(module);
    return *module->getOps<chunk::ProgramOp>().begin();
  }
  static mlir::Value output(chunk::ProgramOp program, llvm::StringRef name) {
    for (chunk::OutputOp output : program.getOutputs())
      if (output.getName() == name)
        return output.getValue();
    ADD_FAILURE() << "no output " << name.str();
    return {};
  }
  static chunk::MapOp map(chunk::ProgramOp program, llvm::StringRef name) {
    return output(program, name).getDefiningOp<chunk::MapOp>();
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

TEST_F(ChunkStructures, MatricesStayTriangularWhereTheyAreScaledAndAdded) {
  chunk::ProgramOp program = parse(R"(
    %q = chunk.input "q" : tensor<8x3xf32>
    %b = chunk.input "b" : tensor<8xf32>
    %A = chunk.interaction %q, %q strict : tensor<8x3xf32>, tensor<8x3xf32>
    %scaled = chunk.map mul %b, %A : tensor<8xf32>, tensor<8x8xf32>
    %sum = chunk.map add %scaled, %A : tensor<8x8xf32>, tensor<8x8xf32>
    %negative = chunk.map neg %sum : tensor<8x8xf32>
    %e = chunk.map exp %A : tensor<8x8xf32>
    %mixed = chunk.map add %e, %A : tensor<8x8xf32>, tensor<8x8xf32>
    chunk.output "negative" %negative : tensor<8x8xf32>
    chunk.output "e" %e : tensor<8x8xf32>
    chunk.output "mixed" %mixed : tensor<8x8xf32>)");
  ChunkStructure structure(program);
  EXPECT_EQ(structure.findTriangle(output(program, "negative")), (Triangle{1, 1}));
  EXPECT_EQ(structure.findTriangle(output(program, "e")), std::nullopt); // exp(0) is 1
  EXPECT_EQ(structure.findTriangle(output(program, "mixed")), std::nullopt);
}

TEST_F(ChunkStructures, StatesThatRowsReadLieTransposedWithAllThatBecomesOfThem) {
  chunk::ProgramOp program = parse(R"(
    %q = chunk.input "q" : tensor<8x3xf32>
    %v = chunk.input "v" : tensor<8x2xf32>
    %S = chunk.state "S" : tensor<2x3xf32>
    %L = chunk.state "L" : tensor<2x3xf32>
    %o = chunk.read %q, %S : tensor<8x3xf32>, tensor<2x3xf32>
    %p = chunk.read left %v, %L : tensor<8x2xf32>, tensor<2x3xf32>
    %S1 = chunk.advance %S, %v, %q : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
    chunk.output "o" %o : tensor<8x2xf32>
    chunk.output "p" %p : tensor<8x3xf32>
    chunk.next %S, %S1 : tensor<2x3xf32>
    chunk.next %L, %L : tensor<2x3xf32>)");
  ChunkStructure structure(program);
  auto states = program.getStates();
  mlir::Value S = *states.begin(), L = *std::next(states.begin());
  EXPECT_TRUE(structure.isTransposed(S));
  for (mlir::Operation *user : S.getUsers())
    if (auto advance = llvm::dyn_cast<chunk::AdvanceOp>(user))
      EXPECT_TRUE(structure.isTransposed(advance));
  EXPECT_FALSE(structure.isTransposed(L));
  EXPECT_FALSE(structure.roundsStates()) << "8 tokens may replace all of a state of 3 keys";
}

TEST_F(ChunkStructures, StatesOfAsManyKeysAsTokensAreRounded) {
  EXPECT_TRUE(ChunkStructure(parse(R"(
    %q = chunk.input "q" : tensor<8x8xf32>
    %S = chunk.state "S" : tensor<2x8xf32>
    %o = chunk.read %q, %S : tensor<8x8xf32>, tensor<2x8xf32>
    chunk.output "o" %o : tensor<8x2xf32>
    chunk.next %S, %S : tensor<2x8xf32>)"))
                  .roundsStates());
}

TEST_F(ChunkStructures, MapsAreComputedInThePassOfTheirOnlyReaders) {
  chunk::ProgramOp program = parse(R"(
    %x = chunk.input "x" : tensor<8x3xf32>
    %a = chunk.map exp %x : tensor<8x3xf32>
    %b = chunk.map mul %a, %a : tensor<8x3xf32>, tensor<8x3xf32>
    %c = chunk.map log %x : tensor<8x3xf32>
    %d = chunk.map neg %c : tensor<8x3xf32>
    %e = chunk.map abs %c : tensor<8x3xf32>
    chunk.output "b" %b : tensor<8x3xf32>
    chunk.output "d" %d : tensor<8x3xf32>
    chunk.output "e" %e : tensor<8x3xf32>)");
  auto reads = [](chunk::MapOp op) { return op.getOperands().front().getDefiningOp<chunk::MapOp>(); };
  chunk::MapOp b = map(program, "b"), d = map(program, "d");
  ElementwisePasses passes([](chunk::MapOp) { return false; });
  EXPECT_EQ(passes.of(reads(b)), b);
  EXPECT_EQ(passes.of(reads(d)), reads(d)) << "two passes read it";
  EXPECT_FALSE(passes.assign(reads(b), d)) << "it was given to another";
  ElementwisePasses without([&](chunk::MapOp op) { return op == b; });
  EXPECT_EQ(without.of(reads(b)), reads(b)) << "its reader has no pass";
}

} // namespace

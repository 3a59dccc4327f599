// What is found out about the matrices and the passes of a chunk program.
#include "Analysis/ChunkStructure.h"
#include "../IRFile.h"
#include "Analysis/ElementwisePasses.h"
#include "gtest/gtest.h"

using namespace recur;
using namespace recur::analysis;

namespace {

class ChunkStructures : public ::testing::Test {
protected:
  chunk::ProgramOp find(llvm::StringRef name) const { return file.find<chunk::ProgramOp>(name); }
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

  test::IRFile<chunk::ChunkDialect> file{"Analysis/ChunkStructures.mlir"};
};

TEST_F(ChunkStructures, MatricesStayTriangularWhereTheyAreScaledAndAdded) {
  chunk::ProgramOp program = find("scaled_and_added");
  ChunkStructure structure(program);
  EXPECT_EQ(structure.findTriangle(output(program, "negative")), (Triangle{1, 1}));
  EXPECT_EQ(structure.findTriangle(output(program, "e")), std::nullopt); // exp(0) is 1
  EXPECT_EQ(structure.findTriangle(output(program, "mixed")), std::nullopt);
}

TEST_F(ChunkStructures, StatesThatRowsReadLieTransposedWithAllThatBecomesOfThem) {
  chunk::ProgramOp program = find("read_states");
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

TEST_F(ChunkStructures, StatesThatAreAddedUpLieAlike) {
  for (bool alike : {true, false}) {
    chunk::ProgramOp program = find(alike ? "added_states" : "added_states_read_from_both_sides");
    ChunkStructure structure(program);
    program.walk([&](mlir::Operation *op) {
      if (llvm::isa<chunk::StateOp, chunk::AdvanceOp, chunk::ReshapeStateOp>(op) ||
          (llvm::isa<chunk::MapOp>(op) && chunk::tensorOf(op->getResult(0)).getRank() == 3))
        EXPECT_EQ(structure.isTransposed(op->getResult(0)), alike) << alike;
    });
  }
  for (bool isScaled : {true, false}) {
    chunk::ProgramOp program = find(isScaled ? "state_scaled_by_rows" : "state_multiplied_token_by_token");
    EXPECT_EQ(ChunkStructure(program).isTransposed(*program.getStates().begin()), isScaled);
  }
}

TEST_F(ChunkStructures, StatesOfAsManyKeysAsTokensAreRounded) {
  EXPECT_TRUE(ChunkStructure(find("rounded_state")).roundsStates());
}

TEST_F(ChunkStructures, WhatAPreciseAdvanceWritesIsPreciseAndWhatThatIsMadeOf) {
  chunk::ProgramOp program = find("precise");
  ChunkStructure structure(program);
  for (auto apply : program.getBody().getOps<chunk::ApplyOp>()) {
    bool isWritten = !llvm::isa<chunk::OutputOp>(*apply->user_begin());
    EXPECT_EQ(structure.isPrecise(apply), isWritten);
    EXPECT_EQ(structure.isPrecise(apply.getValues()), isWritten) << "data are rounded as they come";
  }
  for (auto read : program.getBody().getOps<chunk::ReadOp>())
    EXPECT_FALSE(structure.isPrecise(read)) << "another advance writes it";
}

TEST_F(ChunkStructures, GatesAndConstantsAreOfNumbers) {
  chunk::ProgramOp program = find("of_numbers");
  ChunkStructure structure(program);
  EXPECT_TRUE(structure.isOfNumbers(output(program, "gates")));
  EXPECT_FALSE(structure.isOfNumbers(output(program, "scaled"))) << "data have channels";
  EXPECT_FALSE(structure.isOfNumbers(output(program, "turned"))) << "so has a parameter";
  EXPECT_FALSE(structure.isOfNumbers(*program.getStates().begin()));
}

TEST_F(ChunkStructures, MapsAreComputedInThePassOfTheirOnlyReaders) {
  chunk::ProgramOp program = find("passes");
  auto reads = [](chunk::MapOp op) { return op.getOperands().front().getDefiningOp<chunk::MapOp>(); };
  chunk::MapOp b = map(program, "b"), d = map(program, "d");
  ElementwisePasses passes([](chunk::MapOp) { return false; }, /*ofCore=*/true);
  EXPECT_EQ(passes.of(reads(b)), b);
  EXPECT_EQ(passes.of(reads(d)), reads(d)) << "two passes read it";
  EXPECT_FALSE(passes.assign(reads(b), d)) << "it was given to another";
  ElementwisePasses without([&](chunk::MapOp op) { return op == b; }, /*ofCore=*/true);
  EXPECT_EQ(without.of(reads(b)), reads(b)) << "its reader has no pass";
}

} // namespace

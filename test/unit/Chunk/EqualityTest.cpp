// The chunk program of every example against the token-by-token interpreter.
#include "ChunkTesting.h"
#include "llvm/Support/MemoryBuffer.h"
#include <filesystem>
#include <set>

using namespace recur;
using namespace recur::interpreter;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> listExamples() {
  std::set<std::string> names;
  for (const fs::directory_entry &entry : fs::directory_iterator(RECUR_SOURCE_DIR "/examples"))
    if (entry.path().extension() == ".recur")
      names.insert(entry.path().stem());
  return {names.begin(), names.end()};
}

class Equality : public ChunkTest, public ::testing::WithParamInterface<std::string> {
protected:
  mlir::OwningOpRef<mlir::ModuleOp> example() {
    std::string path = RECUR_SOURCE_DIR "/examples/" + GetParam() + ".recur";
    auto buffer = llvm::MemoryBuffer::getFile(path);
    return compile(path, (*buffer)->getBuffer().str(), {{"K", 6}, {"V", 5}, {"M", 4}});
  }
};

TEST_P(Equality, ChunkwiseIsTokenByToken) {
  auto module = example();
  ASSERT_TRUE(module);
  for (int64_t size : {16, 32, 64, 128}) {
    auto chunked = toChunk(*module, size);
    chunk::ProgramOp program = programOf(*chunked);
    ASSERT_TRUE(program);
    for (int64_t tokens : {0, 1, 5, 63, 64, 65, 200}) {
      Data data = randomData(recurrenceOf(*module), {1, tokens, 2, 1}, unsigned(tokens + size));
      Results want = get(interpret(recurrenceOf(*module), data));
      Results got = get(interpret(program, data));
      EXPECT_LE(relativeRms(got, want), 1e-11) << "with chunks of " << size << ", " << tokens << " tokens";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Examples, Equality, ::testing::ValuesIn(listExamples()),
                         [](const auto &info) { return info.param; });

} // namespace

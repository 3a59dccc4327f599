// Shrinks a .recur file while a test of the user's keeps calling it interesting.
#include "Reduce/CommandTest.h"
#include "Reduce/Reducer.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"

namespace reduce = recur::reduce;
namespace cl = llvm::cl;

static cl::OptionCategory category("Options");
static cl::opt<std::string> inputPath(cl::Positional, cl::desc("file.recur"), cl::Required, cl::cat(category));
static cl::opt<std::string> outputPath("o", cl::desc("Where the result goes; - is the standard output"),
                                       cl::value_desc("file"), cl::init("-"), cl::cat(category));
static cl::opt<std::string>
    test("test", cl::value_desc("command"), cl::Required, cl::cat(category),
         cl::desc("A shell command that exits with 0 while a candidate is interesting. $1 is the "
                  "candidate's path; a command without $1 gets it as its last argument"));
static cl::opt<uint64_t> maxTests("max-tests", cl::desc("Stop after this many candidates"), cl::value_desc("n"),
                                  cl::init(UINT64_MAX), cl::cat(category));
static cl::opt<unsigned> timeout("timeout", cl::desc("Seconds that one test may run; a longer one is not interesting"),
                                 cl::value_desc("s"), cl::init(60), cl::cat(category));

static int fail(const llvm::Twine &message) {
  llvm::errs() << "recur-reduce: error: " << message << '\n';
  return 1;
}

int main(int argc, char **argv) {
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv,
                              "Shrinks a .recur file while a test keeps calling it interesting. For example:\n"
                              "  recur-reduce bad.recur --test='recurc check \"$1\"; test $? = 2' -o small.recur\n");
  auto input = llvm::MemoryBuffer::getFileOrSTDIN(inputPath);
  if (!input)
    return fail("cannot read " + inputPath + ": " + input.getError().message());
  llvm::Expected<reduce::CommandTest> command = reduce::CommandTest::create(test, timeout);
  if (!command)
    return fail(llvm::toString(command.takeError()));

  auto report = [](llvm::StringRef what, llvm::StringRef text) {
    llvm::errs() << "recur-reduce: " << text.count('\n') << " lines left, with less " << what << '\n';
  };
  reduce::Reduction result = reduce::reduceText((*input)->getBuffer(), *command, {maxTests, report});
  if (!command->getError().empty())
    return fail(command->getError());
  if (!result.wasInteresting)
    return fail("the test does not call " + inputPath + " interesting, so there is nothing to keep; run it on that " +
                "file by hand: it has to exit with 0");
  std::error_code code;
  llvm::ToolOutputFile output(outputPath, code, llvm::sys::fs::OF_None);
  if (code)
    return fail("cannot write " + outputPath + ": " + code.message());
  output.os() << result.text;
  output.keep();
  llvm::errs() << "recur-reduce: " << result.tests << " candidates tried\n";
  return 0;
}

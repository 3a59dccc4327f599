#include "Reduce/CommandTest.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace recur;
using namespace recur::reduce;

llvm::Expected<CommandTest> CommandTest::create(llvm::StringRef command, unsigned timeoutSeconds) {
  llvm::ErrorOr<std::string> shell = llvm::sys::findProgramByName("sh");
  if (!shell)
    return llvm::createStringError("cannot find sh, which runs the test: " + shell.getError().message());
  llvm::SmallString<128> path;
  if (std::error_code code = llvm::sys::fs::createTemporaryFile("candidate", "recur", path))
    return llvm::createStringError("cannot make a file for the candidates: " + code.message());
  std::string whole = command.contains("$1") ? command.str() : command.str() + " \"$1\"";
  return CommandTest(std::move(whole), *shell, path.str().str(), timeoutSeconds);
}

CommandTest::CommandTest(CommandTest &&other)
    : command(std::move(other.command)), shell(std::move(other.shell)), path(std::exchange(other.path, "")),
      error(std::move(other.error)), timeout(other.timeout) {}

CommandTest::~CommandTest() {
  if (!path.empty())
    (void)llvm::sys::fs::remove(path);
}

bool CommandTest::operator()(llvm::StringRef text) {
  std::error_code code;
  {
    llvm::raw_fd_ostream file(path, code);
    if (!code)
      file << text;
    file.close();
    if (file.has_error()) {
      code = file.error();
      file.clear_error();
    }
  }
  if (code) {
    error = "cannot write " + path + ": " + code.message();
    return false;
  }
  // What the command says is nobody's business: it says it for every candidate.
  std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(), llvm::StringRef(), llvm::StringRef()};
  std::string message;
  int status = llvm::sys::ExecuteAndWait(shell, {shell, "-c", command, "recur-reduce", path}, std::nullopt, redirects,
                                         timeout, /*MemoryLimit=*/0, &message);
  if (status == -1) // not even begun; a crash and a timeout are -2
    error = "cannot run the test: " + message;
  return status == 0;
}

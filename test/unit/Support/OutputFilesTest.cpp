#include "Support/OutputFiles.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include <csignal>
#include <gtest/gtest.h>
#include <set>
#include <sys/wait.h>
#include <unistd.h>

using namespace recur;
using llvm::sys::fs::directory_iterator;

namespace {
struct OutputFiles : testing::Test {
  llvm::SmallString<128> folder;
  void SetUp() override { ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("recur-output", folder)); }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  std::string getPath(const llvm::Twine &name) { return (folder + "/" + name).str(); }
  std::set<std::string> list() {
    std::set<std::string> names;
    std::error_code code;
    for (directory_iterator entry(folder, code), end; entry != end && !code; entry.increment(code))
      names.insert(llvm::StringRef(entry->path()).drop_front(folder.size() + 1).str());
    return names;
  }

  /// Writes many files in a process that gets the signal when the first is there. True if it came in time.
  bool interrupt(int signal) {
    std::vector<OutputFile> files;
    for (int i = 0; i < 500; ++i)
      files.push_back({getPath("file" + llvm::Twine(i)), "text"});
    pid_t writer = fork();
    if (writer == 0) {
      llvm::consumeError(writeFiles(files));
      _exit(0);
    }
    while (list().empty())
      usleep(100);
    kill(writer, signal);
    int status;
    waitpid(writer, &status, 0);
    return WIFSIGNALED(status) && WTERMSIG(status) == signal;
  }
  void expectNothingLeft(int signal) {
    while (!interrupt(signal)) { // the machine was busy
      llvm::sys::fs::remove_directories(folder);
      ASSERT_FALSE(llvm::sys::fs::create_directory(folder));
    }
    for (const std::string &name : list())
      EXPECT_FALSE(llvm::StringRef(name).ends_with(".tmp")) << name;
  }
};
} // namespace

TEST_F(OutputFiles, AreThereWhenAllAreWritten) {
  ASSERT_FALSE(llvm::errorToBool(writeFiles({{getPath("a"), "1"}, {getPath("b"), "2"}})));
  EXPECT_EQ(list(), (std::set<std::string>{"a", "b"}));
}

TEST_F(OutputFiles, NothingIsLeftBehindOnAnError) {
  std::string taken = getPath("taken");
  ASSERT_FALSE(llvm::sys::fs::create_directory(taken));
  EXPECT_EQ(llvm::toString(writeFiles({{getPath("a"), "1"}, {taken, "2"}})),
            "cannot write '" + taken + "': it is a folder");
  EXPECT_EQ(list(), std::set<std::string>{"taken"});
}

TEST_F(OutputFiles, NothingIsLeftBehindWhenInterrupted) { expectNothingLeft(SIGINT); }
TEST_F(OutputFiles, NothingIsLeftBehindWhenTerminated) { expectNothingLeft(SIGTERM); }

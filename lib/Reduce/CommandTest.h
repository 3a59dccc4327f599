// The test of whether a candidate is interesting, as a shell command.
#pragma once
#include "llvm/Support/Error.h"

namespace recur::reduce {

class CommandTest {
public:
  /// The command runs with the candidate's path as $1; where it does not say $1, the path is its last argument.
  static llvm::Expected<CommandTest> create(llvm::StringRef command, unsigned timeoutSeconds);
  CommandTest(CommandTest &&other);
  ~CommandTest();

  /// Writes the text to the candidate's file and runs the command: true for exit code 0, false for others and on a
  /// timeout.
  bool operator()(llvm::StringRef text);
  /// What kept the command from being run at all, if something did.
  llvm::StringRef getError() const { return error; }

private:
  CommandTest(std::string command, std::string shell, std::string path, unsigned timeout)
      : command(std::move(command)), shell(std::move(shell)), path(std::move(path)), timeout(timeout) {}

  std::string command, shell, path, error;
  unsigned timeout;
};

} // namespace recur::reduce

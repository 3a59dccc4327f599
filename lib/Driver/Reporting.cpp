#include "Driver/Reporting.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/WithColor.h"
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

using namespace llvm;
using namespace recur;
using namespace recur::driver;

char AlreadyReported::ID;

//===----------------------------------------------------------------------===//
// Reproducer
//===----------------------------------------------------------------------===//

// Held ready in fixed places, because after a crash nothing may be allocated.
namespace {
struct Reproducer {
  std::string path, text, advice;
  std::string commandLine, source, comment = "#";
};
} // namespace
static Reproducer *reproducer = nullptr;
static const char crashReason[] = "recurc: internal error: it crashed\n";

/// The file is the source itself under a comment, so that the same command runs on it.
static void prepareReproducer() {
  SmallString<128> directory;
  sys::path::system_temp_directory(/*ErasedOnReboot=*/true, directory);
  StringRef suffix = reproducer->comment == "#" ? ".recur" : ".mlir";
  sys::path::append(directory, "recurc-" + Twine(sys::Process::getProcessId()) + suffix);
  reproducer->path = directory.str().str();
  reproducer->text = reproducer->comment + " recurc " RECUR_VERSION " failed on what follows. The command was:\n" +
                     reproducer->comment + "   " + reproducer->commandLine + "\n" + reproducer->source;
  reproducer->advice = "recurc: note: this is a fault in recurc, not in your file; please report it with " +
                       reproducer->path + ", which holds the command and the source\n";
}

static void writeAll(int file, const char *text, size_t size) {
  while (size) {
    ssize_t written = ::write(file, text, size);
    if (written <= 0)
      return;
    text += written;
    size -= written;
  }
}

/// Calls only what may be called after a crash.
static void writeReproducer() {
  int file = ::open(reproducer->path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_NOFOLLOW, 0600);
  if (file < 0)
    return;
  writeAll(file, reproducer->text.data(), reproducer->text.size());
  ::close(file);
  writeAll(STDERR_FILENO, reproducer->advice.data(), reproducer->advice.size());
}

static void onCrash(int) {
  writeAll(STDERR_FILENO, crashReason, std::strlen(crashReason));
  writeReproducer();
  ::_exit(int(ExitCode::InternalError));
}

void driver::startReproducer(ArrayRef<const char *> commandLine) {
  static Reproducer storage;
  reproducer = &storage;
  for (const char *word : commandLine)
    storage.commandLine += (storage.commandLine.empty() ? "" : " ") + StringRef(word).str();
  prepareReproducer();

  // A stack of its own, for the crash may be that the stack is full.
  static char stack[64 * 1024];
  stack_t alternative{};
  alternative.ss_sp = stack;
  alternative.ss_size = sizeof(stack);
  ::sigaltstack(&alternative, nullptr);
  struct sigaction action{};
  action.sa_handler = onCrash;
  action.sa_flags = SA_ONSTACK | SA_RESETHAND;
  for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT})
    ::sigaction(signal, &action, nullptr);
}

void driver::addSourceToReproducer(StringRef path, StringRef text) {
  if (!reproducer)
    return;
  reproducer->comment = path.ends_with(".mlir") ? "//" : "#";
  reproducer->source = text.str();
  prepareReproducer();
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

static raw_ostream &prefixed(HighlightColor color, StringRef kind) {
  errs() << "recurc: ";
  WithColor(errs(), color).get() << kind << ": ";
  return errs();
}

void driver::warn(const Twine &message) { prefixed(HighlightColor::Warning, "warning") << message << '\n'; }
void driver::note(const Twine &message) { prefixed(HighlightColor::Note, "note") << message << '\n'; }

ExitCode driver::report(Error error) {
  ExitCode code = ExitCode::UserMistake;
  handleAllErrors(
      std::move(error), [](const AlreadyReported &) {},
      [&](const InternalError &internal) {
        code = ExitCode::InternalError;
        prefixed(HighlightColor::Error, "internal error");
        internal.log(errs());
        errs() << '\n';
        if (reproducer)
          writeReproducer();
      },
      [](const ErrorInfoBase &other) { prefixed(HighlightColor::Error, "error") << other.message() << '\n'; });
  return code;
}

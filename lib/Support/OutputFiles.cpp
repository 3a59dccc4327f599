#include "Support/OutputFiles.h"
#include "Support/Errors.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <csignal>

using namespace llvm;
using namespace recur;

namespace {
/// A file beside the place where it belongs. It goes away by itself if a signal ends the program.
struct Pending {
  sys::fs::TempFile temporary;
  StringRef path;
};

/// While there is one, signals wait.
class SignalsHeld {
public:
  SignalsHeld() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
  }
  ~SignalsHeld() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }

private:
  sigset_t before;
};
} // namespace

static Error cannotWrite(StringRef path, Error reason) {
  return makeError("cannot write '" + path + "': " + toString(std::move(reason)));
}

static Error writeBeside(const OutputFile &file, std::vector<Pending> &all) {
  StringRef folder = sys::path::parent_path(file.path);
  if (!folder.empty() && !file.makesFolder && !sys::fs::is_directory(folder))
    return makeError("cannot write '" + file.path + "': there is no folder '" + folder + "'");
  if (!folder.empty()) // the umask says who may read them
    if (std::error_code code = sys::fs::create_directories(folder, /*IgnoreExisting=*/true, sys::fs::perms::all_all))
      return makeError("cannot make folder '" + folder + "': " + code.message());
  if (sys::fs::is_directory(file.path))
    return makeError("cannot write '" + file.path + "': it is a folder");
  Expected<sys::fs::TempFile> temporary = [&] {
    SignalsHeld held; // between there being a file and its being removed by a signal
    return sys::fs::TempFile::create(file.path + ".%%%%%%.tmp");
  }();
  if (!temporary)
    return cannotWrite(file.path, temporary.takeError());
  int descriptor = temporary->FD;
  all.push_back({std::move(*temporary), file.path});
  raw_fd_ostream os(descriptor, /*shouldClose=*/false);
  os << file.bytes;
  os.flush();
  std::error_code code = os.error();
  os.clear_error();
  return code ? cannotWrite(file.path, errorCodeToError(code)) : Error::success();
}

Error recur::writeFiles(const std::vector<OutputFile> &files) {
  std::vector<Pending> all;
  auto discardFrom = [&](size_t first) {
    for (Pending &pending : MutableArrayRef(all).drop_front(first))
      consumeError(pending.temporary.discard());
  };
  for (const OutputFile &file : files)
    if (file.path != "-")
      if (Error error = writeBeside(file, all)) {
        discardFrom(0);
        return error;
      }
  for (auto [i, pending] : enumerate(all))
    if (Error error = pending.temporary.keep(pending.path)) {
      discardFrom(i + 1);
      return cannotWrite(pending.path, std::move(error));
    }
  for (const OutputFile &file : files)
    if (file.path == "-")
      outs() << file.bytes;
  return Error::success();
}

#include "Support/OutputFiles.h"
#include "Support/Errors.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace recur;

namespace {
struct Pending {
  SmallString<128> temporary;
  std::string path;
};
} // namespace

static Error cannotWrite(StringRef path, std::error_code code) {
  return makeError("cannot write '" + path + "': " + code.message());
}

static Error writeBeside(const OutputFile &file, Pending &pending) {
  StringRef folder = sys::path::parent_path(file.path);
  if (!folder.empty())
    if (std::error_code code = sys::fs::create_directories(folder))
      return makeError("cannot make folder '" + folder + "': " + code.message());
  if (sys::fs::is_directory(file.path))
    return makeError("cannot write '" + file.path + "': it is a folder");
  int descriptor;
  if (std::error_code code = sys::fs::createUniqueFile(file.path + ".%%%%%%.tmp", descriptor, pending.temporary,
                                                       sys::fs::OF_None, sys::fs::all_read | sys::fs::all_write))
    return cannotWrite(file.path, code);
  raw_fd_ostream os(descriptor, /*shouldClose=*/true);
  os << file.bytes;
  os.close();
  std::error_code code = os.error();
  os.clear_error();
  pending.path = file.path;
  return code ? cannotWrite(file.path, code) : Error::success();
}

Error recur::writeFiles(const std::vector<OutputFile> &files) {
  std::vector<Pending> all;
  auto removeAll = [&] {
    for (const Pending &pending : all)
      if (!pending.temporary.empty())
        (void)sys::fs::remove(pending.temporary);
  };
  for (const OutputFile &file : files) {
    if (file.path == "-")
      continue;
    all.emplace_back();
    if (Error error = writeBeside(file, all.back())) {
      removeAll();
      return error;
    }
  }
  for (const Pending &pending : all)
    if (std::error_code code = sys::fs::rename(pending.temporary, pending.path)) {
      removeAll();
      return cannotWrite(pending.path, code);
    }
  for (const OutputFile &file : files)
    if (file.path == "-")
      outs() << file.bytes;
  return Error::success();
}

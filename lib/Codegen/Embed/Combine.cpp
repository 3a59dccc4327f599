#include "Codegen/Embed/Combine.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace recur::codegen;

Expected<std::string> recur::codegen::makeArchive(ArrayRef<ObjectFile> objects) {
  std::vector<NewArchiveMember> members;
  for (const ObjectFile &object : objects)
    members.emplace_back(MemoryBufferRef(object.bytes, object.name));
  Expected<std::unique_ptr<MemoryBuffer>> archive =
      writeArchiveToBuffer(members, SymtabWritingMode::NormalSymtab, object::Archive::K_GNU, /*Deterministic=*/true,
                           /*Thin=*/false);
  if (!archive)
    return archive.takeError();
  return (*archive)->getBuffer().str();
}

namespace {
/// Files in the folder for temporary ones, which go away with this object, or if a signal ends the program.
class TemporaryFiles {
public:
  ~TemporaryFiles() {
    for (sys::fs::TempFile &file : files)
      consumeError(file.discard());
  }
  /// The path of a new one.
  Expected<std::string> write(StringRef bytes) {
    SmallString<128> model;
    sys::path::system_temp_directory(/*erasedOnReboot=*/true, model);
    sys::path::append(model, "recurc-%%%%%%%%.o");
    Expected<sys::fs::TempFile> file = sys::fs::TempFile::create(model, sys::fs::owner_read | sys::fs::owner_write);
    if (!file)
      return file.takeError();
    files.push_back(std::move(*file));
    raw_fd_ostream os(files.back().FD, /*shouldClose=*/false);
    os << bytes;
    os.flush();
    std::error_code code = os.error();
    os.clear_error();
    if (code)
      return createStringError(code, "cannot write '%s': %s", files.back().TmpName.c_str(), code.message().c_str());
    return files.back().TmpName;
  }

private:
  std::vector<sys::fs::TempFile> files;
};
} // namespace

static Expected<std::string> findLinker() {
  for (const char *name : {"ld", "ld.lld-22", "ld.lld", "ld.gold"})
    if (ErrorOr<std::string> path = sys::findProgramByName(name))
      return *path;
  return createStringError(
      "'obj' needs a linker, and none is on the PATH (ld, ld.lld or ld.gold); install binutils, or "
      "emit 'lib' instead");
}

Expected<std::string> recur::codegen::linkRelocatable(ArrayRef<ObjectFile> objects) {
  if (objects.size() == 1)
    return objects.front().bytes;
  Expected<std::string> linker = findLinker();
  if (!linker)
    return linker.takeError();
  TemporaryFiles files;
  Expected<std::string> all = files.write(""), log = files.write("");
  if (Error error = joinErrors(all.takeError(), log.takeError()))
    return std::move(error);
  std::vector<std::string> words = {*linker, "-r", "-o", *all};
  for (const ObjectFile &object : objects) {
    Expected<std::string> path = files.write(object.bytes);
    if (!path)
      return path.takeError();
    words.push_back(*path);
  }
  std::vector<StringRef> arguments(words.begin(), words.end());
  std::string message;
  std::optional<StringRef> redirects[] = {StringRef(), StringRef(*log), StringRef(*log)};
  if (sys::ExecuteAndWait(*linker, arguments, std::nullopt, redirects, 60, 0, &message) != 0) {
    if (ErrorOr<std::unique_ptr<MemoryBuffer>> text = MemoryBuffer::getFile(*log))
      message += (*text)->getBuffer();
    return createStringError("'%s -r' failed: %s", linker->c_str(), message.c_str());
  }
  ErrorOr<std::unique_ptr<MemoryBuffer>> linked = MemoryBuffer::getFile(*all);
  if (!linked)
    return createStringError(linked.getError(), "cannot read what '%s -r' wrote", linker->c_str());
  return (*linked)->getBuffer().str();
}

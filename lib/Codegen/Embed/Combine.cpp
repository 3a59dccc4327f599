#include "Codegen/Embed/Combine.h"
#include "llvm/ADT/ScopeExit.h"
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

static Error writeFile(StringRef path, StringRef bytes) {
  std::error_code code;
  raw_fd_ostream os(path, code);
  if (!code) {
    os << bytes;
    os.close();
    code = os.error();
    os.clear_error();
  }
  return code ? createStringError(code, "cannot write '%s': %s", path.str().c_str(), code.message().c_str())
              : Error::success();
}

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
  SmallString<128> folder;
  if (std::error_code code = sys::fs::createUniqueDirectory("recurc", folder))
    return createStringError(code, "cannot make a temporary folder: %s", code.message().c_str());
  scope_exit remove([&] { (void)sys::fs::remove_directories(folder); });
  auto getPath = [&](const Twine &name) {
    SmallString<128> path(folder);
    sys::path::append(path, name);
    return path.str().str();
  };
  std::vector<std::string> words = {*linker, "-r", "-o", getPath("all.o")};
  for (auto [i, object] : enumerate(objects)) {
    words.push_back(getPath(Twine(i) + ".o"));
    if (Error error = writeFile(words.back(), object.bytes))
      return std::move(error);
  }
  std::vector<StringRef> arguments(words.begin(), words.end());
  std::string message, log = getPath("log");
  std::optional<StringRef> redirects[] = {StringRef(), StringRef(log), StringRef(log)};
  if (sys::ExecuteAndWait(*linker, arguments, std::nullopt, redirects, 60, 0, &message) != 0) {
    if (ErrorOr<std::unique_ptr<MemoryBuffer>> text = MemoryBuffer::getFile(log))
      message += (*text)->getBuffer();
    return createStringError("'%s -r' failed: %s", linker->c_str(), message.c_str());
  }
  ErrorOr<std::unique_ptr<MemoryBuffer>> linked = MemoryBuffer::getFile(words[3]);
  if (!linked)
    return createStringError(linked.getError(), "cannot read what '%s -r' wrote", linker->c_str());
  return (*linked)->getBuffer().str();
}

#include "Codegen/Embed/Combine.h"
#include "lld/Common/Driver.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#include <dlfcn.h>

LLD_HAS_DRIVER(elf)

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

std::shared_mutex &recur::codegen::getLinkerMutex() {
  static std::shared_mutex mutex;
  return mutex;
}

namespace {
/// The linker's inputs and its output, in a folder for files that goes away in the end.
class Link {
public:
  Link() = default;
  Link(const Link &) = delete;
  Link &operator=(const Link &) = delete;
  ~Link() {
    if (!folder.empty())
      (void)sys::fs::remove_directories(folder);
  }

  Error start(ArrayRef<StringRef> options) {
    if (std::error_code code = sys::fs::createUniqueDirectory("recurc", folder))
      return createStringError(code, "cannot make a temporary folder: %s", code.message().c_str());
    words = {"ld.lld", "--threads=1", "-o", getPath("out")};
    append_range(words, options);
    return Error::success();
  }
  /// A file, named after its place so that no name of a specification becomes one.
  Error add(StringRef bytes, StringRef suffix, StringRef option = "") {
    std::string path = getPath(std::to_string(words.size()) + suffix.str());
    words.push_back(option.str() + path);
    return writeFile(path, bytes);
  }
  void addWord(std::string word) { words.push_back(std::move(word)); }

  Expected<std::string> run() {
    std::vector<const char *> arguments;
    for (const std::string &word : words)
      arguments.push_back(word.c_str());
    std::string talk;
    raw_string_ostream os(talk);
    {
      std::unique_lock<std::shared_mutex> lock(getLinkerMutex());
      static bool isBroken = false;
      if (isBroken)
        return createStringError("the linker failed before in a way that it cannot be called after");
      lld::Result result = lld::lldMain(arguments, os, os, {{lld::Gnu, &lld::elf::link}});
      isBroken = !result.canRunAgain;
      if (result.retCode != 0)
        return createStringError("the objects do not link: %s", talk.c_str());
    }
    ErrorOr<std::unique_ptr<MemoryBuffer>> linked = MemoryBuffer::getFile(getPath("out"));
    if (!linked)
      return createStringError(linked.getError(), "cannot read what the linker wrote");
    return (*linked)->getBuffer().str();
  }

private:
  std::string getPath(StringRef name) {
    SmallString<128> path(folder);
    sys::path::append(path, name);
    return path.str().str();
  }

  SmallString<128> folder;
  std::vector<std::string> words;
};
} // namespace

Expected<std::string> recur::codegen::linkRelocatable(ArrayRef<ObjectFile> objects) {
  if (objects.size() == 1)
    return objects.front().bytes;
  Link link;
  if (Error error = link.start({"-r"}))
    return std::move(error);
  for (const ObjectFile &object : objects)
    if (Error error = link.add(object.bytes, ".o"))
      return std::move(error);
  return link.run();
}

/// The file of the library that gives this process a function; empty where there is none.
static std::string findLibraryOf(const char *function) {
  void *address = dlsym(RTLD_DEFAULT, function);
  Dl_info info;
  if (!address || !dladdr(address, &info) || !info.dli_fname || !sys::fs::exists(info.dli_fname))
    return "";
  return info.dli_fname;
}

/// The C library's files that an object for the architecture is linked with.
static Expected<std::vector<std::string>> findSystemLibraries(Triple::ArchType architecture) {
  std::vector<std::string> found;
  if (architecture == Triple(sys::getProcessTriple()).getArch()) {
    for (const char *function : {"getpid", "__tls_get_addr"}) // the C library, and the loader
      found.push_back(findLibraryOf(function));
    if (is_contained(found, ""))
      return createStringError("'so' needs the C library as a shared object, and this process has none");
    return found;
  }
  // Where Debian's cross libraries, and those of a foreign architecture, lie.
  std::string name = Triple::getArchTypeName(architecture).str() + "-linux-gnu";
  std::vector<std::string> places = {"/usr/" + name + "/lib/libc.so.6", "/usr/lib/" + name + "/libc.so.6",
                                     "/lib/" + name + "/libc.so.6"};
  for (const std::string &place : places)
    if (sys::fs::exists(place))
      return std::vector<std::string>{place};
  return createStringError("'so' for %s is linked with its C library, which is not installed here: there is no %s; "
                           "install Debian's libc6-arm64-cross, or take 'obj' or 'lib'",
                           name.c_str(), join(places, ", no ").c_str());
}

Expected<std::string> recur::codegen::linkShared(ArrayRef<ObjectFile> objects, ArrayRef<std::string> symbols) {
  auto first = object::ObjectFile::createELFObjectFile(MemoryBufferRef(objects.front().bytes, objects.front().name));
  if (!first)
    return first.takeError();
  Triple::ArchType architecture = (*first)->getArch();
  Expected<RuntimeArchives> archives = getRuntimeArchives(Triple::getArchTypeName(architecture));
  if (!archives)
    return archives.takeError();
  Expected<std::vector<std::string>> libraries = findSystemLibraries(architecture);
  if (!libraries)
    return libraries.takeError();
  Link link;
  // Symbols that are left open are an error: what is linked here must run wherever the C library is.
#ifdef RECUR_SANITIZED
  if (Error error = link.start({"-shared"}))
#else
  if (Error error = link.start({"-shared", "-z", "defs"}))
#endif
    return std::move(error);
  std::string shown = "{ global: recur_*; ";
  for (const std::string &symbol : symbols)
    shown += symbol + "; ";
  if (Error error = link.add(shown + "local: *; };\n", ".map", "--version-script="))
    return std::move(error);
  for (const ObjectFile &object : objects)
    if (Error error = link.add(object.bytes, ".o"))
      return std::move(error);
  link.addWord("--whole-archive"); // all of the runtime: programs call it through this object
  for (const std::string *archive : {&archives->start, &archives->runtime})
    if (Error error = link.add(*archive, ".a"))
      return std::move(error);
  link.addWord("--no-whole-archive");
  if (!archives->builtins.empty())
    if (Error error = link.add(archives->builtins, ".a"))
      return std::move(error);
  link.addWord("--as-needed");
  for (const std::string &library : *libraries)
    link.addWord(library);
  return link.run();
}

#include "Codegen/NVPTX/Assembler.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace recur;

Expected<std::string> recur::findAssembler() {
  if (std::optional<std::string> named = sys::Process::GetEnv("RECUR_PTXAS")) {
    if (sys::fs::can_execute(*named))
      return *named;
    return createStringError("RECUR_PTXAS names '" + *named + "', which is no program");
  }
  if (ErrorOr<std::string> onPath = sys::findProgramByName("ptxas"))
    return *onPath;
  std::vector<std::string> folders{"/usr/local/cuda/bin"};
  if (std::optional<std::string> home = sys::Process::GetEnv("CUDA_HOME"))
    folders.insert(folders.begin(), *home + "/bin");
  SmallString<128> own;
  if (sys::path::home_directory(own)) {
    sys::path::append(own, ".local/share/recur/nvidia/cu13/bin"); // as tools/setup does
    folders.push_back(own.str().str());
  }
  for (const std::string &folder : folders)
    if (std::string path = folder + "/ptxas"; sys::fs::can_execute(path))
      return path;
  return createStringError("there is no ptxas on the PATH and none in /usr/local/cuda: run tools/setup, or name one in "
                           "RECUR_PTXAS");
}

Error recur::checkImageVariable() {
  std::string wanted = sys::Process::GetEnv("RECUR_GPU_IMAGE").value_or("");
  if (wanted.empty() || wanted == "ptx")
    return Error::success();
  return createStringError("RECUR_GPU_IMAGE is '" + wanted + "'; it may be ptx, or be unset");
}

bool recur::keepsPTX(const GPUProfile &gpu) {
  if (gpu.isPortable || sys::Process::GetEnv("RECUR_GPU_IMAGE") == "ptx")
    return true;
  return errorToBool(findAssembler().takeError());
}

/// The kernel that a line of the report is about, or says that the next lines are about: `Function properties for kda`,
/// `… in the function 'kda'`.
static std::optional<StringRef> findKernel(StringRef line) {
  for (StringRef before : {"Function properties for ", "function '"})
    if (size_t at = line.find(before); at != StringRef::npos)
      return line.substr(at + before.size()).take_until([](char c) { return c == ' ' || c == '\''; });
  return std::nullopt;
}

std::vector<Fault> recur::findFaults(StringRef report) {
  // Matrix products one after another, or registers that could not be given away; and a wait of the assembler's own.
  // There are some twenty of these messages, each with a code of its own.
  static constexpr StringRef texts[] = {"Potential Performance Loss", "warpgroup.wait is injected"};
  std::vector<Fault> faults;
  std::string kernel;
  SmallVector<StringRef> lines;
  report.split(lines, '\n');
  for (StringRef line : lines) {
    std::optional<StringRef> named = findKernel(line);
    if (any_of(texts, [&](StringRef text) { return line.contains(text); })) {
      faults.push_back({named.value_or("").str(), line.trim().str()});
      continue;
    }
    if (named)
      kernel = named->str();
    // "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"
    SmallVector<StringRef> parts;
    line.split(parts, ',');
    int64_t most = 0;
    for (StringRef part : parts) {
      auto [count, what] = part.trim().split(' ');
      int64_t bytes = 0;
      if ((what == "bytes stack frame" || what == "bytes spill stores" || what == "bytes spill loads") &&
          !count.getAsInteger(10, bytes))
        most = std::max(most, bytes);
    }
    if (most)
      faults.push_back({kernel, line.trim().str(), most});
  }
  return faults;
}

Error recur::refuseFaults(ArrayRef<Fault> faults) {
  if (faults.empty())
    return Error::success();
  auto texts = map_range(faults, [](const Fault &fault) { return fault.text; });
  return createStringError("ptxas made a slow kernel: " + join(texts, "; "));
}

static int64_t findRegisters(StringRef report) {
  int64_t most = 0;
  for (size_t at = 0; (at = report.find("Used ", at)) != StringRef::npos; at += 5) {
    int64_t count;
    if (!report.substr(at + 5).take_until([](char c) { return c == ' '; }).getAsInteger(10, count))
      most = std::max(most, count);
  }
  return most;
}

namespace {
/// A file that is gone when this is.
class TemporaryFile {
public:
  static Expected<TemporaryFile> create(StringRef suffix, StringRef text = {}) {
    int descriptor;
    SmallString<128> path;
    if (std::error_code error = sys::fs::createTemporaryFile("recur", suffix, descriptor, path))
      return createStringError(error, "cannot make a temporary file");
    raw_fd_ostream stream(descriptor, /*shouldClose=*/true);
    stream << text;
    return TemporaryFile(path);
  }
  StringRef path() const { return name; }
  Expected<std::string> read() const {
    auto buffer = MemoryBuffer::getFile(name);
    if (!buffer)
      return createStringError(buffer.getError(), "cannot read " + name);
    return (*buffer)->getBuffer().str();
  }

private:
  explicit TemporaryFile(StringRef path) : name(path), remover(std::make_unique<FileRemover>(path)) {
    sys::RemoveFileOnSignal(path);
  }
  std::string name;
  std::unique_ptr<FileRemover> remover; // which cannot be moved
};
} // namespace

Expected<Cubin> recur::assemble(StringRef ptx, StringRef gpu) {
  Expected<std::string> program = findAssembler();
  if (!program)
    return program.takeError();
  Expected<TemporaryFile> source = TemporaryFile::create("ptx", ptx), cubin = TemporaryFile::create("cubin"),
                          log = TemporaryFile::create("log");
  for (auto *file : {&source, &cubin, &log})
    if (!*file)
      return joinErrors(
          source ? Error::success() : source.takeError(),
          joinErrors(cubin ? Error::success() : cubin.takeError(), log ? Error::success() : log.takeError()));
  std::string architecture = ("-arch=" + gpu).str();
  SmallVector<StringRef> arguments{*program, architecture, "-O3", "-v", source->path(), "-o", cubin->path()};
  std::optional<StringRef> redirects[] = {StringRef(), log->path(), log->path()};
  std::string message;
  int code = sys::ExecuteAndWait(*program, arguments, std::nullopt, redirects, 0, 0, &message);
  Expected<std::string> report = log->read();
  if (!report)
    return report.takeError();
  if (code != 0)
    return createStringError("ptxas failed: " + (message.empty() ? *report : message));
  Expected<std::string> bytes = cubin->read();
  if (!bytes)
    return bytes.takeError();
  return Cubin{std::move(*bytes), findRegisters(*report), findFaults(*report)};
}

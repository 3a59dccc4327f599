#include "Support/SourceBuffer.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <algorithm>

namespace recur {

SourceBuffer::SourceBuffer(std::string name, std::string text) : name(std::move(name)), storage(std::move(text)) {
  if (llvm::StringRef(storage).starts_with("\xEF\xBB\xBF"))
    textBegin = 3;
  llvm::StringRef body = getText();
  lineStarts.push_back(0);
  // "\n", "\r\n" and a lone "\r" all end a line.
  for (size_t i = 0, size = body.size(); i < size; ++i)
    if (body[i] == '\n' || (body[i] == '\r' && (i + 1 == size || body[i + 1] != '\n')))
      lineStarts.push_back(uint32_t(i + 1));
}

/// Whoever opens a pipe waits until somebody else does. Those that this process has open, as a shell's <(command), have
/// somebody at their other end.
static bool isUnopenedPipe(llvm::StringRef path) {
  llvm::sys::fs::file_status status;
  return !llvm::sys::fs::status(path, status) && status.type() == llvm::sys::fs::file_type::fifo_file &&
         !path.starts_with("/dev/") && !path.starts_with("/proc/");
}

std::unique_ptr<SourceBuffer> SourceBuffer::fromFile(llvm::StringRef path, std::string &error) {
  if (isUnopenedPipe(path)) {
    error =
        "cannot read '" + path.str() + "': it is a named pipe, which may never be written to; use '-' and '<' for it";
    return nullptr;
  }
  auto file = llvm::MemoryBuffer::getFileOrSTDIN(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file) {
    error = "cannot read '" + path.str() + "': " + file.getError().message();
    return nullptr;
  }
  if ((*file)->getBufferSize() > kMaxBytes) {
    error = "'" + path.str() + "' is larger than " + std::to_string(kMaxBytes >> 20) + " MiB";
    return nullptr;
  }
  return std::make_unique<SourceBuffer>(path == "-" ? "<stdin>" : path.str(), (*file)->getBuffer().str());
}

llvm::StringRef SourceBuffer::getText(SourceRange range) const {
  return range.isValid() ? getText().slice(range.begin, range.end) : llvm::StringRef();
}

LineColumn SourceBuffer::getLineColumn(uint32_t offset) const {
  auto next = std::upper_bound(lineStarts.begin(), lineStarts.end(), offset);
  uint32_t line = uint32_t(next - lineStarts.begin());
  return {line, offset - lineStarts[line - 1] + 1};
}

llvm::StringRef SourceBuffer::getLine(uint32_t line) const {
  llvm::StringRef body = getText();
  size_t end = line < lineStarts.size() ? lineStarts[line] : body.size();
  return body.slice(lineStarts[line - 1], end).rtrim("\r\n");
}

} // namespace recur

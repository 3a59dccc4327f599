#pragma once

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace recur {

/// Bytes [begin, end) of a source buffer. The default range says "nowhere", for what no source line is to blame for.
struct SourceRange {
  static constexpr uint32_t kNowhere = UINT32_MAX;
  uint32_t begin = kNowhere;
  uint32_t end = kNowhere;

  bool isValid() const { return begin != kNowhere; }
  friend bool operator==(SourceRange, SourceRange) = default;
};

/// Both counted from one; columns count bytes, as the tools that read `file:line:column` do.
struct LineColumn {
  uint32_t line = 0;
  uint32_t column = 0;
};

/// The text of one file with its name and its line table. A byte order mark at the front is not part of the text.
class SourceBuffer {
public:
  /// The largest file that is read; offsets are 32 bits wide.
  static constexpr uint64_t kMaxBytes = uint64_t(1) << 30;

  SourceBuffer(std::string name, std::string text);
  SourceBuffer(const SourceBuffer &) = delete;
  SourceBuffer &operator=(const SourceBuffer &) = delete;
  SourceBuffer(SourceBuffer &&) = delete;

  /// Reads `path`, or the standard input for "-". On failure, returns null and says why in `error`.
  static std::unique_ptr<SourceBuffer> fromFile(llvm::StringRef path, std::string &error);

  llvm::StringRef getName() const { return name; }
  llvm::StringRef getText() const { return llvm::StringRef(storage).drop_front(textBegin); }
  llvm::StringRef getText(SourceRange range) const;

  LineColumn getLineColumn(uint32_t offset) const;
  uint32_t getNumLines() const { return lineStarts.size(); }
  /// Line `line` (from one) without its line end.
  llvm::StringRef getLine(uint32_t line) const;
  uint32_t getLineStart(uint32_t line) const { return lineStarts[line - 1]; }

private:
  std::string name;
  std::string storage;
  size_t textBegin = 0;
  std::vector<uint32_t> lineStarts;
};

} // namespace recur

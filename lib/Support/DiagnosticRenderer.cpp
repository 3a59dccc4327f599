#include "Support/DiagnosticRenderer.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/JSON.h"

#include <algorithm>

namespace recur {
namespace {

constexpr unsigned kTabWidth = 4;
constexpr unsigned kMaxWidth = 110; // columns of a source line that are shown
constexpr unsigned kContext = 40;   // columns shown before the caret of a clipped line

/// The bytes of one character as they are shown, and the columns that they take.
struct Glyph {
  std::string text;
  unsigned width;
  unsigned bytes;
};

Glyph readGlyph(llvm::StringRef line, size_t at, unsigned column) {
  unsigned char c = line[at];
  if (c == '\t') {
    unsigned width = kTabWidth - column % kTabWidth;
    return {std::string(width, ' '), width, 1};
  }
  if (c >= 0x20 && c < 0x7F)
    return {std::string(1, char(c)), 1, 1};
  auto *begin = reinterpret_cast<const llvm::UTF8 *>(line.data() + at);
  auto *end = reinterpret_cast<const llvm::UTF8 *>(line.data() + line.size());
  if (c >= 0xC2 && llvm::isLegalUTF8Sequence(begin, end)) {
    unsigned bytes = llvm::getNumBytesForUTF8(c);
    // U+0080 to U+009F are control characters.
    if (!(c == 0xC2 && begin[1] < 0xA0))
      return {line.substr(at, bytes).str(), 1, bytes};
  }
  return {"<" + llvm::utohexstr(c, /*LowerCase=*/false, /*Width=*/2) + ">", 4, 1};
}

/// The bytes [begin, end) of a line that show the caret at `caret` without filling the screen.
std::pair<size_t, size_t> chooseWindow(llvm::StringRef line, size_t caret) {
  // A glyph is at most four columns wide, and a byte makes at most four columns.
  if (line.size() <= kMaxWidth)
    return {0, line.size()};
  size_t begin = caret > kContext ? caret - kContext : 0;
  if (begin + kMaxWidth > line.size())
    begin = line.size() - kMaxWidth;
  // Begin at the first byte of a character.
  for (unsigned i = 0; i < 3 && begin > 0 && (line[begin] & 0xC0) == 0x80; ++i)
    --begin;
  return {begin, std::min(begin + kMaxWidth, line.size())};
}

class TextRenderer {
public:
  TextRenderer(llvm::raw_ostream &os, const SourceBuffer &buffer, RenderOptions options)
      : os(os), buffer(buffer), options(options) {}

  void render(const Diagnostic &diagnostic) {
    bool isError = diagnostic.severity == Severity::Error;
    writeHead(diagnostic.range,
              isError ? "error: " : "warning: ", isError ? llvm::raw_ostream::RED : llvm::raw_ostream::MAGENTA);
    bold([&] { os << diagnostic.message; });
    if (diagnostic.code != ErrorCode::None)
      os << " [" << getErrorCodeText(diagnostic.code) << "]";
    os << "\n";
    writeSnippet(diagnostic.range);
    for (const DiagnosticNote &note : diagnostic.notes) {
      writeHead(note.range, "note: ", llvm::raw_ostream::CYAN);
      os << note.message << "\n";
      writeSnippet(note.range);
    }
    for (const Suggestion &suggestion : diagnostic.suggestions) {
      colored(llvm::raw_ostream::GREEN, [&] { os << "help: "; });
      os << suggestion.message << "\n";
    }
  }

private:
  template <typename Write> void bold(Write write) {
    if (options.color)
      os.changeColor(llvm::raw_ostream::SAVEDCOLOR, /*Bold=*/true);
    write();
    if (options.color)
      os.resetColor();
  }

  template <typename Write> void colored(llvm::raw_ostream::Colors color, Write write) {
    if (options.color)
      os.changeColor(color, /*Bold=*/true);
    write();
    if (options.color)
      os.resetColor();
  }

  void writeHead(SourceRange range, llvm::StringRef kind, llvm::raw_ostream::Colors color) {
    bold([&] {
      os << buffer.getName() << ":";
      if (range.isValid()) {
        LineColumn at = buffer.getLineColumn(range.begin);
        os << at.line << ":" << at.column << ":";
      }
      os << " ";
    });
    colored(color, [&] { os << kind; });
  }

  void writeSnippet(SourceRange range) {
    if (!range.isValid())
      return;
    LineColumn at = buffer.getLineColumn(range.begin);
    llvm::StringRef line = buffer.getLine(at.line);
    size_t caret = std::min<size_t>(at.column - 1, line.size());
    size_t last = std::min<size_t>(caret + (range.end - range.begin), line.size());
    auto [begin, end] = chooseWindow(line, caret);

    std::string shown = begin > 0 ? "..." : "", marks(shown.size(), ' ');
    for (size_t i = begin; i < end;) {
      Glyph glyph = readGlyph(line.take_front(end), i, shown.size());
      char mark = i == caret ? '^' : i > caret && i < last ? '~' : ' ';
      shown += glyph.text;
      marks.append(glyph.width, mark == '^' ? '~' : mark);
      if (mark == '^')
        marks[marks.size() - glyph.width] = '^';
      i += glyph.bytes;
    }
    if (caret >= end)
      marks += '^'; // at the end of the line, where something is missing
    if (end < line.size())
      shown += "...";
    os << "  " << llvm::StringRef(shown).rtrim() << "\n  ";
    colored(llvm::raw_ostream::GREEN, [&] { os << llvm::StringRef(marks).rtrim(); });
    os << "\n";
  }

  llvm::raw_ostream &os;
  const SourceBuffer &buffer;
  RenderOptions options;
};

void writeRange(llvm::json::OStream &json, const SourceBuffer &buffer, SourceRange range) {
  if (!range.isValid())
    return;
  LineColumn begin = buffer.getLineColumn(range.begin), end = buffer.getLineColumn(range.end);
  json.attribute("line", begin.line);
  json.attribute("column", begin.column);
  json.attribute("endLine", end.line);
  json.attribute("endColumn", end.column);
}

} // namespace

void renderDiagnostics(llvm::raw_ostream &os, const SourceBuffer &buffer, const DiagnosticEngine &engine,
                       RenderOptions options) {
  TextRenderer renderer(os, buffer, options);
  for (const Diagnostic &diagnostic : engine.getDiagnostics())
    renderer.render(diagnostic);
  if (engine.isFull())
    os << buffer.getName() << ": note: stopped after " << engine.getNumErrors()
       << " errors; mend these first, for later ones may come of them\n";
}

void renderDiagnosticsForStream(llvm::raw_ostream &os, const SourceBuffer &buffer, const DiagnosticEngine &engine) {
  bool color = os.is_displayed() && os.has_colors();
  if (color)
    os.enable_colors(true);
  renderDiagnostics(os, buffer, engine, {color});
}

void renderDiagnosticsAsJSON(llvm::raw_ostream &os, const SourceBuffer &buffer, const DiagnosticEngine &engine) {
  llvm::json::OStream json(os, /*IndentSize=*/2);
  json.array([&] {
    for (const Diagnostic &diagnostic : engine.getDiagnostics())
      json.object([&] {
        json.attribute("file", llvm::json::fixUTF8(buffer.getName()));
        json.attribute("severity", diagnostic.severity == Severity::Error ? "error" : "warning");
        if (diagnostic.code != ErrorCode::None)
          json.attribute("code", getErrorCodeText(diagnostic.code));
        json.attribute("message", llvm::json::fixUTF8(diagnostic.message));
        writeRange(json, buffer, diagnostic.range);
        json.attributeArray("notes", [&] {
          for (const DiagnosticNote &note : diagnostic.notes)
            json.object([&] {
              json.attribute("message", llvm::json::fixUTF8(note.message));
              writeRange(json, buffer, note.range);
            });
        });
        json.attributeArray("suggestions", [&] {
          for (const Suggestion &suggestion : diagnostic.suggestions)
            json.object([&] {
              json.attribute("message", llvm::json::fixUTF8(suggestion.message));
              if (suggestion.range.isValid()) {
                writeRange(json, buffer, suggestion.range);
                json.attribute("replacement", llvm::json::fixUTF8(suggestion.replacement));
              }
            });
        });
      });
  });
  os << "\n";
}

} // namespace recur

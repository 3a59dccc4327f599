#include "Support/DiagnosticRenderer.h"

#include "llvm/Support/JSON.h"
#include "gtest/gtest.h"

namespace recur {
namespace {

std::string render(const std::string &text, SourceRange range) {
  SourceBuffer buffer("f.recur", text);
  DiagnosticEngine engine;
  engine.report(ErrorCode::UnknownName, range, "message");
  std::string result;
  llvm::raw_string_ostream os(result);
  renderDiagnostics(os, buffer, engine);
  return result;
}

TEST(SourceBuffer, MapsOffsetsToLinesAndColumns) {
  SourceBuffer buffer("f", "ab\r\ncd\n\ne");
  EXPECT_EQ(buffer.getNumLines(), 4u);
  EXPECT_EQ(buffer.getLine(1), "ab");
  EXPECT_EQ(buffer.getLine(3), "");
  EXPECT_EQ(buffer.getLine(4), "e");
  EXPECT_EQ(buffer.getLineColumn(5).line, 2u);
  EXPECT_EQ(buffer.getLineColumn(5).column, 2u);
  EXPECT_EQ(buffer.getLineColumn(9).line, 4u); // the end of the text
  SourceBuffer empty("f", "");
  EXPECT_EQ(empty.getLineColumn(0).line, 1u);
  EXPECT_EQ(empty.getLine(1), "");
}

TEST(SourceBuffer, SaysWhyAFileCannotBeRead) {
  std::string error;
  EXPECT_EQ(SourceBuffer::fromFile("no/such/file.recur", error), nullptr);
  EXPECT_EQ(error, "cannot read 'no/such/file.recur': No such file or directory");
}

TEST(Renderer, PointsAtTheRange) {
  EXPECT_EQ(render("let abc = d\n", {4, 7}), "f.recur:1:5: error: message [R0201]\n"
                                             "  let abc = d\n"
                                             "      ^~~\n");
}

TEST(Renderer, AnEmptyRangeAtTheEndOfALine) {
  EXPECT_EQ(render("let\n", {3, 3}), "f.recur:1:4: error: message [R0201]\n"
                                     "  let\n"
                                     "     ^\n");
  EXPECT_EQ(render("", {0, 0}), "f.recur:1:1: error: message [R0201]\n"
                                "  \n"
                                "  ^\n");
}

TEST(Renderer, ARangeOverSeveralLinesEndsWithTheFirst) {
  EXPECT_EQ(render("ab (c\n d)\n", {3, 9}), "f.recur:1:4: error: message [R0201]\n"
                                            "  ab (c\n"
                                            "     ^~\n");
}

TEST(Renderer, WidensTabs) {
  EXPECT_EQ(render("\ta\tbc\n", {3, 5}), "f.recur:1:4: error: message [R0201]\n"
                                         "      a   bc\n"
                                         "          ^~\n");
}

TEST(Renderer, ShowsBytesThatAreNotText) {
  EXPECT_EQ(render(std::string("a\0\xFF\x1B b", 6), {5, 6}), "f.recur:1:6: error: message [R0201]\n"
                                                             "  a<00><FF><1B> b\n"
                                                             "                ^\n");
  // Valid UTF-8 is shown as it is, one column a character.
  EXPECT_EQ(render("\xCE\xB1\xE2\x88\x92 b", {6, 7}), "f.recur:1:7: error: message [R0201]\n"
                                                      "  \xCE\xB1\xE2\x88\x92 b\n"
                                                      "     ^\n");
}

TEST(Renderer, ClipsLongLines) {
  std::string text(100000, 'a');
  text[50000] = 'b';
  std::string result = render(text, {50000, 50001});
  EXPECT_LT(result.size(), 400u);
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(result).split(lines, '\n');
  EXPECT_TRUE(lines[1].starts_with("  ...aaa"));
  EXPECT_TRUE(lines[1].ends_with("aaa..."));
  EXPECT_EQ(lines[1].find('b'), lines[2].find('^'));
}

TEST(Renderer, NotesAndHelpFollow) {
  SourceBuffer buffer("f.recur", "one\ntwo\n");
  DiagnosticEngine engine;
  engine.report(ErrorCode::UnusedLet, {4, 7}, "a warning").note({0, 3}, "here").note("nowhere").help("do this");
  std::string result;
  llvm::raw_string_ostream os(result);
  renderDiagnostics(os, buffer, engine);
  EXPECT_EQ(result, "f.recur:2:1: warning: a warning [R0603]\n"
                    "  two\n"
                    "  ^~~\n"
                    "f.recur:1:1: note: here\n"
                    "  one\n"
                    "  ^~~\n"
                    "f.recur: note: nowhere\n"
                    "help: do this\n");
}

TEST(Renderer, ColourOnlyWhenAsked) {
  SourceBuffer buffer("f.recur", "one\n");
  DiagnosticEngine engine;
  engine.report(ErrorCode::UnknownName, {0, 3}, "message");
  std::string plain, colored, forString;
  llvm::raw_string_ostream a(plain), b(colored), c(forString);
  renderDiagnostics(a, buffer, engine);
  b.enable_colors(true);
  renderDiagnostics(b, buffer, engine, {/*color=*/true});
  renderDiagnosticsForStream(c, buffer, engine);
  EXPECT_EQ(plain.find('\x1B'), std::string::npos);
  EXPECT_NE(colored.find('\x1B'), std::string::npos);
  EXPECT_EQ(forString, plain) << "a string is no terminal";
}

TEST(Engine, SortsBySourceAndKeepsABoundedNumber) {
  SourceBuffer buffer("f.recur", "one two\n");
  DiagnosticEngine engine(/*maxErrors=*/2, /*maxWarnings=*/1);
  engine.report(ErrorCode::UnknownName, {4, 7}, "second");
  engine.report(ErrorCode::NoSuchDim, SourceRange(), "first");
  EXPECT_TRUE(engine.isFull());
  engine.report(ErrorCode::UnknownName, {0, 3}, "dropped").note("also dropped");
  engine.report(ErrorCode::UnusedLet, {0, 3}, "a warning");
  engine.report(ErrorCode::UnusedLet, {0, 3}, "dropped");
  EXPECT_EQ(engine.getNumErrors(), 2u);
  EXPECT_EQ(engine.getNumDropped(), 2u);
  std::string result;
  llvm::raw_string_ostream os(result);
  renderDiagnostics(os, buffer, engine);
  EXPECT_EQ(result, "f.recur: error: first [R0410]\n"
                    "f.recur:1:1: warning: a warning [R0603]\n"
                    "  one two\n"
                    "  ^~~\n"
                    "f.recur:1:5: error: second [R0201]\n"
                    "  one two\n"
                    "      ^~~\n"
                    "f.recur: note: stopped after 2 errors; mend these first, for later ones may come of them\n");
}

TEST(Renderer, JSON) {
  SourceBuffer buffer("f.recur", "one two\n");
  DiagnosticEngine engine;
  engine.report(ErrorCode::UnknownName, {4, 7}, "bad \xFF byte").note({0, 3}, "note").help("write", {4, 7}, "three");
  std::string result;
  llvm::raw_string_ostream os(result);
  renderDiagnosticsAsJSON(os, buffer, engine);
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(result);
  ASSERT_TRUE(bool(parsed)) << result;
  const llvm::json::Object &first = *(*parsed->getAsArray())[0].getAsObject();
  EXPECT_EQ(first.getString("code"), "R0201");
  EXPECT_EQ(first.getString("severity"), "error");
  EXPECT_EQ(first.getInteger("line"), 1);
  EXPECT_EQ(first.getInteger("column"), 5);
  EXPECT_EQ(first.getInteger("endColumn"), 8);
  EXPECT_EQ((*first.getArray("notes"))[0].getAsObject()->getString("message"), "note");
  EXPECT_EQ((*first.getArray("suggestions"))[0].getAsObject()->getString("replacement"), "three");
}

} // namespace
} // namespace recur

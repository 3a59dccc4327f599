// Every error and warning has an example in test/errors, whose full text is compared, and a page in docs/errors, whose
// own examples are compiled. With RECUR_UPDATE_EXPECTED in the environment the expected texts are written anew, to be
// read before they are committed.

#include "FrontendTesting.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <algorithm>
#include <cstdlib>

namespace recur::frontend::testing {
namespace {

std::string readFile(const std::string &path) {
  auto file = llvm::MemoryBuffer::getFile(path);
  return file ? (*file)->getBuffer().str() : "";
}

std::vector<std::string> listErrorExamples() {
  std::vector<std::string> paths;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(RECUR_SOURCE_DIR "/test/errors", error), end; it != end && !error;
       it.increment(error))
    if (llvm::StringRef(it->path()).ends_with(".recur"))
      paths.push_back(it->path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// "--dim K=8 -D x=2 --recurrence=r" as the driver would read it.
InstantiationOptions parseOptions(llvm::StringRef text) {
  InstantiationOptions options;
  llvm::SmallVector<llvm::StringRef> words;
  text.split(words, ' ', -1, /*KeepEmpty=*/false);
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i].consume_front("--recurrence=")) {
      options.onlyRecurrence = words[i].str();
      continue;
    }
    auto [name, value] = words[i + 1].split('=');
    if (words[i] == "--dim")
      EXPECT_FALSE(value.getAsInteger(10, options.dims[name.str()]));
    else if (words[i] == "-D")
      EXPECT_FALSE(value.getAsDouble(options.constants[name.str()]));
    else
      ADD_FAILURE() << "unknown option " << words[i].str();
    ++i;
  }
  return options;
}

class ErrorExampleTest : public ::testing::TestWithParam<std::string> {};

TEST_P(ErrorExampleTest, SaysExactlyThis) {
  llvm::StringRef name = llvm::sys::path::filename(GetParam());
  std::string text = readFile(GetParam());
  llvm::StringRef firstLine = llvm::StringRef(text).split('\n').first;
  InstantiationOptions options;
  if (firstLine.consume_front("# options: "))
    options = parseOptions(firstLine);
  Compiled result(text, options, name.str());

  std::string expectedPath = GetParam().substr(0, GetParam().size() - 6) + ".expected";
  if (std::getenv("RECUR_UPDATE_EXPECTED")) {
    std::error_code error;
    llvm::raw_fd_ostream(expectedPath, error) << result.render();
  }
  EXPECT_EQ(result.render(), readFile(expectedPath));
  llvm::StringRef code = name.take_front(5);
  EXPECT_TRUE(llvm::StringRef(result.codes()).contains(code)) << result.render();
  EXPECT_EQ(bool(result.module), !result.diagnostics.hasErrors());
}

std::string getTestName(const ::testing::TestParamInfo<std::string> &info) {
  std::string name = llvm::sys::path::stem(info.param).str();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, ErrorExampleTest, ::testing::ValuesIn(listErrorExamples()), getTestName);

TEST(ErrorExamples, EveryCodeHasOne) {
  llvm::StringSet<> codes;
  for (const std::string &path : listErrorExamples())
    codes.insert(llvm::sys::path::filename(path).take_front(5));
  for (const ErrorCodeInfo &info : getErrorCodes())
    EXPECT_TRUE(codes.contains(info.text)) << info.text.str() << " has no example in test/errors";
  EXPECT_EQ(codes.size(), getErrorCodes().size()) << "an example is named after a code that does not exist";
}

/// The block of `page` after the mark `<!-- file: NAME -->`.
std::string getBlock(llvm::StringRef page, llvm::StringRef name) {
  llvm::StringRef rest = page.split(("<!-- file: " + name + " -->\n```recur\n").str()).second;
  return rest.substr(0, rest.find("```\n")).str();
}

class ErrorPageTest : public ::testing::TestWithParam<std::string> {};

TEST_P(ErrorPageTest, ExamplesDoWhatThePageSays) {
  const std::string &code = GetParam();
  std::string page = readFile(RECUR_SOURCE_DIR "/docs/errors/" + code + ".md");
  ASSERT_FALSE(page.empty()) << "there is no page docs/errors/" << code << ".md";
  const ErrorCodeInfo *info =
      llvm::find_if(getErrorCodes(), [&](const ErrorCodeInfo &candidate) { return candidate.text == code; });
  EXPECT_TRUE(llvm::StringRef(page).starts_with("# " + code + ": " + info->title.str() + "\n"));
  // A control character cannot be shown on a page.
  if (code == "R0005")
    return;

  std::string broken = getBlock(page, "broken.recur"), repaired = getBlock(page, "repaired.recur");
  ASSERT_FALSE(broken.empty());
  ASSERT_FALSE(repaired.empty());
  auto [before, after] = llvm::StringRef(page).split("compiled with `");
  Compiled first(broken, parseOptions(after.split('`').first));
  EXPECT_TRUE(llvm::StringRef(first.codes()).contains(code)) << first.render();
  EXPECT_EQ(first.diagnostics.hasErrors(), !info->isWarning);
  Compiled second(repaired);
  EXPECT_EQ(second.render(), "");
  EXPECT_TRUE(second.module);
}

std::vector<std::string> listCodes() {
  std::vector<std::string> codes;
  for (const ErrorCodeInfo &info : getErrorCodes())
    codes.push_back(info.text.str());
  return codes;
}

INSTANTIATE_TEST_SUITE_P(All, ErrorPageTest, ::testing::ValuesIn(listCodes()),
                         [](const ::testing::TestParamInfo<std::string> &info) { return info.param; });

TEST(ErrorPages, EveryPageIsInTheCompiler) {
  for (const ErrorCodeInfo &info : getErrorCodes()) {
    auto page = explainErrorCode(info.text);
    ASSERT_TRUE(page) << info.text.str();
    EXPECT_TRUE(page->starts_with(("# " + info.text + ": " + info.title).str()));
    EXPECT_FALSE(page->contains("<!--"));
  }
  EXPECT_TRUE(explainErrorCode("r0107")) << "codes are found in either case of letter";
  EXPECT_FALSE(explainErrorCode("R9999"));
}

TEST(ErrorCodes, AreInOrderAndAtLeastForty) {
  llvm::ArrayRef<ErrorCodeInfo> codes = getErrorCodes();
  EXPECT_GE(codes.size(), 40u);
  for (size_t i = 1; i < codes.size(); ++i)
    EXPECT_LT(codes[i - 1].text, codes[i].text);
}

} // namespace
} // namespace recur::frontend::testing

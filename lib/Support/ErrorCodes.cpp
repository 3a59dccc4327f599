#include "Support/ErrorCodes.h"

#include <cassert>

namespace recur {
namespace {

constexpr ErrorCodeInfo kErrorCodes[] = {
#define RECUR_ERROR(CODE, NAME, TITLE) {ErrorCode::NAME, #CODE, TITLE, false},
#define RECUR_WARNING(CODE, NAME, TITLE) {ErrorCode::NAME, #CODE, TITLE, true},
#include "Support/ErrorCodes.def"
};

struct ErrorPage {
  llvm::StringRef code;
  llvm::StringRef text;
};

constexpr ErrorPage kErrorPages[] = {
#include "Support/ErrorPages.inc"
};

const ErrorCodeInfo &getInfo(ErrorCode code) {
  assert(code != ErrorCode::None && "no row for 'no code'");
  return kErrorCodes[unsigned(code) - 1];
}

} // namespace

llvm::ArrayRef<ErrorCodeInfo> getErrorCodes() { return kErrorCodes; }

llvm::StringRef getErrorCodeText(ErrorCode code) { return getInfo(code).text; }
llvm::StringRef getErrorCodeTitle(ErrorCode code) { return getInfo(code).title; }
bool isWarning(ErrorCode code) { return getInfo(code).isWarning; }

std::optional<llvm::StringRef> explainErrorCode(llvm::StringRef code) {
  for (const ErrorPage &page : kErrorPages)
    if (page.code.equals_insensitive(code))
      return page.text;
  return std::nullopt;
}

} // namespace recur

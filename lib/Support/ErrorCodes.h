#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>

namespace recur {

/// Every error and warning about a specification, by the names of ErrorCodes.def.
enum class ErrorCode : uint16_t {
  None,
#define RECUR_ERROR(CODE, NAME, TITLE) NAME,
#define RECUR_WARNING(CODE, NAME, TITLE) NAME,
#include "Support/ErrorCodes.def"
};

/// One row of the table.
struct ErrorCodeInfo {
  ErrorCode code;
  llvm::StringRef text; // "R0107"
  llvm::StringRef title;
  bool isWarning;
};

/// The whole table, in its order.
llvm::ArrayRef<ErrorCodeInfo> getErrorCodes();

llvm::StringRef getErrorCodeText(ErrorCode code);
llvm::StringRef getErrorCodeTitle(ErrorCode code);
bool isWarning(ErrorCode code);

/// The page of docs/errors about a code such as "R0107" (in either case of letter), in Markdown; nothing when there is
/// none.
std::optional<llvm::StringRef> explainErrorCode(llvm::StringRef code);

} // namespace recur

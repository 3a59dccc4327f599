// recurc format: writes specifications in the one style of the language.
#include "Driver/Verbs.h"
#include "Frontend/Format.h"
#include "Support/DiagnosticRenderer.h"
#include "Support/OutputFiles.h"
#include "llvm/Support/FileSystem.h"

using namespace llvm;
using namespace recur;
using namespace recur::driver;

/// Puts the text in the place of the file's. A link stays a link, and who may read the file stays, too.
static Error replaceFile(StringRef path, std::string text) {
  SmallString<256> real;
  if (std::error_code code = sys::fs::real_path(path, real))
    return makeError("cannot write '" + path + "': " + code.message());
  ErrorOr<sys::fs::perms> permissions = sys::fs::getPermissions(real);
  if (Error error = writeFiles({{real.str().str(), std::move(text)}}))
    return error;
  std::error_code code = permissions ? sys::fs::setPermissions(real, *permissions) : permissions.getError();
  return code ? makeError("cannot give '" + path + "' its permissions back: " + code.message()) : Error::success();
}

/// What is wrong with one file is said at once, so that the others are formatted all the same.
static Expected<bool> formatFile(StringRef path, bool onlyChecks, bool jsonDiagnostics) {
  std::string reason;
  std::unique_ptr<SourceBuffer> source = SourceBuffer::fromFile(path, reason);
  if (!source)
    return makeError(reason);
  DiagnosticEngine diagnostics;
  std::optional<std::string> text = frontend::format(*source, diagnostics);
  if (!text) {
    if (jsonDiagnostics)
      renderDiagnosticsAsJSON(errs(), *source, diagnostics);
    else
      renderDiagnosticsForStream(errs(), *source, diagnostics);
    return make_error<AlreadyReported>();
  }
  bool changes = *text != source->getText();
  if (onlyChecks && changes)
    outs() << source->getName() << '\n';
  else if (!onlyChecks && path == "-")
    outs() << *text;
  else if (!onlyChecks && changes)
    if (Error error = replaceFile(path, std::move(*text)))
      return std::move(error);
  return changes;
}

Expected<ExitCode> driver::runFormat(const opt::InputArgList &args) {
  std::vector<std::string> files = args.getAllArgValues(OPT_INPUT);
  if (files.empty())
    return makeError("a file is missing: give the paths of .recur files, or '-' for stdin");
  StringRef form = args.getLastArgValue(OPT_diagnostics, "text");
  if (form != "text" && form != "json")
    return makeUnknownValueError("--diagnostics", form, {"text", "json"});
  bool onlyChecks = args.hasArg(OPT_format_check);
  ExitCode code = ExitCode::Fine;
  for (const std::string &path : files) {
    Expected<bool> changes = formatFile(path, onlyChecks, form == "json");
    if (!changes)
      code = report(changes.takeError());
    else if (*changes && onlyChecks && code == ExitCode::Fine)
      code = ExitCode::CheckFailed;
  }
  return code;
}

// One open file: its text, what is wrong with it, and what stands where.
#pragma once
#include "Frontend/Symbols.h"
#include "Frontend/Token.h"
#include "LanguageServer/Facts.h"
#include "llvm/Support/LSP/Protocol.h"

namespace recur::languageserver {

class Document {
public:
  Document(llvm::lsp::URIForFile uri, std::string text, int64_t version);

  /// Errors and warnings, with the notes and the help that the compiler prints.
  std::vector<llvm::lsp::Diagnostic> getDiagnostics() const;
  /// The changes that the compiler suggests for what is wrong in these lines.
  std::vector<llvm::lsp::CodeAction> getFixes(llvm::lsp::Range range) const;
  std::optional<llvm::lsp::Hover> hover(llvm::lsp::Position position);
  std::vector<llvm::lsp::Location> findDefinition(llvm::lsp::Position position) const;
  std::vector<llvm::lsp::Location> findReferences(llvm::lsp::Position position, bool withDeclaration) const;
  llvm::lsp::CompletionList complete(llvm::lsp::Position position) const;
  /// The edits that give the symbol another name, or why it cannot have it.
  llvm::Expected<llvm::lsp::WorkspaceEdit> rename(llvm::lsp::Position position, llvm::StringRef newName) const;
  /// One edit of the whole text; none where it is formatted already, or has syntax errors.
  std::vector<llvm::lsp::TextEdit> format() const;
  std::vector<llvm::lsp::DocumentSymbol> listOutline() const;

  const llvm::lsp::URIForFile &getURI() const { return uri; }
  int64_t getVersion() const { return version; }

private:
  // The protocol counts UTF-16 units within a line, the compiler bytes of the text.
  uint32_t toOffset(llvm::lsp::Position position) const;
  llvm::lsp::Position toPosition(uint32_t offset) const;
  llvm::lsp::Range toRange(SourceRange range) const;

  /// The token that covers this byte or ends there.
  const frontend::Token *findToken(uint32_t offset) const;
  bool isStart(const frontend::Token *token) const;
  bool isInComment(uint32_t offset) const;
  /// The built-in function whose arguments stand here.
  llvm::StringRef findCallee(uint32_t offset) const;
  std::string describe(const frontend::Symbol &symbol);
  std::string printDeclaration(const frontend::Symbol &symbol) const;
  const llvm::json::Value *getReport(llvm::StringRef recurrence);

  llvm::lsp::URIForFile uri;
  SourceBuffer buffer;
  int64_t version;
  DiagnosticEngine diagnostics;
  std::vector<frontend::Symbol> symbols;
  std::vector<frontend::Token> tokens;
  std::optional<std::map<std::string, llvm::json::Value>> reports; // made when they are first asked for
};

} // namespace recur::languageserver

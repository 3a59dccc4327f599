#include "LanguageServer/Document.h"
#include "Explain/Explain.h"
#include "Frontend/Builtins.h"
#include "Frontend/Format.h"
#include "Frontend/Glossary.h"
#include "Frontend/Lexer.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"

using namespace llvm;
using namespace recur;
using namespace recur::languageserver;
using frontend::Symbol;
using frontend::Token;
using frontend::TokenKind;

Document::Document(lsp::URIForFile uri, std::string text, int64_t version)
    : uri(std::move(uri)), buffer(this->uri.file().str(), std::move(text)), version(version) {
  frontend::InstantiationOptions options;
  options.assumedDim = explain::kAssumedDim;
  symbols = frontend::listSymbols(buffer, options, diagnostics);
  DiagnosticEngine ignored; // what is wrong with a token was said while the file was parsed
  frontend::Lexer lexer(buffer, ignored);
  for (Token token = lexer.next(); !token.is(TokenKind::EndOfFile); token = lexer.next())
    tokens.push_back(token);
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// The bytes of the character that begins here, and how many UTF-16 units it has.
static std::pair<unsigned, unsigned> measureCharacter(StringRef text) {
  unsigned bytes = std::min<size_t>(getNumBytesForUTF8(text.front()), text.size());
  return {bytes, bytes == 4 ? 2 : 1};
}

uint32_t Document::toOffset(lsp::Position position) const {
  if (position.line < 0)
    return 0;
  if (unsigned(position.line) >= buffer.getNumLines())
    return buffer.getText().size();
  StringRef line = buffer.getLine(position.line + 1);
  uint32_t offset = buffer.getLineStart(position.line + 1);
  for (int units = 0; units < position.character && !line.empty();) {
    auto [bytes, width] = measureCharacter(line);
    line = line.drop_front(bytes);
    offset += bytes;
    units += width;
  }
  return offset;
}

lsp::Position Document::toPosition(uint32_t offset) const {
  uint32_t line = buffer.getLineColumn(offset).line;
  StringRef before = buffer.getText().slice(buffer.getLineStart(line), offset);
  int units = 0;
  while (!before.empty()) {
    auto [bytes, width] = measureCharacter(before);
    before = before.drop_front(bytes);
    units += width;
  }
  return {int(line - 1), units};
}

lsp::Range Document::toRange(SourceRange range) const {
  if (!range.isValid())
    return lsp::Range(lsp::Position(0, 0));
  return {toPosition(range.begin), toPosition(range.end)};
}

const Token *Document::findToken(uint32_t offset) const {
  auto after = upper_bound(tokens, offset, [](uint32_t at, const Token &token) { return at < token.range.begin; });
  if (after == tokens.begin())
    return nullptr;
  const Token *token = &*std::prev(after);
  // Where two tokens meet, a name is meant.
  if (token->range.begin == offset && token != tokens.data() && std::prev(token)->range.end == offset &&
      !token->is(TokenKind::Identifier) && !token->isKeyword())
    --token;
  return offset <= token->range.end ? token : nullptr;
}

bool Document::isInComment(uint32_t offset) const {
  LineColumn at = buffer.getLineColumn(offset);
  uint32_t lineStart = buffer.getLineStart(at.line);
  size_t comment = buffer.getText().slice(lineStart, offset).find('#'); // there are no strings
  return comment != StringRef::npos;
}

StringRef Document::findCallee(uint32_t offset) const {
  auto end = lower_bound(tokens, offset, [](const Token &token, uint32_t at) { return token.range.begin < at; });
  unsigned closed = 0;
  for (size_t i = end - tokens.begin(); i-- > 1;) {
    const Token &token = tokens[i];
    if (token.range.end > offset)
      continue;
    closed += token.is(TokenKind::RightParen);
    if (token.is(TokenKind::LeftParen) && closed-- == 0)
      return tokens[i - 1].is(TokenKind::Identifier) ? tokens[i - 1].text : StringRef();
    if (token.beginsStatement() || token.is(TokenKind::LeftBrace))
      return "";
  }
  return "";
}

//===----------------------------------------------------------------------===//
// What is wrong
//===----------------------------------------------------------------------===//

std::vector<lsp::Diagnostic> Document::getDiagnostics() const {
  std::vector<lsp::Diagnostic> result;
  for (const Diagnostic &diagnostic : diagnostics.getDiagnostics()) {
    lsp::Diagnostic shown;
    shown.range = toRange(diagnostic.range);
    shown.severity =
        diagnostic.severity == Severity::Error ? lsp::DiagnosticSeverity::Error : lsp::DiagnosticSeverity::Warning;
    shown.source = "recur";
    shown.message = diagnostic.message;
    if (diagnostic.code != ErrorCode::None)
      shown.message += " [" + getErrorCodeText(diagnostic.code).str() + "]";
    std::vector<lsp::DiagnosticRelatedInformation> related;
    for (const DiagnosticNote &note : diagnostic.notes) {
      if (note.range.isValid())
        related.push_back({lsp::Location(uri, toRange(note.range)), note.message});
      else
        shown.message += "\nnote: " + note.message;
    }
    for (const Suggestion &suggestion : diagnostic.suggestions)
      shown.message += "\nhelp: " + suggestion.message;
    if (!related.empty())
      shown.relatedInformation = std::move(related);
    result.push_back(std::move(shown));
  }
  return result;
}

std::vector<lsp::CodeAction> Document::getFixes(lsp::Range range) const {
  std::vector<lsp::CodeAction> actions;
  for (const Diagnostic &diagnostic : diagnostics.getDiagnostics()) {
    lsp::Range place = toRange(diagnostic.range);
    if (place.end < range.start || range.end < place.start)
      continue;
    for (const Suggestion &suggestion : diagnostic.suggestions) {
      if (!suggestion.range.isValid())
        continue;
      lsp::CodeAction action;
      action.title = suggestion.message;
      action.kind = lsp::CodeAction::kQuickFix.str();
      action.edit.emplace();
      action.edit->changes[uri.uri().str()] = {{toRange(suggestion.range), suggestion.replacement}};
      actions.push_back(std::move(action));
    }
  }
  return actions;
}

//===----------------------------------------------------------------------===//
// What stands here
//===----------------------------------------------------------------------===//

const json::Value *Document::getReport(StringRef recurrence) {
  if (!reports)
    reports = diagnostics.hasErrors() ? std::map<std::string, json::Value>() : explainAll(buffer);
  auto found = reports->find(recurrence.str());
  return found == reports->end() ? nullptr : &found->second;
}

std::string Document::printDeclaration(const Symbol &symbol) const {
  switch (symbol.kind) {
  case Symbol::Function:
  case Symbol::Const:
    return buffer.getText(symbol.definition).str();
  case Symbol::Argument:
    return "argument " + symbol.name;
  case Symbol::LoopVariable:
    return "loop variable " + symbol.name;
  default:
    return ((symbol.isComplex   ? "complex "
             : symbol.isInteger ? "int "
                                : "") +
            spell(symbol.kind) + " " + symbol.name + (symbol.shape.empty() ? "" : ": " + symbol.shape))
        .str();
  }
}

std::string Document::describe(const Symbol &symbol) {
  std::string text = "```recur\n" + printDeclaration(symbol) + "\n";
  if (symbol.kind == Symbol::Let)
    text += buffer.getText(symbol.definition).str() + "\n";
  text += "```\n";
  bool isExplained = symbol.kind == Symbol::State || symbol.kind == Symbol::Output || symbol.kind == Symbol::Recurrence;
  if (const json::Value *report = isExplained ? getReport(symbol.recurrence) : nullptr)
    for (const std::string &name : symbol.isComplex ? std::vector<std::string>{symbol.name + "_re", symbol.name + "_im"}
                                                    : std::vector<std::string>{symbol.name})
      text += symbol.kind == Symbol::State    ? describeState(*report, name)
              : symbol.kind == Symbol::Output ? describeOutput(*report, name)
                                              : describeRecurrence(*report);
  else if (const frontend::GlossaryEntry *entry = frontend::findInGlossary(spell(symbol.kind).rsplit(' ').first))
    text += entry->meaning.str() + "\n";
  return text;
}

/// Whether a token is one of the two words that stand before what a state starts as.
bool Document::isStart(const Token *token) const {
  auto isWord = [&](const Token *word, StringRef text) {
    return word >= tokens.data() && word < tokens.data() + tokens.size() && word->is(TokenKind::Identifier) &&
           word->text == text && !frontend::findSymbol(symbols, word->range.begin);
  };
  return (isWord(token, "at") && isWord(token + 1, "start")) || (isWord(token, "start") && isWord(token - 1, "at"));
}

std::optional<lsp::Hover> Document::hover(lsp::Position position) {
  const Token *token = findToken(toOffset(position));
  if (!token || isInComment(toOffset(position)))
    return std::nullopt;
  lsp::Hover hover(toRange(token->range));
  if (const Symbol *symbol = token->is(TokenKind::Identifier) ? findSymbol(symbols, token->range.begin) : nullptr)
    hover.contents.value = describe(*symbol);
  else if (const frontend::GlossaryEntry *entry = frontend::findInGlossary(isStart(token) ? "state" : token->text))
    hover.contents.value = ("```recur\n" + entry->form + "\n```\n" + entry->meaning + "\n").str();
  else
    return std::nullopt;
  return hover;
}

std::vector<lsp::Location> Document::findDefinition(lsp::Position position) const {
  if (const Symbol *symbol = findSymbol(symbols, toOffset(position)))
    return {lsp::Location(uri, toRange(symbol->declared))};
  return {};
}

std::vector<lsp::Location> Document::findReferences(lsp::Position position, bool withDeclaration) const {
  const Symbol *symbol = findSymbol(symbols, toOffset(position));
  std::vector<lsp::Location> locations;
  if (!symbol)
    return locations;
  if (withDeclaration)
    locations.push_back(lsp::Location(uri, toRange(symbol->declared)));
  for (SourceRange use : symbol->uses)
    locations.push_back(lsp::Location(uri, toRange(use)));
  return locations;
}

static lsp::SymbolKind getSymbolKind(Symbol::Kind kind) {
  switch (kind) {
  case Symbol::Recurrence:
    return lsp::SymbolKind::Class;
  case Symbol::Function:
    return lsp::SymbolKind::Function;
  case Symbol::Dim:
    return lsp::SymbolKind::TypeParameter;
  case Symbol::Const:
    return lsp::SymbolKind::Constant;
  case Symbol::State:
    return lsp::SymbolKind::Field;
  case Symbol::Output:
    return lsp::SymbolKind::Property;
  default:
    return lsp::SymbolKind::Variable;
  }
}

std::vector<lsp::DocumentSymbol> Document::listOutline() const {
  std::vector<lsp::DocumentSymbol> outline;
  for (const Symbol &symbol : symbols) {
    if (symbol.kind == Symbol::Argument || symbol.kind == Symbol::LoopVariable)
      continue;
    // An editor refuses an item whose name is not within it.
    SourceRange whole = symbol.definition.isValid() ? symbol.definition : symbol.declared;
    whole = {std::min(whole.begin, symbol.declared.begin), std::max(whole.end, symbol.declared.end)};
    lsp::DocumentSymbol item(symbol.name, getSymbolKind(symbol.kind), toRange(whole), toRange(symbol.declared));
    item.detail = (spell(symbol.kind) + (symbol.shape.empty() ? "" : " " + symbol.shape)).str();
    bool isInside = symbol.kind != Symbol::Recurrence && symbol.kind != Symbol::Function && !outline.empty() &&
                    outline.back().kind == lsp::SymbolKind::Class;
    (isInside ? outline.back().children : outline).push_back(std::move(item));
  }
  return outline;
}

//===----------------------------------------------------------------------===//
// What may stand here, and other ways to write it
//===----------------------------------------------------------------------===//

static lsp::CompletionItemKind getCompletionKind(Symbol::Kind kind) {
  switch (kind) {
  case Symbol::Function:
    return lsp::CompletionItemKind::Function;
  case Symbol::Dim:
  case Symbol::Const:
    return lsp::CompletionItemKind::Constant;
  case Symbol::State:
    return lsp::CompletionItemKind::Field;
  default:
    return lsp::CompletionItemKind::Variable;
  }
}

lsp::CompletionList Document::complete(lsp::Position position) const {
  lsp::CompletionList list;
  uint32_t offset = toOffset(position);
  if (isInComment(offset))
    return list;
  auto add = [&](StringRef label, lsp::CompletionItemKind kind, const Twine &detail, const Twine &meaning = "") {
    lsp::CompletionItem item(label, kind);
    item.detail = detail.str();
    if (std::string text = meaning.str(); !text.empty())
      item.documentation = lsp::MarkupContent{lsp::MarkupKind::PlainText, text};
    list.items.push_back(std::move(item));
  };
  for (const Symbol &symbol : symbols)
    if (symbol.kind != Symbol::Recurrence && symbol.kind != Symbol::Output && symbol.scope.begin <= offset &&
        offset <= symbol.scope.end)
      add(symbol.name, getCompletionKind(symbol.kind), printDeclaration(symbol));
  if (const frontend::BuiltinInfo *callee = frontend::findBuiltin(findCallee(offset)))
    for (StringRef keyword : callee->keywords)
      add((keyword + " = ").str(), lsp::CompletionItemKind::Property, callee->signature);
  for (const frontend::GlossaryEntry &entry : frontend::getGlossary()) {
    bool isFunction = frontend::findBuiltin(entry.word);
    add(entry.word,
        isFunction              ? lsp::CompletionItemKind::Function
        : entry.word == "token" ? lsp::CompletionItemKind::Variable
                                : lsp::CompletionItemKind::Keyword,
        entry.form, entry.meaning);
  }
  return list;
}

static Error refuse(const Twine &message) {
  return make_error<lsp::LSPError>(message.str(), lsp::ErrorCode::RequestFailed);
}

/// Why this is no name that a declaration could have; empty for one that could.
static std::string explainNoName(StringRef name) {
  SourceBuffer buffer("name", name.str());
  DiagnosticEngine diagnostics;
  Token token = frontend::Lexer(buffer, diagnostics).next();
  if (token.isKeyword())
    return ("'" + name + "' is a keyword").str();
  if (!token.is(TokenKind::Identifier) || token.text != name)
    return ("'" + name + "' is not a name: letters, digits and '_', and no digit first").str();
  if (name == "token")
    return "'token' is the count of tokens";
  if (frontend::findBuiltin(name))
    return ("'" + name + "' is the name of a built-in function").str();
  return "";
}

/// Whether both hold at some place.
static bool overlap(SourceRange a, SourceRange b) { return a.begin < b.end && b.begin < a.end; }

Expected<lsp::WorkspaceEdit> Document::rename(lsp::Position position, StringRef newName) const {
  const Symbol *symbol = findSymbol(symbols, toOffset(position));
  if (!symbol)
    return refuse("there is no name here that the file declares");
  if (std::string reason = explainNoName(newName); !reason.empty())
    return refuse(reason);
  auto isOutside = [](const Symbol &one) { return one.kind == Symbol::Recurrence || one.kind == Symbol::Function; };
  for (const Symbol &other : symbols) {
    if (&other == symbol || other.name != newName)
      continue;
    bool isOutput = symbol->kind == Symbol::Output, isOtherOutput = other.kind == Symbol::Output;
    bool clashes =
        isOutside(*symbol) || isOutside(other)
            ? symbol->kind == other.kind || other.kind == Symbol::Function || symbol->kind == Symbol::Function
        : isOutput || isOtherOutput ? isOutput && isOtherOutput && symbol->recurrence == other.recurrence
                                    : overlap(symbol->scope, other.scope);
    if (clashes)
      return refuse(
          "'" + newName + "' is the name of " + (other.kind == Symbol::Function ? "a function" : "something else") +
          " already: " + spell(other.kind) + " in line " + Twine(buffer.getLineColumn(other.declared.begin).line));
  }
  lsp::WorkspaceEdit edit;
  std::vector<lsp::TextEdit> &edits = edit.changes[uri.uri().str()];
  edits.push_back({toRange(symbol->declared), newName.str()});
  for (SourceRange use : symbol->uses)
    edits.push_back({toRange(use), newName.str()});
  return edit;
}

std::vector<lsp::TextEdit> Document::format() const {
  DiagnosticEngine ignored;
  std::optional<std::string> text = frontend::format(buffer, ignored);
  if (!text || *text == buffer.getText())
    return {};
  return {{toRange({0, uint32_t(buffer.getText().size())}), std::move(*text)}};
}

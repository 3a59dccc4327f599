#include "LanguageServer/Server.h"
#include "LanguageServer/Document.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/LSP/Transport.h"

using namespace llvm;
using namespace recur;
using namespace recur::languageserver;

// Requests that LLVM's library has no structs for.
namespace {
struct RenameParams : lsp::TextDocumentPositionParams {
  std::string newName;
};
struct DocumentFormattingParams {
  lsp::TextDocumentIdentifier textDocument;
};

bool fromJSON(const json::Value &value, RenameParams &result, json::Path path) {
  json::ObjectMapper mapper(value, path);
  return mapper && fromJSON(value, static_cast<lsp::TextDocumentPositionParams &>(result), path) &&
         mapper.map("newName", result.newName);
}
bool fromJSON(const json::Value &value, DocumentFormattingParams &result, json::Path path) {
  json::ObjectMapper mapper(value, path);
  return mapper && mapper.map("textDocument", result.textDocument);
}

class Server {
public:
  explicit Server(lsp::MessageHandler &handler)
      : publish(handler.outgoingNotification<lsp::PublishDiagnosticsParams>("textDocument/publishDiagnostics")) {
    handler.method("initialize", this, &Server::onInitialize);
    handler.notification("initialized", this, &Server::onInitialized);
    handler.method("shutdown", this, &Server::onShutdown);
    handler.notification("textDocument/didOpen", this, &Server::onOpen);
    handler.notification("textDocument/didChange", this, &Server::onChange);
    handler.notification("textDocument/didClose", this, &Server::onClose);
    handler.method("textDocument/hover", this, &Server::onHover);
    handler.method("textDocument/definition", this, &Server::onDefinition);
    handler.method("textDocument/references", this, &Server::onReferences);
    handler.method("textDocument/documentSymbol", this, &Server::onOutline);
    handler.method("textDocument/completion", this, &Server::onCompletion);
    handler.method("textDocument/rename", this, &Server::onRename);
    handler.method("textDocument/formatting", this, &Server::onFormatting);
    handler.method("textDocument/codeAction", this, &Server::onCodeAction);
  }

  bool wasShutDown() const { return isShutDown; }

private:
  void onInitialize(const lsp::InitializeParams &, lsp::Callback<json::Value> reply) {
    reply(json::Object{
        {"serverInfo", json::Object{{"name", "recur-lsp-server"}}},
        {"capabilities",
         json::Object{{"textDocumentSync", json::Object{{"openClose", true}, {"change", 1}}}, // the whole text
                      {"hoverProvider", true},
                      {"definitionProvider", true},
                      {"referencesProvider", true},
                      {"documentSymbolProvider", true},
                      {"completionProvider", json::Object{}},
                      {"renameProvider", true},
                      {"documentFormattingProvider", true},
                      {"codeActionProvider", json::Object{{"codeActionKinds", {lsp::CodeAction::kQuickFix}}}}}}});
  }
  void onInitialized(const lsp::InitializedParams &) {}
  void onShutdown(const lsp::NoParams &, lsp::Callback<std::nullptr_t> reply) {
    isShutDown = true;
    reply(nullptr);
  }

  void onOpen(const lsp::DidOpenTextDocumentParams &params) {
    const lsp::TextDocumentItem &item = params.textDocument;
    update(item.uri, item.text, item.version);
  }
  void onChange(const lsp::DidChangeTextDocumentParams &params) {
    // The server asks for whole texts, of which the last one counts.
    if (!params.contentChanges.empty() && find(params.textDocument.uri))
      update(params.textDocument.uri, params.contentChanges.back().text, params.textDocument.version);
  }
  void onClose(const lsp::DidCloseTextDocumentParams &params) {
    if (documents.erase(params.textDocument.uri.uri()))
      publish(lsp::PublishDiagnosticsParams(params.textDocument.uri, /*version=*/0));
  }
  void update(const lsp::URIForFile &uri, const std::string &text, int64_t version) {
    auto document = std::make_unique<Document>(uri, text, version);
    lsp::PublishDiagnosticsParams params(uri, version);
    params.diagnostics = document->getDiagnostics();
    documents[uri.uri()] = std::move(document);
    publish(params);
  }

  Document *find(const lsp::URIForFile &uri) {
    auto found = documents.find(uri.uri());
    return found == documents.end() ? nullptr : found->second.get();
  }
  /// Answers with what `ask` finds in the document, or with `nothing` where the document is not open. What is found
  /// outlives the reply, whose JSON points into it.
  template <typename Ask>
  void answer(const lsp::TextDocumentIdentifier &id, lsp::Callback<json::Value> &reply, json::Value nothing, Ask ask) {
    Document *document = find(id.uri);
    if (!document)
      return reply(std::move(nothing));
    auto found = ask(*document);
    reply(write(found));
  }
  template <typename T> static json::Value write(const std::vector<T> &items) { return json::Array(items); }
  template <typename T> static json::Value write(const std::optional<T> &item) {
    return item ? toJSON(*item) : json::Value(nullptr);
  }

  void onHover(const lsp::TextDocumentPositionParams &params, lsp::Callback<json::Value> reply) {
    answer(params.textDocument, reply, nullptr, [&](Document &document) { return document.hover(params.position); });
  }
  void onDefinition(const lsp::TextDocumentPositionParams &params, lsp::Callback<json::Value> reply) {
    answer(params.textDocument, reply, json::Array(),
           [&](Document &document) { return document.findDefinition(params.position); });
  }
  void onReferences(const lsp::ReferenceParams &params, lsp::Callback<json::Value> reply) {
    answer(params.textDocument, reply, json::Array(), [&](Document &document) {
      return document.findReferences(params.position, params.context.includeDeclaration);
    });
  }
  void onOutline(const lsp::DocumentSymbolParams &params, lsp::Callback<json::Value> reply) {
    answer(params.textDocument, reply, json::Array(), [&](Document &document) { return document.listOutline(); });
  }
  void onCompletion(const lsp::CompletionParams &params, lsp::Callback<json::Value> reply) {
    answer(params.textDocument, reply, json::Array(),
           [&](Document &document) { return std::optional(document.complete(params.position)); });
  }
  void onRename(const RenameParams &params, lsp::Callback<json::Value> reply) {
    Document *document = find(params.textDocument.uri);
    if (!document)
      return reply(nullptr);
    Expected<lsp::WorkspaceEdit> edit = document->rename(params.position, params.newName);
    if (!edit)
      return reply(edit.takeError());
    reply(toJSON(*edit));
  }
  void onFormatting(const DocumentFormattingParams &params, lsp::Callback<json::Value> reply) {
    answer(params.textDocument, reply, json::Array(), [&](Document &document) { return document.format(); });
  }
  void onCodeAction(const lsp::CodeActionParams &params, lsp::Callback<json::Value> reply) {
    answer(params.textDocument, reply, json::Array(),
           [&](Document &document) { return document.getFixes(params.range); });
  }

  lsp::OutgoingNotification<lsp::PublishDiagnosticsParams> publish;
  StringMap<std::unique_ptr<Document>> documents; // by their URIs
  bool isShutDown = false;
};
} // namespace

int languageserver::serve(std::FILE *in, raw_ostream &out) {
  lsp::URIForFile::registerSupportedScheme("untitled"); // of files that were never saved
  lsp::JSONTransport transport(in, out);
  lsp::MessageHandler handler(transport);
  Server server(handler);
  if (Error error = transport.run(handler)) {
    lsp::Logger::error("{0}", toString(std::move(error)));
    return 1;
  }
  return server.wasShutDown() ? 0 : 1;
}

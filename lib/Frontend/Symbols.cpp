#include "Frontend/Symbols.h"

#include "Frontend/Parser.h"
#include "Frontend/Sema.h"

#include "llvm/ADT/StringMap.h"

namespace recur::frontend {
namespace {

using llvm::cast;
using llvm::StringRef;

Symbol::Kind getKind(const Declaration &declaration) {
  switch (declaration.declarationKind) {
  case DeclarationKind::Dim:
    return Symbol::Dim;
  case DeclarationKind::Const:
    return Symbol::Const;
  case DeclarationKind::Input:
    return declaration.shared ? Symbol::SharedInput : Symbol::Input;
  case DeclarationKind::Param:
    return Symbol::Param;
  case DeclarationKind::State:
    return Symbol::State;
  case DeclarationKind::Let:
    return Symbol::Let;
  case DeclarationKind::Output:
    return Symbol::Output;
  case DeclarationKind::LoopVariable:
    return Symbol::LoopVariable;
  case DeclarationKind::Argument:
    return Symbol::Argument;
  }
  return Symbol::Let;
}

/// Walks the tree in the order of the text. It resolves names by itself, and not by what sema found, so that a file
/// with mistakes has its names, too.
class SymbolCollector {
public:
  explicit SymbolCollector(const File &file) : file(file) {}

  std::vector<Symbol> run() {
    for (const Function *function : file.functions)
      functions[function->name] =
          add(Symbol::Function, function->name, function->nameRange, function->range, endOfFile(function->range));
    for (const Function *function : file.functions) {
      scopeEnd = function->range.end;
      for (const Declaration *argument : function->arguments)
        declare(*argument);
      visit(function->body);
      names.clear();
    }
    for (const auto &recurrence : file.recurrences)
      visit(*recurrence);
    llvm::sort(symbols, [](const Symbol &a, const Symbol &b) { return a.declared.begin < b.declared.begin; });
    return std::move(symbols);
  }

private:
  SourceRange endOfFile(SourceRange from) const { return {from.end, uint32_t(file.getBuffer().getText().size())}; }

  size_t add(Symbol::Kind kind, StringRef name, SourceRange declared, SourceRange definition, SourceRange scope) {
    symbols.push_back({kind,
                       name.str(),
                       recurrence ? recurrence->name.str() : "",
                       "",
                       false,
                       false,
                       declared,
                       definition,
                       scope,
                       {}});
    return symbols.size() - 1;
  }

  void visit(const Recurrence &next) {
    recurrence = &next;
    if (!next.name.empty())
      add(Symbol::Recurrence, next.name, next.nameRange, next.range, next.range);
    scopeEnd = next.range.end;
    visit(next.body);
    names.clear();
    outputs.clear();
    recurrence = nullptr;
  }

  void visit(llvm::ArrayRef<Statement *> body) {
    for (const Statement *statement : body)
      switch (statement->kind) {
      case Statement::Declare:
        visit(*cast<Declaration>(statement));
        break;
      case Statement::Assign: {
        auto *assign = cast<AssignStatement>(statement);
        visit(assign->value);
        use(names, assign->name, assign->nameRange);
        break;
      }
      case Statement::For:
        visit(*cast<ForStatement>(statement));
        break;
      case Statement::Restart:
        visit(cast<RestartStatement>(statement)->value);
        break;
      }
  }

  void visit(const ForStatement &loop) {
    visit(loop.lower);
    visit(loop.upper);
    llvm::StringMap<size_t> outside = names;
    uint32_t outsideEnd = scopeEnd;
    scopeEnd = loop.range.end;
    if (loop.variable)
      declare(*loop.variable);
    visit(loop.body);
    names = std::move(outside);
    scopeEnd = outsideEnd;
  }

  void visit(const Declaration &declaration) {
    for (const Expr *entry : declaration.shapeSyntax.entries)
      visit(entry);
    if (declaration.element)
      visit(declaration.element);
    if (declaration.init)
      visit(declaration.init);
    declare(declaration);
  }

  void declare(const Declaration &declaration) {
    bool isOutput = declaration.is(DeclarationKind::Output);
    uint32_t begin = declaration.range.end == SourceRange::kNowhere ? declaration.nameRange.end : declaration.range.end;
    size_t index = add(getKind(declaration), declaration.name, declaration.nameRange, declaration.range,
                       isOutput ? declaration.nameRange : SourceRange{begin, scopeEnd});
    symbols[index].isComplex = declaration.shape.isComplex();
    symbols[index].isInteger = declaration.integer;
    if (!declaration.is(DeclarationKind::Argument) && !declaration.isNumber())
      symbols[index].shape = format(declaration.shape);
    (isOutput ? outputs : names)[declaration.name] = index;
  }

  void use(const llvm::StringMap<size_t> &table, StringRef name, SourceRange range) {
    if (auto found = table.find(name); found != table.end())
      symbols[found->second].uses.push_back(range);
  }

  void visit(const Expr *expr) {
    if (!expr)
      return;
    switch (expr->kind) {
    case Expr::Error:
    case Expr::Number:
      return;
    case Expr::Name:
      return use(names, cast<NameExpr>(expr)->name, expr->range);
    case Expr::Negate:
      return visit(cast<NegateExpr>(expr)->operand);
    case Expr::Binary:
      visit(cast<BinaryExpr>(expr)->lhs);
      return visit(cast<BinaryExpr>(expr)->rhs);
    case Expr::Index:
      visit(cast<IndexExpr>(expr)->base);
      return visit(cast<IndexExpr>(expr)->index);
    case Expr::Slice:
      visit(cast<SliceExpr>(expr)->base);
      visit(cast<SliceExpr>(expr)->lower);
      return visit(cast<SliceExpr>(expr)->upper);
    case Expr::Call: {
      auto *call = cast<CallExpr>(expr);
      use(functions, call->callee, call->calleeRange);
      for (const Argument &argument : call->arguments)
        if (!takesWord(call->callee, argument.keyword))
          visit(argument.value);
      return;
    }
    }
  }

  std::string format(Extent extent) const {
    if (extent.isDim())
      return recurrence->dims[extent.getDimIndex()]->name.str();
    return extent.isUnknown() ? "?" : std::to_string(extent.getNumber());
  }
  std::string format(Shape shape) const {
    switch (shape.getKind()) {
    case Shape::Unknown:
    case Shape::Diagonal:
      return "";
    case Shape::Scalar:
      return "scalar";
    case Shape::Vector:
      return "[" + format(shape.getSize()) + "]";
    case Shape::Matrix:
      return "[" + format(shape.getRows()) + ", " + format(shape.getColumns()) + "]";
    }
    return "";
  }

  const File &file;
  const Recurrence *recurrence = nullptr;
  uint32_t scopeEnd = 0;
  std::vector<Symbol> symbols;
  llvm::StringMap<size_t> functions, names, outputs; // outputs have a name space of their own
};

bool covers(SourceRange range, uint32_t offset) {
  return range.isValid() && range.begin <= offset && offset <= range.end;
}

} // namespace

StringRef spell(Symbol::Kind kind) {
  switch (kind) {
  case Symbol::Recurrence:
    return "recurrence";
  case Symbol::Function:
    return "fn";
  case Symbol::Argument:
    return "argument";
  case Symbol::Dim:
    return "dim";
  case Symbol::Const:
    return "const";
  case Symbol::Input:
    return "input";
  case Symbol::SharedInput:
    return "shared input";
  case Symbol::Param:
    return "param";
  case Symbol::State:
    return "state";
  case Symbol::Let:
    return "let";
  case Symbol::Output:
    return "output";
  case Symbol::LoopVariable:
    return "for";
  }
  return "";
}

std::vector<Symbol> listSymbols(const SourceBuffer &buffer, const InstantiationOptions &options,
                                DiagnosticEngine &diagnostics) {
  std::unique_ptr<File> file = Parser(buffer, diagnostics).parseFile();
  analyze(*file, options, diagnostics);
  return SymbolCollector(*file).run();
}

const Symbol *findSymbol(llvm::ArrayRef<Symbol> symbols, uint32_t offset) {
  for (const Symbol &symbol : symbols)
    if (covers(symbol.declared, offset) ||
        llvm::any_of(symbol.uses, [&](SourceRange range) { return covers(range, offset); }))
      return &symbol;
  return nullptr;
}

} // namespace recur::frontend

#include "Frontend/Emission.h"

#include "dialects/DGPS/DGPS.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVectorExtras.h"

// What earlier tokens had: each value that is delayed by n tokens has n states, the first of which becomes the value
// and each other one the state before it. A state that is replaced as a whole costs a chunk one row of the chunk
// before, so a delay makes no loop over tokens. Where there would be many of them, they are the rows of one state, the
// oldest first, whose rows each token moves by one. The states have names, and initial and final values, like any
// other.

namespace recur::frontend {

/// So many tokens have a state each; where there are more, all are rows of one.
static constexpr size_t kMostStates = 8;

/// A name that no array of the recurrence has: k_back1 is what k was one token back, and k_last64 are the last 64 of k.
std::string Emitter::findStateName(llvm::StringRef base, llvm::StringRef kind, size_t tokens) {
  if (stateNames.empty())
    for (const Statement *statement : recurrence.body)
      if (auto *declaration = llvm::dyn_cast<Declaration>(statement))
        for (llvm::StringRef part : {"", "_re", "_im"})
          if (part.empty() || declaration->complex)
            stateNames.insert((declaration->name + part).str());
  std::string name = (base + kind + llvm::Twine(tokens)).str();
  while (!stateNames.insert(name).second)
    name += "_";
  return name;
}

/// How many tokens came before this one. The count is a state, so that a caller may go on from where it was.
Emitter::Value Emitter::emitTokenCount(const Declaration *declaration) {
  Value &count = values[declaration];
  if (!count) {
    mlir::Location loc = getLocation(recurrence.nameRange);
    count = dgps::StateOp::create(builder, loc, getType(Shape::scalar()), builder.getStringAttr(declaration->name));
    initialValues[declaration] = count;
    count = kept(count);
  }
  return count;
}

/// `part` ends the name of what is delayed: of a complex number it is done for each part.
Emitter::Value Emitter::emitDelay(mlir::Location loc, Value value, int64_t tokens, const Expr *source,
                                  llvm::StringRef part) {
  if (tokens == 0)
    return value;
  auto *name = llvm::dyn_cast<NameExpr>(source);
  while (name && name->declaration->is(DeclarationKind::Argument))
    name = llvm::dyn_cast<NameExpr>(name->declaration->init);
  DelayLine &line = delayLines[value];
  if (line.delayed.empty())
    line.name = (name ? name->name : llvm::StringRef("value")).str() + part.str();
  while (int64_t(line.delayed.size()) < tokens) {
    std::string stateName = findStateName(line.name, "_back", line.delayed.size() + 1);
    Value state = dgps::StateOp::create(builder, loc, value.getType(), builder.getStringAttr(stateName));
    line.delayed.push_back({state, kept(state)});
  }
  return line.delayed[tokens - 1].found;
}

/// One state in place of those of a line: the last tokens, the oldest first. What stands for the states is noted.
void Emitter::emitWindow(Value value, DelayLine &line, llvm::DenseMap<Value, Value> &replaced) {
  mlir::OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(line.delayed.front().state.getDefiningOp());
  mlir::Location loc = line.delayed.front().state.getLoc();
  auto size = int64_t(line.delayed.size());
  llvm::SmallVector<int64_t> shape = {size};
  llvm::append_range(shape, dgps::shapeOf(value));
  std::string name = findStateName(line.name, "_last", line.delayed.size());
  auto type = dgps::RealType::get(builder.getContext(), shape);
  Value window = dgps::StateOp::create(builder, loc, type, builder.getStringAttr(name));
  for (auto [back, delayed] : llvm::enumerate(line.delayed)) {
    Value row = dgps::ExtractOp::create(builder, loc, window, size - 1 - int64_t(back));
    delayed.state.replaceAllUsesWith(row);
    replaced[delayed.state] = row;
  }
  line.delayed.assign({{window, window}});
}

/// The windows of lines that are long. Those that a token may restart stay as they are.
void Emitter::emitWindows() {
  llvm::DenseMap<Value, Value> replaced;
  for (auto &[value, line] : delayLines)
    if (line.delayed.size() > kMostStates && line.delayed.front().found == line.delayed.front().state)
      emitWindow(value, line, replaced);
  llvm::MapVector<Value, DelayLine> renamed;
  for (auto &[value, line] : delayLines)
    renamed[replaced.contains(value) ? replaced.lookup(value) : value] = std::move(line);
  delayLines = std::move(renamed);
  for (auto *known : {&values, &imaginary})
    for (auto &[declaration, value] : *known)
      if (Value row = value ? replaced.lookup(value) : Value())
        value = row;
  llvm::SmallPtrSet<mlir::Operation *, 8> taken;
  for (auto *known : {&values, &imaginary})
    for (auto &[declaration, value] : *known)
      if (value)
        taken.insert(value.getDefiningOp());
  for (auto &[value, line] : delayLines)
    taken.insert(value.getDefiningOp());
  for (auto &[state, row] : replaced) {
    state.getDefiningOp()->erase();
    if (row.use_empty() && !taken.contains(row.getDefiningOp()))
      row.getDefiningOp()->erase();
  }
}

/// The sum of what this token and those before had, each times its weight; the last weight is that of this token.
Emitter::Value Emitter::emitConv(mlir::Location loc, Value value, Value weights, const Expr *source,
                                 llvm::StringRef part) {
  Value sum;
  int64_t width = dgps::shapeOf(weights)[0];
  for (int64_t back = 0; back < width; ++back) {
    Value weight = dgps::ExtractOp::create(builder, loc, weights, width - 1 - back);
    Value term = dgps::MulOp::create(builder, loc, weight, emitDelay(loc, value, back, source, part));
    sum = sum ? Value(dgps::AddOp::create(builder, loc, sum, term)) : term;
  }
  return sum;
}

/// What the states of delays and the count of tokens become.
void Emitter::emitDelayedStates() {
  emitWindows();
  for (auto &[value, line] : delayLines) {
    Value next = value;
    if (Value window = line.delayed.front().state; window.getType() != next.getType()) {
      mlir::Location loc = window.getLoc();
      int64_t size = dgps::shapeOf(window).front();
      Value kept = dgps::SliceOp::create(builder, loc, window, 1, size - 1);
      next = dgps::ConcatOp::create(builder, loc, window.getType(), mlir::ValueRange{kept, next});
      dgps::NextOp::create(builder, loc, window, next);
      continue;
    }
    for (const DelayedValue &delayed : line.delayed) {
      dgps::NextOp::create(builder, delayed.state.getLoc(), delayed.state, next);
      next = delayed.found;
    }
  }
  if (Value count = recurrence.tokenCount ? values.lookup(recurrence.tokenCount) : Value()) {
    Value one = emitNumber(count.getLoc(), 1);
    Value next = dgps::AddOp::create(builder, count.getLoc(), count, one);
    dgps::NextOp::create(builder, count.getLoc(), initialValues.lookup(recurrence.tokenCount), next);
  }
}

} // namespace recur::frontend

#include "Frontend/Emission.h"

#include "dialects/DGPS/DGPS.h"

#include "llvm/ADT/SmallVectorExtras.h"

// What earlier tokens had: each value that is delayed by n tokens has n states, the first of which becomes the value
// and each other one the state before it. A state that is replaced as a whole costs a chunk one row of the chunk
// before, so a delay makes no loop over tokens. The states have names, and initial and final values, like any other.

namespace recur::frontend {

/// A name that no array of the recurrence has: k_back1 is what k was one token back.
std::string Emitter::findStateName(llvm::StringRef base, size_t tokens) {
  if (stateNames.empty())
    for (const Statement *statement : recurrence.body)
      if (auto *declaration = llvm::dyn_cast<Declaration>(statement))
        for (llvm::StringRef part : {"", "_re", "_im"})
          if (part.empty() || declaration->complex)
            stateNames.insert((declaration->name + part).str());
  std::string name = (base + "_back" + llvm::Twine(tokens)).str();
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
  llvm::SmallVector<DelayedValue> &line = delayLines[value];
  while (int64_t(line.size()) < tokens) {
    std::string stateName =
        findStateName((name ? name->name : llvm::StringRef("value")).str() + part.str(), line.size() + 1);
    Value state = dgps::StateOp::create(builder, loc, value.getType(), builder.getStringAttr(stateName));
    line.push_back({state, kept(state)});
  }
  return line[tokens - 1].found;
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
  for (auto &[value, line] : delayLines) {
    Value next = value;
    for (const DelayedValue &delayed : line) {
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

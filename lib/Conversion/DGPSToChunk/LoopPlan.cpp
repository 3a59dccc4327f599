// Which states go token by token, together with which others, and which ops the loops' bodies take.
#include "Conversion/DGPSToChunk/Conversion.h"

using namespace mlir;
using namespace recur;
using namespace recur::analysis;
using namespace recur::conversion;

static bool isMatrix(Value value) { return dgps::shapeOf(value).size() == 2; }
static bool isDeclaration(Operation *op) { return isa<dgps::InputOp, dgps::ParamOp, dgps::StateOp>(op); }

/// The matrix ops that a product with a vector passes through. `outer(a, b) * M` scales the rows and columns of M.
static bool passesProducts(Operation *op) {
  if (isa<dgps::AddOp, dgps::SubOp, dgps::NegOp, dgps::ScaleColsOp, dgps::ScaleRowsOp, dgps::OuterOp>(op))
    return true;
  return isa<dgps::MulOp>(op) &&
         (llvm::count_if(op->getOperands(), isMatrix) == 1 || llvm::any_of(op->getOperands(), [](Value operand) {
            return operand.getDefiningOp<dgps::OuterOp>() != nullptr;
          }));
}

LoopPlan::LoopPlan(const RecurrenceAnalysis &analysis, ArrayRef<unsigned> looped) : analysis(analysis) {
  ArrayRef<StateFacts> states = analysis.getStates();
  unsigned count = states.size();
  groupOf.assign(count, -1);
  for (const StateFacts &facts : states)
    reach.push_back(facts.feedsOn);
  for (unsigned via = 0; via < count; ++via)
    for (unsigned from = 0; from < count; ++from)
      if (reach[from].test(via))
        reach[from] |= reach[via];
  chooseLooped(looped);
  mergeCycles();
}

unsigned LoopPlan::indexOf(dgps::StateOp state) const { return analysis.getExpressions().indexOf(state); }

void LoopPlan::chooseLooped(ArrayRef<unsigned> alsoLooped) {
  for (auto [index, facts] : llvm::enumerate(analysis.getStates())) {
    bool looped = facts.stateClass == StateClass::Elementwise || facts.stateClass == StateClass::General;
    if (facts.stateClass == StateClass::Tropical)
      looped = facts.tropical->shifts.empty();
    if (facts.stateClass == StateClass::Delta)
      looped = !facts.delta || !hasChunkForm(*facts.delta) || needsWholeMatrix(index);
    looped |= facts.complex || facts.inverse; // forms that only the rewritten recurrence has
    needsLoop.push_back(looped);
    if (facts.coupled && !needsWholeMatrix(analysis.getCoupledForms()[*facts.coupled]))
      looped = false;
    if (looped || llvm::is_contained(alsoLooped, index)) {
      groupOf[index] = groups.size();
      groups.push_back({{unsigned(index)}, {}});
    }
  }
  if (alsoLooped.size() == groupOf.size())
    for (unsigned state = 1; state < groupOf.size(); ++state)
      merge(0, state);
}

/// Whether a product with the matrix is one with the states as they are before or after the token.
bool LoopPlan::isProduct(Value matrix, ArrayRef<unsigned> states) const {
  const algebra::Expressions &expressions = analysis.getExpressions();
  const algebra::Poly *poly = expressions.of(matrix);
  if (llvm::none_of(states, [&](unsigned state) { return poly->dependsOn(state); }) ||
      llvm::any_of(states, [&](unsigned state) {
        return poly == expressions.before(state) || poly == expressions.after(state);
      }))
    return true;
  Operation *op = matrix.getDefiningOp();
  return passesProducts(op) && llvm::all_of(op->getOperands(), [&](Value operand) {
           return !isMatrix(operand) || isProduct(operand, states);
         });
}

/// Whether the state is used in a way that is no product with vectors.
bool LoopPlan::needsWholeMatrix(unsigned state) const {
  const DeltaForm &form = *analysis.getStates()[state].delta;
  // A product that is no affine read for the analysis, such as one from the value side of what reads wrote, is one
  // here.
  if (form.orientation == Orientation::Vector) // whose form gives it token by token
    return false;
  return llvm::any_of(form.wholeUses, [&](Operation *op) {
    if (!isa<dgps::CgOp, dgps::LoopOp, dgps::MatvecOp, dgps::VecmatOp>(op))
      return true;
    return !llvm::all_of(op->getOperands(),
                         [&](Value operand) { return !isMatrix(operand) || isProduct(operand, state); });
  });
}

/// Whether what is no matrix is made of one of the states other than by products with vectors.
bool LoopPlan::needsWholeMatrix(const CoupledForm &form) const {
  return llvm::any_of(stateDependents(form.states), [&](Operation *op) {
    if (isMatrix(op->getResult(0)) || llvm::none_of(op->getOperands(), isMatrix))
      return false;
    return !isa<dgps::CgOp, dgps::LoopOp, dgps::MatvecOp, dgps::VecmatOp>(op) ||
           !llvm::all_of(op->getOperands(),
                         [&](Value operand) { return !isMatrix(operand) || isProduct(operand, form.states); });
  });
}

/// States that share a chunk form have none without each other.
void LoopPlan::loopCoupled() {
  for (const CoupledForm &form : analysis.getCoupledForms())
    if (llvm::any_of(form.states, [&](unsigned state) { return isLooped(state); }))
      for (unsigned state : form.states)
        if (needsLoop[state] && !isLooped(state)) {
          groupOf[state] = groups.size();
          groups.push_back({{state}, {}});
        }
}

/// States between two of a group, and groups that need each other, belong together.
void LoopPlan::mergeCycles() {
  bool changed = true;
  while (changed) {
    changed = false;
    loopCoupled();
    for (unsigned group = 0; group < groups.size(); ++group)
      for (unsigned state = 0; state < groupOf.size(); ++state) {
        if (groupOf[state] == int(group))
          continue;
        bool reads = false, feeds = false;
        for (unsigned member : groups[group].states) {
          reads |= reach[state].test(member);
          feeds |= reach[member].test(state);
        }
        if (reads && feeds) {
          merge(group, state);
          changed = true;
        }
      }
  }
}

void LoopPlan::merge(unsigned into, unsigned state) {
  SmallVector<unsigned, 2> moved{state};
  if (groupOf[state] >= 0) {
    moved = groups[groupOf[state]].states;
    groups[groupOf[state]].states.clear();
  }
  for (unsigned member : moved) {
    groupOf[member] = into;
    groups[into].states.push_back(member);
  }
}

/// The ops that depend on any of the states.
llvm::SetVector<Operation *> LoopPlan::stateDependents(ArrayRef<unsigned> states) const {
  llvm::SetVector<Operation *> dependents;
  SmallVector<Operation *> work;
  for (unsigned state : states)
    work.push_back(analysis.getStates()[state].op);
  while (!work.empty())
    for (Operation *user : work.pop_back_val()->getUsers())
      if (user->getNumResults() == 1 && dependents.insert(user))
        work.push_back(user);
  return dependents;
}

/// Fills the group's body: what its states become, and what reads its matrices. False if another state turned out to be
/// needed as a whole matrix, and joined the group.
bool LoopPlan::findBody(LoopGroup &group) {
  unsigned own = &group - groups.data();
  llvm::SetVector<Operation *> dependents = stateDependents(group.states);
  SmallVector<unsigned, 2> laterStates;
  for (unsigned state = 0; state < groupOf.size(); ++state)
    if (groupOf[state] != int(own) &&
        llvm::any_of(group.states, [&](unsigned member) { return reach[state].test(member); }))
      laterStates.push_back(state);
  llvm::SetVector<Operation *> later = stateDependents(laterStates);
  auto isOwnState = [&](Operation *op) {
    auto state = dyn_cast<dgps::StateOp>(op);
    return state && groupOf[indexOf(state)] == int(own);
  };

  SmallVector<Operation *> work;
  llvm::SetVector<Operation *> body;
  auto include = [&](Operation *op) {
    if (!isDeclaration(op) && body.insert(op))
      work.push_back(op);
  };
  for (unsigned state : group.states) {
    Value next = dgps::StateOp(analysis.getStates()[state].op).getNext().getValue();
    auto other = next.getDefiningOp<dgps::StateOp>();
    if (other && isMatrix(next) && !isOwnState(other)) {
      merge(own, indexOf(other));
      mergeCycles();
      return false;
    }
    include(next.getDefiningOp());
  }
  for (Operation *op : dependents)
    if (!later.contains(op) && !isMatrix(op->getResult(0)) && llvm::any_of(op->getOperands(), [&](Value operand) {
          return isMatrix(operand) &&
                 (isOwnState(operand.getDefiningOp()) || dependents.contains(operand.getDefiningOp()));
        }))
      include(op);
  while (!work.empty())
    for (Value operand : work.pop_back_val()->getOperands()) {
      Operation *op = operand.getDefiningOp();
      if (isOwnState(op))
        continue;
      if (auto state = dyn_cast<dgps::StateOp>(op)) {
        if (!isMatrix(operand))
          continue;
        merge(own, indexOf(state));
        mergeCycles();
        return false;
      }
      // A matrix of every token is only formed within the loop, one at a time.
      if (dependents.contains(op) || isMatrix(operand))
        include(op);
    }
  group.body.clear();
  for (Operation &op : analysis.getRecurrence().getBody().front())
    if (body.contains(&op))
      group.body.insert(&op);
  return true;
}

void LoopPlan::findBodies() {
  for (unsigned group = 0; group < groups.size();)
    group = findBody(groups[group]) ? group + 1 : 0;
  for (const LoopGroup &group : groups) {
    for (Operation *op : group.body)
      groupOfOp.try_emplace(op, &group);
    for (unsigned state : group.states)
      groupOfOp[analysis.getStates()[state].op] = &group;
  }
}

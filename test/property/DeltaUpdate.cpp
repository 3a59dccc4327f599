#include "property/DeltaUpdate.h"
#include "property/Items.h"

using namespace recur;
using namespace recur::property;

Term MatrixState::decay(const Term &s, const Decay &by) const {
  Term out = s;
  if (by.keys)
    out = transposed ? scaleRows(by.keys, out) : scaleCols(out, by.keys);
  if (by.values)
    out = transposed ? scaleCols(out, by.values) : scaleRows(by.values, out);
  return by.all ? mul(by.all, out) : out;
}

static Term scaled(const Term &gain, const Term &term) { return gain ? mul(gain, term) : term; }

Term property::advance(const MatrixState &state, const Term &decayed, const Term &seen,
                       const std::vector<RankOne> &terms) {
  Term next = decayed;
  for (const RankOne &term : terms) {
    Term key = term.preconditioner ? mul(term.preconditioner, term.write) : term.write;
    if (!term.read) {
      next = add(next, scaled(term.writeGain, state.write(term.value, key)));
      continue;
    }
    Term read = state.read(seen, term.read);
    if (!term.value)
      next = sub(next, scaled(term.eraseGain, state.write(read, key)));
    else if (term.writeGain == term.eraseGain)
      next = add(next, scaled(term.writeGain, state.write(sub(term.value, read), key)));
    else
      next = add(next, state.write(sub(scaled(term.writeGain, term.value), scaled(term.eraseGain, read)), key));
  }
  return next;
}

/// The term as dgps(…), or null where that form has no axis for it.
static Term makeDgpsCall(const MatrixState &state, const Decay &decay, const RankOne &term) {
  bool tiedGains = !term.read || term.writeGain == term.eraseGain;
  if (state.transposed || decay.values || (decay.all && decay.keys) || !term.value || !tiedGains)
    return nullptr;
  const Term &read = term.read ? term.read : term.write;
  std::vector<Labelled> named = {{"read", read}, {"value", term.value}};
  named.push_back({"solve", name(term.read ? "online" : "offline", {})});
  if (!decay.isNone())
    named.push_back({"decay", decay.all ? decay.all : decay.keys});
  if (term.writeGain)
    named.push_back({"gain", term.writeGain});
  if (!reduce::equal(read, term.write))
    named.push_back({"write", term.write});
  if (term.preconditioner)
    named.push_back({"atk", term.preconditioner});
  return call("dgps", {state.state}, std::move(named), state.state->shape);
}

Stage property::makePostUpdate(const MatrixState &state, const Decay &decay, const RankOne &term,
                               llvm::StringRef freshName) {
  const Term &s = state.state;
  llvm::StringRef own = s->text;
  Term decayed = state.decay(s, decay);
  Stage stage;
  stage.forms.push_back({assign(own, advance(state, decayed, decayed, {term}))});
  if (!decay.isNone()) {
    stage.forms.push_back({assign(own, decayed), assign(own, advance(state, s, s, {term}))});
    Term fresh = name(freshName, s->shape);
    stage.forms.push_back({let(freshName, decayed), assign(own, advance(state, fresh, fresh, {term}))});
  }
  if (Term dgps = makeDgpsCall(state, decay, term))
    stage.forms.push_back({assign(own, dgps)});
  return stage;
}

Stage property::makePreUpdate(const MatrixState &state, const Decay &decay, const std::vector<RankOne> &terms,
                              llvm::StringRef freshName) {
  const Term &s = state.state;
  llvm::StringRef own = s->text;
  Term fresh = name(freshName, s->shape);
  Term decayed = state.decay(s, decay);
  Stage stage;
  stage.forms.push_back({assign(own, advance(state, decayed, s, terms))});
  stage.forms.push_back({let(freshName, s), assign(own, decayed), assign(own, advance(state, s, fresh, terms))});
  if (terms.size() == 1) {
    if (decay.isNone())
      if (Term dgps = makeDgpsCall(state, decay, terms[0]))
        stage.forms.push_back({assign(own, dgps)});
    return stage;
  }
  // The terms one after another, all reading what the state was.
  std::vector<reduce::Item> steps = {let(freshName, s), assign(own, decayed)};
  for (const RankOne &term : terms)
    steps.push_back(assign(own, advance(state, s, fresh, {term})));
  stage.forms.push_back(std::move(steps));
  return stage;
}

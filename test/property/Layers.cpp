#include "property/Layers.h"
#include "property/DeltaUpdate.h"
#include "property/Items.h"
#include "llvm/ADT/STLExtras.h"

using namespace recur;
using namespace recur::property;
using reduce::Item;

using Form = std::vector<Item>;
using Forms = std::vector<Form>;

namespace {

class LayerMaker {
public:
  LayerMaker(llvm::StringRef name, bool transposed) {
    layer.name = name.str();
    layer.dims = {{"K", 128}, {"V", 128}};
    layer.constants.push_back(
        {.kind = Item::Kind::Const, .name = "scale", .value = div(number(1), applied("sqrt", dimName("K")))});
    layer.constants.push_back({.kind = Item::Kind::Const, .name = "root", .value = applied("sqrt", dimName("K"))});
    matrix.transposed = transposed;
  }

  Term input(llvm::StringRef name, Shape shape, bool shared = false) {
    layer.inputs.push_back({name.str(), shape, Fill::Normal, shared});
    return property::name(name, shape);
  }
  Term param(llvm::StringRef name, Shape shape) {
    layer.params.push_back({name.str(), shape, Fill::Normal});
    return property::name(name, shape);
  }
  Term state(llvm::StringRef name, Shape shape, StateClass stateClass) {
    layer.states.push_back(
        {.name = name.str(), .shape = shape, .initial = Fill::Normal, .stateClass = stateClass, .microSteps = {}});
    return property::name(name, shape);
  }
  void addMatrix() {
    matrix.state = state("S", matrix.transposed ? Shape{"K", "V"} : Shape{"V", "K"}, StateClass::Delta);
  }
  void stage(Forms forms) { layer.stages.push_back({std::move(forms)}); }

  Forms listPostUpdates(const std::vector<Decay> &decays, const Term &key, const Term &value, const Term &gain,
                        const Term &write);
  Forms listWrites(const std::vector<Decay> &decays, const Term &key, const Term &value, const Term &gain);
  void addOutput(const Term &query);

  DrawnRecurrence layer;
  MatrixState matrix;
};

} // namespace

static Term scaled(const Term &gain, const Term &term) { return gain ? mul(gain, term) : term; }

/// What is read of the decayed state, from the state as it was.
static Term readDecayed(const MatrixState &matrix, const Decay &decay, const Term &key) {
  Term rows = decay.keys ? mul(decay.keys, key) : key;
  Term read = matrix.read(matrix.state, rows);
  return decay.all ? mul(decay.all, read) : read;
}

/// The delta rule, which reads the decayed state.
Forms LayerMaker::listPostUpdates(const std::vector<Decay> &decays, const Term &key, const Term &value,
                                  const Term &gain, const Term &write) {
  Forms forms;
  const Term &s = matrix.state;
  auto read = [&](const Term &of, const Term &rows) { return matrix.read(of, rows); };
  for (const Decay &decay : decays) {
    Term decayed = matrix.decay(s, decay);
    auto inSteps = [&](const Term &update) {
      if (decay.isNone())
        forms.push_back({assign("S", update)});
      else
        forms.push_back({assign("S", decayed), assign("S", update)});
    };
    Term error = sub(value, read(s, key));
    inSteps(add(s, scaled(gain, matrix.write(error, write))));
    inSteps(add(s, matrix.write(scaled(gain, error), write)));
    inSteps(add(s, matrix.write(error, scaled(gain, write))));
    inSteps(add(s, matrix.write(sub(scaled(gain, value), read(s, scaled(gain, key))), write)));
    inSteps(sub(s, scaled(gain, matrix.write(sub(read(s, key), value), write))));
    inSteps(add(s, mul(neg(number(1)), scaled(gain, matrix.write(add(read(s, key), neg(value)), write)))));
    inSteps(sub(add(s, matrix.write(scaled(gain, value), write)), matrix.write(scaled(gain, read(s, key)), write)));
    Term next = name("next", s->shape), u = name("u", value->shape);
    forms.push_back({assign("S", add(decayed, scaled(gain, matrix.write(sub(value, read(decayed, key)), write))))});
    forms.push_back({let("u", sub(value, readDecayed(matrix, decay, key))),
                     assign("S", add(decayed, scaled(gain, matrix.write(u, write))))});
    forms.push_back({let("u", scaled(gain, sub(value, readDecayed(matrix, decay, key)))),
                     assign("S", add(decayed, matrix.write(u, write)))});
    forms.push_back(
        {let("next", decayed), assign("S", add(next, matrix.write(scaled(gain, sub(value, read(next, key))), write)))});
    if (matrix.transposed)
      continue;
    std::vector<Labelled> named = {{"read", key}, {"value", value}, {"solve", name("online", {})}};
    if (!decay.isNone())
      named.push_back({"decay", decay.all ? decay.all : decay.keys});
    if (gain)
      named.push_back({"gain", gain});
    if (!reduce::equal(key, write))
      named.push_back({"write", write});
    forms.push_back({assign("S", call("dgps", {s}, std::move(named), s->shape))});
  }
  return forms;
}

/// What is only written.
Forms LayerMaker::listWrites(const std::vector<Decay> &decays, const Term &key, const Term &value, const Term &gain) {
  Forms forms;
  const Term &s = matrix.state;
  for (const Decay &decay : decays) {
    Term decayed = matrix.decay(s, decay);
    for (const Term &written :
         {scaled(gain, matrix.write(value, key)), matrix.write(scaled(gain, value), key),
          matrix.write(value, scaled(gain, key)), matrix.write(value, gain ? mul(key, gain) : key)}) {
      forms.push_back({assign("S", add(decayed, written))});
      forms.push_back({assign("S", add(written, decayed))});
      forms.push_back({assign("S", decayed), assign("S", add(s, written))});
      forms.push_back({let("w", written), assign("S", decayed), assign("S", add(s, name("w", s->shape)))});
    }
  }
  return forms;
}

void LayerMaker::addOutput(const Term &query) {
  Term scale = name("scale", {}), root = name("root", {}), s = matrix.state;
  layer.outputs.push_back("o");
  Term scaledQuery = name("scaled", query->shape), read = matrix.read(s, query);
  stage({{output("o", mul(scale, read))},
         {output("o", mul(read, scale))},
         {output("o", div(read, root))},
         {output("o", matrix.read(s, mul(scale, query)))},
         {output("o", matrix.read(s, div(query, root)))},
         {let("scaled", mul(query, scale)), output("o", matrix.read(s, scaledQuery))}});
}

/// One number in the ways that a gate between zero and one is written.
static std::vector<Term> listGates(const Term &a) {
  return {applied("sigmoid", a), applied("exp", applied("logsigmoid", a)),
          applied("exp", neg(applied("softplus", neg(a)))), div(number(1), add(number(1), applied("exp", neg(a))))};
}

static std::vector<Decay> decaysOf(const std::vector<Term> &terms) {
  std::vector<Decay> decays;
  for (const Term &term : terms)
    decays.push_back(isScalar(term) ? Decay{term, nullptr, nullptr} : Decay{nullptr, term, nullptr});
  return decays;
}

static DrawnRecurrence makeDeltaNet(bool transposed) {
  LayerMaker make("delta_net", transposed);
  Term q = make.input("q", {"K"}, true), k = make.input("k", {"K"}, true), v = make.input("v", {"V"}),
       beta = make.input("beta", {});
  make.addMatrix();
  make.stage(make.listPostUpdates({Decay{}}, k, v, beta, k));
  make.addOutput(q);
  return make.layer;
}

static DrawnRecurrence makeGatedDeltaNet(bool transposed) {
  LayerMaker make("gated_delta_net", transposed);
  Term q = make.input("q", {"K"}, true), k = make.input("k", {"K"}, true), v = make.input("v", {"V"}),
       g = make.input("g", {}), beta = make.input("beta", {});
  make.addMatrix();
  make.stage(make.listPostUpdates(decaysOf({applied("exp", g)}), k, v, beta, k));
  make.addOutput(q);
  return make.layer;
}

/// With what layers do before: keys of length one, gates of what a projection gives.
static DrawnRecurrence makeGatedLayer(bool transposed) {
  LayerMaker make("gated_layer", transposed);
  Term q = make.input("q", {"K"}), k = make.input("k", {"K"}), v = make.input("v", {"V"}), a = make.input("a", {}),
       b = make.input("b", {});
  make.addMatrix();
  Term key = name("key", {"K"}), query = name("query", {"K"}), beta = name("beta", {});
  auto unit = [](const Term &of) { return div(of, applied("sqrt", add(dot(of, of), number(1e-6)))); };
  make.stage({{let("key", l2norm(k)), let("query", l2norm(q))}, {let("query", unit(q)), let("key", unit(k))}});
  make.stage({{let("beta", applied("sigmoid", b))}});
  make.stage(make.listPostUpdates(decaysOf(listGates(a)), key, v, beta, key));
  make.addOutput(query);
  return make.layer;
}

static DrawnRecurrence makeKDA(bool transposed) {
  LayerMaker make("kda", transposed);
  Term q = make.input("q", {"K"}), k = make.input("k", {"K"}), v = make.input("v", {"V"}), g = make.input("g", {"K"}),
       beta = make.input("beta", {});
  make.addMatrix();
  make.stage(make.listPostUpdates(decaysOf({applied("exp", g)}), k, v, beta, k));
  make.addOutput(q);
  return make.layer;
}

static DrawnRecurrence makeKDALayer(bool transposed) {
  LayerMaker make("kda_layer", transposed);
  Term q = make.input("q", {"K"}), k = make.input("k", {"K"}), v = make.input("v", {"V"}), a = make.input("a", {"K"}),
       beta = make.input("beta", {});
  make.addMatrix();
  make.stage(make.listPostUpdates(decaysOf(listGates(a)), k, v, beta, k));
  make.addOutput(q);
  return make.layer;
}

static DrawnRecurrence makeMamba2(bool transposed) {
  LayerMaker make("mamba2", transposed);
  Term q = make.input("q", {"K"}, true), k = make.input("k", {"K"}, true), v = make.input("v", {"V"}),
       dt = make.input("dt", {}), A = make.param("A", {});
  make.addMatrix();
  Term rate = applied("exp", A);
  make.stage(make.listWrites(decaysOf({applied("exp", mul(neg(rate), dt)), applied("exp", neg(mul(dt, rate))),
                                       applied("exp", mul(dt, neg(rate)))}),
                             k, v, dt));
  make.addOutput(q);
  return make.layer;
}

static DrawnRecurrence makeGLA(bool transposed) {
  LayerMaker make("gla", transposed);
  Term q = make.input("q", {"K"}), k = make.input("k", {"K"}), v = make.input("v", {"V"}), g = make.input("g", {"K"});
  make.addMatrix();
  make.stage(make.listWrites(decaysOf({applied("exp", g)}), k, v, nullptr));
  make.addOutput(q);
  return make.layer;
}

static DrawnRecurrence makeRWKV7(bool transposed) {
  LayerMaker make("rwkv7", transposed);
  Term r = make.input("r", {"K"}), w = make.input("w", {"K"}), k = make.input("k", {"K"}), v = make.input("v", {"V"}),
       kappa = make.input("kappa", {"K"}), a = make.input("a", {"K"});
  make.addMatrix();
  const MatrixState &m = make.matrix;
  const Term &s = m.state;
  Term decayed = m.decay(s, {nullptr, applied("exp", w), nullptr}), removal = mul(a, kappa),
       old = name("old", s->shape), sa = name("sa", {"V"}), b = name("b", {"K"});
  make.stage({{assign("S", add(sub(decayed, m.write(m.read(s, kappa), removal)), m.write(v, k)))},
              {assign("S", sub(add(decayed, m.write(v, k)), m.write(m.read(s, kappa), mul(kappa, a))))},
              {let("sa", m.read(s, neg(kappa))), let("b", mul(kappa, a)),
               assign("S", add(add(decayed, m.write(sa, b)), m.write(v, k)))},
              {let("sa", neg(m.read(s, kappa))), assign("S", decayed), assign("S", add(s, m.write(sa, removal))),
               assign("S", add(s, m.write(v, k)))},
              {let("old", s), assign("S", decayed),
               assign("S", add(sub(s, m.write(m.read(old, kappa), removal)), m.write(v, k)))}});
  make.addOutput(r);
  return make.layer;
}

static DrawnRecurrence makeComba(bool transposed) {
  LayerMaker make("comba", transposed);
  Term q = make.input("q", {"K"}), k = make.input("k", {"K"}), v = make.input("v", {"V"}), g = make.input("g", {}),
       beta = make.input("beta", {}), erase = make.input("erase", {}), d = make.param("d", {});
  make.addMatrix();
  const MatrixState &m = make.matrix;
  const Term &s = m.state;
  Term decayed = m.decay(s, {applied("exp", g), nullptr, nullptr}), u = name("u", {"V"});
  make.stage({{assign("S", add(decayed, m.write(sub(mul(beta, v), mul(erase, m.read(s, k))), k)))},
              {assign("S", add(decayed, m.write(sub(mul(v, beta), m.read(s, mul(erase, k))), k)))},
              {assign("S", sub(add(decayed, mul(beta, m.write(v, k))), mul(erase, m.write(m.read(s, k), k))))},
              {let("u", sub(mul(beta, v), mul(erase, m.read(s, k)))), assign("S", decayed),
               assign("S", add(s, m.write(u, k)))},
              {let("u", m.read(s, k)), assign("S", add(decayed, m.write(sub(mul(beta, v), mul(u, erase)), k)))}});
  Term scale = name("scale", {}), query = name("query", {"K"});
  make.layer.outputs.push_back("o");
  make.stage({{output("o", mul(scale, m.read(s, sub(q, mul(d, k)))))},
              {output("o", m.read(s, mul(scale, sub(q, mul(k, d)))))},
              {let("query", sub(q, mul(d, k))), output("o", mul(m.read(s, query), scale))},
              {let("query", mul(scale, sub(q, mul(d, k)))), output("o", m.read(s, query))}});
  return make.layer;
}

static DrawnRecurrence makePGDN(bool transposed) {
  LayerMaker make("pgdn", transposed);
  Term q = make.input("q", {"K"}), k = make.input("k", {"K"}), v = make.input("v", {"V"}), g = make.input("g", {}),
       beta = make.input("beta", {}), gp = make.input("g_p", {}), betaP = make.input("beta_p", {}),
       mu = make.param("mu", {});
  Term a = make.state("A", {"K"}, StateClass::Diagonal), r = name("r", {"K"}), B = name("B", {"K"});
  make.addMatrix();
  Term decayed = mul(applied("exp", gp), a);
  make.stage({{assign("A", add(decayed, mul(mul(betaP, k), k)))},
              {assign("A", add(decayed, mul(betaP, mul(k, k))))},
              {assign("A", decayed), assign("A", add(a, mul(k, mul(betaP, k))))}});
  Term ofA = sub(applied("log", add(a, number(1e-6))), mu);
  make.stage({{let("r", ofA),
               let("B", applied("exp", div(mul(number(-0.4054651081), r), add(number(1), applied("abs", r)))))}});
  make.stage(make.listPostUpdates(decaysOf({applied("exp", g)}), k, v, beta, mul(B, k)));
  make.addOutput(q);
  return make.layer;
}

static DrawnRecurrence makeDeltaProduct(bool transposed) {
  LayerMaker make("delta_product", transposed);
  make.layer.dims.push_back({"N", 2});
  Term q = make.input("q", {"K"}), k = make.input("k", {"N", "K"}), v = make.input("v", {"N", "V"}),
       beta = make.input("beta", {"N"}), g = make.input("g", {});
  make.addMatrix();
  const MatrixState &m = make.matrix;
  const Term &s = m.state;
  make.stage({{assign("S", m.decay(s, {applied("exp", g), nullptr, nullptr}))}});
  Term j = name("j", {});
  auto listSteps = [&](const Term &number) {
    Term key = index(k, number), value = index(v, number), gain = index(beta, number);
    return std::vector<Term>{add(s, mul(gain, m.write(sub(value, m.read(s, key)), key))),
                             add(s, m.write(mul(gain, sub(value, m.read(s, key))), key)),
                             add(s, m.write(sub(value, m.read(s, key)), mul(gain, key))),
                             sub(s, mul(gain, m.write(sub(m.read(s, key), value), key)))};
  };
  Forms forms;
  for (const Term &step : listSteps(j))
    forms.push_back(
        {{.kind = Item::Kind::For, .name = "j", .begin = number(0), .end = dimName("N"), .body = {assign("S", step)}}});
  for (auto [one, other] : llvm::zip(listSteps(number(0)), listSteps(number(1))))
    forms.push_back({assign("S", one), assign("S", other)});
  make.stage(std::move(forms));
  make.addOutput(q);
  return make.layer;
}

static constexpr DrawnRecurrence (*makers[])(bool transposed) = {
    makeDeltaNet, makeGatedDeltaNet, makeGatedLayer, makeKDA,  makeKDALayer,    makeMamba2,
    makeGLA,      makeRWKV7,         makeComba,      makePGDN, makeDeltaProduct};

unsigned property::countLayers() { return std::size(makers); }
DrawnRecurrence property::makeLayer(unsigned number, bool transposed) { return makers[number](transposed); }

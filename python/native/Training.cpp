#include "Training.h"
#include "Errors.h"

namespace nb = nanobind;
using namespace recur::python;

static constexpr size_t mostGradients = 8;

void KnownCall::setLeft(recur_call &call, Places &places, const std::vector<void *> &data, bool takesValues) const {
  if (left.empty())
    return;
  for (size_t i = 0; i < states; ++i) {
    places.handed[i] = nullptr;
    places.kept[i] = nullptr;
  }
  for (size_t i = 0; i < left.size(); ++i) {
    if (left[i].slot == states) { // what is no state
      call.handed_values = takesValues ? data[i] : nullptr;
      continue;
    }
    places.handed[left[i].slot] = data[i];
    places.kept[left[i].slot] = static_cast<float *>(data[i]);
  }
  if (keptInterval) {
    call.kept_interval = keptInterval;
    call.kept_states = places.kept;
  } else {
    call.handed_states = places.handed;
  }
}

nb::tuple Training::run() {
  if (!slots)
    raise("Error", "a call whose gradients are wanted is made once");
  std::unique_ptr<Slots> given = std::move(slots);
  recur_call call = plan->forward.call;
  std::vector<void *> data;
  std::vector<nb::object> left;
  for (const Made &one : plan->left) {
    nb::dlpack::dltensor tensor = {};
    left.push_back(one.make());
    if (!describe(left.back().ptr(), tensor))
      raise("Error", "PyTorch does not say where a tensor lies that it made");
    data.push_back(getData(tensor));
  }
  KnownCall::Places places;
  plan->setLeft(call, places, data);
  std::vector<nb::object> made(plan->forward.made.size());
  if (!plan->forward.perform(call, *given, offsets, made.data(), /*backward=*/false))
    raise("Error", "PyTorch does not say where a tensor lies that it made");
  nb::list results, saved;
  for (nb::object &result : made)
    results.append(std::move(result));
  size_t firstOutput = plan->forward.arguments.size() - plan->outputs - plan->states;
  for (size_t i = 0; i < firstOutput; ++i)
    if (given->objects[i])
      saved.append(nb::handle(given->objects[i]));
  for (int i = 0; i < offsets.count; ++i)
    saved.append(nb::handle(offsets.objects[i]));
  for (nb::object &one : left)
    saved.append(std::move(one));
  return nb::make_tuple(nb::tuple(results), nb::tuple(saved));
}

bool Training::makeKey(Key &key, Slots &found, Offsets &bounds, std::vector<void *> &left, nb::tuple saved,
                       nb::tuple cotangents, nb::tuple wanted) const {
  const Plan &forward = plan->forward;
  size_t given = forward.arguments.size() - plan->outputs - plan->states, at = 0, kept = plan->left.size();
  size_t results = plan->outputs + (plan->makesFinals ? plan->states : 0);
  if (saved.size() < kept || cotangents.size() != results)
    return false;
  auto add = [&](PyObject *object, int64_t mark) {
    if (!found.add(object))
      return false;
    void *&data = found.data[found.count - 1];
    data = nullptr;
    return object ? key.addTensor(object, data, mark) : key.add(-1);
  };
  for (size_t i = 0; i < given; ++i) {
    if (!forward.arguments[i].data) { // an initial state that there is none of
      if (!add(nullptr, 0))
        return false;
      continue;
    }
    if (at + kept >= saved.size() || at + 1 >= wanted.size() ||
        !add(nb::handle(saved[at]).ptr(), wanted[at + 1].is(nb::bool_(true))))
      return false;
    ++at;
  }
  for (size_t i = 0; i < plan->outputs + plan->states; ++i) {
    nb::object cotangent = i < results ? nb::object(cotangents[i]) : nb::none();
    if (!add(cotangent.is_none() ? nullptr : cotangent.ptr(), 0))
      return false;
  }
  while (at + kept < saved.size() && bounds.count < 2)
    bounds.objects[bounds.count++] = nb::handle(saved[at++]).ptr();
  if (at + kept != saved.size() || !bounds.addTo(key))
    return false;
  for (; at < saved.size(); ++at) {
    left.push_back(nullptr);
    if (!key.addTensor(nb::handle(saved[at]).ptr(), left.back()))
      return false;
  }
  return !key.isFull();
}

nb::object Training::derive(nb::tuple saved, nb::tuple cotangents, nb::tuple wanted) {
  nb::object unknown = nb::borrow(Py_NotImplemented);
  Key key;
  Slots found;
  Offsets bounds;
  std::vector<void *> left;
  if (!makeKey(key, found, bounds, left, saved, cotangents, wanted))
    return unknown;
  std::shared_ptr<KnownCall::Gradient> known;
  for (const std::shared_ptr<KnownCall::Gradient> &one : plan->gradients)
    if (!known && one->plan.isKnownBy(key))
      known = one;
  if (!known || !known->plan.isHere())
    return unknown;
  recur_call call = known->plan.call;
  KnownCall::Places places;
  if (known->takesLeft)
    plan->setLeft(call, places, left, known->takesValues);
  std::vector<nb::object> made(known->plan.made.size());
  if (!known->plan.perform(call, found, bounds, made.data(), /*backward=*/true))
    return unknown;
  nb::object gradients = own(PyTuple_New(Py_ssize_t(wanted.size())));
  size_t next = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    bool isWanted = wanted[i].is(nb::bool_(true));
    nb::object gradient = isWanted ? std::move(made[next++]) : nb::none();
    PyTuple_SetItem(gradients.ptr(), Py_ssize_t(i), gradient.release().ptr());
  }
  return gradients;
}

void Training::learn(const Call &call, nb::object kernel, nb::tuple saved, nb::tuple cotangents, nb::tuple wanted,
                     nb::list gradients, int64_t workspaceBytes, size_t taken) {
  Key key;
  Slots found;
  Offsets bounds;
  std::vector<void *> left;
  const std::vector<recur_argument> &arguments = call.getArguments();
  if (!call.isRepeatable() || !makeKey(key, found, bounds, left, saved, cotangents, wanted) || gradients.size() == 0)
    return;
  size_t before = found.count; // what is given; behind it come gradients of what is given but cotangents
  size_t given = plan->forward.arguments.size() - plan->outputs - plan->states;
  if (arguments.size() != before + given || arguments.size() > Slots::most)
    return;
  for (size_t i = 0; i < before; ++i)
    if (found.data[i] != arguments[i].data)
      return; // the call was made on a copy
  auto gradient = std::make_shared<KnownCall::Gradient>();
  gradient->takesLeft = taken > 0;
  gradient->takesValues = taken == plan->left.size();
  gradient->plan.learn(key, call, kernel, gradients[0], workspaceBytes);
  size_t next = 0;
  for (size_t i = 0, at = 0; i < given; ++i) {
    bool isThere = plan->forward.arguments[i].data, isWanted = isThere && wanted[++at].is(nb::bool_(true));
    if (isWanted != (arguments[before + i].data != nullptr) || (isWanted && next == gradients.size()))
      return;
    if (isWanted)
      gradient->plan.made.push_back(Made::like(before + i, gradients[next++]));
  }
  if (next != gradients.size())
    return;
  plan->gradients.insert(plan->gradients.begin(), std::move(gradient));
  if (plan->gradients.size() > mostGradients)
    plan->gradients.pop_back();
}

// What the gradients of params have to do with what states start as: the gradient of the recurrence that makes the
// starts, of the gradients of the initial states.
#include "Runtime/Common/Machine.h"
#include "Runtime/Common/Starts.h"

using namespace recur::runtime;

recur_status recur::runtime::addStartGradients(const Call &resolved) {
  const recur_recurrence *start = resolved.recurrence->start;
  if (!resolved.startBytes || !start->gradient)
    return RECUR_OK;
  StartLayout layout = makeStartLayout(resolved);
  recur_argument arguments[mostGradientArguments] = {};
  int32_t count = 0;
  bool isMadeOf = false, isTrained = false;
  char *space = getStartSpace(resolved), *more = space + layout.params;
  auto kindOf = [&](int64_t i) { return start->arrays[i].kind; };
  abi::forEachArray(abi::gradientRoles, start->array_count, kindOf, [&](const abi::RoleFacts &facts, int64_t i) {
    const recur_array_info &info = start->arrays[i];
    recur_argument &argument = arguments[count++];
    const Argument *own = findStart(resolved, facts.role, info);
    if (facts.role == Role::Param) {
      argument = {own->data, {own->strides[0], own->strides[1], own->strides[2]}};
    } else if (facts.role == Role::FinalCotangent) {
      own = findStart(resolved, Role::InitialGradient, info);
      if (!isMade(resolved, *findStart(resolved, Role::Initial, info)) || !own->data)
        return;
      isMadeOf = true;
      argument = {own->data, {own->strides[0], own->strides[1], own->strides[2]}};
    } else if (facts.role == Role::ParamGradient) {
      if (own->data) {
        isTrained = true;
        argument.data = more;
      }
      more += roundUp(own->elements * own->counts[2] * int64_t(sizeof(float)));
    }
  });
  if (!isMadeOf || !isTrained)
    return RECUR_OK;
  recur_call call = describeStarts(resolved);
  call.arguments = arguments;
  call.argument_count = count;
  call.workspace = space + layout.workspace;
  call.workspace_bytes = layout.end - layout.workspace;
  if (recur_status status = recur_backward(start, &call))
    return status;
  more = space + layout.params;
  for (int32_t i = 0; i < start->array_count; ++i) {
    if (start->arrays[i].kind != RECUR_PARAM)
      continue;
    const Argument &gradient = *findStart(resolved, Role::ParamGradient, start->arrays[i]);
    if (gradient.data)
      if (recur_status status = resolved.machine->addTo(resolved, gradient, more))
        return status;
    more += roundUp(gradient.elements * gradient.counts[2] * int64_t(sizeof(float)));
  }
  return RECUR_OK;
}

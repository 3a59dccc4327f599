#include "Runtime/Common/Gradients.h"

using namespace recur::runtime;

GradientArguments::GradientArguments(const Call &call) {
  for (int32_t i = 0; i < call.recurrence->array_count; ++i)
    switch (call.recurrence->arrays[i].kind) {
    case RECUR_INPUT:
      ++inputs;
      break;
    case RECUR_PARAM:
      ++params;
      break;
    case RECUR_STATE:
      ++states;
      break;
    default: // an output
      ++outputs;
    }
  input = call.arguments;
  param = input + inputs;
  initial = param + params;
  outputCotangent = initial + states;
  finalCotangent = outputCotangent + outputs;
  inputGradient = finalCotangent + states;
  paramGradient = inputGradient + inputs;
  initialGradient = paramGradient + params;
}

/// The declaration of this kind at the place among its like.
static const recur_array_info &getInfo(const recur_recurrence *recurrence, int32_t kind, int32_t place) {
  const recur_array_info *info = recurrence->arrays;
  for (;; ++info)
    if (info->kind == kind && place-- == 0)
      return *info;
}

bool recur::runtime::isLeftOut(const recur_recurrence *recurrence, const recur_array_info *info) {
  for (int32_t i = 0; i < recurrence->gradient->without_count; ++i)
    if (&recurrence->arrays[recurrence->gradient->without[i]] == info)
      return true;
  return false;
}

const recur_array_info &recur::runtime::getCarriedInfo(const recur_recurrence *recurrence, int32_t carried) {
  return carried >= 0 ? getInfo(recurrence, RECUR_STATE, carried) : getInfo(recurrence, RECUR_PARAM, -1 - carried);
}

bool recur::runtime::needsStates(const Call &call) {
  return call.recurrence->gradient->kept_count && !call.call->kept_interval && !handsOver(call);
}

bool recur::runtime::hasAllKept(const Call &call) {
  return handsOver(call) || call.call->kept_interval == call.recurrence->gradient->chunk;
}

int32_t recur::runtime::getKeptType(const recur_gradient_info &gradient, int32_t place) {
  return gradient.kept_dtypes ? gradient.kept_dtypes[place] : int32_t(RECUR_F32);
}

int32_t recur::runtime::findKeptPlace(const recur_gradient_info &gradient, int32_t state) {
  for (int32_t place = 0; place < gradient.kept_count; ++place)
    if (gradient.kept[place] == state)
      return place;
  return -1;
}

bool recur::runtime::carriesStates(const recur_recurrence *recurrence) {
  for (int32_t i = 0; i < recurrence->gradient->carried_count; ++i)
    if (recurrence->gradient->carried[i] >= 0)
      return true;
  return false;
}

double recur::runtime::countGradientBytes(const Call &call) {
  double bytes = 0;
  for (int32_t i = 0; i < call.recurrence->array_count; ++i) {
    const recur_array_info &info = call.recurrence->arrays[i];
    double each = double(countElements(info) * getElementBytes(info));
    double heads = double(info.shared ? call.groups : call.heads);
    bool hasTokens = info.kind == RECUR_INPUT || info.kind == RECUR_OUTPUT;
    bytes += 2 * each * heads * (hasTokens ? double(call.call->B) * double(call.call->T) : double(call.sequences));
  }
  return bytes;
}

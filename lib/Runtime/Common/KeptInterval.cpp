// The interval of kept states that a budget of bytes allows.
#include "Runtime/Common/Call.h"

using namespace recur::runtime;

int64_t recur_choose_kept_interval(const recur_recurrence *recurrence, const recur_call *call, int64_t bytes) {
  recur_call plain = call ? *call : recur_call();
  plain.kept_interval = 0;
  Call resolved;
  resolved.isBackward = true;
  if (resolveSizes(resolved, recurrence, call ? &plain : nullptr) != RECUR_OK)
    return -1;
  recurrence = resolved.recurrence;
  int64_t elements = 0;
  for (int32_t i = 0; i < recurrence->array_count; ++i)
    if (const recur_array_info &info = recurrence->arrays[i]; info.kind == RECUR_STATE)
      elements += countElements(info);
  double rowBytes = double(elements) * double(sizeof(float)) * double(resolved.heads);
  int64_t chunk = recurrence->gradient->chunk, most = call->T / chunk + 1; // with which each sequence has one row
  auto fits = [&](int64_t chunks) {
    plain.kept_interval = chunks * chunk;
    return double(countKeptRows(resolved, resolved.sequences)) * rowBytes <= double(bytes);
  };
  if (bytes < 0 || !fits(most))
    return 0;
  int64_t least = 1; // more tokens between rows are no more rows
  while (least < most) {
    int64_t middle = least + (most - least) / 2;
    if (fits(middle))
      most = middle;
    else
      least = middle + 1;
  }
  return most * chunk;
}

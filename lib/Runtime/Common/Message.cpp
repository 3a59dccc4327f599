#include "Runtime/Common/Message.h"
#include <cstdarg>
#include <cstdio>

static thread_local char message[512] = "no call of this thread has failed";

recur_status recur::runtime::fail(recur_status status, const char *format, ...) {
  va_list values;
  va_start(values, format);
  vsnprintf(message, sizeof message, format, values);
  va_end(values);
  return status;
}

void recur::runtime::warnOfVariable(const char *variable, const char *text, const char *format, ...) {
  static const char *warned[4]; // variables are string constants
  for (const char *&one : warned) {
    const char *none = nullptr;
    if (__atomic_compare_exchange_n(&one, &none, variable, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
      break;
    if (none == variable)
      return;
  }
  char why[256];
  va_list values;
  va_start(values, format);
  vsnprintf(why, sizeof why, format, values);
  va_end(values);
  fprintf(stderr, "recur: warning: %s is '%.64s' and is ignored: %s\n", variable, text, why);
}

const char *recur_message(void) { return message; }

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

const char *recur_message(void) { return message; }

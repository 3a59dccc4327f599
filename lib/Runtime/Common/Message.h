// The message of a status that is not RECUR_OK.
#pragma once
#include "recur/Runtime.h"

namespace recur::runtime {

/// Keeps the formatted text for recur_message, and gives back the status.
__attribute__((format(printf, 2, 3))) recur_status fail(recur_status status, const char *format, ...);

/// Says on stderr, once for each variable, that what the environment has in it is ignored.
__attribute__((format(printf, 3, 4))) void warnOfVariable(const char *variable, const char *text, const char *format,
                                                          ...);

} // namespace recur::runtime

/* What the machine can do at most, measured. */
#pragma once
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
/* Float32 multiply-adds in registers: floating-point operations done, for the time to be taken. */
double run_multiply_adds(void);
/* Copies between two arrays beyond the caches: bytes read and written. */
double run_copy(void *to, const void *from, int64_t bytes);
/* Multiplies an array beyond the caches in place, as the plan step does its states: bytes read and written. */
double run_update(float *data, int64_t count);
#ifdef __cplusplus
}
#endif

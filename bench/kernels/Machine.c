#include "Machine.h"
#include <string.h>

#ifdef __AVX512F__
enum { LANES = 16 };
#else
enum { LANES = 8 };
#endif
typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));
enum { CHAINS = 12, ROUNDS = 200000 };

double run_multiply_adds(void) {
  lanes sums[CHAINS], factor = {0}, term = {0};
  for (int i = 0; i < CHAINS; ++i)
    sums[i] = (lanes){0} + (float)i;
  factor += 0.999f;
  term += 0.001f;
  for (int round = 0; round < ROUNDS; ++round)
    for (int i = 0; i < CHAINS; ++i) {
      sums[i] = sums[i] * factor + term;
      __asm__ volatile("" : "+v"(sums[i])); /* each is needed */
    }
  volatile float sink = 0;
  for (int i = 0; i < CHAINS; ++i)
    sink += sums[i][0];
  return 2.0 * LANES * CHAINS * ROUNDS;
}

double run_copy(void *to, const void *from, int64_t bytes) {
  memcpy(to, from, (size_t)bytes);
  __asm__ volatile("" : : "r"(to) : "memory"); /* it is needed */
  return 2.0 * (double)bytes;
}

double run_update(float *data, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    data[i] *= 0.999f;
  __asm__ volatile("" : : "r"(data) : "memory");
  return 2.0 * sizeof(float) * (double)count;
}

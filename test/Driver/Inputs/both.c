/* What a library for processors and a GPU says of itself, and that a call on a GPU is not run on memory of the host. */
#include "both.h"
#include <stdio.h>

int main(void) {
  static float data[64 * 16], space[16];
  const recur_recurrence *one;
  gated_delta_net_args args;
  recur_status status;
  for (one = &gated_delta_net_recurrence; one; one = one->next) {
    printf("%s %s", one->target, one->device == RECUR_CUDA ? "gpu" : "cpu");
    if (one->device == RECUR_CUDA)
      printf(" %d", (int)(one->features & ~RECUR_EXACT_CAPABILITY));
    printf("\n");
  }
  memset(&args, 0, sizeof args);
  args.B = args.T = args.H = 1;
  args.q = args.k = args.v = args.g = args.beta = data;
  args.o = space;
  args.device = RECUR_CUDA;
  status = gated_delta_net_forward(&args);
  printf("memory of the host: %s\n", status == RECUR_OK ? "taken" : "refused");
  return 0;
}

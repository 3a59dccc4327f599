/* What the kernels of gradients are compared with. */
#pragma once
#include <stdint.h>

#ifndef PLAIN_K
#define PLAIN_K 128
#define PLAIN_V 128
#endif

/* One head: dense arrays of so many tokens, at least one. */
typedef struct plain_gradient {
  int64_t tokens;
  const float *q, *k, *v, *g, *beta, *d_o;
  float *d_q, *d_k, *d_v, *d_g, *d_beta;
} plain_gradient;

void plain_gated_delta_net(const plain_gradient *p);
void plain_mamba2(const plain_gradient *p);

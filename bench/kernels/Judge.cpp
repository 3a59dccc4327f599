#include "Judge.h"
#include "BlasChunk.h"
#include "PlainLoops.h"
#include <algorithm>
#include <cmath>

using namespace recur::bench;

/// Outputs of the head's tokens, [tokens, V].
static std::vector<double> judge(const bench_form &form, const bench_head &head, int64_t K, int64_t V) {
  auto width = size_t(K);
  std::vector<double> S(size_t(K * V), 0), sums(width, 0), decay(width, 1), write(width), out;
  for (int64_t t = 0; t < head.tokens; ++t) {
    const float *q = head.q + t * head.heads * K, *k = head.k + t * head.heads * K, *v = head.v + t * head.heads * V;
    auto at = [&](const float *gate) { return double(gate[t * head.heads]); };
    for (size_t c = 0; c < width; ++c) {
      if (form.decay != NO_DECAY)
        decay[c] = std::exp(form.decay == HEAD_DECAY    ? double(head.log_gamma)
                            : form.decay == TOKEN_DECAY ? at(head.g)
                                                        : double(head.g[t * head.heads * K + int64_t(c)]));
      write[c] = k[c];
      if (form.is_preconditioned) {
        sums[c] = std::exp(at(head.g_p)) * sums[c] + at(head.beta_p) * k[c] * k[c];
        double r = std::log(sums[c] + double(PRECONDITIONER_EPSILON)) - head.mu;
        write[c] *= std::exp(-std::log(double(PRECONDITIONER_X)) * r / (1 + std::abs(r)));
      }
    }
    for (int64_t i = 0; i < V; ++i) {
      double *row = S.data() + i * K, read = 0, u = v[i];
      for (size_t c = 0; c < width; ++c)
        row[c] *= decay[c];
      if (form.is_delta) {
        for (size_t c = 0; c < width; ++c)
          u -= row[c] * k[c];
        u *= at(head.beta);
      }
      for (size_t c = 0; c < width; ++c) {
        row[c] += u * write[c];
        read += row[c] * q[c];
      }
      out.push_back(form.is_scaled ? read / std::sqrt(double(K)) : read);
    }
  }
  return out;
}

static double compare(const std::vector<float> &values, const std::vector<float> &others) {
  double difference = 0, size = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    difference += std::pow(double(values[i]) - double(others[i]), 2);
    size += std::pow(double(values[i]), 2);
  }
  return std::sqrt(difference / size);
}

double recur::bench::measureError(const Shape &shape) {
  std::vector<float> other;
  if (shape.plan == RECUR_PLAN_SEGMENT) {
    Shape chunk = shape;
    chunk.plan = RECUR_PLAN_CHUNK;
    Problem problem(chunk);
    problem.run();
    other = problem.getOutput(shape.T);
  }
  Problem problem(shape);
  problem.run();
  int64_t tokens = std::min<int64_t>(shape.T, 512), V = shape.kernel->V;
  std::vector<float> got = problem.getOutput(tokens);
  std::vector<double> expected = judge(*shape.kernel->form, problem.getHead(0, tokens, got.data()), shape.kernel->K, V);
  double difference = 0, size = 0;
  for (int64_t t = 0; t < tokens; ++t)
    for (int64_t i = 0; i < V; ++i) {
      double value = expected[size_t(t * V + i)];
      difference += std::pow(double(got[size_t(t * shape.H * V + i)]) - value, 2);
      size += value * value;
    }
  double error = std::sqrt(difference / size);
  return other.empty() ? error : std::max(error, compare(problem.getOutput(shape.T), other));
}

void recur::bench::runPeer(Peer peer, const Shape &shape, const Problem &problem, std::vector<float> &output) {
  const Kernel &kernel = *shape.kernel;
  static std::vector<float> state;
  state.resize(size_t(kernel.K * kernel.V));
  const auto form = size_t(kernel.form - getForms().data());
  for (int64_t h = 0; h < shape.H; ++h) {
    bench_head head = problem.getHead(h, shape.T, output.data());
    if (peer == Peer::Blas)
      blas_chunk(kernel.form, &head, int(kernel.K), int(kernel.V), state.data());
    else
      (peer == Peer::Fast ? plain_fast : plain_strict)[form](&head, state.data());
  }
}

double recur::bench::measureDifference(Peer peer, const Shape &shape) {
  Problem problem(shape);
  problem.run();
  std::vector<float> kernel = problem.getOutput(shape.T), other(kernel.size());
  runPeer(peer, shape, problem, other);
  return compare(kernel, other);
}

// What compute-sanitizer's racecheck sees of barriers with phases. A warp fills two stages of shared memory and four
// warps add them up, in the ways in which the roles of a kernel meet (docs/log/hopper.md, "racecheck"). All but way
// 4 are right by PTX's memory model; way 2 is reported all the same.
//   nvcc -gencode=arch=compute_90a,code=sm_90a -std=c++17 racecheck.cu -o racecheck
//   compute-sanitizer --tool racecheck --racecheck-report all ./racecheck 2
#include <cstdint>
#include <cstdio>
constexpr int rounds = 16, width = 128;
__device__ uint32_t at(void *p) { return (uint32_t)__cvta_generic_to_shared(p); }
__device__ void init(uint64_t *b, int n) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at(b)), "r"(n) : "memory");
}
__device__ void arrive(uint64_t *b) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at(b)) : "memory");
}
__device__ void wait(uint64_t *b, int parity) {
  asm volatile("{\n.reg .pred p;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@p bra done;\nbra "
               "again;\ndone:\n}" ::"r"(at(b)),
               "r"(parity)
               : "memory");
}
// WAY 0: __syncthreads. 1: all threads arrive. 2: one of a warp arrives, behind __syncwarp. 3: as 1, but copies by
// cp.async whose end arrives. 4: nothing, which is wrong. 5: as 1, and a third party hands the filled stage on. 6: as 3
// and 5.
template <int WAY> __global__ void run(const float *in, float *out) {
  __shared__ float stage[2][width];
  __shared__ uint64_t full[2], empty[2], come[2];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  constexpr bool elected = WAY == 2, copies = WAY == 3 || WAY == 6, handed = WAY >= 5;
  if (threadIdx.x == 0)
    for (int s = 0; s < 2; ++s) {
      init(&come[s], 32), init(&full[s], elected ? 1 : 32), init(&empty[s], elected ? 4 : 128);
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < rounds; ++i) {
    int s = i % 2, phase = i / 2 % 2;
    if (warp == 4) {
      if (WAY && WAY != 4 && i >= 2)
        wait(&empty[s], phase ^ 1);
      for (int c = lane * 4; c < width; c += 128) {
        const float *from = in + i * width + c;
        if (copies)
          asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at(&stage[s][c])), "l"(from) : "memory");
        else
          for (int j = 0; j < 4; ++j)
            stage[s][c + j] = from[j];
      }
      uint64_t *to = handed ? &come[s] : &full[s];
      if (copies)
        asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(at(to)) : "memory");
      else if (elected) {
        __syncwarp();
        if (lane == 0)
          arrive(to);
      } else if (WAY && WAY != 4)
        arrive(to);
    }
    if (warp == 5 && handed) {
      wait(&come[s], phase);
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      arrive(&full[s]);
    }
    if (WAY == 0)
      __syncthreads();
    if (warp < 4) {
      if (WAY && WAY != 4)
        wait(&full[s], phase);
      sum += stage[s][threadIdx.x];
      if (elected) {
        __syncwarp();
        if (lane == 0)
          arrive(&empty[s]);
      } else if (WAY && WAY != 4)
        arrive(&empty[s]);
    }
    if (WAY == 0)
      __syncthreads();
  }
  if (warp < 4)
    out[threadIdx.x] = sum;
}
int main(int argc, char **argv) {
  int way = argc == 2 ? argv[1][0] - '0' : -1;
  if (way < 0 || way > 6)
    return printf("usage: racecheck WAY, from 0 to 6\n"), 1;
  float *in, *out;
  cudaMallocManaged(&in, rounds * width * 4), cudaMallocManaged(&out, width * 4);
  for (int i = 0; i < rounds * width; ++i)
    in[i] = i / width + 1;
  void (*ways[])(const float *, float *) = {run<0>, run<1>, run<2>, run<3>, run<4>, run<5>, run<6>};
  ways[way]<<<1, 192>>>(in, out);
  cudaError_t e = cudaDeviceSynchronize();
  bool right = true;
  for (int i = 0; i < width; ++i)
    right &= out[i] == rounds * (rounds + 1) / 2;
  printf("way %d: %s, %s\n", way, cudaGetErrorString(e), right ? "right" : "wrong");
}

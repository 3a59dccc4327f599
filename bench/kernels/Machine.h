/* What the machine can do at most, measured. */
#ifndef RECUR_BENCH_MACHINE_H
#define RECUR_BENCH_MACHINE_H
#ifdef __cplusplus
extern "C" {
#endif
/* Float32 multiply-adds in registers: floating-point operations done, for the time to be taken. */
double run_multiply_adds(void);
#ifdef __cplusplus
}
#endif
#endif

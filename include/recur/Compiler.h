/* The compiler as a library: the text of a specification and options in, bytes and diagnostics out. C99 and C++; link
 * `Recur::compiler`. Nothing is printed, nothing exits, no file of the caller's is touched, and every function may be
 * called from several threads at the same time. Kernels of one compilation are compiled on threads of its own, which
 * are gone when it returns. */
#ifndef RECUR_COMPILER_H
#define RECUR_COMPILER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes whenever a struct below does. */
#define RECUR_COMPILER_VERSION 9

typedef struct recur_dim {
  const char *name;
  int64_t size;
} recur_dim;

typedef struct recur_constant {
  const char *name;
  double value;
} recur_constant;

/* Set it to zeros first, and `version` to RECUR_COMPILER_VERSION: what is left zero has the usual meaning. The words
 * are those that `recurc build` takes. */
typedef struct recur_compile_options {
  int32_t version;
  int32_t chunk;           /* tokens in a chunk: 16, 32, 64 or 128; 0 leaves it to the compiler */
  const char *source_name; /* in diagnostics and comments; null: "source" */
  const char *recurrence;  /* the only one to compile; null: all */
  const recur_dim *dims;   /* sizes of dims */
  int64_t dim_count;
  const recur_constant *constants; /* values of consts */
  int64_t constant_count;
  const char *target; /* null: "host"; or a comma list, among which a program chooses when it runs */
  const char *dtype;  /* null: "f32"; or "bf16", "f16", and others by name: "bf16,g=f32,beta=f32" */
  const char *plan;   /* null: "auto" */
  const char *prefix; /* before every name in C; null: none */
  /* A comma list of artifacts: "obj" (a relocatable object), "lib" (a static library), "so" (a shared object with the
   * runtime in it, which needs nothing but the C library), "header", "manifest" (JSON), "asm", "llvm", and of GPUs
   * "ptx", "cubin". Null: nothing but the diagnostics. */
  const char *emit;
  int32_t backward; /* not 0: kernels of the gradient too, which recur_backward calls */
  int32_t quick;    /* not 0: kernels for processors compile in a fifth of the time, and run slower */
  /* A comma list of the inputs, params and states whose gradients are wanted, where `backward` is not 0; null: all. */
  const char *gradients;
  /* Of recur_check, which also takes `backward`, for gradients in place of values: the start of the random numbers; the
   * lengths of the sequences, where there are any, in place of 0, 1, 5, 64, 65 and 200; and, where `hard` is not 0,
   * data with strong decays, large gains and keys that are much alike. */
  uint64_t seed;
  const int64_t *tokens;
  int64_t token_count;
  int32_t hard;
  /* Of recur_reference, beside these: how many sequences, heads and groups of heads there are, 0 for 2, 4 and as many
   * as heads; whether initial states are left out; and whether final states are, whose cotangents are zero then. */
  int64_t batch, heads, groups;
  int32_t starts_anew, forgets_final;
  int32_t summaries; /* not 0: for a GPU, kernels too that recur_summarise and its like call; processors have them */
  /* How a GPU multiplies what is made of float32 data. Null or "exact": with the digits of float32; "tf32": each factor
   * has 11 bits. Nothing to processors, nor to data of 16 bits. */
  const char *precision;
  int32_t trees; /* not 0: for a GPU, kernels too for calls with `parents`; processors have them */
} recur_compile_options;

typedef enum recur_compile_status {
  RECUR_COMPILED = 0,
  RECUR_REFUSED = 1, /* a mistake in the source or in the options */
  RECUR_FAULT = 3    /* a fault in the compiler */
} recur_compile_status;

typedef enum recur_severity { RECUR_ERROR = 0, RECUR_WARNING = 1, RECUR_NOTE = 2, RECUR_HELP = 3 } recur_severity;

/* A place in the source. Lines and columns count from 1, columns in bytes; 0: nowhere in it. */
typedef struct recur_place {
  int32_t line, column, end_line, end_column;
} recur_place;

/* What belongs to a diagnostic: a note, or what to write instead. */
typedef struct recur_remark {
  recur_severity severity; /* RECUR_NOTE or RECUR_HELP */
  recur_place place;
  const char *message;
  const char *replacement; /* of a help with a place: the text to put there; null where there is none */
} recur_remark;

typedef struct recur_diagnostic {
  recur_severity severity;
  recur_place place;
  const char *code; /* such as "R0107", which docs/errors explains; null where there is none */
  const char *file; /* the options' source_name; null for what is not about the source */
  const char *message;
  const recur_remark *remarks;
  int64_t remark_count;
} recur_diagnostic;

/* What came of a compilation. It owns everything that its functions return. */
typedef struct recur_compilation recur_compilation;

/* Compiles `bytes` bytes of text, which need not end in a zero. Null only where there is no memory for the result. */
recur_compilation *recur_compile(const char *source, int64_t bytes, const recur_compile_options *options);
/* What the text declares, without sizes: the artifact "json" is a list of recurrences. Each is an object with `name`;
 * `dims` (`name`, `size` or null, `has_default`); `consts` (`name`, `value` or null); `inputs`, `params`, `states` and
 * `outputs` in order (`name`, `shared`, `shape`: a list of numbers and names of dims, or null where the text leaves it
 * out; `has_start`, true, of a state that does not start as zero; and `complex`, of the real and the imaginary part of
 * a complex value, which come in turn: its name); and `has_implicit_states`: whether delays, convolutions or the count
 * of tokens have states that the text does not declare. How many these are depends on sizes: a kernel names them behind
 * the declared ones, in its manifest and in `recur_recurrence.arrays`. Of the options only `source_name` and
 * `recurrence` matter. */
recur_compilation *recur_describe(const char *source, int64_t bytes, const recur_compile_options *options);
/* What the compiler understood: the artifact "text" is what `recurc explain` prints, "json" a list of what its `--json`
 * gives for each recurrence. Dims need no size; with a target the report has the plans on it, and where `backward` is
 * not 0 the gradient. */
recur_compilation *recur_explain(const char *source, int64_t bytes, const recur_compile_options *options);
/* Every stage, and with a target its kernels, against the token-by-token interpreter, on drawn data: the artifact
 * "text" is the table that `recurc check` prints, "json" a list of what its `--json` gives for each recurrence, where
 * `pass` says whether all agree. Dims without a size get one, as a note says. */
recur_compilation *recur_check(const char *source, int64_t bytes, const recur_compile_options *options);
/* What a recurrence computes in float64 on drawn data, for whoever holds a kernel of their own against it. Of `tokens`
 * one length is of all sequences, and several are packed along T, in a batch of 1. The data are rounded to `dtype`, and
 * with `backward` there are cotangents and gradients too. Dims need sizes, and the options name one recurrence where
 * the text has several. The artifact "json" is a list of arrays: `role` (input, param, initial, output, final,
 * cotangent, final cotangent, gradient, initial gradient), `name`, `shape`, and `condition`: by how much more than the
 * data a result changes where each number of these changes by one rounding to float32. The artifact "values" has their
 * elements, doubles in row-major order, one array behind the other. */
recur_compilation *recur_reference(const char *source, int64_t bytes, const recur_compile_options *options);
/* Null is fine. */
void recur_compilation_free(recur_compilation *compilation);

recur_compile_status recur_compilation_status(const recur_compilation *compilation);
/* In the order of the source; those that are not about it come last. */
const recur_diagnostic *recur_compilation_diagnostics(const recur_compilation *compilation, int64_t *count);
/* The same as recurc prints them, with the lines of the source and carets. */
const char *recur_compilation_text(const recur_compilation *compilation);
/* Bytes, with a zero behind them; null for an artifact that was not asked for, or not made. `bytes` may be null. */
const char *recur_compilation_artifact(const recur_compilation *compilation, const char *artifact, int64_t *bytes);

/* The names of targets, such as "host", in the order of `recurc targets`; null beyond the last. */
const char *recur_compiler_target(int32_t index);
/* The version of the compiler. */
const char *recur_compiler_version(void);

#ifdef __cplusplus
}
#endif
#endif

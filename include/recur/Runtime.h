/* What a program needs beside the kernels that recurc compiled: C99 and C++, no LLVM.
 *
 * `recurc build` makes an object and a header for each recurrence. The header has a struct with a named field for each
 * array, and calls the functions below with it; include that header, and link `Recur::runtime`. What is here serves
 * programs that are written for any recurrence, which find the names and shapes of arrays in `recur_recurrence`. */
#ifndef RECUR_RUNTIME_H
#define RECUR_RUNTIME_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes whenever a struct below does. A kernel that was compiled for another one is refused, not misread. */
#define RECUR_ABI_VERSION 29

typedef enum recur_status {
  RECUR_OK = 0,
  RECUR_NULL_POINTER = 1,    /* something that is needed is null */
  RECUR_BAD_SIZE = 2,        /* a size or count is negative, too large, or does not fit the others */
  RECUR_BAD_STRIDE = 3,      /* a stride is negative, or puts elements on top of one another */
  RECUR_BAD_POINTER = 4,     /* an array or the workspace is not aligned */
  RECUR_OVERLAP = 5,         /* an array that is written shares memory with another */
  RECUR_BAD_OFFSETS = 6,     /* sequence offsets decrease or lie outside of the tokens */
  RECUR_SMALL_WORKSPACE = 7, /* the workspace is smaller than the query says */
  RECUR_NO_PLAN = 8,         /* the kernel was compiled without the plan that is asked for */
  RECUR_WRONG_MACHINE = 9,   /* the kernel was compiled for another machine than the one that it is to run on */
  RECUR_WRONG_VERSION = 10,  /* the kernel and the runtime are of different versions */
  RECUR_DEVICE_ERROR = 11,   /* a GPU's driver is missing, or refuses what it is asked for */
  RECUR_BAD_INDEX = 12       /* an index of a pool lies beyond it, or a row would be written twice */
} recur_status;

/* What the last call of this thread that did not give RECUR_OK found wrong, in words. Never null. */
const char *recur_message(void);

/* RECUR_I32: of inputs that are declared as integers, and of no other array. */
typedef enum recur_dtype { RECUR_F32 = 0, RECUR_BF16 = 1, RECUR_F16 = 2, RECUR_I32 = 3 } recur_dtype;
typedef enum recur_kind { RECUR_INPUT = 0, RECUR_PARAM = 1, RECUR_STATE = 2, RECUR_OUTPUT = 3 } recur_kind;
typedef enum recur_plan {
  RECUR_PLAN_AUTO = 0,      /* by sizes, and the number of processors */
  RECUR_PLAN_STEP = 1,      /* token by token */
  RECUR_PLAN_CHUNK = 2,     /* a chunk of tokens at a time */
  RECUR_PLAN_SEGMENT = 3,   /* segments of chunks in parallel; on a GPU, as chunk where states are in place */
  RECUR_PLAN_SCAN = 4,      /* as chunk, where every element of every state goes by itself */
  RECUR_PLAN_TOKEN_LOOP = 5 /* as chunk, but for a state that goes token by token */
} recur_plan;

/* Where calls run, and where their arrays and workspace lie. */
typedef enum recur_device {
  RECUR_CPU = 0, /* this machine's processors */
  RECUR_CUDA = 1 /* the NVIDIA GPU of the current context */
} recur_device;

/* ---- What a compiled kernel says of itself ---- */

/* What a kernel is given: the elements of one array that belong to one head of one sequence. */
typedef struct recur_array {
  void *data;           /* the first token; null: zeros for an initial state, not wanted for an output or final state */
  int64_t token_stride; /* from a token to the next, in elements */
} recur_array;

/* One head of one sequence. Inputs, params, initial states, outputs, final states, each in the order of declaration.
 * An initial and a final state may be the same memory. A processor's kernels have states in float32. */
typedef void (*recur_kernel)(const recur_array *arrays, int64_t tokens, void *workspace);

typedef struct recur_array_info {
  const char *name;
  int32_t kind;     /* recur_kind */
  int32_t dtype;    /* recur_dtype: of a state, of what a call begins and ends with; between, states are float32 */
  int32_t shared;   /* not 0: an input with one value for a group of heads */
  int32_t rank;     /* 0 to 2 */
  int64_t shape[2]; /* of one token, or of one head for params and states */
} recur_array_info;

/* What becomes of a state by the parts of its summary: the sum of what the map makes of it and of the offset; or one of
 * these of the offset and of the sum of the state and the map. The soft ones are log(exp(a) + exp(b)) and
 * -log(exp(-a) + exp(-b)). */
typedef enum recur_extremum {
  RECUR_NO_EXTREMUM = 0,
  RECUR_MAX = 1,
  RECUR_MIN = 2,
  RECUR_SOFT_MAX = 3,
  RECUR_SOFT_MIN = 4
} recur_extremum;

/* What a segment of tokens makes of one state, as a map that is computed without knowing the state: the kernels `run`,
 * which gives the map's parts, and `apply`, which takes a state from before the segment to after it. */
typedef struct recur_summary_info {
  recur_kernel run;     /* inputs, params, the states in `needs`, the parts; then these states and parts again */
  recur_kernel apply;   /* the state, the parts; then the state and the parts afterwards; of 1 token */
  const int32_t *needs; /* the states, by their places, whose values before the segment must be known */
  int32_t need_count;
  int32_t state;       /* its place among the states */
  int32_t map_side;    /* not 0: the first part is a square matrix, and starts as the identity; 0: as the state */
  float map_start;     /* the first part's numbers at the start, where it is no identity */
  float offset_start;  /* the second part's, which is as the state */
  float cost;          /* of a chunk of `run`, over that of a chunk of the recurrence's kernel */
  float apply_cost;    /* of `apply`, over the same */
  int32_t scale_size;  /* not 0: a part before the first, of so many factors that start as ones: they scale the state's
                        * rows or columns, on the side that the matrix is not on */
  int32_t map_is_left; /* not 0: the matrix multiplies the state from the left, and else from the right */
  int32_t extremum;    /* recur_extremum */
  /* For a GPU, where the functions above are null: the same as `run`, with its arrays, in launches. States go through
   * the parts by the recurrence's `compose`. */
  const struct recur_kernel_info *launches;
} recur_summary_info;

/* An array of a launch: its number among the arguments (inputs, params, initial states, outputs, final states) and,
 * behind them, what launches leave, or, of a kernel that leaves nothing, the states before every token, in the order of
 * declaration, of which a call may want none; and how it is cut into parts of the channels: the dimension of a token's,
 * state's or row's shape along which each part has part_size, or -1 where every part has all of it. Not 0: the copy
 * unit may bring so many rows of 16-bit numbers at once, each a token's or that of one of its micro-steps, 64 columns
 * wide. */
typedef struct recur_launch_array {
  int32_t number, part_dim;
  int64_t part_size;
  int64_t copied_rows;
} recur_launch_array;

/* What launches leave of each chunk to later ones, in the workspace: some rows of `shape`. */
typedef struct recur_left_info {
  int64_t rows;
  int32_t element_bytes, rank;
  int64_t shape[2];
  int64_t handed_offset; /* of a chunk of each head: so many bytes of what is handed over lie before it */
  int32_t is_handed; /* not 0: the call forward hands it over to the gradient, where the caller has memory for that */
} recur_left_info;

/* A launch on a GPU: a CTA for each head of each sequence and each part, and, where the chunks of a sequence go in any
 * order, for each chunk. */
typedef struct recur_launch_info {
  const char *symbol;   /* in the image */
  int32_t threads;      /* of a CTA */
  int32_t shared_bytes; /* of a CTA */

  /* Of a kernel whose launches are phases, of which each has some of the arguments, and what others leave it; zeros
   * elsewhere, where a launch has all arguments, and a CTA the workspace that the kernel says. But a kernel that can
   * keep the states before every token lists its arrays: all arguments, and these. */
  int64_t workspace_bytes; /* of a CTA */
  int32_t parts;
  int32_t chunks_are_apart;         /* not 0: they go in any order */
  const recur_launch_array *arrays; /* in the order that the kernel has them */
  int32_t array_count;

  /* Of two launches side by side: the first announces each of its chunks, the second starts when the first has, and
   * awaits them. They go one behind the other where that is faster. */
  int32_t teams;  /* of the first: so many teams of `threads`, each with its shared memory, make up a CTA; else 0 */
  int32_t awaits; /* of the second, which is behind the first: not 0 */
  float cost;     /* of the first: a multiprocessor's time for a chunk, over that of a CTA of the second; of one that
                   * summarises, a CTA's time for a chunk over that of the launch that is cut */

  int32_t cuts; /* not 0: several CTAs can deal out the chunks of a sequence, each of them a row of the grid. Without a
                 * workspace they find out themselves from which chunk before their own on they have to go over it;
                 * else `workspace_bytes` is what the summary of a segment takes, and the launch before, which has
                 * `bounds` too, makes those of all segments but the last */
  int32_t bounds; /* not 0: what it leaves is for a launch that is cut, and for no other */

  /* The same for packed sequences by a list of their chunks, in the image, where a CTA has a chunk of a head, or a team
   * one after another, or, where chunks go one behind another, a part of one head of a sequence after another. Null:
   * there is none, and some CTAs may find nothing to do. */
  const char *listed;

  /* Of a kernel that goes from token to token with its states in registers: so many CTAs have a head, each with some of
   * the values of its states. 0: a CTA has whole heads. */
  int32_t state_parts;
} recur_launch_info;

typedef struct recur_kernel_info {
  recur_kernel run;        /* null for a GPU */
  int64_t workspace_bytes; /* of `run` and of the kernels in `summaries` */
  int64_t tokens_from;     /* left to itself, the runtime takes the last kernel that is meant for so few tokens */
  int32_t plan;            /* recur_plan */
  int32_t chunk;           /* tokens in a chunk; 0 for plans without */

  /* Of the plan `segment`, where `run` is the kernel of one segment: the summary of each state, after those of the
   * states that it needs. */
  const recur_summary_info *summaries;
  int32_t summary_count;

  int32_t launch_count; /* for a GPU: what the kernel consists of, one after another */
  const recur_launch_info *launches;
  const recur_left_info *left; /* of all launches; null: they leave nothing, and each is a whole kernel */
  int32_t left_count;
  const recur_launch_info *listing; /* makes the list of the chunks of packed sequences; null: no launch goes by one */
  const recur_launch_info *trees;   /* of one that keeps states: in its launch's place for tokens that are tried as
                                     * trees; null: there is none */
} recur_kernel_info;

/* The kernels of the gradient, of one head of one sequence, or of whole chunks of it. */
typedef struct recur_gradient_info {
  recur_kernel states; /* inputs, params, initial states; final states, and each state at the start of each chunk */
  /* Over the chunks from the last to the first: inputs, cotangents of outputs, params, and what it carries; gradients
   * of inputs, what it carries once more, and then the states at the start of each chunk that are named in `kept`. What
   * is carried is float32: cotangents of the states behind the tokens become those of the states before them, and the
   * gradients of params are added to. */
  recur_kernel run;
  int64_t workspace_bytes; /* of both */
  const int32_t *carried;  /* states by their places, or -1 less the place of a param */
  const int32_t *kept;     /* states by their places */
  int32_t carried_count;
  int32_t kept_count;
  int32_t chunk; /* tokens in a chunk */
  /* What has no gradient, for it was left out of the build: inputs, params and states, by their places among the
   * arrays of the recurrence. `run` has no arrays for these, and computes nothing that only they need. */
  int32_t without_count;
  const int32_t *without;

  /* Over the chunks from the last to the first for the cotangents of states alone, so that segments of a sequence can
   * be gone over at the same time: as `run`, but without the gradients of inputs, without params among what is carried,
   * and with the states that are named in `chain_kept`. What a segment makes of the cotangents behind it is this from
   * zeros, and the maps of the plan `segment` transposed. Null: nothing is carried but params, or `run` does no more.
   */
  recur_kernel chain;
  const int32_t *chain_kept;
  int32_t chain_kept_count;
  /* Of a chunk of `states`, of `chain` and of the recurrence's kernel, over that of a chunk of `run`. */
  float states_cost, chain_cost, forward_cost;

  /* For a GPU, where the functions above are null: what does the same in launches, of each head of each sequence. Their
   * arrays are numbered as the functions have them, and behind these comes what launches leave. Each kept state is an
   * array with a row for each chunk. Gradients of shared inputs come out for each head, and what is carried of params
   * for each head of each sequence; `sum` adds them up. */
  const recur_kernel_info *states_launches; /* null: `kept` is empty */
  const recur_kernel_info *run_launches;
  const recur_launch_info *sum;
  const recur_kernel_info *chain_launches; /* null: built without summaries, or as `chain` is */

  /* What a call forward on a GPU hands over to the gradient: the states in `kept` at the start of each chunk, of these
   * recur_dtypes, as the launches above have them too. `handing_launches` compute what the recurrence's kernel does and
   * leave them besides: inputs, params, initial states, outputs, final states, and each state at the start of each
   * chunk. Null: nothing is handed over, for it would save no time. */
  const int32_t *kept_dtypes; /* of a processor: null, for all are RECUR_F32 */
  const recur_kernel_info *handing_launches;
  /* In place of `run_launches` for calls that also take some of what `handing_launches` leave to each other: so many
   * bytes of each chunk of each head. Null, and 0: there is nothing that would save time. Kernels of other gradients of
   * the recurrence hand over the same where `handed_digest` is the same. */
  const recur_kernel_info *taking_launches;
  int64_t handed_bytes;
  uint64_t handed_digest;
  /* States that the launches above take as they are before the tokens, by their places: behind what is carried come
   * these of `starts` or `chain_starts`. What such a state is at the start of a chunk lies in inputs' arrays. */
  const int32_t *starts, *chain_starts;
  int32_t start_count, chain_start_count;
} recur_gradient_info;

/* Summaries of parts of sequences on a GPU; on processors they are those of the plan `segment`. */
typedef struct recur_parts_info {
  const recur_summary_info *summaries; /* of each state, after those of the states that it needs */
  const recur_launch_info *compose;    /* products of maps with maps and with states */
  int32_t summary_count;
} recur_parts_info;

/* Bits of `recur_recurrence.features`. */
#define RECUR_FEATURE_AVX2 1u
#define RECUR_FEATURE_FMA 2u
#define RECUR_FEATURE_F16C 4u
#define RECUR_FEATURE_AVX512F 8u
#define RECUR_FEATURE_AVX512BW 16u
#define RECUR_FEATURE_AVX512DQ 32u
#define RECUR_FEATURE_AVX512VL 64u
#define RECUR_FEATURE_AVX512BF16 128u
#define RECUR_FEATURE_BMI 256u
#define RECUR_FEATURE_BMI2 512u
#define RECUR_FEATURE_LZCNT 1024u
#define RECUR_FEATURE_MOVBE 2048u
#define RECUR_FEATURE_AVX512CD 4096u
#define RECUR_FEATURE_AMX_TILE 8192u
#define RECUR_FEATURE_AMX_BF16 16384u /* both: when the system lets the program use it, which a call asks it for */
#define RECUR_FEATURE_NEON 32768u     /* Arm's, and that which follows */
#define RECUR_FEATURE_ARM_BF16 65536u

/* Of a GPU, whose `features` are the least compute capability, 90 for 9.0: there is code for this one alone. */
#define RECUR_EXACT_CAPABILITY 65536u

/* Lies in the object that recurc made, under the name `NAME_recurrence`. */
typedef struct recur_recurrence {
  uint32_t abi_version; /* RECUR_ABI_VERSION */
  uint32_t features;    /* what the processor must have; of a GPU its compute capability */
  int32_t array_count;
  int32_t kernel_count;
  const recur_array_info *arrays; /* inputs, params, states, outputs */
  const recur_kernel_info *kernels;
  const char *name;
  const char *target;                  /* as given to recurc */
  const char *compiler;                /* its version */
  const struct recur_recurrence *next; /* the same for another target; null: none */
  const void *image;                   /* for a GPU: the code of its kernels, cubins, or PTX with a zero at its end */
  int32_t device;                      /* recur_device */
  const recur_gradient_info *gradient; /* null: compiled without `--backward` */
  /* What states start as where the caller gives no initial state: a recurrence for the same target, without inputs and
   * outputs, with the same params, and with those states that do not start as zero, by their names. It makes them as
   * its final states after one token. Calls run it by themselves. Null: all states start as zero. */
  const struct recur_recurrence *start;
  const recur_parts_info *parts; /* for a GPU; null: built without summaries, or there are none */
} recur_recurrence;

/* ---- Calls ---- */

/* How far apart the elements of an array are, counted in elements. 0 stands for dense, which is, with B outermost and a
 * token's own elements innermost: inputs and outputs [B, T, H, ...] (H is Hq where shared), params [H, ...], states
 * [B, H, ...]. A token's own elements always are dense. */
typedef struct recur_strides {
  int64_t b, t, h;
} recur_strides;

/* What is written shares memory with nothing else that the call is given, but that a final state may lie where its
 * initial one does, with the same strides. */
typedef struct recur_argument {
  void *data; /* inputs, params and initial states are only read */
  recur_strides strides;
} recur_argument;

/* Calls body(body_context, i) once for each i below `count`, at the same time or one after another, and returns when
 * all have returned. */
typedef void (*recur_parallel_for)(void *context, int64_t count, void (*body)(void *body_context, int64_t index),
                                   void *body_context);

/* A call set to zeros but for sizes, arguments and workspace is a plain one. */
typedef struct recur_call {
  int64_t B, T, H; /* sequences, tokens, heads; any may be 0 */
  int64_t Hq;      /* groups of heads, of which shared inputs have one value each; divides H; 0 stands for H */

  /* Inputs, params, initial states, outputs, final states, each in the order of declaration. */
  const recur_argument *arguments;
  int64_t argument_count;
  int32_t states_transposed; /* not 0: the states of rank 2 that the caller gives and gets are transposed */

  int32_t plan; /* recur_plan */

  /* Packed sequences of different lengths: B is 1, sequence i is the tokens from sequence_offsets[i] up to but without
   * sequence_offsets[i + 1], there are sequence_count + 1 offsets, and states are [sequence_count, H, ...]. Null, and
   * so are device_offsets: each of the B entries is a sequence of T tokens. */
  const int64_t *sequence_offsets;
  int64_t sequence_count;

  /* At most so many heads are worked on at the same time, each with a workspace of its own; 0 stands for as many as the
   * pool has. What is computed does not depend on it. */
  int32_t threads;
  recur_parallel_for parallel_for; /* null: the runtime's own pool of threads */
  void *parallel_context;

  void *workspace; /* 64-byte aligned */
  int64_t workspace_bytes;

  /* For a GPU. Threads have no meaning there; packed sequences have their offsets in memory of the GPU, where they are
   * read when the work is done: work that was captured goes by what is there when it is replayed. sequence_offsets may
   * be null then; if given they must be the same numbers, and are checked. Nobody checks those on the GPU: ones outside
   * of 0 to T count as 0 or T, and a sequence that ends before it begins is empty, but where sequences have tokens in
   * common nobody says what these give. A kept_interval above 1 needs sequence_offsets. */
  void *stream; /* a CUstream, which the work is put into; null: the default stream */
  const int64_t *device_offsets;
  int32_t device; /* recur_device */

  /* States before the tokens 0, kept_interval, 2 * kept_interval, ... of each sequence: a call forward writes them,
   * whatever its plan, for whoever goes on from there, as when of several tokens that were tried some are taken; a call
   * backward, whose kept_interval is the same and a multiple of the gradient's chunk, reads them and need not compute
   * them again. For each state, in the order of declaration, [recur_kept_rows(...), H, ...], float32 and dense, with
   * the rows of each sequence behind those of the sequence before it, or each where its token is among all T where the
   * GPU alone has the offsets; as declared, also where states_transposed is set.
   * On a GPU they lie in its memory, and the table of them does not; those before every token are left by one launch of
   * the plan `step`, left alone, and others by the launches of as many calls. 0: none are kept. */
  int64_t kept_interval;
  float *const *kept_states;

  /* Pools: initial and final states are rows of arrays [pool_rows, H, ...], which have those of many more sequences
   * than the call has. Sequence i begins with the row state_indices[i], and its final states go to the row
   * final_indices[i], or, where that is null, to the one that they began with. The arrays of both may be the same
   * memory, and so may rows. A negative index: the sequence begins as the recurrence says, and its final states are
   * written nowhere. No row is written for two sequences, nor written for one and read for another. Null: states are
   * those of the call's sequences.
   *
   * An index beyond the pool, or a row that is written twice, is an error. On a GPU the indices lie in its memory and
   * are read when the work is done, like device_offsets; nobody checks them unless check_indices is not 0, for which
   * the call waits for the stream, and which no graph can capture. Without it an index beyond the pool counts as a
   * negative one, and of a row that is written twice nobody says what it has. Calls forward have pools, and no others.
   */
  const int32_t *state_indices;
  const int32_t *final_indices;
  int64_t pool_rows;
  int32_t check_indices;

  /* Of pools, where some tokens of each sequence are only tried: the state after its token t goes to the row
   * token_indices[i * token_columns + t], a negative one: nowhere. Sequences have token_columns tokens at most, and
   * that is from 1 to RECUR_MOST_KEPT_TOKENS. States go from token to token in float32, as those of a call of one token
   * do, whatever the pool has of them. A sequence may write the row that it begins with, and no row is written twice.
   * final_indices is null then. Null: only the states after all tokens are kept.
   *
   * accepted: so many of the tokens that were tried last were taken, from 1 to state_columns: sequence i begins with
   * the row state_indices[i * state_columns + accepted[i] - 1], so that the token_indices of that call are the
   * state_indices of this one. Null: state_indices has one row for each sequence. On a GPU both lie in its memory, and
   * what lies beyond the columns counts as no row. */
  const int32_t *token_indices;
  int64_t token_columns;
  const int32_t *accepted;
  int64_t state_columns;

  /* Of pools, the same without a row for each token: the first `replayed` tokens of each sequence are those that were
   * tried last, with the inputs that they had then, and the others are tried now. accepted says how many of the first
   * were taken, from 0 to replayed. The sequence goes over those again, its state is then stored in its row, and it
   * goes on to the tokens that are tried now, which leave no state. So a call reads a state once and writes it once,
   * however many tokens are tried. Tokens between those that were taken and those that are tried now are left alone.
   *
   * Outputs are those of the tokens that are tried now: [B, T - replayed, H, ...]; of packed sequences they lie where
   * their tokens lie, and those of replayed tokens are not written. A sequence has at least `replayed` tokens, and
   * states go from token to token in float32. state_columns is 0 then, and token_indices is null. On a GPU accepted
   * lies in its memory, and what lies outside of 0 to replayed counts as the nearest of these. 0: none is replayed. */
  int64_t replayed;

  /* Tokens that are tried as a tree, of which any path may be taken: token t of a sequence begins with the state after
   * its token parents[t], which is an earlier one, or where that is -1 with what the sequence begins with. Outputs, and
   * the states at token_indices, are those of each token's path. Where `accepted` counts to a token it stands for that
   * token's path. parent_columns is how many numbers there are for a sequence, and it has no more tokens; parent_stride
   * how far those of a sequence are behind those of the one before it, 0: all sequences have the same tree.
   *
   * With `replayed` there are two trees one behind the other, each with numbers of its own from 0 on: of the tokens
   * that are replayed, of which those on the path that accepted - 1 ends are gone over, and of those that are tried
   * now, which begin with the state after these. Each tree has RECUR_MOST_KEPT_TOKENS tokens at most.
   *
   * The final state, where there is one, is that after the last token. States go from token to token in float32;
   * those that a later token begins with lie in the workspace, which depends on T then. interval, kept_interval and
   * handed_states are 0. On a GPU parents lie in its memory, and nobody checks them unless check_indices is not 0:
   * without it a token whose number is none of an earlier one, or that is beyond those that a sequence may have, counts
   * as behind the token before it, and a number below -1 as -1. Null: each token is behind the one before it. */
  const int32_t *parents;
  int64_t parent_columns;
  int64_t parent_stride;

  /* Of pools, for a cache of prefixes: the state after every `interval` tokens of sequence i goes to a row, beside the
   * final state: the first time to interval_indices[i * interval_columns], then to the one behind it; a negative one:
   * nowhere. Tokens are counted from positions[i] on, the number of tokens that the sequence had in calls before this
   * one; null: from 0. interval is a multiple of each plan's chunk, and so are positions. The call is not cut for it,
   * and gives the bits that it gives without, but that on a GPU it does not go over segments of a sequence at the same
   * time. No row is written twice, and none is written that the call reads. On a GPU interval_indices and positions lie
   * in its memory: nobody checks them unless check_indices is not 0; without it a position that is no multiple of the
   * chunk has no such tokens, and what lies beyond the columns is not kept. token_indices are null then. 0: no state is
   * kept so. */
  int64_t interval;
  const int32_t *interval_indices;
  int64_t interval_columns;
  const int32_t *positions;

  /* On a GPU: what a call forward hands over to the one backward, which then computes no states again. For each state,
   * in the order of declaration, [recur_handed_rows(...), H, ...], dense, of the type that recur_gradient_info says,
   * as the launches of the gradient have it: nobody else reads them. States that the gradient does not take may be
   * null. The call forward leaves them by the way, in launches of its own, so that outputs may be rounded otherwise
   * than without. Its plan is not `step`, it has no pools, and kept_interval is 0 in both calls. Null: nothing. */
  void *const *handed_states;

  /* Besides, what the launches of the call forward leave to each other and the gradient would make again, such as
   * matrices of the tokens: recur_handed_bytes(...) of the GPU's memory, 16-byte aligned, which nobody else reads. The
   * gradient is the same but for last digits of sums. Null: it makes this again, or handed_states is null. */
  void *handed_values;
} recur_call;

#define RECUR_MOST_KEPT_TOKENS 16

/* How many rows the arrays in `kept_states` have. Less than 0 when the sizes are not valid: see recur_message. */
int64_t recur_kept_rows(const recur_recurrence *recurrence, const recur_call *call);

/* How many rows the arrays in `handed_states` have, which for packed sequences depends on their number and T alone. 0
 * where nothing is handed over: on processors, and where the gradient takes no states or handing them over saves no
 * time. Less than 0 when the sizes are not valid: see recur_message. */
int64_t recur_handed_rows(const recur_recurrence *recurrence, const recur_call *call);

/* How many bytes `handed_values` has: as many rows as the arrays in `handed_states`, of handed_bytes of
 * recur_gradient_info for each head. 0 where there is nothing but states to hand over. Less than 0 when the sizes are
 * not valid: see recur_message. */
int64_t recur_handed_bytes(const recur_recurrence *recurrence, const recur_call *call);

/* The bytes of workspace that the call needs, which depends on sizes, threads, plan and states_transposed alone; for
 * packed sequences on their number and T, not on the offsets. Less than 0 when these are not valid, and then
 * recur_message says why. */
int64_t recur_workspace_size(const recur_recurrence *recurrence, const recur_call *call);

/* Checks everything, and then computes. On any status but RECUR_OK nothing was written. Allocates nothing, and may be
 * called from several threads at the same time. Kernels round to nearest and flush subnormal numbers to zero; every
 * thread that they run on has its own floating-point mode back afterwards.
 *
 * On a GPU the work is put into the call's stream and not waited for; arrays and workspace must be memory of the
 * current context's device. Nothing is synchronised, and a graph can capture the call, once the recurrence is loaded.
 */
recur_status recur_forward(const recur_recurrence *recurrence, const recur_call *call);

/* The gradient of `sum cotangents * results`, whatever the results are used for. Arguments are, each in the order of
 * declaration: inputs, params, initial states; cotangents of outputs and of final states, where null stands for zeros;
 * gradients of inputs, params and initial states, which are written, where null is not wanted; one that was left out of
 * the build must be null. Cotangents and gradients are as what they are of. Gradients of shared inputs are summed over
 * their group of heads, those of params over tokens and sequences, always in the same order: what is computed does not
 * depend on threads or workspace. The plan is RECUR_PLAN_CHUNK, which goes over each sequence from its end,
 * RECUR_PLAN_SEGMENT, which goes over segments of it at the same time, or RECUR_PLAN_AUTO, which takes segments where
 * there are fewer sequences and groups of heads than processors, and it is a clear gain.
 *
 * With the states in `kept_states` that a call of recur_forward left, none are computed again but those between them.
 * Without, nothing need be kept: the states are computed again, once where the workspace holds every chunk's, and else
 * twice, for a part of the sequence at a time. For `workspace_bytes` of 0 the query gives about a tenth of what the
 * arrays take (64 MiB where that is more), on a GPU room for states of as many bytes as the arrays have; else what is
 * used of `workspace_bytes`, and the least where that is more. Checks, threads, packed sequences and rounding are as
 * recur_forward's.
 *
 * On a GPU, too, the work is put into the call's stream. Packed sequences go together, and all their states lie in the
 * workspace; those with kept states go one after another, by sequence_offsets. A call whose workspace holds the states
 * of a part alone does not cut sequences into segments. */
int64_t recur_backward_workspace_size(const recur_recurrence *recurrence, const recur_call *call);

/* The least kept_interval for the gradient with which the arrays in `kept_states` take no more than so many bytes
 * together: of the call's sizes and offsets, whose kept_interval is not looked at. 0 where no interval does, for each
 * sequence has a row; then a call backward without kept states is what is left. Less than 0 when the sizes are not
 * valid: see recur_message. */
int64_t recur_choose_kept_interval(const recur_recurrence *recurrence, const recur_call *call, int64_t bytes);
recur_status recur_backward(const recur_recurrence *recurrence, const recur_call *call);

/* ---- Sequences whose parts lie on several machines ---- */

/* Each machine has some of the tokens of each sequence, in order. A part's summary of a state is a map: it takes the
 * state from before the part to after it, and is found without knowing the state. When the machines have exchanged
 * their summaries, each applies those of the parts before its own to the state before the first part, and then calls
 * recur_forward on its own part from there. There is a summary for each state; those of states that others depend on
 * come first. Calls backward go the other way with cotangents of states in place of states: from the last summary to
 * the first, and from the last part to the first. Who exchanges summaries, and how, is up to the caller.
 *
 * Summaries and states are dense float32 in the device's memory: [sequences, H, ...], states as declared. Kernels for
 * processors have them, those for a GPU where they were built with --summaries. On a GPU the work is put into the
 * call's stream, as recur_forward does, and the workspace lies in the GPU's memory; of calls backward its states are
 * float32. */
typedef struct recur_summary {
  float *maps;                       /* [sequences, H, map_size] */
  float *offsets;                    /* [sequences, H, offset_size]; as many numbers as the state has */
  int64_t map_stride, offset_stride; /* how many numbers a head's lie behind those of the head before it; 0: dense. So
                                      * maps and offsets, and those of several states, may be columns of one array */
} recur_summary;

typedef struct recur_summary_shape {
  int64_t map_size, offset_size; /* of a head of a sequence */
  const int32_t *needs;          /* states, by their places, that must be known before the part */
  int32_t need_count;
  int32_t state;            /* whose summary it is, by its place */
  int32_t has_backward_map; /* not 0: the map of cotangents is another than that of states, and
                             * recur_summarise_backward makes it; 0: it is that of states, and is left alone */
} recur_summary_shape;

/* How many summaries the recurrence has: one for each state. Less than 0 where it has none, because a state's update
 * has no such map or because the recurrence was built with another plan alone, or for a GPU without summaries:
 * recur_message says so, and `recurc explain` says which state it is. */
int32_t recur_summary_count(const recur_recurrence *recurrence);
recur_status recur_describe_summary(const recur_recurrence *recurrence, int32_t summary, recur_summary_shape *shape);

/* The bytes of workspace that the calls below need; `backward` is not 0 for recur_summarise_backward. Less than 0 where
 * sizes are not valid: see recur_message. */
int64_t recur_summary_workspace_size(const recur_recurrence *recurrence, const recur_call *call, int32_t backward);

/* Makes a part's summary of a state. The call is as for recur_forward: inputs and params are read, and of the initial
 * states, which are those before the part, the ones that the shape says it needs; outputs and final states are left
 * alone. Plan and kept states have no meaning. */
recur_status recur_summarise(const recur_recurrence *recurrence, const recur_call *call, int32_t summary,
                             recur_summary result);
/* The same of the state's cotangent, from behind the part to before it. The call is as for recur_backward: inputs,
 * params, initial states and cotangents of outputs are read, and the cotangents of those final states whose summaries
 * come later, which must be known; gradients are left alone. */
recur_status recur_summarise_backward(const recur_recurrence *recurrence, const recur_call *call, int32_t summary,
                                      recur_summary result);

/* One summary for two parts, `first` with the earlier tokens. Products of matrices are summed in double precision, and
 * rounded to float32. Of the call B or sequence_count, H, the threads and the stream are used. The result may lie where
 * either of the two lies. `backward` is not 0 for summaries of cotangents. */
recur_status recur_combine_summaries(const recur_recurrence *recurrence, const recur_call *call, int32_t summary,
                                     int32_t backward, recur_summary first, recur_summary second, recur_summary result);

/* Takes states through a summary: from before the part to after it, or, where `backward` is not 0, cotangents from
 * behind it to before it. The result may lie where the states lie. */
recur_status recur_apply_summary(const recur_recurrence *recurrence, const recur_call *call, int32_t summary,
                                 int32_t backward, recur_summary given, const float *states, float *result);
/* The same for several parts one after another. The first of them knows the state behind it, which is its offset and
 * goes through the others: of `count` parts in the order of their tokens, or, where `backward` is not 0, in reverse.
 * The result lies apart from all of them. */
recur_status recur_apply_summaries(const recur_recurrence *recurrence, const recur_call *call, int32_t summary,
                                   int32_t backward, const recur_summary *parts, int32_t count, float *result);

/* The one that calls on a recur_device use: of the recurrence and what follows by `next`, the first for such a device
 * that the one here can run; null when there is none. Where the environment variable RECUR_TARGET names the target of
 * one of several for the device, it is the only one that counts. */
const recur_recurrence *recur_select_for(const recur_recurrence *recurrence, int32_t device);
/* The same for this machine's processors. */
const recur_recurrence *recur_select(const recur_recurrence *recurrence);

/* Loads the kernels for the current context of the device, which the first call does otherwise; a graph can capture no
 * call before. Nothing to do for processors. */
recur_status recur_load(const recur_recurrence *recurrence, int32_t device);
/* Forgets what was loaded of the recurrence, in every context. Call it when no work of it is under way, before its
 * memory is used for anything else, as when a shared object is closed. */
void recur_unload(const recur_recurrence *recurrence);

/* How many threads the runtime's own pool has, the caller's among them. The pool starts when a call first needs it,
 * with as many as the environment variable RECUR_THREADS says, or else as there are processors for this program. */
int32_t recur_thread_count(void);
/* Sets that number. Returns 0 when the pool runs already, or when `count` is not from 1 to 1024; it then stays. */
int32_t recur_set_thread_count(int32_t count);

#ifdef __cplusplus
}
#endif
#endif

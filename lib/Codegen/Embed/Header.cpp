// The C header: one struct and three functions a recurrence, all of them inline, so that a program links nothing but
// the kernels, their descriptor and the runtime.
#include "Codegen/Embed/SummaryHeader.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace recur;
using namespace recur::codegen;

static bool isShort(DataType type) { return getByteSize(type) == 2; }
static StringRef getElementType(DataType type) {
  return isShort(type) ? "uint16_t" : type == DataType::I32 ? "int32_t" : "float";
}

static void printDims(raw_ostream &os, const KernelInterface &interface) {
  interleave(interface.dims, os, [&](const auto &dim) { os << dim.first << " = " << dim.second; }, ", ");
}

/// A file may be named so that it would end a comment, or start one in it.
static std::string makeCommentText(StringRef text) {
  std::string safe = text.str();
  for (size_t i = 1; i < safe.size(); ++i)
    if ((safe[i - 1] == '*' && safe[i] == '/') || (safe[i - 1] == '/' && safe[i] == '*'))
      safe[i] = '_';
  return safe;
}

static void printIntroduction(raw_ostream &os, const KernelInterface &interface) {
  os << "/* The recurrence " << interface.name << " of " << makeCommentText(interface.source) << ": ";
  printDims(os, interface);
  const DataTypes &types = interface.dataTypes;
  bool hasShort = any_of(interface.arrays, [](const InterfaceArray &array) { return isShort(array.type); });
  os << (interface.dims.empty() ? "" : "; ") << "data " << getName(types.all);
  for (const auto &[name, type] : types.named)
    os << ", " << name << ' ' << getName(type);
  if (hasShort)
    os << (types.named.empty() ? ", held as uint16_t" : ", 16 bits held as uint16_t");
  os << (types.named.empty() ? ", states f32" : ", other states f32") << "; compiled for " << interface.target;
  if (interface.cpu != interface.target)
    os << " (" << interface.cpu << ")";
  for (const std::string &target : interface.lowerTargets)
    os << ", " << target;
  os << ". */\n";
}

static std::string getNote(const KernelInterface &interface, const ArgumentField &field) {
  std::string note;
  bool isStarted = field.role == abi::Role::Initial && any_of(interface.start, [&](const KernelInterface &start) {
                     return any_of(start.arrays, [&](const InterfaceArray &array) {
                       return array.kind == RECUR_STATE && array.name == field.array->name;
                     });
                   });
  if (isStarted)
    note = "; null: as it starts";
  else if (field.isRead() && field.role != abi::Role::Input && field.role != abi::Role::Param)
    note = "; null: zeros";
  else if (!field.isRead())
    note = "; null: not wanted";
  if (field.isRenamed)
    note += "; for '" + field.array->name + "', a name that is taken";
  return note;
}

namespace {
/// What a program calls: forward, or backward.
struct Entry {
  std::string name;              // before its struct, its call and its query
  StringRef query, compute, own; // functions of the runtime, and how the header's begins to end
  std::vector<ArgumentField> fields;
};
} // namespace

static void printArguments(raw_ostream &os, const KernelInterface &interface, const Entry &entry) {
  const std::string &name = entry.name;
  const std::vector<ArgumentField> &fields = entry.fields;
  os << "/* Set it to zeros first: what is left zero has the usual meaning. Strides are counted in elements, and 0 "
        "stands for\n"
        " * dense, in the order of the dimensions that the comments give; a token's own elements always are dense. */\n"
     << "typedef struct " << name << "_args {\n"
     << "  int64_t B, T, H; /* sequences, tokens, heads */\n"
     << "  int64_t Hq;      /* groups of heads that share inputs; divides H; 0 stands for H */\n";
  for (const ArgumentField &field : fields) {
    if (field.isLeftOut)
      continue;
    os << "  " << (field.isRead() ? "const " : "") << getElementType(field.array->type) << " *" << field.name << "; /* "
       << printFullShape(field);
    if (!interface.dataTypes.named.empty())
      os << " of " << getName(field.array->type);
    os << getNote(interface, field) << " */\n";
  }
  for (const ArgumentField &field : fields)
    if (!field.isLeftOut)
      os << "  recur_strides " << field.getStridesName() << ";\n";
  os << R"(  int32_t states_transposed; /* not 0: states of rank 2 have their last two dimensions swapped */
  int32_t plan;              /* a recur_plan; RECUR_PLAN_AUTO chooses */
  /* Packed sequences of different lengths: sequence i is the tokens from sequence_offsets[i] up to but without
   * sequence_offsets[i + 1], B is 1, and states are [sequence_count, H, ...]. Null: B sequences of T tokens. */
  const int64_t *sequence_offsets;
  int64_t sequence_count;
  int32_t threads;                 /* at most so many at the same time; 0: as many as the runtime's pool has */
  recur_parallel_for parallel_for; /* null: the runtime's pool */
  void *parallel_context;
  void *workspace; /* 64-byte aligned */
  int64_t workspace_bytes;
  int32_t device; /* RECUR_CPU; or RECUR_CUDA, with arrays and workspace in memory of a GPU */
  void *stream;   /* on a GPU: a CUstream, which the work is put into and not waited for; null: the default stream */
  const int64_t *device_offsets; /* on a GPU: offsets in its memory; sequence_offsets may be null then */
  /* States before every so many tokens of each sequence, which the call forward writes and the one backward may read:
   * see recur_call. 0: none are kept. */
  int64_t kept_interval;
  float *const *kept_states; /* for each state; of as many rows as recur_kept_rows says */
  /* Pools, of calls forward: initial and final states are rows of arrays [pool_rows, H, ...]. Sequence i begins with the
   * row state_indices[i] and ends in final_indices[i], or where that is null in the same; negative: as the recurrence
   * begins, and nowhere. See recur_call. Null: states are those of the call's sequences. */
  const int32_t *state_indices;
  const int32_t *final_indices;
  int64_t pool_rows;
  int32_t check_indices; /* not 0: on a GPU too an index beyond the pool is an error, for which the call waits */
  /* Of pools, where tokens are only tried: the state after each goes to its row in token_indices [sequences,
   * token_columns], of at most RECUR_MOST_KEPT_TOKENS columns; and a sequence begins with the row that accepted counts
   * to, from 1 on, in state_indices [sequences, state_columns]. Null: neither. See recur_call. */
  const int32_t *token_indices;
  int64_t token_columns;
  const int32_t *accepted;
  int64_t state_columns;
  /* Of pools: so many of each sequence's first tokens were tried in the call before. As many of them as accepted says,
   * from 0 on, lead to the state that is stored; the tokens behind them leave outputs alone. See recur_call. */
  int64_t replayed;
  /* Tokens that are tried as a tree: token t of a sequence begins with the state after its token parents[t], -1: with
   * that from before all. parent_columns numbers for each sequence, parent_stride apart; 0: the same for all. Null:
   * each token is behind the one before it. See recur_call. */
  const int32_t *parents;
  int64_t parent_columns;
  int64_t parent_stride;
  /* Of pools: the state after every `interval` tokens of a sequence, which had as many before as positions says (null:
   * none), goes to the next of its rows in interval_indices [sequences, interval_columns]. 0: none does. See recur_call.
   */
  int64_t interval;
  const int32_t *interval_indices;
  int64_t interval_columns;
  const int32_t *positions;
  /* On a GPU: states that the call forward hands over to the one backward, of as many rows as recur_handed_rows says.
   * See recur_call. Null: none. */
  void *const *handed_states;
  /* And what its launches leave to each other, in as many bytes as recur_handed_bytes says. Null: the call backward
   * makes it again. */
  void *handed_values;
)" << "} "
     << name << "_args;\n\n";
}

static void printFunctions(raw_ostream &os, const KernelInterface &interface, const Entry &entry) {
  const std::string &name = entry.name;
  std::string upper = StringRef(name).upper();
  os << "#define " << upper << "_ARGUMENTS " << entry.fields.size() << "\n\n";
  os << formatv(R"(/* The call that {2} takes. */
static inline recur_call {0}_call(const {0}_args *args, recur_argument arguments[{1}_ARGUMENTS]) {{
  recur_call call;
  memset(&call, 0, sizeof call);
)",
                name, upper, entry.compute);
  for (auto [i, field] : enumerate(entry.fields)) {
    if (field.isLeftOut) {
      os << "  memset(&arguments[" << i << "], 0, sizeof arguments[" << i << "]);\n";
      continue;
    }
    os << "  arguments[" << i << "].data = " << (field.isRead() ? "(void *)" : "") << "args->" << field.name << ";\n"
       << "  arguments[" << i << "].strides = args->" << field.getStridesName() << ";\n";
  }
  os << "  call.arguments = arguments;\n"
     << "  call.argument_count = " << upper << "_ARGUMENTS;\n";
  for (StringRef field :
       concat<const StringLiteral>(ArrayRef<StringLiteral>({"B", "T", "H", "Hq"}), ArrayRef(callFields)))
    os << "  call." << field << " = args->" << field << ";\n";
  os << "  return call;\n}\n\n";
  os << formatv(
      R"(/* The bytes of workspace that the call needs; less than 0 when its sizes are not valid: see recur_message(). */
static inline int64_t {0}_workspace_size(const {0}_args *args) {{
  recur_argument arguments[{1}_ARGUMENTS];
  recur_call call;
  if (!args)
    return {3}(&{2}, 0);
  call = {0}_call(args, arguments);
  return {3}(&{2}, &call);
}

/* Checks everything and computes. On any status but RECUR_OK nothing was written: see recur_message(). */
static inline recur_status {5}(const {0}_args *args) {{
  recur_argument arguments[{1}_ARGUMENTS];
  recur_call call;
  if (!args)
    return {4}(&{2}, 0);
  call = {0}_call(args, arguments);
  return {4}(&{2}, &call);
}
)",
      name, upper, interface.getDescriptorSymbol(), entry.query, entry.compute, name + entry.own.str());
}

/// `; left out: d_g, d_beta`
static std::string listLeftOut(ArrayRef<ArgumentField> fields) {
  SmallVector<StringRef> names;
  for (const ArgumentField &field : fields)
    if (field.isLeftOut)
      names.push_back(field.name);
  return names.empty() ? "" : "; left out: " + join(names, ", ");
}

static void printRecurrence(raw_ostream &os, const KernelInterface &interface) {
  std::string name = interface.getSymbol(), upper = StringRef(name).upper();
  std::string digest = "0x" + utohexstr(interface.digest, /*LowerCase=*/true, /*Width=*/8);
  os << "\n#ifndef RECUR_KERNEL_" << name << "\n#define RECUR_KERNEL_" << name << " " << digest << "\n\n";
  printIntroduction(os, interface);
  for (const auto &[dim, size] : interface.dims)
    os << "#define " << upper << "_DIM_" << dim << " " << size << "\n";
  os << "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n"
     << "/* Says at run time what this header says. Objects have it by this longer name too, so that no header links "
        "with an\n * object of other sizes or types. */\n"
     << "#define " << interface.getDescriptorSymbol() << " " << interface.getPreciseSymbol() << "\n"
     << "extern const recur_recurrence " << interface.getDescriptorSymbol() << ";\n\n";
  std::vector<Entry> entries{{name, "recur_workspace_size", "recur_forward", "_forward", getArgumentFields(interface)}};
  if (interface.gradient)
    entries.push_back(
        {name + "_backward", "recur_backward_workspace_size", "recur_backward", "", getGradientFields(interface)});
  for (const Entry &entry : entries) {
    if (&entry != &entries.front())
      os << "\n/* The gradient: cotangents of what the recurrence gives, and gradients of what it takes"
         << listLeftOut(entry.fields) << ". */\n";
    printArguments(os, interface, entry);
    printFunctions(os, interface, entry);
    printSummaryCalls(os, interface, entry.name, /*isBackward=*/&entry != &entries.front());
  }
  os << "\n#ifdef __cplusplus\n}\n#endif\n"
     << "#elif RECUR_KERNEL_" << name << " != " << digest << "\n"
     << "#error \"two headers of recurrences named " << name
     << " that differ in their sizes, types or text: build one with recurc build --prefix\"\n#endif\n";
}

std::string recur::codegen::printHeader(ArrayRef<KernelInterface> interfaces) {
  std::string text;
  raw_string_ostream os(text);
  os << "/* Made by recurc " << interfaces.front().compiler << "; edit the specification instead. C99 and C++.\n"
     << " * Link with the object or library that was made along with it, and with Recur::runtime. */\n"
     << "#include <recur/Runtime.h>\n#include <stdint.h>\n#include <string.h>\n";
  for (const KernelInterface &interface : interfaces)
    printRecurrence(os, interface);
  return text;
}

// Runs compiled kernels from this process, on its processor or a GPU, on the same data as the interpreters.
#pragma once
#include "Compile/Kernels.h"
#include "Data/Data.h"
#include "Engine/Memory.h"
#include "recur/Runtime.h"
#include <map>

namespace recur::engine {

/// What a call forward on a GPU hands over to the one backward, as bytes that nobody else reads.
struct Handed {
  std::vector<std::vector<char>> states; // in the order of declaration; empty where the gradient takes none
  std::vector<char> values;
};

/// How a call is made. The numbers that it computes do not depend on it, but for the offsets.
struct HostCall {
  int32_t threads = 0; // as in recur_call
  recur_parallel_for parallelFor = nullptr;
  void *parallelContext = nullptr;
  /// Sequences packed one after another: the data's batch is 1, and states are [offsets.size() - 1, H, ...].
  std::vector<int64_t> offsets = {};
  bool areOnDeviceAlone = false; // the offsets, of a call on a GPU
  int64_t workspaceBytes = 0; // of a gradient: as much as may be used for what is kept; 0 for what the runtime suggests
  int32_t gradientPlan = RECUR_PLAN_AUTO; // recur_plan of a gradient
  std::vector<std::string> leftOut = {};  // what is not wanted of what is written, by its field: `d_q`
  /// States at multiples of so many tokens, which a call forward leaves here and one backward takes from here.
  int64_t keptInterval = 0;
  std::vector<std::vector<float>> *kept = nullptr;
  /// A call forward leaves it here where nothing is in it, and one backward takes it.
  Handed *handed = nullptr;
  /// Final states are those after every token, `[sequences * tokens, H, ...]`: rows of a pool, of tokens that are
  /// tried.
  bool keepsTokens = false;
  /// So many of each sequence's first tokens are replayed, and of these as many as this says of it. Outputs are those
  /// of the other tokens, and final states those behind the replayed ones.
  int64_t replayed = 0;
  std::vector<int32_t> taken = {};
  /// Which token each of a sequence is behind, of tokens that are tried as a tree; empty: the one before it.
  std::vector<int32_t> parents = {};
  Memory *memory = nullptr; // where arrays lie; null: in memory of the target's
};

class HostEngine {
public:
  /// Compiles the recurrence and loads its code. An error where this machine cannot run the target's.
  static llvm::Expected<std::shared_ptr<HostEngine>> create(dgps::RecurrenceOp recurrence,
                                                            const PipelineOptions &pipeline);
  /// Rounds the data to the kernel's types, and runs the kernel. What the kernel should write, and its workspace, are
  /// full of NaN before, so that no number is right by chance.
  llvm::Expected<data::Results> run(const data::Data &data, const HostCall &how = {}) const;
  /// Runs the kernels of the gradient, where they were asked for. Cotangents that are left out are zero.
  llvm::Expected<data::Data> runGradient(const data::Data &data, const data::Results &cotangents,
                                         const HostCall &how = {}) const;
  /// What a call of the gradient writes, by the fields: `d_q`, `d_initial_S`.
  std::vector<std::string> listGradients() const;
  /// Whether a call forward hands anything over to the gradient.
  bool canHandOver() const;
  bool isOnGPU() const { return interface.device == RECUR_CUDA; }
  /// Whether a call can keep the states after every token in rows of a pool, which takes the plan step on a GPU.
  bool canKeepTokens() const;
  /// Which plans the recurrence does not get, and why.
  llvm::ArrayRef<std::string> getNotes() const { return notes; }
  ~HostEngine();

private:
  HostEngine();
  struct Code;
  /// What the runtime has for calls of one kind.
  struct Entries {
    int64_t (*query)(const recur_recurrence *, const recur_call *);
    recur_status (*run)(const recur_recurrence *, const recur_call *);
    int32_t plan; // recur_plan
  };
  /// Runs a call with these arrays, those that are read as given, and gives what it wrote.
  llvm::Expected<std::vector<std::pair<codegen::ArgumentField, Array>>>
  call(const Entries &entries, const std::vector<codegen::ArgumentField> &fields,
       const std::map<abi::Role, const data::NamedArrays *> &given, const data::Sizes &sizes,
       const HostCall &how) const;
  llvm::Error giveHanded(Handed &handed, Memory &memory, recur_call &call, llvm::SmallVectorImpl<void *> &states) const;
  static llvm::Error takeHanded(Handed &handed, Memory &memory, const recur_call &call);
  std::unique_ptr<Code> code;
  codegen::KernelInterface interface;
  Target target;
  recur_plan plan = RECUR_PLAN_AUTO;
  std::vector<std::string> notes;
};

/// Rounds every number to what the kernels' memory can hold: inputs and params to the data's type, states to float32.
void roundData(data::Data &data, const DataTypes &types);

} // namespace recur::engine

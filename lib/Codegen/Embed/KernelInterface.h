// What a compiled recurrence looks like to its caller, from which its header, its manifest and its descriptor are made.
#pragma once
#include "ABI/KernelSignature.h"
#include "Target/DataTypes.h"
#include "dialects/Tile/LaunchTable.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>
#include <vector>

namespace llvm {
class Module;
} // namespace llvm

namespace recur::codegen {

struct InterfaceArray {
  std::string name;
  recur_kind kind;
  bool isShared = false;
  std::vector<int64_t> shape; // of one token, or of one head for params and states
  DataType type = DataType::F32;
};

/// What a segment makes of one state: a recur_summary_info.
struct InterfaceSummary {
  std::string symbol, applySymbol;
  int64_t state;              // its place among the states
  std::vector<int32_t> needs; // the places of the states that must be known
  int64_t mapSide = 0;        // of a square matrix; 0 where the map is as the state
  float mapStart = 0, offsetStart = 0;
  int64_t scaleSize = 0;  // of a vector of factors besides; 0 where there is none
  bool mapIsLeft = false; // the matrix multiplies the state from the left
  recur_extremum extremum = RECUR_NO_EXTREMUM;
  float cost = 0, applyCost = 0; // over a chunk of the recurrence's kernel
};

// Those of a GPU's kernel, as it was planned.
using InterfaceLaunchArray = tile::LaunchArray;
using InterfaceLaunch = tile::Launch;
using InterfaceLeft = tile::LeftRows;

struct InterfaceKernel {
  std::string symbol; // of a processor's kernel
  recur_plan plan;
  int64_t chunk = 0;      // tokens in a chunk; 0 for plans without
  int64_t tokensFrom = 0; // left to itself, the runtime takes the last kernel that is meant for so few tokens
  int64_t workspaceBytes = 0;
  std::vector<InterfaceSummary> summaries = {}; // of the plan `segment`
  int64_t segmentBytes = 0;                     // of the plan `segment`: for each segment of a sequence
  std::vector<InterfaceLaunch> launches = {};   // of a GPU's kernel
  std::vector<InterfaceLeft> left = {};         // what they leave to each other
  std::optional<InterfaceLaunch> listing = {};  // makes the list of the chunks of packed sequences
  std::optional<InterfaceLaunch> trees = {};    // in place of its launch where tokens are tried as trees
  double cycles = 0;                            // of a call on a GPU, as estimated for comparisons; not in the library
};

/// A recur_gradient_info.
struct InterfaceGradient {
  std::string states, run, chain; // symbols of a processor's kernels; `chain` is empty where there is none
  int64_t workspaceBytes = 0, chunk = 0;
  std::vector<int32_t> carried, kept;
  std::vector<int32_t> without; // arrays of the interface whose gradients were left out
  std::vector<int32_t> chainKept;
  std::vector<int32_t> starts, chainStarts;             // of a GPU: states that are taken as they are before the tokens
  float statesCost = 0, chainCost = 0, forwardCost = 0; // over a chunk of `run`
  // Of a GPU, in place of the symbols; `statesLaunches` is left out where nothing is kept, `chainLaunches` as `chain`
  // is and where there are no summaries.
  std::optional<InterfaceKernel> statesLaunches = {}, runLaunches = {}, chainLaunches = {};
  std::optional<InterfaceLaunch> sum = {};
  // And what the call forward hands over: the types of the states in `kept`, as recur_dtype, and the launches.
  std::vector<int32_t> keptTypes = {};
  std::optional<InterfaceKernel> handingLaunches = {};
  // And in place of `runLaunches`, where it also hands over what its launches leave to each other: so many bytes of a
  // chunk of each head.
  std::optional<InterfaceKernel> takingLaunches = {};
  int64_t handedBytes = 0;
  uint64_t handedDigest = 0; // of what it is
};

/// Gives what the gradient's launches take its place among what is handed over, there and where it is left. Nothing is,
/// where there are no such launches.
void linkHandedOver(InterfaceGradient &gradient);

/// A recur_parts_info: summaries on a GPU, each with its kernel.
struct InterfaceParts {
  std::vector<InterfaceSummary> summaries;
  std::vector<InterfaceKernel> kernels;
  InterfaceLaunch compose;
};

struct KernelInterface {
  std::string name;   // of the recurrence
  std::string prefix; // goes before the name in everything that is C
  std::string source; // the specification's file name, for comments
  std::vector<std::pair<std::string, int64_t>> dims;
  DataTypes dataTypes;                // as they were asked for
  bool tf32 = false;                  // GPUs may round factors of float32 data to it
  uint32_t digest = 0;                // of what is computed, on whichever target
  std::vector<InterfaceArray> arrays; // inputs, params, states, outputs, each in the order of declaration
  std::vector<InterfaceKernel> kernels;
  std::optional<InterfaceGradient> gradient;
  std::optional<InterfaceParts> parts; // of a GPU
  std::string target, triple, cpu;
  recur_device device = RECUR_CPU;
  std::vector<std::string> features;     // of the processor, by LLVM's names
  int64_t capability = 0;                // of the GPU, as `recur_recurrence.features` has it
  std::string compiler;                  // version
  std::string variant;                   // ends the symbols of all but the first of several targets
  std::vector<std::string> lowerTargets; // besides, each with symbols of its own
  std::vector<KernelInterface> start;    // what states start as, where that is not zero: at most one recurrence

  std::string getSymbol() const { return prefix + name + variant; }
  std::string getDescriptorSymbol() const { return getSymbol() + "_recurrence"; }
  /// The descriptor's other name, `gdn_recurrence_K128_V64_bf16_0a1b2c3d`, which headers refer to: a header does not
  /// link with an object of other sizes, types or text.
  std::string getPreciseSymbol() const;
  /// The descriptor of the same recurrence for the next lower target; empty where this is the lowest.
  std::string getNextDescriptorSymbol() const;
};

/// The ending of symbols for a target: `_x86_64_v3`.
std::string getVariant(llvm::StringRef target);

llvm::StringRef getPlanName(recur_plan plan);
/// The number that the ABI has for a type of data.
recur_dtype getRuntimeType(DataType type);

/// The fields that an array has in the struct of arguments: `q`, or `initial_S` and `final_S` for a state. A name that
/// is taken, by another field or by C, is changed.
struct ArgumentField {
  const InterfaceArray *array;
  abi::Role role;
  std::string name;
  bool isRenamed;         // because its name is taken
  bool isLeftOut = false; // a gradient that was left out of the build: it is always null, and structs have no field
  bool isState() const { return array->kind == RECUR_STATE; }
  bool isRead() const { return !abi::getFacts(role).isWritten; }
  std::string getStridesName() const { return name + "_strides"; }
};
/// The fields of the struct of arguments, in the order in which kernels take them.
std::vector<ArgumentField> getArgumentFields(const KernelInterface &interface);
/// Those of the gradient's call.
std::vector<ArgumentField> getGradientFields(const KernelInterface &interface);

/// What follows the arrays in the struct of arguments, beside the sizes: the fields of recur_call by the same names.
inline constexpr llvm::StringLiteral callFields[] = {
    "states_transposed", "plan",          "sequence_offsets", "sequence_count", "threads",   "parallel_for",
    "parallel_context",  "workspace",     "workspace_bytes",  "device",         "stream",    "device_offsets",
    "kept_interval",     "kept_states",   "state_indices",    "final_indices",  "pool_rows", "check_indices",
    "token_indices",     "token_columns", "accepted",         "state_columns",  "interval",  "interval_indices",
    "interval_columns",  "positions",     "handed_states",    "handed_values",  "replayed",  "parents",
    "parent_columns",    "parent_stride"};

/// `[B, T, Hq, 128]`
std::string printFullShape(const ArgumentField &field);

/// A C99 and C++ header with a struct of arguments, a query for the workspace and an entry for each recurrence.
std::string printHeader(llvm::ArrayRef<KernelInterface> interfaces);

/// The same for programs, as JSON; of several targets with the plans of each. `lower` are those behind the first, each
/// with its interfaces.
std::string printManifest(llvm::ArrayRef<KernelInterface> interfaces,
                          llvm::ArrayRef<std::vector<KernelInterface>> lower = {});

/// What the runtime asks of a processor for this feature, by LLVM's name: a bit of `recur_recurrence.features`, or 0
/// for one that it does not ask for.
uint32_t getFeatureBit(llvm::StringRef feature);

/// Adds the recur_recurrence of each, which refers to a processor's kernels by their symbols. The image has those of a
/// GPU.
void addDescriptors(llvm::Module &module, llvm::ArrayRef<KernelInterface> interfaces, llvm::StringRef image = "");

} // namespace recur::codegen

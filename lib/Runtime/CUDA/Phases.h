// What launches of one kernel leave to each other lies in the workspace, and what each launch asks for.
#pragma once
#include "ABI/LaunchWords.h"
#include "Runtime/Common/Call.h"

namespace recur::runtime {

/// Where things lie in the workspace of a kernel whose launches leave something.
struct PhaseSpace {
  int64_t chunks = 0;                 // of all sequences, with room to begin each at a chunk of its own
  int64_t leftOffsets[abi::mostLeft]; // in bytes
  int64_t scratchOffset = 0;          // of the local tiles of a launch's CTAs
  int64_t listOffset = 0;             // of the list of the chunks of packed sequences
  int64_t orderOffset = 0;            // and of these, longer ones first
  int64_t flagsOffset = 0;            // of a number for each chunk, where a launch announces them
  int64_t bytes = 0;                  // of all; less than 0: more than there can be
};

/// Whether the kernel's launches are phases, with parts and a workspace of their own, whether or not they leave
/// anything to each other.
inline bool isInPhases(const recur_kernel_info &kernel) {
  return kernel.launch_count > 0 && kernel.launches->parts > 0;
}

PhaseSpace arrangePhases(const Call &resolved, const recur_kernel_info &kernel);

/// The CTAs that deal out the chunks of a sequence.
int64_t countRows(const Call &resolved, const recur_kernel_info &kernel, const recur_launch_info &launch);

/// The chunks of the longest sequence that there can be.
int64_t countChunks(const Call &resolved, const recur_kernel_info &kernel);

/// The words of the flags of chunks.
void fillFlags(int64_t *words, const Call &resolved, const recur_kernel_info &kernel, const PhaseSpace &space,
               char *workspace);

/// The words of an array of a launch: an argument, what launches leave, or, of a kernel that leaves nothing, a state on
/// the way.
void fillWords(int64_t *words, const recur_launch_array &array, const Call &resolved, const recur_kernel_info &kernel,
               const PhaseSpace &space, char *workspace);

/// Those of a pool, of an argument that may be a state in one, or null of an array that is none.
void fillPool(int64_t *words, const Argument *state);

/// A launch's words of states that the call keeps at multiples of a number of tokens.
void fillInterval(int64_t *words, const recur_call &call);

} // namespace recur::runtime

// The machines that kernels are made for: resolved once, from a name, and handed to whatever depends on one.
#pragma once
#include "Target/GPUProfile.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>
#include <vector>

namespace recur {

enum class TargetKind { CPU, GPU };

/// `cpu` or `gpu`.
llvm::StringRef getName(TargetKind kind);

/// What the vectors of a processor can do.
struct VectorUnit {
  int64_t lanes = 4;          // f32 numbers in a vector that code works with: a register, or two side by side
  int64_t registers = 16;     // that hold such vectors
  bool hasBF16 = false;       // rounds to it by an instruction
  bool hasPairs = false;      // multiplies pairs of bf16 faster than f32
  bool hasAMX = false;        // and does so in whole tiles
  int64_t productRows = 8;    // of a register tile of products where there are 32 registers: 8 x 2 vectors, or 6 x 4
  bool fetchesEvenly = false; // products ask for rows ahead line by line, not in bursts
  bool hasF16 = false;        // converts f16 by an instruction
  bool isWide() const { return registers >= 32; }
};

struct Target {
  std::string name; // as the user says it
  TargetKind kind = TargetKind::CPU;
  std::string triple;
  std::string cpu;                   // as LLVM names it
  std::string tuning;                // the CPU that code is arranged for, where it is not `cpu`
  std::vector<std::string> features; // that kernels make use of, by LLVM's names
  std::string codeFeatures;          // a comma list of +feature and -feature for LLVM; empty for those of the CPU
  VectorUnit vectors;                // of a processor
  const GPUProfile *gpu = nullptr;   // of a GPU
  std::string beside;                // of a GPU: the least processor whose programs have its kernels, as a target
  bool runsHere = false;

  bool isCPU() const { return kind == TargetKind::CPU; }
  bool isHost() const { return name == "host"; }
  /// What its programs are for, by LLVM's name: `x86_64`, `aarch64`, `nvptx64`.
  std::string getArchitecture() const;
};

/// `host` with what this machine has, then the named targets.
std::vector<Target> getTargets();
/// The one of this name, if there is one.
std::optional<Target> findTarget(llvm::StringRef name);
/// Their names, without looking at the machine.
llvm::ArrayRef<llvm::StringRef> getTargetNames();

/// The processor that this runs on.
const Target &getHostTarget();
/// The target `host` of a machine with this CPU and these features, both by LLVM's names. Code that uses less of the
/// machine than it has is arranged for the CPU `tuning` all the same. No triple stands for this process's.
Target makeHostTarget(llvm::StringRef cpu, const llvm::StringMap<bool> &features, llvm::StringRef tuning = {},
                      llvm::StringRef triple = {});
/// The same with no more of the machine than a program finds out about the one that it runs on; `features` are those.
Target makePortableHost(const Target &host, const llvm::StringMap<bool> &features);

/// Puts GPUs beside the processor of a list of targets. Why the list is of no one program, where it is none.
std::optional<std::string> joinTargets(llvm::MutableArrayRef<Target> targets);

/// Why no kernel can be made for the processor that takes a chunk of tokens at a time; none where it can. Kernels that
/// go token by token can be made for every processor.
std::optional<std::string> explainNoVectorKernels(const Target &target);

} // namespace recur

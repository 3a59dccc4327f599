#include "Plan/Chunks.h"
#include "Plan/Cost.h"
#include <fmt/format.h>

using namespace llvm;
using namespace recur;
using namespace recur::plan;

namespace {
struct TriedChunk {
  int64_t chunk;
  GPUKernels kernels;
  std::vector<Verdict> verdicts;
  bool mayBeBetter, mayBeFaster; // a smaller one
  bool isInMemory() const { return kernels.plan.workspaceBytes > 0; }
};
} // namespace

/// Whether a smaller chunk may be better than one whose tiles fit: one chain over the chunks then makes the outputs,
/// where it has its state in registers, and rows of many micro-steps are too many for that. With less shared memory
/// than most have, inverses that are not rounded may have room with a smaller one, which errors need.
static bool maySmallerBeBetter(const GPUPlan &plan, chunk::ProgramOp program, const GPUProfile &gpu) {
  bool isSmall = gpu.sharedBytes < getDefaultGPUProfile().sharedBytes;
  bool isRounded = roundsFactors(program) || program.hasTF32Factors();
  return isRounded && (plan.form > Form::OutputsInChain || (isSmall && plan.lacksPrecise));
}

/// Whether products under a scale of each channel sum up logarithms of float32, which are loaded one by one while
/// others wait. A chunk of 64 loads those of 14 blocks of 16, and two chunks of 32 those of 8.
static bool sumsFloatLogarithms(mlir::ModuleOp tiles) {
  bool sums = false;
  tiles.walk([&](tile::ScaledDotsOp dots) {
    sums |= dots.getLogarithms() && tile::tileOf(dots.getScales()).getElementType().isF32();
  });
  return sums;
}

/// Whether a smaller chunk may take less time. A warpgroup's product has 64 rows, which a warp's units do without: they
/// multiply for chunks of 32 as fast, of which more have room on a multiprocessor and wait for each other less.
static bool maySmallerBeFaster(GPUKernels &kernels, chunk::ProgramOp program, const GPUProfile &gpu) {
  constexpr int64_t smallest = 32;
  return roundsFactors(program) && kernels.plan.isInPhases() && int64_t(program.getChunk()) > smallest &&
         (!gpu.hasWarpgroupProducts || sumsFloatLogarithms(*kernels.tiles));
}

static Expected<TriedChunk> tryChunk(chunk::ProgramOp program, PipelineOptions pipeline) {
  pipeline.chunk = int64_t(program.getChunk());
  Search search(program, pipeline);
  Expected<GPUKernels> kernels = search.find();
  if (!kernels)
    return kernels.takeError();
  const GPUProfile &gpu = *pipeline.target.gpu;
  bool mayBeBetter = maySmallerBeBetter(kernels->plan, program, gpu),
       mayBeFaster = maySmallerBeFaster(*kernels, program, gpu);
  return TriedChunk{*pipeline.chunk, std::move(*kernels), search.getVerdicts().vec(), mayBeBetter, mayBeFaster};
}

/// Whether the smaller chunk takes the place of one whose tiles fit.
static bool isBetter(const TriedChunk &smaller, const TriedChunk &larger) {
  // Measured chains of seven recurrences take as long for a token with chunks of 32 as with 64, where estimates say 1.2
  // to 1.3 times.
  constexpr double margin = 1.25;
  if (smaller.isInMemory())
    return false;
  bool isFaster = larger.mayBeFaster && smaller.kernels.plan.cycles < margin * larger.kernels.plan.cycles;
  return (!smaller.mayBeBetter && (larger.mayBeBetter || isFaster)) || (larger.mayBeBetter && isFaster);
}

static std::string explainLoss(const TriedChunk &lost, const TriedChunk &taken) {
  const GPUPlan &plan = lost.kernels.plan;
  if (plan.workspaceBytes)
    return explainInMemory(plan);
  if (lost.chunk < taken.chunk)
    return fmt::format("it gains too little over {} tokens", taken.chunk);
  if (plan.form > Form::OutputsInChain)
    return "the chain over chunks could not compute the outputs";
  return plan.lacksPrecise ? "there is only room for inverses that are rounded to 16 bits"
                           : "fewer tokens take less time, by the estimate";
}

static ChunkChoice choose(MutableArrayRef<TriedChunk> tried, size_t taken) {
  ChunkChoice choice;
  choice.chunk = tried[taken].chunk;
  for (TriedChunk &one : tried) {
    if (&one == &tried[taken])
      continue;
    std::string why = explainLoss(one, tried[taken]);
    for (Verdict &verdict : one.verdicts) {
      if (verdict.isTaken())
        verdict.whyNot = why;
      choice.lost.push_back(std::move(verdict));
    }
  }
  choice.kernels = std::move(tried[taken].kernels);
  return choice;
}

Expected<ChunkChoice> plan::findChunk(MakeProgram make, const PipelineOptions &pipeline) {
  std::vector<int64_t> sizes = {64, 32, 16};
  if (pipeline.chunk)
    sizes = {*pipeline.chunk};
  std::vector<TriedChunk> tried;
  std::optional<size_t> standing; // unless the next one is better
  for (int64_t chunk : sizes) {
    Expected<ChunkProgram> made = make(chunk);
    if (!made)
      return made.takeError();
    // What cancels is exact, whatever its chunk: a smaller one may not, where its keys have as many channels as it
    // tokens.
    if (standing && chunk::cancels(made->program))
      continue;
    Expected<TriedChunk> one = tryChunk(made->program, pipeline);
    if (!one)
      return one.takeError();
    tried.push_back(std::move(*one));
    size_t last = tried.size() - 1;
    if (standing) {
      if (isBetter(tried[last], tried[*standing]))
        standing = last;
      break; // not far smaller ones
    }
    if (tried[last].isInMemory())
      continue;
    standing = last;
    if (!tried[last].mayBeBetter && !tried[last].mayBeFaster)
      break;
  }
  return choose(tried, standing.value_or(tried.size() - 1));
}

Expected<ChunkChoice> plan::findGradientChunk(MakeProgram make, const PipelineOptions &pipeline, int64_t ofRecurrence) {
  constexpr int64_t smallest = 16;
  std::vector<TriedChunk> tried;
  for (int64_t chunk = ofRecurrence; chunk >= smallest; chunk /= 2) {
    Expected<ChunkProgram> made = make(chunk);
    if (!made)
      return made.takeError();
    Expected<TriedChunk> one = tryChunk(made->program, pipeline);
    if (!one)
      return one.takeError();
    tried.push_back(std::move(*one));
    if (!tried.back().isInMemory())
      return choose(tried, tried.size() - 1);
  }
  return choose(tried, 0);
}

Expected<ChunkChoice> plan::findCoreChunk(MakeProgram make, const PipelineOptions &pipeline) {
  // The work inside of a chunk grows with its tokens, and a processor that multiplies vectors saves nothing by long
  // ones: of 16 to 128 tokens, 16 were the fastest for nearly every recurrence with states of 16 x 16 to 256 x 256,
  // with AVX2 and AVX-512 alike, by up to a third. A gradient keeps the states between chunks, so that it was the
  // fastest with 32. Matrix units want more rows at once.
  int64_t ofVectors = pipeline.backward ? 32 : 16, ofMatrixUnits = 64;
  StringRef fastest = pipeline.backward ? "gradients that multiply vectors were measured to be faster with 32"
                                        : "kernels that multiply vectors were measured to be faster with 16";
  ChunkChoice choice;
  choice.chunk = ofVectors;
  bool multipliesTiles = false;
  if (pipeline.target.vectors.hasAMX) {
    Expected<ChunkProgram> made = make(ofVectors);
    if (!made)
      return made.takeError();
    multipliesTiles = bool(made->program.getFactors());
  }
  if (multipliesTiles)
    choice.chunk = ofMatrixUnits;
  for (int64_t chunk : {64, 32, 16})
    if (chunk != choice.chunk)
      choice.lost.push_back({getCore(chunk), 0, multipliesTiles ? "matrix units want more rows" : fastest.str()});
  return choice;
}

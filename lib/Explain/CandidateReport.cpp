#include "Explain/CandidateReport.h"
#include "Plan/Cost.h"
#include <fmt/format.h>

using namespace llvm;
using namespace recur;
using namespace recur::explain;

/// Of each kernel, the largest chunks first.
static std::vector<compile::KernelReport::Candidates> inOrder(const compile::KernelReport &report) {
  std::vector<compile::KernelReport::Candidates> all = report.candidates;
  if (all.empty())
    return all;
  std::vector<plan::Verdict> &first = all.front().verdicts;
  int64_t chunk = first.front().candidate.chunk;
  auto behind = find_if(report.lostChunks, [&](const plan::Verdict &one) { return one.candidate.chunk < chunk; });
  first.insert(first.begin(), report.lostChunks.begin(), behind);
  first.insert(first.end(), behind, report.lostChunks.end());
  return all;
}

static std::string describe(const plan::Verdict &verdict) {
  std::string text = verdict.candidate.describe();
  if (verdict.cycles > 0)
    text += fmt::format(", {:.0f} cycles", verdict.cycles);
  return text + ": " + (verdict.isTaken() ? "taken" : verdict.whyNot);
}

std::string explain::writeCandidates(const compile::KernelReport &report, const Target &target) {
  std::string lines;
  for (const compile::KernelReport::Candidates &kernel : inOrder(report)) {
    StringRef title = kernel.kernel;
    if (kernel.verdicts.size() == 1 && target.isCPU()) // the one that was asked for
      continue;
    int64_t chunk = find_if(kernel.verdicts, [](const plan::Verdict &one) { return one.isTaken(); })->candidate.chunk;
    for (const plan::Verdict &verdict : kernel.verdicts) {
      bool isPart = verdict.candidate.chunk == chunk || verdict.cycles > 0 || target.isCPU();
      if (!isPart) // with another chunk, nobody misses what could not be built
        continue;
      lines += fmt::format("  {:<15}{}\n", title.str(), describe(verdict));
      title = "";
    }
  }
  if (lines.empty())
    return lines;
  std::string unit = target.isCPU() ? ""
                                    : fmt::format(", with estimated cycles of {:.0f} tokens of {:.0f} heads",
                                                  plan::tokensOfCall, plan::headsOfCall);
  return fmt::format("\ncandidates for {}{}\n{}", target.name, unit, lines);
}

json::Array explain::listCandidates(const compile::KernelReport &report) {
  json::Array all;
  for (const compile::KernelReport::Candidates &kernel : inOrder(report))
    for (const plan::Verdict &verdict : kernel.verdicts) {
      json::Object object{{"kernel", kernel.kernel},
                          {"chunk", verdict.candidate.chunk},
                          {"what", verdict.candidate.describe()},
                          {"taken", verdict.isTaken()}};
      if (verdict.cycles > 0)
        object["cycles"] = std::round(verdict.cycles);
      if (!verdict.isTaken())
        object["reason"] = verdict.whyNot;
      all.push_back(std::move(object));
    }
  return all;
}

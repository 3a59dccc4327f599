// The one search for the plan of a chunk program on a GPU. Whatever explains, checks, dumps, measures or builds kernels
// finds their plan here.
//
// Candidates have an order, from the one that is wanted most to the one that every program has, and the first that
// stands is taken. A candidate stands if it can be built, if its tiles lie in shared memory, and if no rival is better:
// one further back whose room or cycles outweigh what this one does better. Only what is asked for is built: candidates
// until one stands, and their rivals. Whoever lowers or assembles the kernels afterwards may refuse the one that was
// taken, and search again.
#pragma once
#include "Plan/GPUPlan.h"
#include "llvm/Support/Error.h"

namespace recur::plan {

class Search {
public:
  /// Among the candidates from this form on. Those of a gradient take what is `offered` of what the call forward
  /// leaves.
  Search(chunk::ProgramOp program, const PipelineOptions &pipeline, Form from = Form::AllInChain,
         std::vector<tile::LeftRows> offered = {});

  /// The kernels of the first candidate that stands, with the options' symbol, or the program's name. An error where
  /// the last one cannot be built either.
  llvm::Expected<GPUKernels> find();

  /// Takes the candidate that was found out of the search, and all forms that are wanted more.
  void refuse(llvm::StringRef why);
  /// The same of its summaries of segments alone.
  void refuseSummaries(llvm::StringRef why);
  /// Refuses it as one that holds numbers of the next chunk: the same one without is tried.
  void refuseAhead(llvm::StringRef why);
  /// Says that it was refused, and changed where it stands.
  void change(llvm::StringRef why, llvm::ArrayRef<Change> changes);

  const Candidate &getTaken() const { return taken; }
  /// Of all candidates that were built or refused, those that are wanted most first.
  llvm::ArrayRef<Verdict> getVerdicts() const { return verdicts; }

private:
  /// Builds a candidate, unless it was built for this search before.
  Built &get(const Candidate &candidate);
  /// The first from this form on that stands, in launches of phases.
  std::optional<Candidate> findInPhases(Form form, bool hasPrologue);
  /// Where the program makes rows of rows of several tokens, the one that does so in a launch of its own if it is
  /// better.
  std::optional<Candidate> findWithPrologue(const std::optional<Candidate> &without);
  /// Why the candidate does not stand; empty where it does.
  std::string findObjection(const Candidate &candidate);
  std::string findObjectionToPrecise(const Candidate &candidate);
  Verdict *findVerdict(const Candidate &candidate);
  void judge(const Candidate &candidate, const llvm::Twine &whyNot);

  chunk::ProgramOp program;
  PipelineOptions pipeline;
  std::vector<tile::LeftRows> offered;
  Candidate taken; // or from which the search goes on
  std::vector<std::pair<Candidate, std::unique_ptr<Built>>> built;
  std::vector<Verdict> verdicts;
};

/// Of a plan that has no room in shared memory.
std::string explainInMemory(const GPUPlan &plan);

} // namespace recur::plan

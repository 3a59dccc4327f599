#include "Plan/Candidate.h"
#include "llvm/Support/ErrorHandling.h"

using namespace llvm;
using namespace recur;
using namespace recur::plan;

StringRef plan::getName(Form form) {
  switch (form) {
  case Form::AllInChain:
    return "all in one chain";
  case Form::PreciseInChain:
    return "interactions, then a chain with outputs and with inverses that are not rounded";
  case Form::OutputsInChain:
    return "interactions, then a chain with outputs";
  case Form::InPhases:
    return "interactions, then a chain of states, then outputs";
  case Form::Plain:
    return "one CTA for a head";
  case Form::Core:
    return "one core for a head";
  }
  llvm_unreachable("a form");
}

Form plan::getNext(Form form) { return form >= Form::Plain ? form : Form(int(form) + 1); }

std::string Candidate::describe() const {
  std::string text = std::to_string(chunk) + (chunk == 1 ? " token, " : " tokens, ") + getName(form).str();
  if (hasPrologue)
    text += ", after a launch for rows of several tokens";
  if (!summarises)
    text += ", without summaries of segments";
  if (isInTurn)
    text += ", each chunk asked for when it is its turn";
  for (const Change &change : changes)
    text += ", " + change.what;
  return text;
}

Candidate plan::getCore(int64_t chunk) {
  Candidate candidate;
  candidate.chunk = chunk;
  candidate.form = Form::Core;
  return candidate;
}

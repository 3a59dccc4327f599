#include "property/Summaries.h"
#include "Interpreter/ChunkInterpreter.h"
#include "Interpreter/ChunkMeaning.h"
#include "Interpreter/ChunkRunner.h"
#include "dialects/Chunk/ChunkSummaryParts.h"

using namespace recur;
using namespace recur::property;
using chunk::SummaryKind;

/// What a state of a summary is before the first token, for one head of one sequence.
static Array makeStart(chunk::StateOp state, double number, bool isIdentity) {
  Array array{{1, 1}, {}};
  llvm::append_range(array.shape, state.getCallerShape());
  array.values.assign(*countElements(array.shape), number);
  for (int64_t i = 0, side = array.shape.back(); isIdentity && i < side; ++i)
    array.values[i * (side + 1)] = 1;
  return array;
}

static Array withoutHead(Array array) {
  array.shape.erase(array.shape.begin(), array.shape.begin() + 2);
  return array;
}

std::string property::findWrongSummary(chunk::ProgramOp program, llvm::ArrayRef<chunk::ProgramOp> summaries,
                                       const data::Data &data, double limit) {
  if (summaries.size() != program.getStates().size())
    return "there are " + std::to_string(summaries.size()) + " summaries";
  llvm::Expected<data::Results> whole = interpreter::interpret(program, data);
  if (!whole)
    return llvm::toString(whole.takeError());
  for (chunk::ProgramOp summary : summaries) {
    std::string name = summary.getSummaryOf()->str();
    SummaryKind kind = *summary.getSummaryKind();
    chunk::SummaryParts parts = chunk::getSummaryParts(summary);
    data::Data from = data;
    from.initial.clear();
    for (chunk::StateOp known : parts.known)
      from.initial[known.getName().str()] = data.initial.at(known.getName().str());
    bool isMatrix = kind == SummaryKind::Right || kind == SummaryKind::Left;
    if (parts.scales)
      from.initial[parts.scales.getName().str()] = makeStart(parts.scales, 1, /*isIdentity=*/false);
    from.initial[name + ".map"] = makeStart(parts.map, kind == SummaryKind::Elementwise ? 1 : 0, isMatrix);
    std::optional<chunk::Extremum> extremum = chunk::extremumOf(kind);
    double nothing = extremum ? chunk::neutralOf(*extremum) : 0;
    from.initial[name + ".offset"] = makeStart(parts.offset, nothing, /*isIdentity=*/false);
    llvm::Expected<data::Results> after = interpreter::interpret(summary, from);
    if (!after)
      return llvm::toString(after.takeError());
    Array scales = parts.scales ? withoutHead(after->final.at(parts.scales.getName().str())) : Array();
    // The maps are of the program's state, of which the caller may have the transpose.
    auto swap = [](chunk::StateOp state, const Array &array) {
      return state.getTransposed() ? interpreter::transpose(array) : array;
    };
    Array got = interpreter::applySummary(interpreter::Arithmetic(interpreter::Rounding::exact), kind,
                                          swap(parts.offset, withoutHead(data.initial.at(name))),
                                          swap(parts.map, withoutHead(after->final.at(name + ".map"))),
                                          swap(parts.offset, withoutHead(after->final.at(name + ".offset"))),
                                          parts.scales ? &scales : nullptr);
    got = swap(parts.offset, got);
    const Array &want = whole->final.at(name);
    double largest = 1;
    for (double x : want.values)
      largest = std::max(largest, std::fabs(x));
    for (size_t i = 0; i < want.values.size(); ++i)
      if (!(std::fabs(got.values[i] - want.values[i]) <= limit * largest))
        return "state " + name + " is " + std::to_string(want.values[i]) + " at " + std::to_string(i) +
               ", but its summary gives " + std::to_string(got.values[i]);
  }
  return {};
}

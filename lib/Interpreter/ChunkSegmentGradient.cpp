// The gradient of a chunk program by segments: where the maps of states are known, those of their cotangents are these
// transposed.
#include "Interpreter/ChunkMeaning.h"
#include "Interpreter/ChunkRunner.h"
#include "Support/Errors.h"
#include "llvm/ADT/StringSet.h"

using namespace llvm;
using namespace recur;
using namespace recur::data;
using namespace recur::interpreter;

namespace recur::interpreter {

/// Goes over the segments of each head of each sequence.
class SegmentedGradient {
public:
  SegmentedGradient(const SegmentedGradientPrograms &programs, const Data &data, const Data &withCotangents,
                    const Data &withoutCotangents, int64_t segments, const ChunkOptions &options)
      : programs(programs), segments(segments), arithmetic(options.rounding, options.disturbance),
        forward(programs.program, data, options), backward(programs.gradient, withCotangents, options),
        alone(programs.gradient, withoutCotangents, options) {}

  Expected<Results> run();

private:
  using Sequence = ChunkRunner::Sequence;
  Error runHead(const Sequence &sequence, int64_t head);
  Error findStarts(const Sequence &sequence, int64_t head);
  Error findEnds(const Sequence &sequence, int64_t head);
  Expected<Array> findMap(chunk::ProgramOp summary, const Sequence &sequence, int64_t head, int64_t segment);
  /// What a program that goes backward makes of cotangents, from behind the segment to before it.
  Expected<States> goBack(ChunkRunner &runner, chunk::ProgramOp runs, const Sequence &sequence, int64_t head,
                          int64_t segment, States states) {
    return runner.runTokens(runs, sequence.batch, head, sequence.getBoundary(segment, segments),
                            sequence.getBoundary(segment + 1, segments), std::move(states), &kept[segment]);
  }

  const SegmentedGradientPrograms &programs;
  int64_t segments;
  Arithmetic arithmetic;
  ChunkRunner forward, backward, alone; // alone: without cotangents of outputs
  SummarisedSegments known;
  std::vector<std::vector<States>> kept; // the states at the chunks' starts, of each segment
  std::vector<States> ends;              // the cotangents of states behind each segment
};

} // namespace recur::interpreter

/// The states before each segment, and then those of its chunks.
Error SegmentedGradient::findStarts(const Sequence &sequence, int64_t head) {
  bool hasSummaries = !programs.summaries.empty();
  if (hasSummaries) {
    Expected<SummarisedSegments> found = forward.summarise(programs.summaries, sequence, head, segments);
    if (!found)
      return found.takeError();
    known = std::move(*found);
  } else {
    known = {std::vector<States>(segments + 1), std::vector<States>(segments), std::vector<States>(segments)};
    known.starts[0] = forward.initialStates(programs.program, sequence.state, head);
  }
  kept.assign(segments, {});
  for (int64_t segment = 0; segment < segments; ++segment) {
    auto after = forward.runTokens(programs.program, sequence.batch, head, sequence.getBoundary(segment, segments),
                                   sequence.getBoundary(segment + 1, segments), known.starts[segment], &kept[segment]);
    if (!after)
      return after.takeError();
    if (!hasSummaries)
      known.starts[segment + 1] = std::move(*after);
  }
  return Error::success();
}

/// What the segment multiplies the cotangent of the summary's state by. A running extremum gives it to the
/// tokens that won, which the map of the state does not say: what becomes of ones does.
Expected<Array> SegmentedGradient::findMap(chunk::ProgramOp summary, const Sequence &sequence, int64_t head,
                                           int64_t segment) {
  std::string name = summary.getSummaryOf()->str();
  const Array &map = known.maps[segment].at(name);
  chunk::SummaryKind kind = *summary.getSummaryKind();
  if (kind == chunk::SummaryKind::Right || kind == chunk::SummaryKind::Left)
    return transpose(map);
  if (!chunk::extremumOf(kind))
    return map;
  States from = alone.initialStates(programs.chain, sequence.state, head);
  for (auto &[other, array] : from)
    std::fill(array.values.begin(), array.values.end(), other == "gradient." + name ? 1 : 0);
  auto after = goBack(alone, programs.chain, sequence, head, segment, std::move(from));
  if (!after)
    return after.takeError();
  return std::move(after->at("gradient." + name));
}

/// The cotangents of the states behind each segment. Those of a state come after those of the states that need it.
Error SegmentedGradient::findEnds(const Sequence &sequence, int64_t head) {
  ends.assign(segments, {});
  ends.back() = backward.initialStates(programs.chain, sequence.state, head);
  if (segments == 1)
    return Error::success();
  auto before = goBack(backward, programs.chain, sequence, head, segments - 1, ends.back());
  if (!before)
    return before.takeError();
  ends[segments - 2] = std::move(*before);
  StringSet<> found;
  for (chunk::ProgramOp summary : reverse(programs.summaries)) {
    std::string name = ("gradient." + *summary.getSummaryOf()).str();
    if (!ends.back().count(name)) // nobody wants it
      continue;
    for (int64_t segment = segments - 2; segment > 0; --segment) {
      States from = ends.back();
      for (auto &[other, array] : from) {
        if (found.contains(other))
          array = ends[segment].at(other);
        else
          std::fill(array.values.begin(), array.values.end(), 0);
      }
      auto offset = goBack(backward, programs.chain, sequence, head, segment, std::move(from));
      if (!offset)
        return offset.takeError();
      Expected<Array> map = findMap(summary, sequence, head, segment);
      if (!map)
        return map.takeError();
      chunk::SummaryKind kind = *summary.getSummaryKind();
      if (chunk::extremumOf(kind))
        kind = chunk::SummaryKind::Elementwise;
      ends[segment - 1][name] = applySummary(arithmetic, kind, ends[segment].at(name), *map, offset->at(name),
                                             known.getScales(segment, summary.getSummaryOf()->str()));
    }
    found.insert(name);
  }
  return Error::success();
}

Error SegmentedGradient::runHead(const Sequence &sequence, int64_t head) {
  if (Error error = findStarts(sequence, head))
    return error;
  if (Error error = findEnds(sequence, head))
    return error;
  // What params matter is added up; before the first segment, the cotangents are the gradients of the initial states.
  States carried = backward.initialStates(programs.gradient, sequence.state, head);
  for (int64_t segment = segments; segment-- > 0;) {
    for (auto &[name, end] : ends[segment])
      carried.at(name) = end;
    auto before = goBack(backward, programs.gradient, sequence, head, segment, std::move(carried));
    if (!before)
      return before.takeError();
    carried = std::move(*before);
  }
  backward.storeFinal(carried, sequence.state, head);
  return Error::success();
}

Expected<Results> SegmentedGradient::run() {
  for (ChunkRunner *runner : {&forward, &backward, &alone})
    if (Error error = runner->prepare())
      return std::move(error);
  for (const Sequence &sequence : forward.sequences)
    for (int64_t head = 0; head < forward.data.sizes.heads; ++head)
      if (Error error = runHead(sequence, head))
        return std::move(error);
  return std::move(backward.results);
}

Expected<Data> interpreter::interpretGradientBySegments(SegmentedGradientPrograms programs, const Data &data,
                                                        const Results &cotangents, int64_t segments,
                                                        const ChunkOptions &options) {
  if (!programs.gradient.getBackward() || !programs.chain.getBackward())
    return makeError("program '" + programs.gradient.getSymName() + "' is no gradient: it does not run backward");
  if (segments < 1 || (segments > 2 && programs.summaries.empty()))
    return makeError("without summaries there are one or two segments");
  int64_t sequences = options.sequenceOffsets.empty() ? data.sizes.batch : options.sequenceOffsets.size() - 1;
  Data with = addCotangents(programs.program, data, cotangents, sequences);
  Data without = addCotangents(programs.program, data, {}, sequences);
  Expected<Results> results = SegmentedGradient(programs, data, with, without, segments, options).run();
  if (!results)
    return results.takeError();
  return collectGradient(programs.program, data.sizes, std::move(*results));
}

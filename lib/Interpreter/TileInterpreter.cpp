#include "Interpreter/TileInterpreter.h"
#include "Interpreter/ChunkRunner.h"
#include "Interpreter/TileExecutor.h"
#include "Interpreter/TileRows.h"
#include "Target/GPUProfile.h"

using namespace llvm;
using namespace recur;
using namespace recur::data;
using namespace recur::interpreter;

/// Whether a CTA has room on the GPU that it was planned for.
static Error checkRoom(tile::KernelOp kernel) {
  if (!kernel.getGpu())
    return Error::success();
  const GPUProfile *gpu = findGPUProfile(*kernel.getGpu());
  if (!gpu)
    return makeTileError(kernel, "is for '" + *kernel.getGpu() + "', which is no GPU");
  int64_t teams = int64_t(kernel.getTeams().value_or(1)), bytes = int64_t(kernel.getShared().value_or(0));
  if (std::optional<std::string> reason = gpu->explainNoRoom(teams * bytes))
    return makeTileError(kernel, "has no room: " + *reason);
  return Error::success();
}

Error interpreter::run(tile::KernelOp kernel, ArrayRef<CallerArray> arrays, int64_t tokens,
                       const TileOptions &options) {
  mlir::Block &body = kernel.getBody().front();
  size_t count = body.getNumArguments() - 1;
  if (arrays.size() != count)
    return makeTileError(kernel, "takes " + Twine(count) + " arrays, but is given " + Twine(arrays.size()));
  for (auto [i, array] : enumerate(arrays.take_front(kernel.getRequired())))
    if (!array.data && array.rows > 0)
      return makeTileError(kernel, "requires array " + Twine(i) + ", which is absent");
  if (tokens < 0)
    return makeTileError(kernel, "cannot run for " + Twine(tokens) + " tokens");
  if (Error error = checkRoom(kernel))
    return error;
  TileMachine machine(kernel, options);
  for (auto [argument, array] : zip(body.getArguments().drop_back(), arrays))
    machine.arrays[argument] = array;
  TileExecutor executor(machine);
  executor.setNumber(body.getArguments().back(), tokens);
  return executor.run(body);
}

std::vector<KernelArray> interpreter::listKernelArrays(chunk::ProgramOp program) {
  std::vector<KernelArray> arrays;
  size_t initials = 0; // so many arrays come before those of the states that are taken as they are before the tokens
  abi::forEachArrayOf(program, [&](const abi::RoleFacts &facts, auto op) {
    bool isShared = false;
    SmallVector<int64_t> shape;
    if constexpr (std::is_same_v<decltype(op), chunk::StateOp>)
      shape = op.getCallerShape();
    else
      llvm::append_range(shape, chunk::arrayShape(op));
    if constexpr (std::is_same_v<decltype(op), chunk::InputOp>)
      isShared = op.getShared();
    arrays.push_back({getRole(facts.role, isShared), op.getName().str(), std::move(shape)});
    if (arrays.back().role != Role::Output && arrays.back().role != Role::Final)
      initials = arrays.size();
  });
  for (chunk::InitialOp initial : program.getInitials())
    arrays.insert(arrays.begin() + ptrdiff_t(initials++),
                  {Role::Initial, initial.getName().str(), SmallVector<int64_t>(chunk::tensorOf(initial).getShape())});
  // Behind all others lie the states that one kernel leaves for another.
  auto addKept = [&](auto state) {
    arrays.push_back({Role::Initial, state.getName().str(), state.getCallerShape(), true});
  };
  for (chunk::KeptOp kept : program.getKept())
    addKept(kept);
  if (program.getKeeps())
    for (chunk::StateOp state : program.getStates())
      addKept(state);
  return arrays;
}

/// The rows that a head of a batch entry has in an array of the role.
static CallerArray takeRows(Role role, Array *array, ArrayRef<int64_t> shape, const Sizes &sizes, int64_t batch,
                            int64_t head) {
  if (!array || array->values.empty()) // of no tokens: there is no address to count from
    return {};
  int64_t width = *countElements(shape);
  switch (role) {
  case Role::Input:
  case Role::SharedInput:
  case Role::Output:
  case Role::OutputCotangent: {
    bool shared = role == Role::SharedInput;
    int64_t heads = shared ? sizes.groups : sizes.heads, own = shared ? head / (sizes.heads / sizes.groups) : head;
    return {array->values.data() + (batch * sizes.tokens * heads + own) * width, sizes.tokens, heads * width};
  }
  case Role::Param:
    return {array->values.data() + head * width, 1, 0};
  case Role::Initial:
  case Role::Final:
  case Role::FinalCotangent:
    return {array->values.data() + (batch * sizes.heads + head) * width, 1, 0};
  }
  llvm_unreachable("a role");
}

Error KernelRows::prepare(ArrayRef<KernelArray> kernelArrays, const Data &data, KeptArrays *keptArrays) {
  sizes = data.sizes;
  if (Error error = checkSizes(sizes))
    return error;
  kept = keptArrays;
  chunks = kept ? (sizes.tokens + kept->chunk - 1) / kept->chunk : 0;
  given = data;
  arrays.assign(kernelArrays.begin(), kernelArrays.end());
  for (const KernelArray &array : arrays) {
    if (array.isKept) {
      Array &states = kept->states[array.name];
      states.values.resize(sizes.batch * sizes.heads * chunks * *countElements(array.shape));
      places.push_back(&states);
      continue;
    }
    bool isResult = array.role == Role::Output || array.role == Role::Final;
    NamedArrays &named = array.role == Role::Output    ? results.outputs
                         : array.role == Role::Final   ? results.final
                         : array.role == Role::Initial ? given.initial
                         : array.role == Role::Param   ? given.params
                                                       : given.inputs;
    if (isResult) {
      auto full = getFullShape(array.role, sizes, array.shape);
      named[array.name] = {{full.begin(), full.end()}, std::vector<double>(*countElements(full))};
    } else if (array.role == Role::Initial && !named.count(array.name)) {
      places.push_back(nullptr);
      continue;
    } else if (Error error = checkArray(array.role, array.name, named, sizes, array.shape)) {
      return error;
    }
    places.push_back(&named[array.name]);
  }
  return Error::success();
}

SmallVector<CallerArray> KernelRows::takeHead(int64_t batch, int64_t head) {
  SmallVector<CallerArray> heads;
  for (auto [array, place] : zip(arrays, places)) {
    if (array.isKept && chunks) {
      int64_t width = *countElements(array.shape);
      heads.push_back({place->values.data() + (batch * sizes.heads + head) * chunks * width, chunks, width});
    } else {
      heads.push_back(takeRows(array.role, place, array.shape, sizes, batch, head));
    }
  }
  return heads;
}

Expected<Results> interpreter::interpret(tile::KernelOp kernel, ArrayRef<KernelArray> arrays, const Data &data,
                                         const TileOptions &options, KeptArrays *kept) {
  KernelRows rows;
  if (Error error = rows.prepare(arrays, data, kept))
    return std::move(error);
  for (int64_t batch = 0; batch < data.sizes.batch; ++batch)
    for (int64_t head = 0; head < data.sizes.heads; ++head)
      if (Error error = run(kernel, rows.takeHead(batch, head), data.sizes.tokens, options))
        return std::move(error);
  return rows.takeResults();
}

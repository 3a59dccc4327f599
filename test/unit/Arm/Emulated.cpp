#include "Emulated.h"
#include "Support/Errors.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <cstring>

using namespace llvm;
using namespace recur;
using namespace recur::test;
using codegen::ArgumentField;

// Of an argument, as in Runner.c.
enum Kind : int64_t { isNull, isRead, isWritten };

Expected<EmulatedKernels> EmulatedKernels::compile(dgps::RecurrenceOp recurrence, const PipelineOptions &pipeline) {
  EmulatedKernels kernels;
  compile::Listings listings;
  Expected<compile::Kernels> made = compile::compileKernels(recurrence, pipeline, {}, listings);
  if (!made)
    return made.takeError();
  kernels.interface = made->interfaces.front();
  Expected<std::string> object = codegen::linkShared(made->objects, kernels.interface.getDescriptorSymbol());
  if (!object)
    return object.takeError();
  kernels.object = std::move(*object);
  return std::move(kernels);
}

std::vector<recur_plan> EmulatedKernels::listPlans() const {
  std::vector<recur_plan> plans;
  for (const codegen::InterfaceKernel &kernel : interface.kernels)
    plans.push_back(kernel.plan);
  return plans;
}

//===----------------------------------------------------------------------===//
// Calls as bytes
//===----------------------------------------------------------------------===//

static void writeWord(std::string &text, int64_t word) {
  text.append(reinterpret_cast<const char *>(&word), sizeof word);
}

struct EmulatedKernels::Reading {
  StringRef rest;
  StringRef take(size_t count) {
    StringRef bytes = rest.take_front(count);
    rest = rest.drop_front(bytes.size());
    return bytes;
  }
  StringRef takeText() {
    int64_t length = 0;
    StringRef word = take(sizeof length);
    std::memcpy(&length, word.data(), word.size());
    return take(size_t(length));
  }
};

static std::vector<int64_t> getShape(const ArgumentField &field, const data::Sizes &sizes) {
  auto shape = data::getFullShape(data::getRole(field.role, field.array->isShared), sizes, field.array->shape);
  return {shape.begin(), shape.end()};
}

/// The numbers of an array that a call reads; null where there are none.
static const Array *findGiven(const ArgumentField &field, const EmulatedCall &call) {
  const data::NamedArrays *arrays = field.role == recur::abi::Role::Input            ? &call.data->inputs
                                    : field.role == recur::abi::Role::Param          ? &call.data->params
                                    : field.role == recur::abi::Role::Initial        ? &call.data->initial
                                    : field.role == recur::abi::Role::FinalCotangent ? &call.cotangents->final
                                                                                     : &call.cotangents->outputs;
  auto found = arrays->find(field.array->name);
  return found == arrays->end() ? nullptr : &found->second;
}

std::vector<ArgumentField> EmulatedKernels::getFields(const EmulatedCall &call) const {
  return call.cotangents ? codegen::getGradientFields(interface) : codegen::getArgumentFields(interface);
}

std::string EmulatedKernels::write(const EmulatedCall &call) const {
  std::string text;
  const data::Sizes &sizes = call.data->sizes;
  std::vector<ArgumentField> fields = getFields(call);
  for (int64_t word : {int64_t(call.cotangents != nullptr), sizes.batch, sizes.tokens, sizes.heads, sizes.groups,
                       int64_t(call.plan), int64_t(call.threads), int64_t(fields.size())})
    writeWord(text, word);
  for (const ArgumentField &field : fields) {
    int64_t width = getByteSize(field.array->type), count = *countElements(getShape(field, sizes));
    const Array *given = field.isRead() ? findGiven(field, call) : nullptr;
    bool isThere = !field.isLeftOut && (given || !field.isRead());
    writeWord(text, !isThere ? isNull : given ? isRead : isWritten);
    writeWord(text, count * width);
    if (!isThere || !given)
      continue;
    for (double value : given->values) {
      uint64_t bits = toBits(value, field.array->type);
      text.append(reinterpret_cast<const char *>(&bits), size_t(width)); // little-endian, as the processors are
    }
  }
  return text;
}

EmulatedReply EmulatedKernels::read(const EmulatedCall &call, Reading &reading) const {
  EmulatedReply reply;
  reply.error = reading.takeText().str();
  reply.gradient.sizes = call.data->sizes;
  if (!reply.error.empty())
    return reply;
  for (const ArgumentField &field : getFields(call)) {
    if (field.isRead() || field.isLeftOut)
      continue;
    Array array{getShape(field, call.data->sizes), {}};
    size_t width = size_t(getByteSize(field.array->type)), count = size_t(*countElements(array.shape));
    StringRef bytes = reading.take(count * width);
    if (bytes.size() != count * width) {
      reply.error = "the reply ends too early";
      return reply;
    }
    for (size_t i = 0; i < count; ++i) {
      uint64_t bits = 0;
      std::memcpy(&bits, bytes.data() + i * width, width);
      array.values.push_back(fromBits(bits, field.array->type));
    }
    data::NamedArrays &into = field.role == recur::abi::Role::Output          ? reply.results.outputs
                              : field.role == recur::abi::Role::Final         ? reply.results.final
                              : field.role == recur::abi::Role::InputGradient ? reply.gradient.inputs
                              : field.role == recur::abi::Role::ParamGradient ? reply.gradient.params
                                                                              : reply.gradient.initial;
    into[field.array->name] = std::move(array);
  }
  return reply;
}

//===----------------------------------------------------------------------===//
// The process
//===----------------------------------------------------------------------===//

static Error writeFile(StringRef path, StringRef bytes) {
  std::error_code code;
  raw_fd_ostream os(path, code);
  os << bytes;
  os.close();
  return code ? errorCodeToError(code) : Error::success();
}

Expected<std::string> EmulatedKernels::start(StringRef input, StringRef cpu) const {
  SmallString<128> folder;
  if (std::error_code code = sys::fs::createUniqueDirectory("recur-arm", folder))
    return errorCodeToError(code);
  scope_exit remove([&] { (void)sys::fs::remove_directories(folder); });
  std::string at = folder.str().str(), objectPath = at + "/kernels.so", inputPath = at + "/calls",
              outputPath = at + "/replies", errorPath = at + "/errors";
  for (auto [path, bytes] : {std::pair<StringRef, StringRef>(objectPath, object), {inputPath, input}})
    if (Error error = writeFile(path, bytes))
      return std::move(error);
  std::string symbol = interface.getDescriptorSymbol(), message;
  StringRef words[] = {RECUR_QEMU, "-cpu", cpu, "-L", RECUR_ARM_ROOT, RECUR_ARM_RUNNER, objectPath, symbol};
  std::optional<StringRef> redirects[] = {StringRef(inputPath), StringRef(outputPath), StringRef(errorPath)};
  int status = sys::ExecuteAndWait(RECUR_QEMU, words, std::nullopt, redirects, /*SecondsToWait=*/600, 0, &message);
  auto read = [](StringRef path) {
    auto buffer = MemoryBuffer::getFile(path);
    return buffer ? (*buffer)->getBuffer().str() : "";
  };
  if (status != 0)
    return makeError("the emulator ended with " + Twine(status) + ": " + message + read(errorPath));
  return read(outputPath);
}

Expected<std::vector<EmulatedReply>> EmulatedKernels::run(ArrayRef<EmulatedCall> calls, StringRef cpu) const {
  std::string input;
  for (const EmulatedCall &call : calls)
    input += write(call);
  Expected<std::string> output = start(input, cpu);
  if (!output)
    return output.takeError();
  Reading reading{*output};
  reading.takeText();
  std::vector<EmulatedReply> replies;
  for (const EmulatedCall &call : calls)
    replies.push_back(read(call, reading));
  return replies;
}

Expected<std::string> EmulatedKernels::select(StringRef cpu) const {
  Expected<std::string> output = start("", cpu);
  if (!output)
    return output.takeError();
  Reading reading{*output};
  return reading.takeText().str();
}

#include "Engine/Memory.h"
#include "Engine/CUDADriver.h"
#include "Support/Errors.h"
#include "llvm/ADT/SmallVector.h"
#include <bit>

using namespace llvm;
using namespace recur;
using namespace recur::engine;

namespace {

class OwnMemory : public Memory {
public:
  Expected<void *> give(void *bytes, int64_t) override { return bytes; }
  Error take(void *, const void *, int64_t) override { return Error::success(); }
  Error wait() override { return Error::success(); }
};

class DeviceMemory : public Memory {
public:
  explicit DeviceMemory(const CUDADriver &driver) : driver(driver) {}
  ~DeviceMemory() override {
    for (CUDAPointer place : places)
      driver.free(place);
  }
  Expected<void *> give(void *bytes, int64_t count) override {
    CUDAPointer place = 0;
    if (Error error = driver.check(driver.allocate(&place, size_t(std::max<int64_t>(count, 1))), "memory"))
      return std::move(error);
    places.push_back(place);
    if (Error error = driver.check(count ? driver.copyToDevice(place, bytes, size_t(count)) : 0, "a copy"))
      return std::move(error);
    return std::bit_cast<void *>(place);
  }
  Error take(void *bytes, const void *place, int64_t count) override {
    auto from = reinterpret_cast<CUDAPointer>(place);
    return driver.check(count ? driver.copyToHost(bytes, from, size_t(count)) : 0, "a copy");
  }
  Error wait() override { return driver.check(driver.synchronize(), "the kernels"); }

private:
  const CUDADriver &driver;
  SmallVector<CUDAPointer> places;
};

} // namespace

std::optional<std::string> engine::explainNoDevice(const Target &target) {
  if (!target.isCPU())
    return CUDADriver::get().explainNoDevice(target);
  if (target.runsHere)
    return std::nullopt;
  if (target.getArchitecture() != getHostTarget().getArchitecture())
    return "'" + target.name + "' is of " + target.getArchitecture() + ", and this processor of " +
           getHostTarget().getArchitecture();
  return "this processor lacks instructions of '" + target.name + "'";
}

Expected<std::unique_ptr<Memory>> engine::openMemory(const Target &target) {
  if (target.isCPU() && target.getArchitecture() != getHostTarget().getArchitecture())
    return makeError("--target: kernels for '" + target.name + "' cannot run here: " + *explainNoDevice(target));
  if (target.isCPU()) // the runtime says which instructions are missing
    return std::make_unique<OwnMemory>();
  const CUDADriver &driver = CUDADriver::get();
  if (std::optional<std::string> reason = driver.explainNoDevice(target))
    return makeError("--target: kernels for '" + target.name + "' cannot run here: " + *reason);
  if (Error error = driver.makeCurrent(target))
    return std::move(error);
  return std::make_unique<DeviceMemory>(driver);
}

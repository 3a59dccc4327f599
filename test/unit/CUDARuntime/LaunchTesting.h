// Calls on a GPU's memory of a recurrence with a param and a state, by a driver that remembers what it is told.
#pragma once
#include "ABI/LaunchWords.h"
#include "FakeCUDA.h"
#include "recur/Runtime.h"
#include "gmock/gmock.h"

inline constexpr recur_array_info arrays[] = {{"q", RECUR_INPUT, RECUR_BF16, 1, 1, {8, 0}},
                                              {"mu", RECUR_PARAM, RECUR_BF16, 0, 0, {0, 0}},
                                              {"S", RECUR_STATE, RECUR_F32, 0, 2, {6, 8}},
                                              {"o", RECUR_OUTPUT, RECUR_BF16, 0, 1, {6, 0}}};
inline constexpr recur_launch_info launches[] = {{"gdn", 256, 1000, 0, 0, 0, nullptr, 0, 0, 0, 0, 0, 0, nullptr, 0}};
inline constexpr recur_kernel_info kernelInfo = {nullptr,  640,     0, RECUR_PLAN_CHUNK, 64,     nullptr, 0, 1,
                                                 launches, nullptr, 0, nullptr,          nullptr};
inline constexpr recur_recurrence recurrence = {RECUR_ABI_VERSION, 90,         4,        1,       arrays,
                                                &kernelInfo,       "gdn",      "sm_90a", "0.1",   nullptr,
                                                "image",           RECUR_CUDA, nullptr,  nullptr, nullptr};

class Launch : public ::testing::Test {
protected:
  Launch() {
    fakeCUDA = FakeCUDA();
    fakeCUDA.context = &fakeCUDA;
    fakeCUDA.wordCount = recur::abi::countWords(5);
    call.B = 2;
    call.T = 70;
    call.H = 4;
    call.Hq = 2;
    arguments[0].data = q;
    arguments[1].data = mu;
    arguments[3].data = o;
    arguments[4].data = S;
    call.arguments = arguments;
    call.argument_count = 5;
    call.workspace = workspace;
    call.workspace_bytes = sizeof workspace;
    call.device = RECUR_CUDA;
    call.stream = this;
  }
  ~Launch() override { recur_unload(&recurrence); }

  recur_status forward(const int64_t *deviceOffsets = nullptr) {
    call.device_offsets = deviceOffsets;
    return recur_forward(&recurrence, &call);
  }
  std::vector<int64_t> wordsOf(int array) const {
    auto begin = fakeCUDA.words.begin() + recur::abi::getWord(array, recur::abi::DataWord);
    return {begin, begin + recur::abi::arrayWords};
  }
  static int64_t at(const void *data) { return reinterpret_cast<int64_t>(data); }

  recur_call call = {};
  recur_argument arguments[5] = {};
  alignas(64) char q[2 * 70 * 2 * 8 * 2], mu[4 * 2], o[2 * 70 * 4 * 6 * 2], S[2 * 4 * 48 * 4], workspace[8 * 640];
};

// A driver that remembers what it is told, in the place of NVIDIA's.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

struct FakeLaunch {
  std::string symbol;
  std::vector<unsigned> grid, block;
  unsigned sharedBytes;
  bool isEarly; // may start before the launch before it has ended
  std::vector<int64_t> words;
};

struct FakeMap {
  static constexpr int64_t mark = 0x6d6170; // that is left in the map's place
  const void *place, *data;
  std::vector<uint64_t> sizes, strides;
  std::vector<uint32_t> box;
};

struct FakeCUDA {
  void *context;
  const void *hostMemory; // all other memory is the device's
  int loads, unloads, launches;
  int capability = 90, multiprocessors = 10;
  int mostSharedBytes = 101376; // that a CTA may have
  int sharedBytes;              // as set for the function
  int errorOfLoad;
  unsigned grid, threads, launchShared;
  void *stream;
  std::vector<int64_t> words; // of the parameter, as many as the test asks for
  std::size_t wordCount;
  std::vector<FakeLaunch> all;
  std::vector<FakeMap> maps;
  int errorOfMap;
  int synchronized;                 // how often a stream was waited for
  std::vector<const void *> loaded; // the code
};
extern FakeCUDA fakeCUDA;

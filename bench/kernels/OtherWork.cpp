#include "OtherWork.h"
#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

using namespace recur::bench;

/// Seconds of all processors together that were not idle.
static double readBusyTime() {
  std::ifstream file("/proc/stat");
  std::string word;
  file >> word; // "cpu"
  // user, nice, system, idle, iowait, irq, softirq, steal
  double ticks[8] = {}, busy = 0;
  for (double &tick : ticks)
    file >> tick;
  for (int i : {0, 1, 2, 5, 6, 7})
    busy += ticks[i];
  return busy / double(std::max(1L, sysconf(_SC_CLK_TCK)));
}

static double readOwnTime() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  auto seconds = [](const timeval &time) { return double(time.tv_sec) + 1e-6 * double(time.tv_usec); };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

static double readClock() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

OtherWork::OtherWork() : everyone(readBusyTime()), self(readOwnTime()), start(readClock()) {}

double OtherWork::countProcessors() const {
  double passed = readClock() - start, others = (readBusyTime() - everyone) - (readOwnTime() - self);
  return passed > 0 ? std::max(0.0, others / passed) : 0;
}

// Memory whose neighbours nobody may touch.
#pragma once
#include <cstddef>
#include <sys/mman.h>
#include <unistd.h>

namespace recur::test {

/// Memory of exactly so many bytes between two forbidden pages: flush with the upper one, or with the lower one.
class GuardedPages {
public:
  GuardedPages(size_t bytes, bool flushWithUpper) : bytes(bytes) {
    size_t page = size_t(sysconf(_SC_PAGESIZE)), inner = (bytes + page - 1) / page * page;
    size = inner + 2 * page;
    base = static_cast<char *>(mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (inner)
      mprotect(base + page, inner, PROT_READ | PROT_WRITE);
    data = base + page + (flushWithUpper ? inner - bytes : 0);
  }
  GuardedPages(const GuardedPages &) = delete;
  ~GuardedPages() { munmap(base, size); }
  const size_t bytes;
  char *data;

private:
  char *base;
  size_t size;
};

} // namespace recur::test

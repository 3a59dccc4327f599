/* What LLVM, the C++ library and the unwinder of this machine call, and glibc 2.28 has not, by means of what it has.
 * Linked into what `RecurOldGlibc` is linked with, and shown to nobody else. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of files. Before 2.33 these were inline functions that called the others with a number for the layout of the struct.
 */
#define LAYOUT 1
int __xstat(int layout, const char *path, struct stat *result);
int __lxstat(int layout, const char *path, struct stat *result);
int __fxstat(int layout, int file, struct stat *result);
int __xstat64(int layout, const char *path, struct stat64 *result);
int __lxstat64(int layout, const char *path, struct stat64 *result);
int __fxstat64(int layout, int file, struct stat64 *result);
int __xmknod(int layout, const char *path, mode_t mode, dev_t *device);

int stat(const char *path, struct stat *result) { return __xstat(LAYOUT, path, result); }
int lstat(const char *path, struct stat *result) { return __lxstat(LAYOUT, path, result); }
int fstat(int file, struct stat *result) { return __fxstat(LAYOUT, file, result); }
int stat64(const char *path, struct stat64 *result) { return __xstat64(LAYOUT, path, result); }
int lstat64(const char *path, struct stat64 *result) { return __lxstat64(LAYOUT, path, result); }
int fstat64(int file, struct stat64 *result) { return __fxstat64(LAYOUT, file, result); }
int mknod(const char *path, mode_t mode, dev_t device) { return __xmknod(0, path, mode, &device); }

/* Since 2.36. The C++ library's std::random_device asks for it. */
uint32_t arc4random(void) {
  uint32_t number = 0;
  while (getrandom(&number, sizeof number, 0) != sizeof number) {
  }
  return number;
}

/* Since 2.33; the older one counts in int. LLVM prints it. */
struct mallinfo2 mallinfo2(void) {
  struct mallinfo narrow = mallinfo();
  struct mallinfo2 wide;
  memset(&wide, 0, sizeof wide);
  wide.arena = (unsigned)narrow.arena;
  wide.hblkhd = (unsigned)narrow.hblkhd;
  wide.uordblks = (unsigned)narrow.uordblks;
  wide.fordblks = (unsigned)narrow.fordblks;
  return wide;
}

/* Since 2.32: whether the process has one thread, so that counts of references need not be atomic. They are atomic
 * here. */
char __libc_single_threaded = 0;

/* Since 2.35: the loaded object that has an address, and its table for unwinding. */
struct search {
  uintptr_t address;
  struct dl_find_object *found;
};

static int look(struct dl_phdr_info *object, size_t size, void *data) {
  struct search *search = data;
  uintptr_t first = UINTPTR_MAX, last = 0, table = 0;
  int has_address = 0;
  (void)size;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr) *part = &object->dlpi_phdr[i];
    uintptr_t begin = object->dlpi_addr + part->p_vaddr, end = begin + part->p_memsz;
    if (part->p_type == PT_GNU_EH_FRAME)
      table = begin;
    if (part->p_type != PT_LOAD)
      continue;
    first = begin < first ? begin : first;
    last = end > last ? end : last;
    has_address |= begin <= search->address && search->address < end;
  }
  if (!has_address || !table)
    return 0;
  memset(search->found, 0, sizeof *search->found);
  search->found->dlfo_map_start = (void *)first;
  search->found->dlfo_map_end = (void *)last;
  search->found->dlfo_eh_frame = (void *)table;
  return 1;
}

int _dl_find_object(void *address, struct dl_find_object *found) {
  struct search search = {(uintptr_t)address, found};
  return dl_iterate_phdr(look, &search) ? 0 : -1;
}

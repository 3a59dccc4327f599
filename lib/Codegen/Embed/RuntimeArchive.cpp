// The runtime's archives, which travel inside the compiler: a shared object of kernels is linked with them.
#include "Codegen/Embed/Combine.h"

#define RECUR_EMBED(NAME, PATH)                                                                                        \
  asm(".pushsection .rodata\n.balign 16\n.hidden recur_" #NAME "_begin\n.hidden recur_" #NAME "_end\n"                 \
      ".globl recur_" #NAME "_begin\nrecur_" #NAME "_begin:\n.incbin \"" PATH "\"\n"                                   \
      ".globl recur_" #NAME "_end\nrecur_" #NAME "_end:\n.byte 0\n.popsection\n");
#include "Codegen/Embed/RuntimeArchive.inc"

extern "C" const char recur_start_begin[], recur_start_end[], recur_runtime_begin[], recur_runtime_end[],
    recur_builtins_begin[], recur_builtins_end[];

using recur::codegen::RuntimeArchives;

RuntimeArchives recur::codegen::getRuntimeArchives() {
  return {{recur_start_begin, recur_start_end},
          {recur_runtime_begin, recur_runtime_end},
          {recur_builtins_begin, recur_builtins_end}};
}

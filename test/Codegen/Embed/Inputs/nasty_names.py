"""Writes a specification whose inputs are called as everything is that a header made of them could trip over: the macros
that its includes and their usual neighbours define, as this machine's compilers have them, the words of recur/Runtime.h,
and the keywords of C and C++. Inputs are spread over several recurrences."""

import re
import subprocess
import sys

out, include, *compilers = sys.argv[1:]

HEADERS = ["recur/Runtime.h", "stdint.h", "string.h", "limits.h", "float.h", "stddef.h", "stdbool.h", "iso646.h"]
KEYWORDS = """alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class
co_await co_return co_yield compl concept const_cast consteval constexpr constinit continue decltype default delete do
double dynamic_cast else enum explicit export extern false float friend goto if inline int long mutable namespace new
noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires restrict return
short signed sizeof static static_assert static_cast struct switch template this thread_local throw true try typedef
typeid typename typeof union unsigned using virtual void volatile wchar_t while xor xor_eq _Bool _Complex _Static_assert
GDN_ARGUMENTS N0_DIM_K n0_args n0_call args arguments call recur_words_call x x_strides x_strides_strides"""
# What no name of a .recur file may be: the words of the language, and its functions.
OWN = "recurrence dim const input shared param state let output for in fn".split()
OWN += re.findall(r'\{Builtin::\w+, "(\w+)"', open(f"{include}/../lib/Frontend/Builtins.cpp").read())
assert "sum" in OWN and "ones" in OWN

names = set(KEYWORDS.split()) | set(re.findall(r"\w+", open(f"{include}/recur/Runtime.h").read()))
includes = "".join(f"#include <{header}>\n" for header in HEADERS)
for compiler, language in zip(compilers, ["c", "c++"]):
    macros = subprocess.run([compiler, "-x", language, f"-I{include}", "-dM", "-E", "-"], input=includes, text=True,
                            capture_output=True, check=True).stdout
    names |= set(re.findall(r"#define (\w+)", macros))
names = sorted(name for name in names if not name[0].isdigit() and name not in OWN)
assert len(names) > 500

with open(out, "w") as spec:
    for i in range(0, len(names), 100):
        some = names[i : i + 100]
        spec.write(f"recurrence n{i // 100} {{\n  input {', '.join(some)}\n")
        spec.write(f"  output the_sum = {' + '.join(some)}\n}}\n")

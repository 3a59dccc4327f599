"""Fails unless each mlir block of a page stands in a file, as lines that follow each other; indentation does not count."""

import re
import sys

page, source = (open(path, encoding="utf-8").read() for path in sys.argv[1:3])


def lines(text):
    return "\n".join(line.strip() for line in text.strip().splitlines()) + "\n"


excerpts = re.findall(r"^```mlir\n(.*?)^```", page, re.S | re.M)
missing = [excerpt for excerpt in excerpts if "\n" + lines(excerpt) not in "\n" + lines(source)]
for excerpt in missing:
    print(f"{sys.argv[1]}: this is not in {sys.argv[2]}:\n{excerpt}")
print(f"{len(excerpts) - len(missing)} excerpts stand in the plan")
sys.exit(1 if missing or not excerpts else 0)

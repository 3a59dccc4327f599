"""expect_exit.py CODE COMMAND...: runs the command and succeeds if it exits with the code."""

import subprocess
import sys

code = subprocess.run(sys.argv[2:]).returncode
if code != int(sys.argv[1]):
    sys.exit(f"{' '.join(sys.argv[2:])}\nexits with {code}, not with {sys.argv[1]}")

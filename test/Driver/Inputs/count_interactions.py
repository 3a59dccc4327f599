"""Prints, for each named example, the interaction matrices that `explain --json` counts and lists, and those that a chunk forms."""
import json
import subprocess
import sys

recurc, examples, *names = sys.argv[1:]
for name in names:
    report = json.loads(subprocess.run([recurc, "explain", f"{examples}/{name}.recur", "--json"], check=True,
                                       capture_output=True).stdout)
    state = next(s for s in report["states"] if s["name"] == "S")
    print(name, state["interaction_count"], len(state["interactions"]), report["chunk"]["interactions"])

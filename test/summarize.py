"""Adds up what a ctest run did: prints the counts per ctest entry and, last, one line `N passed, N failed`.

An entry of many tests (GoogleTest, lit) counts as its tests, from the results file it left; any other as one test. An entry
that failed without naming a failed test, because it crashed, counts as one failure more.
"""

import argparse
import os
import sys
import xml.etree.ElementTree as ElementTree


def counts_of(path):
    """(passed, failed, skipped) of the tests in a JUnit file."""
    passed = failed = skipped = 0
    for case in ElementTree.parse(path).iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            failed += 1
        elif case.find("skipped") is not None or case.get("status") == "notrun":
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped


def skipped_of(path):
    """`test: why` of each test that was not run."""
    for case in ElementTree.parse(path).iter("testcase"):
        reason = case.find("skipped")
        if reason is not None:
            yield f"{case.get('classname')}.{case.get('name')}: {(reason.get('message') or 'skipped').splitlines()[0]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("junit", help="what ctest --output-junit wrote")
    parser.add_argument("results", help="the folder of the entries' own results files")
    arguments = parser.parse_args()
    total, skips = [0, 0, 0], []
    print(f"{'':40}   passed   failed  skipped  seconds")
    for entry in ElementTree.parse(arguments.junit).iter("testcase"):
        name = entry.get("name")
        ran_well = entry.get("status") == "run"
        path = os.path.join(arguments.results, name + ".xml")
        try:
            counts = counts_of(path) if os.path.exists(path) else (int(ran_well), 0, 0)
        except ElementTree.ParseError:
            counts = (0, 0, 0)
        passed, failed, skipped = counts
        if skipped:
            skips += skipped_of(path)
        if not ran_well and not failed:
            failed = 1
        print(f"{name:40} {passed:8} {failed:8} {skipped:8} {float(entry.get('time')):8.1f}")
        total = [a + b for a, b in zip(total, (passed, failed, skipped))]
    for skip in skips:
        print(f"skipped: {skip}")
    skipped = f", {total[2]} skipped" if total[2] else ""
    print(f"{total[0]} passed, {total[1]} failed{skipped}")
    return 1 if total[1] or not total[0] else 0


if __name__ == "__main__":
    sys.exit(main())

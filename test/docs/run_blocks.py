"""Runs the fenced code blocks of Markdown files, so that what the documentation says keeps being true.

In one file, in order, in one scratch folder that holds links to examples/ and test/ and has the built tools on its PATH:
  sh       is run by bash with -euo pipefail and must succeed;
  text     after `<!-- output -->` must be what the sh block before it printed; a line `...` stands for any lines;
  mlir     must be accepted by recur-opt;
  any      after `<!-- file: NAME -->` is written to NAME, for the commands that follow; a recur block must have a name.
A block after `<!-- not run: REASON -->` is left alone. Other blocks are only shown.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

FENCE = re.compile(r"^( *)(```+)(.*)$")
MARK = re.compile(r"^ *<!-- (not run|file|output)(?:: (.*?))? -->$")
SECONDS = 300


class Block:
    def __init__(self, line, language, mark, value, text):
        self.line, self.language, self.mark, self.value, self.text = line, language, mark, value, text


def blocks_of(text):
    """The fenced blocks; a mark belongs to the block that follows it, with at most blank lines between."""
    found, lines, mark, at = [], text.split("\n"), (None, None), 0
    while at < len(lines):
        fence, comment = FENCE.match(lines[at]), MARK.match(lines[at])
        if comment:
            mark = comment.groups()
        elif fence:
            indent, ticks, language = len(fence[1]), fence[2], fence[3].strip()
            start = at + 1
            at = start
            while at < len(lines) and lines[at].strip() != ticks:
                at += 1
            body = "\n".join(line[indent:] for line in lines[start:at]) + "\n"
            found.append(Block(start, language, *mark, body))
            mark = (None, None)
        elif lines[at].strip():
            mark = (None, None)
        at += 1
    return found


def pattern_of(expected):
    lines = [r"(?:.*\n)*?" if line.strip() == "..." else re.escape(line.rstrip()) + r"\s*\n" for line in expected.splitlines()]
    return re.compile("".join(lines) + r"\s*")


class Page:
    def __init__(self, path, folder, environment):
        self.path, self.folder, self.environment = path, folder, environment
        self.ran = 0
        self.faults = []
        self.printed = None

    def fault(self, block, message):
        self.faults.append(f"{self.path}:{block.line}: {message}")

    def execute(self, block, command, text):
        self.ran += 1
        try:
            done = subprocess.run(command, input=text, capture_output=True, text=True, cwd=self.folder,
                                  env=self.environment, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            self.fault(block, f"ran for more than {SECONDS} s")
            return None
        if done.returncode:
            self.fault(block, f"exits with {done.returncode}:\n{text}{done.stdout}{done.stderr}")
            return None
        return done.stdout

    def run(self, block):
        if block.mark == "not run":
            if not block.value:
                self.fault(block, "'not run' needs a reason")
            return
        if block.mark == "file":
            target = os.path.join(self.folder, block.value)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "w", encoding="utf-8") as file:
                file.write(block.text)
        if block.mark == "output":
            if self.printed is None:
                self.fault(block, "is an output, but no sh block that succeeded is before it")
            elif not pattern_of(block.text).fullmatch(self.printed):
                self.fault(block, f"is not what the commands print, which is:\n{self.printed}")
        elif block.language == "sh":
            self.printed = self.execute(block, ["bash", "-euo", "pipefail", "-c", block.text], "")
        elif block.language == "mlir":
            self.execute(block, ["recur-opt", "-o", os.devnull, "-"], block.text)
        elif block.language == "recur" and block.mark != "file":
            self.fault(block, "a recur block needs `<!-- file: NAME.recur -->` before it")


def run_page(path, arguments, environment):
    with open(path, encoding="utf-8") as file:
        blocks = blocks_of(file.read())
    with tempfile.TemporaryDirectory(prefix="docs-") as folder:
        for shared in ("examples", "test"):
            os.symlink(os.path.join(arguments.root, shared), os.path.join(folder, shared))
        page = Page(path, folder, environment)
        for block in blocks:
            page.run(block)
    return page


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", required=True, help="the repository's root")
    parser.add_argument("--tools", required=True, help="the folder of the built tools")
    parser.add_argument("pages", nargs="+", help="Markdown files, or folders of them")
    arguments = parser.parse_args()
    arguments.root = os.path.abspath(arguments.root)
    environment = dict(os.environ, PATH=os.path.abspath(arguments.tools) + os.pathsep + os.environ["PATH"])
    paths = []
    for page in arguments.pages:
        if os.path.isdir(page):
            paths += sorted(os.path.join(page, f) for f in os.listdir(page) if f.endswith(".md"))
        elif page.endswith(".md"):
            paths.append(page)
    pages = [run_page(path, arguments, environment) for path in paths]
    faults = [fault for page in pages for fault in page.faults]
    print("\n".join(faults))
    print(f"{len(pages)} pages, {sum(page.ran for page in pages)} blocks run, {len(faults)} faults")
    return 1 if faults or not pages else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Prints each word of test/words.txt in the files below, with a replacement, and exits 1 if there is any.

Code in Markdown, in fences and in backticks, is not read.
"""

import re
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
# Files and folders without these words. Add a folder when it is clean.
CLEAN = [
    ".github",
    "CHANGELOG.md",
    "CODE_OF_CONDUCT.md",
    "CONTRIBUTING.md",
    "README.md",
    "SECURITY.md",
    "charts",
    "config",
    "docs",
    "operator/api",
    "operator/bpf",
    "operator/cmd",
    "operator/hack",
    "operator/images",
    "operator/internal/acceptance",
    "operator/internal/archive",
    "operator/internal/baseline",
    "operator/internal/chain",
    "operator/internal/clock",
    "operator/internal/commandline",
    "operator/internal/controller",
    "operator/internal/docs",
    "operator/internal/endpoint",
    "operator/internal/evidence",
    "operator/internal/excerpt",
    "operator/internal/figure",
    "operator/internal/generator",
    "operator/internal/guest",
    "operator/internal/measure",
    "operator/internal/measurer",
    "operator/internal/neighbor",
    "operator/internal/nodefacts",
    "operator/internal/observer",
    "operator/internal/placeholder",
    "operator/internal/page",
    "operator/internal/plan",
    "operator/internal/placement",
    "operator/internal/plot",
    "operator/internal/proc",
    "operator/internal/procedure",
    "operator/internal/records",
    "operator/internal/regression",
    "operator/internal/report",
    "operator/internal/schedule",
    "operator/internal/search",
    "operator/internal/series",
    "operator/internal/serve",
    "operator/internal/statistics",
    "operator/internal/study",
    "operator/internal/suite",
    "operator/internal/testing",
    "operator/internal/traffic/frames",
    "operator/internal/traffic/headers",
    "operator/internal/traffic/iperf",
    "operator/internal/traffic/simulated",
    "operator/internal/traffic/trex",
    "operator/internal/traffic/xdp",
    "operator/internal/trialstore",
    "operator/internal/vnf",
    "terraform",
    "test/archive",
    "test/argocd",
    "test/browser",
    "test/config",
    "test/matchbox",
    "test/monitoring",
    "test/proxmox",
    "test/e2e",
    "test/fixtures/trex/README.md",
    "test/helm-unittest",
    "test/lab/README.md",
    "test/lab/e2e",
    "test/lab/internal",
    "test/lab/kubevirt",
    "test/lab/pause",
    "test/scripts",
    "test/terraform",
    "test/terraform-docs",
]
# Generated from comments in the code.
GENERATED = "docs/reference/"
ENDINGS = {".md", ".go", ".c", ".h", ".py", ".sh", ".tf"}
# A phrase may continue on the next line, in a comment too.
GAP = r"\s+(?:(?://|#|\*|>)\s*)?"
CODE = re.compile(r"^```.*?^```|`(?:[^`\n]|\n(?!\n))+`", re.MULTILINE | re.DOTALL)


def words():
    """Reads the list: pairs of a compiled expression and the replacement to propose."""
    for line in (TOP / "test/words.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            expression, replacement = line.split("\t")
            expression = expression.replace(" ", GAP)
            yield re.compile(rf"\b(?:{expression})(?!\w)", re.IGNORECASE), replacement


def text_of(path):
    """Reads a file. In Markdown it blanks out code and keeps the line breaks."""
    text = path.read_text()
    if path.suffix == ".md":
        text = CODE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), text)
    return text


def main():
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *CLEAN],
        cwd=TOP, check=True, capture_output=True, text=True,
    ).stdout.split("\0")
    files = sorted(
        TOP / name
        for name in set(names)
        if Path(name).suffix in ENDINGS and not name.startswith(GENERATED) and (TOP / name).exists()
    )
    missing = [name for name in CLEAN if not (TOP / name).exists()]
    if missing:
        sys.exit(f"words: no such file or folder: {', '.join(missing)}")
    found = 0
    rules = list(words())
    for path in files:
        text = text_of(path)
        for expression, replacement in rules:
            for match in expression.finditer(text):
                found += 1
                line = text.count("\n", 0, match.start()) + 1
                print(f'{path.relative_to(TOP)}:{line}: "{" ".join(match[0].split())}": {replacement}', file=sys.stderr)
    if found:
        sys.exit(f"words: {found} found; the list is test/words.txt")
    print(f"words: {len(files)} files have no word of the list")


main()

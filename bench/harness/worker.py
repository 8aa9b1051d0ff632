"""The program of a process that runs one row with one count of threads and writes its results as JSON."""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path

from harness.measure import Comparison, compare, judge
from harness.registry import Setting, all_rows


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("row")
    parser.add_argument("out", type=Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    row = all_rows()[options.row]
    setting = Setting(options.threads, options.rounds, options.quick)
    results = []
    for item in row.run(setting):
        if isinstance(item, Comparison):
            results.append(compare(row.name, item, setting.threads, setting.rounds))
        else:
            results.append(judge(row.name, item, setting.threads))
    options.out.write_text(json.dumps([dataclasses.asdict(result) for result in results]))


if __name__ == "__main__":
    main()

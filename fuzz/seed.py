#!/usr/bin/env python3
"""Writes the statements of JSON-lines files as seeds: seed.py FILE.jsonl ... FOLDER"""

import hashlib
import json
import pathlib
import sys


def main() -> None:
    *files, folder = map(pathlib.Path, sys.argv[1:])
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            sql = json.loads(line)["sql"].encode()
            (folder / hashlib.sha256(sql).hexdigest()[:16]).write_bytes(sql)
            count += 1
    print(f"{count} statements in {folder}")


if __name__ == "__main__":
    main()

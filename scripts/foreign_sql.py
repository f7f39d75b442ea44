#!/usr/bin/env python3
"""Extracts the SQL in string literals of Python files to .sql files.

foreign_sql.py FOLDER OUT: for projects whose tests contain their statements in code, such as
sqlglot. The result is for `LYRA_SQL_FOLDER` (docs/sql-guard.md) and not for the repository.
"""

import ast
import hashlib
import pathlib
import re
import sys

STATEMENT = re.compile(
    r"\s*\(?\s*(select|with|values|insert|update|delete|merge|create|drop|alter|truncate|attach|detach|"
    r"vacuum|pragma|begin|commit|rollback|savepoint|explain|analyze|analyse|reindex|copy|load|grant|"
    r"revoke|set|use|show|describe|call|execute|replace|refresh|export|import|install|cache|kill|comment)\b",
    re.IGNORECASE,
)


def main() -> None:
    source, out = map(pathlib.Path, sys.argv[1:])
    out.mkdir(parents=True, exist_ok=True)
    texts = set()
    for file in sorted(source.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and STATEMENT.match(node.value):
                texts.add(node.value)
    for text in texts:
        name = hashlib.sha256(text.encode()).hexdigest()[:16]
        (out / f"{name}.sql").write_text(text, encoding="utf-8")
    print(f"{len(texts)} statements in {out}")


if __name__ == "__main__":
    main()

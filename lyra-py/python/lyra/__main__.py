"""`python -m lyra`: the command line."""

from __future__ import annotations

import signal
import sys

from lyra._lyra import command_line


def main() -> int:
    """Runs the command line with the arguments of this process."""
    # Python only records the signal and handles it when Python code runs again, which is not
    # before the command has ended.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return command_line(["lyra-mcp", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())

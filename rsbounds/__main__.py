"""``python -m rsbounds`` and the script ``rsbounds``: the command line."""

import sys


def main() -> int:
    """The command line, whose own imports answer to Ctrl-C too."""
    try:
        from rsbounds.cli import main as command_line

        return command_line()
    except KeyboardInterrupt:
        sys.stderr.write("rsbounds: interrupted before anything was done\n")
        return 130


if __name__ == "__main__":
    sys.exit(main())

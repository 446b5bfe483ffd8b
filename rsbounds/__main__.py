"""``python -m rsbounds`` and the script ``rsbounds``: the command line."""

import sys

from rsbounds._numerics import interrupts


def main() -> int:
    """Run the command line.

    Ctrl-C and SIGTERM end it in good order, and when repeated, at once.
    """
    with interrupts.handled():
        try:
            with interrupts.told():
                from rsbounds.cli import main as command_line

                status = command_line()
        except KeyboardInterrupt:
            sys.stderr.write("rsbounds: interrupted before anything was done\n")
            status = 130
    number = interrupts.arrived()
    return status if number is None else 128 + number


if __name__ == "__main__":
    sys.exit(main())

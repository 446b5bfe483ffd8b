"""``python -m rsbounds`` and the script ``rsbounds``: the command line."""

import os
import signal
import sys
import time
from types import FrameType

PATIENCE = (
    2.0  # seconds in which further signals are taken for a repetition of the first
)


def main() -> int:
    """Run the command line.

    Ctrl-C and SIGTERM end it in good order, and when repeated, at once.
    """
    first: tuple[int, float] | None = None

    def end(number: int, _: FrameType | None) -> None:
        nonlocal first
        if first is None:
            first = number, time.monotonic()
            raise KeyboardInterrupt
        if (
            time.monotonic() - first[1] > PATIENCE
        ):  # files and workers take long to close
            os._exit(128 + number)

    before = {
        number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)
    }
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:  # as by nohup
            signal.signal(number, end)
    try:
        from rsbounds.cli import main as command_line

        status = command_line()
    except KeyboardInterrupt:
        sys.stderr.write("rsbounds: interrupted before anything was done\n")
        status = 130
    for (
        number,
        handler,
    ) in before.items():  # nothing interrupts an interrupted one's last steps
        signal.signal(number, signal.SIG_IGN if first else handler)
    return 128 + first[0] if first else status


if __name__ == "__main__":
    sys.exit(main())

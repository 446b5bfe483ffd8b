"""Prove every claim, or those whose names are given.

With ``--mutate``: prove that errors in the code would be refuted.
"""

import sys
import time
from pathlib import Path

if __name__ == "__main__":
    tests = Path(__file__).parents[1]
    sys.path[:0] = [str(tests), str(tests / "helpers")]
    from proofs.balls import prove
    from proofs.claims import CLAIMS

    if sys.argv[1:2] == ["--mutate"]:
        from proofs.mutations import run

        raise SystemExit(run(sys.argv[2:]))

    for claim in CLAIMS:
        if sys.argv[1:] and claim.name not in sys.argv[1:]:
            continue
        start = time.perf_counter()
        proof = prove(claim)  # raises where it is not so
        margin = 1 - proof.largest / claim.bound
        print(
            f"{claim.name}: {claim.says} is within {claim.bound:g} on [{claim.low:g}, "
            f"{claim.high:g}]: proved, {proof.boxes} boxes, margin {margin:.0%}, "
            f"{time.perf_counter() - start:.1f} s",
            flush=True,
        )

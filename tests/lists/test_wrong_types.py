"""Every public callable with values of every wrong type: refused by name, or answered.

No list of functions: the calls are those of the examples in docstrings.
"""

import time
import warnings

import pytest
from public_calls import (
    FEW,
    WRONG,
    called,
    fresh,
    in_time,
    parameters,
    problem,
    public_modules,
    recorded,
)

#: Parameters whose errors may name another, which they go together with.
OTHERS = {
    "level": ("sigma",),  # of a class of schemes; its function calls it so
    "norm": ("scale",),
    "x": ("model",),  # which is shown it
    "question": ("scheme",),
    "sigmas": ("sigma",),
    "threshold": ("thresholds",),
    "floor": ("rounding",),
    # entries that lack
    "parameters": ("transform", "law", "blocks", "keep_count", "matrix"),
    "path": ("file", "folder", "another run"),
    "out": ("file", "folder"),
    "entries": ("n0",),
    "samplers": ("model", "stage"),
    "model": ("sampler", "margin"),
    "indices": ("margin",),
    "p_a": ("z_a",),  # with scores=True
    "p_b": ("z_b",),
    "flagged": ("rows",),  # of which, by these classes, too many don't pass
    "example": ("input",),  # what it is for a module that takes no such one
}
#: What an entry of a list, or another package's, gives the engine, which calls it with
#: what has been checked where people enter.
PORTS = """
answers: check check_classes check_inputs draw certify stored reach
answers: from_options from_parameters
answers: fingerprint recorded_fingerprint largest_radius scaled selected shown report
answers: levels ranks grown sampler samplers __call__
answers: voted unclassified class_counts settled
frameworks: __call__
loading: __call__ close
results: text parse places record append
certify: __call__ compared with_margin say
sampling: noisy more generator __call__ compared with_margin
schemes: check evaluate takes for_inputs from_options from_parameters drawn_by sampler
schemes: output_sampler noise inputs function one
schemes: checked noisy copies numbers stated presented check_model offsets
schemes: flipped_keys made_curve read check_size
noises: checked noisy copies numbers presented check_model offsets
noises: array below choose discard happens happens_where kept_or_changed like matrices
noises: normal on_host sequences single uniform
discrete: hold guess regions law
transforms: apply checked order column
"""


def is_port(name):
    """Whether the engine alone calls it."""
    _, room, *_, method = name.partition(" ")[0].split(".")
    return (room, method) in _PORTS


_PORTS = {
    (room, method)
    for room, _, methods in (line.partition(":") for line in PORTS.split("\n"))
    for method in methods.split()
}


#: Rooms that answer as the package they are for does, whose errors those are: torch's
#: of tensors, pytest's.
AS_THEIRS = ("torch", "testing")
#: Of these rooms what is refused by name all the same.
BY_NAME = ("rsbounds.torch.networks.lipschitz_bound", "rsbounds.torch.radius")
ROOMS = [
    name
    for name in public_modules()
    if name.split(".")[1] not in AS_THEIRS or name in BY_NAME
]


@pytest.mark.slow
@pytest.mark.parametrize("module", ROOMS)
def test_a_wrong_type_is_a_value_error_that_names_the_argument(
    module, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    warnings.simplefilter("ignore")
    found = []
    try:
        calls, _ = recorded(module)
    except ImportError as error:
        pytest.skip(str(error))
    for call in calls:
        if is_port(call.name):
            continue
        start = time.perf_counter()
        try:
            in_time(lambda call=call: called(call, fresh(call)))
        except Exception:
            continue
        slow = time.perf_counter() - start > 0.2
        for argument in parameters(call):
            for kind in FEW if slow else WRONG:
                said = problem(call, argument, WRONG[kind], OTHERS.get(argument, ()))
                if said:
                    found.append((call.name, argument, kind, said))
    assert not found

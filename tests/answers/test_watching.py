"""Games of two steps against attackers who watch: none leaves less than the bound."""

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

NODES = np.linspace(-9.0, 9.0, 721)  # of the first observation
WEIGHTS = np.exp(-(NODES**2) / 2)
WEIGHTS = WEIGHTS / WEIGHTS.sum()  # spectrally exact for smooth functions

#: The probability of the event after y_1, where y_2 has this mean.
GAMES = {
    "a sum": lambda y, mean: ndtr(y + mean - 0.4),
    "a state that turns back": lambda y, mean: ndtr(1.0 - np.sin(2 * y) + mean),
    "two-sided": lambda y, mean: ndtr(1.0 + y - mean) - ndtr(-1.5 - mean + 0 * y),
    "a product": lambda y, mean: ndtr(np.tanh(y) * mean + 0.5 - 0.2 * y),
}


def left(game, budget, steps):
    """The least probability, over a grid of changes at both steps."""
    least = 1.0
    for first in np.linspace(-budget, budget, 2 * steps + 1):
        rest = np.sqrt(max(budget**2 - first**2, 0.0))
        y = NODES + first
        # the second change is chosen after y_1 is seen
        second = np.linspace(-rest, rest, 2 * steps + 1)[:, None]
        after = game(y[None, :], second).min(axis=0)
        least = min(least, float(after @ WEIGHTS))
    return least


@pytest.mark.parametrize("budget", [0.3, 1.0])
@pytest.mark.parametrize("name", GAMES)
def test_no_attack_found_leaves_less_than_the_bound(name, budget):
    game = GAMES[name]
    clean = float(game(NODES, 0.0) @ WEIGHTS)
    bound = ndtr(ndtri(clean) - budget)
    found = [left(game, budget, steps) for steps in (5, 20)]
    assert bound - 1e-12 < found[1] <= found[0] < clean


def test_on_a_sum_finer_grids_close_the_gap():
    bound = ndtr(ndtri(float(GAMES["a sum"](NODES, 0.0) @ WEIGHTS)) - 1.0)
    gaps = [left(GAMES["a sum"], 1.0, steps) - bound for steps in (1, 3, 17)]
    assert gaps[0] > gaps[1] > gaps[2] >= -1e-12
    assert gaps[2] < 1e-6


#: The direction that counts at the second step, of a plane, after y_1 was seen.
TURNS = {
    "a side that flips": lambda y: np.where(np.floor(2 * y) % 2 == 0, 0.0, np.pi),
    "a direction that turns": lambda y: 2 * y + np.sin(5 * y),
}


def turned(turn, budget, steps, *, watches):
    """The least probability of {u(y_1).y_2 + y_1 > 0.4}, over a grid of changes.

    One who doesn't watch chooses the second direction before y_1 is there.
    """
    angles = np.linspace(0, 2 * np.pi, 8 * steps, endpoint=False)
    least = 1.0
    for first in np.linspace(-budget, budget, 2 * steps + 1):
        rest = np.sqrt(max(budget**2 - first**2, 0.0))
        y = NODES + first
        along = rest * np.cos(turn(y)[None, :] - angles[:, None])
        after = ndtr(y - 0.4 + along)
        if watches:
            after = after.min(axis=0)
        least = min(least, float((after @ WEIGHTS).min()))
    return least


@pytest.mark.parametrize("name", TURNS)
def test_where_both_observations_count_only_one_who_watches_reaches_the_bound(name):
    turn, budget = TURNS[name], 1.0
    bound = ndtr(ndtri(float(ndtr(NODES - 0.4) @ WEIGHTS)) - budget)
    gaps = []
    for steps in (2, 7, 24, 85):
        gaps.append(turned(turn, budget, steps, watches=True) - bound)
        if gaps[-1] < 1e-4:
            break
    assert gaps == sorted(gaps, reverse=True)
    assert -1e-9 < gaps[-1] < 1e-4
    assert turned(turn, budget, 24, watches=False) > bound + 0.02


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in GAMES if name != "a sum"])
def test_finer_grids_find_no_more_where_the_payoff_is_no_sum(name):
    game = GAMES[name]
    bound = ndtr(ndtri(float(game(NODES, 0.0) @ WEIGHTS)) - 1.0)
    found = [left(game, 1.0, steps) for steps in (4, 8, 16, 32, 64)]
    gains = -np.diff(found)
    assert (gains >= -1e-12).all()  # each grid holds the one before
    assert gains[-1] < 1e-4 + gains[0] / 8  # as of a least value that is smooth
    assert found[-1] - 2 * gains[-1] > bound - 1e-12

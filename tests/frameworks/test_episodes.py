"""Returns of episodes: what is certified holds against an attacker who watches."""

import json

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from rsbounds import audit, certify_dataset, schemes
from rsbounds.answers import Flag, TopClass, Values, Votes
from rsbounds.certificate import FIXED_NOISE, SCOPES, WATCHED
from rsbounds.certify import Procedure
from rsbounds.cli import main
from rsbounds.frameworks import episodes
from rsbounds.results import Manifest
from rsbounds.results.internal import manifest_path
from rsbounds.schemes import gaussian

SIGMA, BUDGET = 0.3, 0.2
ONE = np.zeros((1, 1))
LABELLED = ONE, np.ones(1, int)


class Pole:
    """A lean that grows unless it is pushed back; a step is worth 1 until it falls."""

    def reset(self, seed):
        self.lean = np.random.default_rng(seed).uniform(-0.05, 0.05, 1)
        self.steps = 0
        return self.lean, {}

    def step(self, action):
        self.lean = 1.2 * self.lean + (0.1 if action else -0.1)
        self.steps += 1
        return self.lean, 1.0, bool(abs(self.lean[0]) > 0.6), self.steps >= 30, {}


def push(seen):
    return seen[0] < 0


def attacked(budget, generator):
    """A return under an attacker who looks at lean and noise before each change.

    It spends where a small change turns the push to the wrong side.
    """
    pole = Pole()
    seen, _ = pole.reset(int(generator.integers(2**31)))
    left, ended, total = budget**2, False, 0.0
    while not ended:
        past_noise_then_fresh = seen[0] + SIGMA * generator.standard_normal()
        # the change is fixed before the noise of its step: towards the other side
        change = -np.sign(seen[0]) * min(abs(seen[0]) + 0.05, np.sqrt(left))
        if abs(seen[0]) < 0.15:
            change = 0.0
        left = max(left - change**2, 0.0)
        seen, reward, fell, late, _ = pole.step(push([past_noise_then_fresh + change]))
        total += reward
        ended = fell or late
    return total


def test_the_certified_return_holds_against_an_attacker_who_watches():
    sampler = episodes(Pole(), push)
    answer = Values(gaussian(SIGMA), radii=[0.0, BUDGET], p=0.5)
    run = certify_dataset(sampler, ONE, answer, n=400, alpha=0.001)
    low, high = Values.intervals(run.rows)
    assert 1 < low[0, 1, 0] < low[0, 0, 0] <= high[0, 0, 0]
    generator = np.random.default_rng(1)
    found = np.median([attacked(BUDGET, generator) for _ in range(400)])
    assert low[0, 1, 0] <= found <= high[0, 0, 0]


def test_episodes_follow_from_the_generator_and_differ():
    sampler = episodes(Pole(), push)
    first, again = (sampler(None, SIGMA, 20, np.random.default_rng(3)) for _ in "ab")
    assert (first == again).all()
    assert len(np.unique(first)) > 3


def test_every_observation_has_noise_of_its_own():
    seen = []

    def watched(observation):
        seen.append(observation[0])
        return True

    class Still(Pole):
        def step(self, action):
            self.steps += 1
            return np.zeros(1), 0.0, False, self.steps >= 500, {}

    episodes(Still(), watched)(None, 0.5, 4, np.random.default_rng(0))
    assert len(set(seen)) == 2000
    assert abs(np.std(seen) - 0.5) < 0.05


def test_rows_say_that_the_attacker_may_watch(tmp_path):
    path, sampler = tmp_path / "returns.tsv", episodes(Pole(), push)
    answer = Values(gaussian(SIGMA), radii=[0.0, BUDGET])
    run = certify_dataset(sampler, ONE, answer, n=400, alpha=0.001, out=path)
    assert run.scopes() == [WATCHED]
    assert SCOPES[WATCHED].valid
    found = audit.verify(path, data=ONE, model=sampler, rerun=1)
    assert found.findings == ()
    assert "scope" in found.stated
    for place in (path, manifest_path(path)):
        text = place.read_text().replace(WATCHED, "two queries")
        place.write_text(text)
    assert audit.verify(path).findings


def stands(steps):
    """2 for an episode to its end, 1 beyond the tenth step, 0 for others."""
    return 2 if len(steps) == 30 else int(len(steps) > 10)


#: Questions of episodes, what asks them, and the share of an attacked one's returns.
ASKED = {
    "class": (
        lambda: episodes(Pole(), push, stands, 3),
        lambda: TopClass(gaussian(SIGMA)),
        lambda total: total >= 30,
    ),
    "flag": (
        lambda: episodes(Pole(), push, stands, 3),
        lambda: Flag(gaussian(SIGMA), 0.3, flagged=(2,)),
        lambda total: total >= 30,
    ),
    "flag of the return": (
        lambda: episodes(Pole(), push),
        lambda: Flag(gaussian(SIGMA), 0.3, flagged="score>29.5"),
        lambda total: total > 29.5,
    ),
}


@pytest.fixture(params=ASKED)
def asked(request, tmp_path):
    """A file of an answer over episodes, its sampler and its event."""
    sampler, answer, event = ASKED[request.param]
    path, sampler = tmp_path / "episodes.tsv", sampler()
    run = certify_dataset(sampler, LABELLED, answer(), n=400, alpha=0.001, out=path)
    return path, sampler, run, event


def test_classes_and_flags_of_episodes_are_proved_for_an_attacker_who_watches(asked):
    path, sampler, run, event = asked
    assert run.scopes() == [WATCHED]
    row = run.rows[0]
    assert row.predict != -1
    assert row.radius > 0.02
    found = audit.verify(path, data=LABELLED, model=sampler, rerun=1)
    assert found.findings == ()
    assert "scope" in found.stated
    generator = np.random.default_rng(2)
    hits = sum(event(attacked(row.radius, generator)) for _ in range(400))
    # what is certified is above a half of a class, and a flag's threshold
    least = 0.5 if run.manifest.answer["name"] == "class" else 0.3
    assert hits > least * 400 - 3 * np.sqrt(100)


def renamed(path, before, after):
    for place in (path, manifest_path(path)):
        place.write_text(place.read_text().replace(before, after))


def test_a_file_of_episodes_has_the_scope_of_no_single_input(asked):
    path, *_ = asked
    renamed(path, WATCHED, FIXED_NOISE)
    assert "no scheme of episodes" in audit.verify(path).findings[0].text


def test_a_file_of_episodes_says_that_it_is_one(asked):
    path, *_ = asked
    renamed(path, '"episodes": true', '"episodes": false')
    assert "says of no episodes" in audit.verify(path).findings[0].text


@pytest.mark.parametrize(
    "answer", [TopClass(gaussian(0.5)), Flag(gaussian(0.5)), Values(gaussian(0.5))]
)
def test_a_file_of_no_episodes_can_not_say_that_an_attacker_watches(tmp_path, answer):
    path = tmp_path / "plain.tsv"

    def model(batch):
        if answer.name == "values":
            return batch
        return np.concatenate([batch, 0.1 - batch], axis=1)

    certify_dataset(model, LABELLED, answer, n=400, out=path)
    renamed(path, FIXED_NOISE, WATCHED)
    assert "says of no episodes" in audit.verify(path).findings[0].text
    # nor with the manifest's entry, where the model is there
    text = manifest_path(path).read_text()
    manifest = json.loads(text)
    manifest["engine"]["episodes"] = True
    manifest_path(path).write_text(json.dumps(manifest))
    assert audit.verify(path).findings == ()
    given = audit.verify(path, data=LABELLED, model=model, rerun=1)
    assert "plays no episodes" in given.findings[0].text


def test_counts_of_episodes_certified_again_keep_their_scope(asked, tmp_path):
    path, sampler, *_ = asked
    again = tmp_path / "again.tsv"
    assert main(["recertify", str(path), "--alpha", "0.01", "--out", str(again)]) == 0
    assert Manifest.read(again).scope == WATCHED
    assert audit.verify(again, data=LABELLED, model=sampler, rerun=1).findings == ()


@pytest.mark.parametrize("answer", [TopClass, Flag])
@pytest.mark.parametrize("scheme", [schemes.laplace(0.3), gaussian(SIGMA, norm=1)])
def test_classes_and_flags_of_other_laws_are_refused(answer, scheme):
    sampler = episodes(Pole(), push, stands, 3)
    with pytest.raises(ValueError, match=r"whose steps compose|noise that the radius"):
        certify_dataset(sampler, LABELLED, answer(scheme), n=100)


@pytest.mark.parametrize("label", [3, -1, 0.5, None])
def test_an_episode_is_of_one_of_its_classes(label):
    sampler = episodes(Pole(), push, lambda steps: label, 3)
    with pytest.raises(ValueError, match="classify must return a class, 0 to 2"):
        sampler(None, SIGMA, 1, np.random.default_rng(0))


def test_a_return_that_is_no_number_is_on_no_side():
    class Broken(Pole):
        def step(self, action):
            at, _, *rest = super().step(action)
            return at, float("nan"), *rest

    sampler = episodes(Broken(), push).above(0.0)
    with pytest.raises(ValueError, match="environment must give rewards whose sum"):
        sampler(np.zeros(1), 0.1, 2, np.random.default_rng(0))


def test_returns_are_no_classes():
    with pytest.raises(ValueError, match="must return counts of at least two classes"):
        certify_dataset(episodes(Pole(), push), LABELLED, gaussian(SIGMA), n=100)


def test_a_norm_whose_steps_do_not_compose_is_refused_with_the_reason():
    answer = Values(gaussian(SIGMA, norm=1), [0.1])
    with pytest.raises(ValueError, match="whose steps compose"):
        certify_dataset(episodes(Pole(), push), ONE, answer, n=100)


@pytest.mark.parametrize("scheme", [schemes.laplace(0.3), schemes.uniform(0.3)])
def test_other_laws_are_refused(scheme):
    with pytest.raises(ValueError, match="must draw the noise that the radius is for"):
        certify_dataset(episodes(Pole(), push), ONE, Values(scheme, [0.1]), n=100)


def test_what_is_no_environment_is_refused():
    with pytest.raises(ValueError, match="environment must have the methods"):
        episodes(object(), push)
    with pytest.raises(ValueError, match="policy must be callable"):
        episodes(Pole(), 1)

    class Words(Pole):
        def reset(self, seed):
            return "left", {}

    with pytest.raises(ValueError, match="arrays of real numbers"):
        episodes(Words(), push)(None, SIGMA, 1, np.random.default_rng(0))


@pytest.mark.parametrize("tau", [0.05, 0.3, 0.6])
@pytest.mark.parametrize("chance", [0.1, 0.45, 0.8])
def test_the_level_of_flags_of_episodes_is_kept_by_the_worst_detector(tau, chance):
    """All counts of 60 samples, by their probabilities: wrong ones are at most alpha.

    Of an episode whose alarm is a half-space of all observations, a watcher who spends
    the radius leaves Phi(z - R/sigma), or raises it to Phi(z + R/sigma).
    """
    n0, n, alpha = 8, 60, 0.05
    answer = Flag(gaussian(SIGMA), tau)
    procedure = Procedure(n0=n0, n=n, alpha=alpha)
    z = ndtri(chance)
    wrong = {0: 0.0, 1: 0.0}
    for chosen in (0, n0):  # the side that is asked about
        for k in range(n + 1):
            counts = np.array([n - k, k])
            votes = Votes(SIGMA, np.array([n0 - chosen, chosen]), counts, n, 2)
            row = answer.certify(votes, procedure, label=0, index=0).certificate
            moved = row.radius / SIGMA
            fails = {
                1: ndtr(z - moved) <= tau,
                0: ndtr(z + moved) > tau,
                -1: False,
            }[row.predict]
            wrong[int(chosen > 0)] += fails * binom.pmf(k, n, chance)
    assert max(wrong.values()) <= alpha


def test_a_half_space_of_an_episode_reaches_the_radius_of_its_flag():
    """Two readings whose weighted sum raises the alarm, and an attack on both."""
    tau, alarm = 0.05, 1.2

    class Two:
        def __init__(self, change):
            self.change = change

        def reset(self, seed):
            self.left = 2
            return np.array([alarm - self.change / np.sqrt(2)]), {}

        def step(self, action):
            self.left -= 1
            shown = np.array([alarm - self.change / np.sqrt(2)])
            return shown, 0.0, not self.left, False, {}

    def raised(steps):
        return int(sum(step.seen[0] for step in steps) > 2 * alarm - 0.5)

    z = 0.5 / np.sqrt(2) / SIGMA
    radius = Flag(gaussian(SIGMA), tau).radius(z)
    shares = []
    for change in (0.0, radius):
        sampler = episodes(Two(change), lambda seen: 0, raised)
        counts = sampler(None, SIGMA, 4000, np.random.default_rng(4))
        shares.append(counts[1] / 4000)
    spread = np.sqrt([ndtr(z) * (1 - ndtr(z)) / 4000, tau * (1 - tau) / 4000])
    assert (abs(np.array(shares) - [ndtr(z), tau]) < 4 * spread).all()

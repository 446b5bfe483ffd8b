"""Which of two classes is more likely, whatever the others are."""

from rsbounds.answers import Answer, Answered, Votes, class_counts
from rsbounds.certificate import ABSTAIN
from rsbounds.confidence import BOUNDS
from rsbounds.sampling import Phase
from rsbounds.schemes import Option


class Duel(Answer):
    """The more likely of two classes, and how far it stays so.

    The samples that choose say which it is; of the others only those that fell on one
    of the two matter.
    """

    name = "duel"
    help = "which of two classes is more likely"
    options = (
        Option("first", "a class (0)", int, default=0),
        Option("second", "another class (1)", int, default=1),
    )
    columns = ("against",)

    def __init__(self, scheme, first=0, second=1):
        if not 0 <= first != second >= 0:
            raise ValueError(
                f"first and second must be two classes; got {first}, {second}"
            )
        self.scheme = scheme
        self.pair = first, second

    def parameters(self):
        return {"first": self.pair[0], "second": self.pair[1]}

    @classmethod
    def from_parameters(cls, parameters, scheme):
        return cls(scheme, parameters["first"], parameters["second"])

    @classmethod
    def from_options(cls, options, scheme):
        return cls.from_parameters(options, scheme)

    def draw(self, draws, procedure):
        select = class_counts(draws(Phase.SELECT, procedure.n0))
        counts = class_counts(draws(Phase.ESTIMATE, procedure.n))
        return Votes(draws.sigma, select, counts, procedure.n)

    def stored(self, row):
        return Votes.of(row)

    def certify(self, evidence, procedure, *, label, index):
        chosen, other = sorted(self.pair, key=lambda c: -votes(evidence.select, c))
        pair = BOUNDS[procedure.bound].pair(
            [votes(evidence.counts, chosen), votes(evidence.counts, other)],
            0,
            evidence.n,
            procedure.alpha,
            runner_up=procedure.runner_up,
        )
        leads = pair.z_a > pair.z_b
        certificate = self.voted(
            evidence,
            procedure,
            of=chosen,
            pair=pair,
            predict=chosen if leads else ABSTAIN,
            radius=self.scheme.radius(pair.z_a, evidence.sigma, pair.z_b),
        )
        return Answered(certificate, {"against": str(other)})


def votes(counts, label):
    """The votes of a class; trailing zeros may be left out."""
    return int(counts[label]) if label < len(counts) else 0

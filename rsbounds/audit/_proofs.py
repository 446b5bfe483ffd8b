"""The list of proofs, by the name of the answer."""

from collections.abc import Mapping

from rsbounds.audit._class import ClassProof
from rsbounds.audit._flag import FlagProof
from rsbounds.audit._list import ListProof
from rsbounds.audit._maps import MapsProof
from rsbounds.audit._proof import Proof
from rsbounds.audit._topk import TopKProof
from rsbounds.audit._values import ValuesProof

PROOFS: Mapping[str, Proof] = {
    proof.answer: proof
    for proof in (
        ClassProof(),
        ListProof(),
        TopKProof(),
        ValuesProof(),
        MapsProof(),
        FlagProof(),
    )
}

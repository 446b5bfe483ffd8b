"""The module ``rsbounds.certify`` says what to call when it is called itself."""

from types import ModuleType
from typing import Any, NoReturn


class Certify(ModuleType):
    """A module that people try to call: its name is a verb."""

    def __call__(self, *arguments: Any, **named: Any) -> NoReturn:
        raise TypeError(
            "rsbounds.certify is a module: call rsbounds.certify_dataset(model, data, "
            "scheme) for a data set, or rsbounds.certify.certify(sampler, x, scheme) "
            "for one input"
        )

"""Tables of what is refused, each in one line that names the argument."""

import pytest


def refusals(cases):
    """A test that each call is a ValueError whose one line matches its key."""

    @pytest.mark.parametrize("message", cases)
    def test(message):
        with pytest.raises(ValueError, match=message) as caught:
            cases[message]()
        assert "\n" not in str(caught.value)

    return test

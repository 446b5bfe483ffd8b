"""A method says its parameters once: what else is said of them follows from there."""

import pytest
from listed_schemes import SCHEMES

from rsbounds._numerics.parameters import Declared, Parameter
from rsbounds.audit._declared import answer_for, places_of
from rsbounds.results._facts import MANIFEST
from rsbounds.schemes import METHODS, By, Domain, Option

LEVEL = Option("sigma", "noise level")
ASKED = Option("kind", "what it is", str)


class Toy(Declared):
    declared = (
        Parameter("sigma", "noise level", Domain(0.0, 1.0), option=LEVEL, input=LEVEL),
        Parameter("kind", option=ASKED),
        Parameter("code", "its code", answered_by=By.WRITER, parts=("spec", "source")),
    )


def test_all_follows_from_the_table():
    assert Toy.domains == {"sigma": Domain(0.0, 1.0)}
    assert (Toy.options, Toy.inputs) == ((LEVEL, ASKED), (LEVEL,))
    # what is asked for alone stands in no file
    answers = {"sigma": By.COUNTS, "code.spec": By.WRITER, "code.source": By.WRITER}
    assert Toy.who_answers({}) == answers


def test_a_parameter_that_no_radius_follows_from_is_never_proved_unless_it_says_so():
    assert Parameter("a", "one", Domain(0.0, 1.0)).by is By.COUNTS
    assert Parameter("a", "one").by is None


@pytest.mark.parametrize("name", METHODS)
def test_a_table_has_each_parameter_once_and_says_what_a_file_states(name):
    declared = METHODS[name].declared
    names = [parameter.name for parameter in declared]
    assert len({*names}) == len(names)
    assert all(parameter.about for parameter in declared if parameter.by is not None)
    in_files = {fact.name for fact in MANIFEST}
    for parameter in declared:
        if parameter.by is not None:
            assert f"parameters.{parameter.name}" in in_files


@pytest.mark.parametrize("name", SCHEMES)
def test_a_scheme_states_what_its_table_has(name):
    scheme, _ = SCHEMES[name]()
    answers = type(scheme).who_answers(scheme.parameters)
    for place in places_of(scheme.parameters):
        assert answer_for(place, answers) is not None

"""Who answers for what a file says."""

from enum import StrEnum


class By(StrEnum):
    """Who answers for a fact; the values complete the sentence "it is ..."."""

    COUNTS = "proved from the counts of the rows"
    FILE = "compared with the rest of the file"
    DATA = "compared with the data, where they are given"
    MODEL = "compared with the model, where it is given"
    NOISE = "compared with the noise, where it is given"
    RERUN = "compared with rows that are drawn again"
    MARGIN = "compared with the scores of other settings"
    TRUTH = "compared with the true maps, where they are given"
    WRITER = "stated by the writer"
    METHOD = "answered for as the method says"

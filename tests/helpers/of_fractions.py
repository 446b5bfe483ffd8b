"""Schemes of probabilities that need not be doubles, which no result file can hold."""

from rsbounds.schemes import METHODS


def categorical(keep, values):
    return METHODS["categorical"]({"keep": keep, "values": values})


def flips(add, delete, *, symmetric=False):
    return METHODS["flips"]({"add": add, "delete": delete, "symmetric": symmetric})


def mask(keep_probability, hidden=0):
    return METHODS["mask"]({"keep_probability": keep_probability, "hidden": hidden})


def deletion(delete):
    return METHODS["deletion"]({"delete": delete})

"""The ways in which workers and notebooks copy an object."""

import copy
import pickle

COPIES = {
    "pickle": lambda made: pickle.loads(pickle.dumps(made)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}

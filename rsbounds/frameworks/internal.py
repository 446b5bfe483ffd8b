"""What other rooms of the package take of this one besides its public names."""

from rsbounds.frameworks._estimators import (
    input_names,
    is_estimator,
    is_regressor,
    require_columns,
)
from rsbounds.frameworks._labels import labels_of
from rsbounds.frameworks._shapes import in_pieces, one_shape

__all__ = [
    "in_pieces",
    "input_names",
    "is_estimator",
    "is_regressor",
    "labels_of",
    "one_shape",
    "require_columns",
]

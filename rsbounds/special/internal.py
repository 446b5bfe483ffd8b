"""What other rooms of the package take of this one besides its public names."""

from rsbounds.special._call import DOMAIN, ERROR_KINDS
from rsbounds.special._rules import arguments_of, partials_of

__all__ = ["DOMAIN", "ERROR_KINDS", "arguments_of", "partials_of"]

"""The methods of the noises, in the order of the command line's help.

A noise is a file of :mod:`rsbounds.noises`, and its import and its line here.
"""

from rsbounds.noises.blocks import Blocks
from rsbounds.noises.categorical import Categorical
from rsbounds.noises.deletion import Deletion
from rsbounds.noises.exponential import Exponential
from rsbounds.noises.flips import Flips
from rsbounds.noises.laplace import Laplace
from rsbounds.noises.mask import Mask
from rsbounds.noises.splitting import Splitting
from rsbounds.noises.two_queries import TwoQueries
from rsbounds.noises.uniform import Uniform
from rsbounds.schemes._noise import method

laplace = method(Laplace)
uniform = method(Uniform)
exponential = method(Exponential)
splitting = method(Splitting)
categorical = method(Categorical)
flips = method(Flips)
mask = method(Mask)
deletion = method(Deletion)
blocks = method(Blocks)
two_queries = method(TwoQueries)

"""One record for each operation of torch that has a proven bound.

The proofs are on the theory page on networks.
"""

from rsbounds.torch.networks.operations._arithmetic import ARITHMETIC
from rsbounds.torch.networks.operations._copies import COPIES
from rsbounds.torch.networks.operations._pointwise import POINTWISE
from rsbounds.torch.networks.operations._record import OperationRecord
from rsbounds.torch.networks.operations._reductions import REDUCTIONS
from rsbounds.torch.networks.operations._weights import WEIGHTS

TABLE: dict[str, OperationRecord] = {
    **ARITHMETIC,
    **COPIES,
    **POINTWISE,
    **REDUCTIONS,
    **WEIGHTS,
}

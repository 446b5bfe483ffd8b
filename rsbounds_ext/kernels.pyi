from typing import Any

from numpy import float64, int64, ufunc

symbols: dict[str, tuple[int, int]]  # name -> (address, number of arguments)

# float64 of plain numbers (float, float64, an int up to 2^53); of anything else None
def scalar(function: ufunc, /, *args: object) -> float64 | None: ...
def evaluate(function: ufunc, /, *args: object) -> Any: ...  # function(*args) of anything else
def within(value: object, low: float, high: float, closed: str, /) -> float64 | None: ...
def natural(value: object, low: int, /) -> int64 | None: ...

log_ndtr: ufunc
ndtri: ufunc
ndtri_exp: ufunc
round_down: ufunc
round_up: ufunc
half_gap: ufunc
ball_score: ufunc
ball_offset: ufunc
ncx2_cdf: ufunc
ncx2_sf: ufunc
ncx2_logcdf: ufunc
ncx2_logsf: ufunc
ncx2_pdf: ufunc
ncx2_logpdf: ufunc
ncx2_ppf: ufunc
ncx2_isf: ufunc
ncx2_ppf_exp: ufunc
ncx2_isf_exp: ufunc
marcum_q: ufunc
marcum_p: ufunc
marcum_logq: ufunc
marcum_logp: ufunc
marcum_q_inv: ufunc
marcum_p_inv: ufunc
rice_cdf: ufunc
rice_sf: ufunc
rice_logcdf: ufunc
rice_logsf: ufunc
skellam_cdf: ufunc
skellam_sf: ufunc
skellam_logcdf: ufunc
skellam_logsf: ufunc
ncx2_cdf_inv_nc: ufunc
ncx2_sf_inv_nc: ufunc
ncx2_cdf_inv_df: ufunc
ncx2_sf_inv_df: ufunc
lipschitz_ratio: ufunc
lipschitz_slope: ufunc
worst_score: ufunc
semielastic_radius: ufunc
lipschitz_radius: ufunc
range_radius: ufunc
semielastic_branch: ufunc
lipschitz_branch: ufunc
range_branch: ufunc
pair_certified: ufunc
renyi_radius: ufunc

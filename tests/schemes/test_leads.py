"""Laws of a lead: radii of arrays."""

import numpy as np
import pytest

from rsbounds import schemes


@pytest.mark.parametrize("noise", [schemes.exponential(2.0), schemes.uniform(0.7)])
def test_radii_of_an_array_are_those_of_its_numbers(noise):
    p_a = np.array([0.0, 0.3, 0.5, 0.9, 1 - 1e-12, 1.0])
    p_b = np.array([0.1, 0.3, 1e-300, 0.05, 0.0, 0.0])
    for second in (None, p_b, 0.01):
        radii = noise.radius_of_probabilities(p_a, second)
        each = second if np.ndim(second) else [second] * len(p_a)
        expected = [
            float(noise.radius_of_probabilities(*pair))
            for pair in zip(p_a, each, strict=True)
        ]
        assert radii.tolist() == expected
    with pytest.raises(ValueError, match="p_a"):
        noise.radius_of_probabilities([0.5, 1.5], None)

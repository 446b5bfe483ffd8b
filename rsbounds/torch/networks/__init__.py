"""Networks with proven bounds: noise levels, generators, locally biased classifiers."""

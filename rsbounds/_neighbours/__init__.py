"""Distances to anchor points: the scans, and the levels and radii that rest on them."""

"""What every room stands on: checks, rounding, scores, searches, threads."""

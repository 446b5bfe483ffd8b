"""A scheme, an answer and a bound for rsbounds."""

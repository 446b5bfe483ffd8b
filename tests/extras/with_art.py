"""Smooth a classifier of the Adversarial Robustness Toolbox."""

import numpy as np
from art.estimators.classification import BlackBoxClassifierNeuralNetwork
from small_run import COUNT, INPUTS, WEIGHTS

from rsbounds.art import RandomizedSmoothing

base = BlackBoxClassifierNeuralNetwork(lambda x: x @ WEIGHTS, (5,), 3)
smooth = RandomizedSmoothing(base, 20, scale=0.25)
classes, radii = smooth.certify(INPUTS.astype(np.float32), n=50)
assert len(classes) == len(radii) == COUNT

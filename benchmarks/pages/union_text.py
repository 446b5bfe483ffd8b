"""The words of union.py's page."""

HEAD = """# One certificate against the best level at every radius

At each radius one may pick the constant noise level that certifies most there. No
classifier does that: the union of the constants is a bar, not a model. How near does
**one** classifier come, with one valid certificate? The candidate is a [decision
list](../theory/several-levels.md) over several levels.

## Against the union of Gaussian constants

SHARPER

Certified accuracy of the list over that of the union of the four constants trained by
Gaussian augmentation, at the radii where the union certifies 5 % or more: the least and
the mean of these ratios, of curves that are means over three seeds, n = 10,000. Lists
have up to two gates, chosen on calibration images by the least ratio, among the
constants of one recipe.

GAUSSIAN

A list over **Gaussian** constants doesn't reach their union: a gate costs radius, far
out and near. A list over **consistency**'s levels pays the same for its gates, and is
above the bar on average because its recipe is; where it is least it stays a tenth
below. Against the union of a recipe's own constants no list of this page came above .95
(table below). `python benchmarks/pages/union_gaussian.py docs/benchmarks/union` draws
the counts of this table that are not stored.

## Against the union of all recipes

The bar of the rest of the page is higher: at each radius the best of all recipes at all
levels. The list may have stages that are trained, by
{{py:func}}`rsbounds.torch.training.cascade`, to be sure of some images and to step
aside on others.

ANSWER

**No list comes within 3 % of this bar everywhere, and the trained list is not shown to
be better than a list of constants.** On MNIST the intervals of their least ratios
overlap; on two other splits of the digits the trained list had .728 against .748, and
with a list chosen by average radius constants had the larger ACR on all three seeds
(1.489, 1.536, 1.406 against 1.457, 1.510, 1.351). On Fashion-MNIST the trained list's
least ratio is .02 above that of constants, with intervals that overlap too.

An oracle that sees the labels exceeds the union at every radius with the same networks,
so neither they nor the geometry of balls forbid it: what is missing is a gate that
knows where to step aside. The tables below say at which radii and through which item of
the list it is lost.

```sh
python benchmarks/pages/union.py docs/benchmarks/union.md
```

**Protocol.** Constants of the levels {levels}, each trained by every recipe ({recipes};
"x 2" has twice SmoothAdv's radius), {epochs} epochs of Gaussian noise and as many of
the recipe, the same network: {components} principal components, {hidden} hidden units.
The list's stages are the same network with one more output, for no class, and as many
epochs, after others that tell which images a stage owns. Calibration images choose all
else: the constants of which votes are drawn (the best of all at every .25 of radius),
networks and thresholds of the lists, for each n. Held-out images are only certified:
{n0} samples a level choose, n estimate, alpha = .001 in total for every row. Seeds
{seeds} of split (of the digits), training and noise. Intervals are 95 %, by {draws}
draws of the images with replacement, the same ones for list and union; the least of
many ratios is biased downwards in such draws. Certified accuracy, ACR and radii as on
the [other page](composite.md). rsbounds {version}.

Stored beside this page: of each image and network the three largest counts, which are
all that the bounds of these lists read. They are drawn again where the folder `union/`
lacks them: `--seeds 7` shows another seed, in about five minutes of a core for a set,
and `--n 100000` draws more samples, of which those for n = 10,000 are a part.
"""

TAIL = """
## How to read it

- **Best constant**, **list of constants**, **trained list**: the best on calibration
  images of the constants' networks alone; of gated argmaxes of two or three of them;
  and of lists with up to three gates among constants and trained stages. "Stage
  1.5/2/2/0.3": level, margin from which an image is the stage's own, radius of the
  attack in training, weight of the other images.
- **What limits it.** An image is lost at a radius if the constant that is best there
  certifies it and the list does not. "Item i fires for another class": the list answers
  wrongly. "May still fire for another class": the item's gate is not far enough from
  another class for what comes later to count. "Is not surer": the deciding item's own
  radius ends.
- **Any list over these networks** is an oracle that sees the labels and takes, for each
  image, the network of largest margin (no list certifies an image further), subject to
  the geometry: of two images of different classes that are less than 2r apart, at most
  one is certified to r. **Any classifier** of these components has the geometry alone.
  Both are bounds from above, radius by radius, by plug-in probabilities; neither is a
  classifier.
- **Least ratio to the union of one recipe**, on calibration images, which chose: part
  of the bar is that each recipe is best somewhere. The trained list is the same in all
  rows.
- The same noise is used for all images of a network, so that the errors of certificates
  of different images depend on each other; each has its level.

## What was tried

Least ratios on calibration images of seed 0, which also chose; none of these counts are
kept. With scores that 10,000 samples can show they lie between .70 and .80 on MNIST and
between .82 and .90 on Fashion-MNIST; constants with two or three gates have .75 and
.86, the page's stages .77 and .87.

- **Training by the list's radius**, through {py:func}`rsbounds.torch.radius.cascade`,
  swings between far radii and near ones. It is as good on calibration images as on
  training images, so more images would not help.
- **What ownership trades**: more weight on other images passes more of them on and
  makes a stage less sure of its own; a larger attack does the opposite.
- **Soft labels** from a Gaussian network and **one shared hidden layer** change nothing
  (.767 and .868, .770 and .867), 1,024 hidden units give .800 on MNIST, items that need
  two stages to agree .895 on Fashion-MNIST, a gate of its own (own or wrong) .762 and
  .823.
- **The choice among lists is partly chance**: the best list on one half of the digits'
  images had .738 there and .586 on the other half, at a far radius of few images.
"""

"""The words of union.py's page."""

HEAD = """# One certificate against the best level at every radius

The union of the constants takes, at each radius, the constant noise level that is best
there; no single classifier does that. How near does **one** [decision
list](../theory/several-levels.md) over several levels come?

**What was found.**

- A list over the levels of consistency training reaches .99 to 1.06 of the union of
  Gaussian constants on average over the radii, and .86 to .91 at the worst radius. A
  list over the Gaussian constants themselves stays below.
- At the worst radius the best list reaches .78 to .86 of the union of **all** recipes.
  Lists with trained stages are not shown to be better than lists of constants.
- With the same networks, a gate that sees the labels exceeds the union at every radius.

## Against the union of Gaussian constants

The union of the four constants trained by Gaussian augmentation. A ratio is the list's
certified accuracy over the union's, at each radius at which the union certifies 5 % or
more, of curves averaged over three seeds. A list's levels are constants of one recipe.
Calibration images chose the list of at most two gates with the best least ratio.

GAUSSIAN

`python benchmarks/pages/union_gaussian.py docs/benchmarks/union` draws the counts of
this table that are not stored.

## Against the union of all recipes

Here the union takes the best of all recipes at all levels, and the list may have stages
trained by `rsbounds.torch.training.cascade`. The intervals of the trained list and of
the list of constants overlap on both data sets.

```sh
python benchmarks/pages/union.py docs/benchmarks/union.md
```

**Protocol.** Constants of the levels {levels}, each trained by every recipe ({recipes};
"x 2" has twice SmoothAdv's radius), {epochs} epochs of Gaussian noise and as many of
the recipe; {components} principal components, {hidden} hidden units. A list's stages
have one more output, a void class. Calibration images choose all else: {n0} samples a
level choose, n estimate, alpha = .001 in total for every row. Seeds {seeds}. Intervals
are 95 %, by {draws} draws of the images with replacement. rsbounds {version}. The
folder `union/` has the three largest counts of each image and network, which are all
that these bounds read.
"""

TAIL = """
## How to read it

- **Best constant**, **list of constants**, **trained list**: the best on calibration
  images of the constants alone; of lists of two or three constants; and of lists with
  up to three gates among constants and trained stages. "Stage 1.5/2/2/0.3": level,
  margin from which the stage owns an image, radius of the attack in training, weight of
  the other images.
- **What limits it.** An image is lost where the best constant certifies it and the list
  does not: an item fires for another class, its gate may fire for another class nearby,
  or the deciding item's radius ends ("is not surer").
- **Any list over these networks** sees the labels and takes the network of largest
  margin, but of two images of different classes less than 2r apart at most one is
  certified to r. **Any classifier** has this geometry alone. Both are upper bounds by
  plug-in probabilities.
"""

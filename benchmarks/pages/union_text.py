"""The words of union.py's page."""

HEAD = """# One certificate against the best level at every radius

At each radius one may pick the constant noise level that certifies most there. This
union of the constants is a bar, not a model: no single classifier does that. How near
does **one** [decision list](../theory/several-levels.md) over several levels come?

**What was found.**

- A list over the levels of consistency training has .99 to 1.06 of the union of
  Gaussian constants on average over the radii, and is a tenth to a seventh below it at
  the worst radius. A list over the Gaussian constants themselves does not reach the
  union.
- At the worst radius the best list reaches .78 to .86 of the union of **all** recipes.
  Lists with trained stages are not shown to be better than lists of constants.
- An oracle that sees the labels exceeds the union at every radius with the same
  networks: the gate is what is missing.

## Against the union of Gaussian constants

This union is that of the four constants trained by Gaussian augmentation. At each
radius at which it certifies 5 % or more, the certified accuracy of the list is divided
by that of the union; the table has the least and the mean of these ratios, of curves
averaged over three seeds. A list's levels are constants of one recipe. For each n, the
list of at most two gates with the best least ratio on calibration images was chosen.

GAUSSIAN

`python benchmarks/pages/union_gaussian.py docs/benchmarks/union` draws the counts of
this table that are not stored.

## Against the union of all recipes

Here the bar is the best of all recipes at all levels, at each radius. The list may have
stages trained by {{py:func}}`rsbounds.torch.training.cascade`, to be sure of
some images and to step aside on others.

The intervals of the trained list and of the list of constants overlap on both data
sets. On two other splits of the digits the trained list had .728 against .748.

```sh
python benchmarks/pages/union.py docs/benchmarks/union.md
```

**Protocol.** Constants of the levels {levels}, each trained by every recipe ({recipes};
"x 2" has twice SmoothAdv's radius), {epochs} epochs of Gaussian noise and as many of
the recipe; {components} principal components, {hidden} hidden units. A list's stages
are the same network with one more output, for no class. Calibration images choose all
else, for each n: {n0} samples a level choose, n estimate, alpha = .001 in total for
every row. Seeds {seeds}. Intervals are 95 %, by
{draws} draws of the images with replacement. rsbounds {version}. The folder `union/`
has the three largest counts of each image and network, which is all that these bounds
read; `--seeds 7` draws and shows another seed.
"""

TAIL = """
## How to read it

- **Best constant**, **list of constants**, **trained list**: the best on calibration
  images of the constants alone; of gated argmaxes of two or three of them; and of lists
  with up to three gates among constants and trained stages. "Stage 1.5/2/2/0.3": level,
  margin from which an image is the stage's own, radius of the attack in training,
  weight of the other images.
- **What limits it.** An image is lost where the best constant certifies it and the list
  does not: an item fires for another class; its gate may still fire for another class
  nearby; or the deciding item's own radius ends ("is not surer").
- **Any list over these networks** sees the labels and takes the network of largest
  margin, but of two images of different classes less than 2r apart at most one is
  certified to r. **Any classifier** has this geometry alone. Both are upper bounds by
  plug-in probabilities.
- **Least ratio to the union of one recipe**, on calibration images, which chose.
"""

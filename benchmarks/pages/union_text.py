"""The words of union.py's page."""

HEAD = """# One certificate against the best level at every radius

At each radius one may pick the constant noise level that certifies most there. No
classifier does that: the union of the constants is a bar, not a model. Is there **one**
classifier, with one valid certificate, that comes within 3 % of it at every radius? The
candidate is a [decision list](../theory/several-levels.md) whose stages are trained, by
{{py:func}}`rsbounds.torch.training.cascade`, to be sure of some images and to step
aside on others.

ANSWER

An oracle that sees the labels exceeds the union at every radius with the same networks,
so neither they nor the geometry of balls forbid it: what is missing is a gate that
knows where to step aside. Most of the gap is in the bar, though, where each recipe is
best somewhere: of the union of Gaussian constants alone, lists of Gaussian constants
reach about .95 on Fashion-MNIST. The tables below say at which radii and through which
item of the list it is lost.

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

Least ratio on the calibration images of seed 0, which also chose, by plug-in
probabilities of 1,500 samples; 256 hidden units, 10 to 15 epochs of noise and as many
of a recipe. Neither the counts of these runs nor their programs are kept: what this
page's command makes again are its tables above.

| what | MNIST | Fashion-MNIST |
| --- | --- | --- |
| A. constants, two or three gates | 0.749 | 0.856 |
| B. A with votes of little softmax void, the bound searched for each item | 0.763 | |
| C. all stages trained by the list's smoothed radius; at its best | 0.704 | 0.819 |
| D. stages trained by ownership, the best list of 33 (digits) or 6 of them \
| 0.862 | 0.882 |
| E. D with items that need two stages to agree, of 33 or 16 | 0.844 | 0.895 |
| F. three stages of D, then ten epochs by the list's smoothed radius | 0.869 | 0.855 |
| G. ownership as on this page, of five or four stages | 0.815 | 0.868 |

For the digits D, E and G allow scores up to 3.4, which more than 10,000 samples can
show: without them G has .756. There F counts radii up to 2.8, and C stopped after 8 of
48 epochs.

- **Training by the list's radius** (C, F), through
  {py:func}`rsbounds.torch.radius.cascade`, with weights that go where the list lags,
  swings between far radii and near ones. It is as good on calibration images as on
  training images, so more images would not help.
- **What ownership trades**, level 1.5 of Fashion-MNIST: with weight .3, .4 and 1 on
  other images, .36, .34 and .26 of all are sure beyond 2, where the union has .41, and
  no other class fires on .81, .84 and .94, of which a list needs nearly all. 1,024
  hidden units pass .01 more at equal sureness. An attack to radius 3, or to each
  image's own margin, makes more sure at 3 and passes fewer; to own fewer images does
  the opposite.
- **The choice among lists is partly chance**: the best list of B on one half of the
  digits' images had .738 there and .586 on the other half, at a far radius of few
  images.

The page's own search, for n = 10,000, on the same images:

| what | MNIST | Fashion-MNIST |
| --- | --- | --- |
| the page's stages | 0.767 | 0.868 |
| H. own images have the soft labels of level 0.25's Gaussian network | 0.767 | 0.868 |
| I. they share one hidden layer, whose units each stage scales and shifts \
| 0.770 | 0.867 |
| J. I with 1,024 hidden units, as many weights as four stages | 0.800 | 0.868 |
| K. instead of stages, constants with a gate of its own: own or wrong | 0.762 | 0.823 |

- **Distillation** (H) hardly changes what a stage is sure of, or passes.
- **Sharing** (I, J) costs nothing. More units help the digits; the constants keep
  their 256.
- **Convolutions** on the pixels (16 and 32 channels; three of the recipes, 6 epochs of
  noise and as many of the recipe, 500 images): the best list of constants has .777 and
  .861 of their union, that of components .863 and .875 of its own. The stage of level
  1.5 fires on .41 and .59 and passes .97 and .83, those of components .46 and .57, .97
  and .83.
"""

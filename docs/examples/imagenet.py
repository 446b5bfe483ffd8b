"""Certify a ResNet-50 on the validation pictures of ImageNet, on one GPU or on many.

One GPU:

    python imagenet.py /data/imagenet/val --sigma 0.25 --checkpoint resnet50.pt

Eight GPUs under SLURM: `sbatch imagenet.sbatch`. Each task takes every eighth picture
and writes a file of its own; `rsbounds merge` makes one of them. A run that was stopped
goes on where it was when the same command is given again.
"""

import argparse
import os
import sys
from pathlib import Path

from rsbounds import certify_dataset, schemes
from rsbounds.loading import load_model, open_data


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("pictures", type=Path, help="a folder of a folder for each class")
    add("--model", default="torchvision:resnet50", help="as rsbounds certify takes it")
    add("--checkpoint", type=Path, help="a state_dict of this model, trained on noise")
    add("--sigma", type=float, default=0.25, help="level of the noise (%(default)s)")
    add("--n", type=int, default=100_000, help="noisy copies (%(default)s)")
    add("--alpha", type=float, default=0.001, help="probability of error (%(default)s)")
    add("--skip", type=int, default=1, help="every so many pictures (%(default)s)")
    add("--batch", type=int, default=400, help="copies at once (%(default)s)")
    add("--device", default="cuda", help="cuda, cuda:1, cpu (%(default)s)")
    add("--out", type=Path, default=Path("resnet50.tsv"), help="(%(default)s)")
    return parser.parse_args()


def share(out):
    """This process's share of the pictures, as i/N, and the file that it writes."""
    task = int(os.environ.get("SLURM_PROCID", 0))
    tasks = int(os.environ.get("SLURM_NTASKS", 1))
    if tasks == 1:
        return "0/1", out
    return f"{task}/{tasks}", out.with_suffix(f".{task}-of-{tasks}{out.suffix}")


def main():
    args = options()
    shard, out = share(args.out)
    loaded = load_model(args.model, checkpoint=args.checkpoint)
    place = f"imagefolder:{args.pictures}"
    with open_data(place, preprocess=loaded.preprocess, labels=loaded.labels) as data:
        results = certify_dataset(
            loaded.model.eval(),
            data,
            schemes.gaussian(args.sigma),
            out=out,
            n=args.n,
            alpha=args.alpha,
            skip=args.skip,
            shard=shard,
            batch_size=args.batch,
            device=args.device,
        )
    accuracy = float(results.certified_accuracy(args.sigma))
    print(
        f"{out}: {len(results.rows)} pictures, {accuracy:.3f} at radius {args.sigma:g}"
    )


if __name__ == "__main__":
    try:
        main()
    except (ImportError, OSError, ValueError) as error:
        sys.exit(f"imagenet.py: {error}")

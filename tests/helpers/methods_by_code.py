"""Callables for ``--method MODULE:CALLABLE``, sound, asserted and wrong."""

METHODS = """
import json
from functools import partial
from pathlib import Path

import numpy as np
from rsbounds import schemes
from rsbounds.composite import Rule
from rsbounds.schemes import Scheme
from rsbounds.semielastic import KNNSigma

def fixed(sigma=0.25):
    return schemes.gaussian(sigma)

class Stated(Scheme):
    def __init__(self, name, parameters, sigma, radius=lambda *scores: 100.0):
        self.name, self.sigma, self.radius = name, sigma, radius
        super().__init__(parameters)

def lies():
    return Stated("gaussian", {"sigma": 0.25}, lambda x: 0.3)

def varying(x):
    return 0.2 + 0.05 * float(np.linalg.norm(x))

def stated(lip=0.05, dim=36):
    return schemes.lipschitz(varying, lip, 0.2, dim)

def neighbours():
    anchors = np.random.default_rng(0).standard_normal((30, 36))
    return KNNSigma(anchors, 0.3, 0.1, 5, "mean")

class Mine(KNNSigma):
    def sigma(self, x):
        return 0.3

def subclass():
    return Mine(np.zeros((30, 36)), 0.3, 0.1, 5, 0.0)

def rule():
    return Rule.from_dict(json.loads(Path("rule.json").read_text()))

def network():
    import torch
    from rsbounds.torch import SigmaNetwork
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(36, 1))
    net[1].weight.data *= 0.1
    return SigmaNetwork(net, 0.25)

def convolution():
    import torch
    from rsbounds.torch import SigmaNetwork
    torch.manual_seed(0)
    layers = torch.nn.Conv2d(1, 2, 3), torch.nn.Flatten(), torch.nn.Linear(32, 1)
    return SigmaNetwork(torch.nn.Sequential(*layers), 0.25)

def maps():
    import torch
    from rsbounds.torch import FixedNoise
    return FixedNoise(torch.zeros(1, 6, 6), torch.linspace(.2, .4, 36).reshape(1, 6, 6))

def other_maps():
    import torch
    from rsbounds.torch import FixedNoise
    return FixedNoise(torch.zeros(1, 6, 6), torch.full((1, 6, 6), .3))

def generator():
    import torch
    from rsbounds.torch import CertifiedGenerator, Scale
    return CertifiedGenerator(Scale(0.1), network(), torch.ones(1, 6, 6))

def anew():
    import torch
    from rsbounds.torch import NoiseGenerator
    return NoiseGenerator(torch.nn.Conv2d(1, 2, 3, padding=1), 0.1)

def third(z_a, sigma, z_b=None):
    return max(sigma * z_a / 3, 0.0)

def foreign(parameters={}, radius=third):
    return Stated("thirds", parameters, lambda x: 0.25, radius)

def changed():
    return foreign()

def unsaid(known=float("nan")):
    return foreign(parameters={"floor": known, "each": [1.0, known]})

def nan_radius():
    return foreign(radius=lambda *scores: float("nan"))

def broken_radius():
    return foreign(radius=lambda *scores: {}["no"])

def unspeakable():
    return foreign(parameters={"model": object()})

def asserted_twice():
    return Stated("generator", {}, varying)

def turned():
    from models import linear
    return lambda batch: linear()(batch)[:, ::-1]

def no_scheme():
    return 3

def negative():
    return Stated("lipschitz", {"lip": -1, "sigma_min": .2, "dim": 36}, varying)

def below():
    return Stated("lipschitz", {"lip": 1, "sigma_min": .2, "dim": 36}, lambda x: .1)
"""

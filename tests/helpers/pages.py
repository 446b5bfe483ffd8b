"""Pages as strangers' files and a browser leave them."""

import shutil
import subprocess
from html.parser import HTMLParser

import numpy as np

from rsbounds.results import Results, Row

OWNED = (
    '</script><script>document.title="owned"</script>'
    '<img src=x onerror=document.title="owned">'
)

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None
)

OFFLINE = (
    *(
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
    ),
    *(
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
    ),
    *("--host-resolver-rules=MAP * ~NOTFOUND", "--virtual-time-budget=10000"),
)


def run(name, count, sigma, seed=0, **more):
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(count):
        p_a, label = float(rng.beta(6, 1)), int(rng.integers(3))
        predict = -1 if p_a < 0.5 else label if rng.random() < 0.9 else (label + 1) % 3
        radius = sigma * float(rng.random()) * (predict >= 0)
        own = {
            "p_a": p_a,
            "sigma": sigma,
            "n": 1000,
            "count": 900,
            "method": "gaussian",
            **more,
        }
        rows.append(
            Row(i, label, predict, radius, predict == label, "fixed noise", **own)
        )
    return Results(name, tuple(rows))


class Parsed(HTMLParser):
    """The tags of a page, its scripts, and the rest of its text."""

    def __init__(self, text):
        super().__init__()
        self.tags = []
        self.scripts = []
        self.text = ""
        self.inside = False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.inside = tag == "script"
        if self.inside:
            self.scripts.append("")

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.scripts[-1] += data
        else:
            self.text += data


def dom(path, folder, *more):
    """The page as a browser leaves it, without a network."""
    words = [str(BROWSER), *OFFLINE, *more, f"--user-data-dir={folder}"]
    words += ["--dump-dom", path.as_uri()]
    done = subprocess.run(
        words, capture_output=True, text=True, timeout=600, check=True
    )
    return done.stdout

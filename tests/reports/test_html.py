"""The HTML report: its numbers, what strangers' files may do in it, and a browser."""

import base64
import hashlib
import re
from dataclasses import replace

import numpy as np
import pytest
from pages import BROWSER, OWNED, Parsed, dom, run
from scipy.stats import binomtest

from rsbounds.certificate import ANOTHERS, ASSERTED_ENVELOPE, THIS_INPUT
from rsbounds.procedure import Procedure
from rsbounds.reports import html, table
from rsbounds.reports._charts import charts
from rsbounds.reports._draw import draw_curves, new_axes
from rsbounds.results import Manifest, Results, Row, read
from rsbounds.results.internal import write


@pytest.fixture
def page(tmp_path):
    def page(files):
        html(files, tmp_path / "report.html")
        return (tmp_path / "report.html").read_text(encoding="utf-8")

    return page


def drawn_steps(chart):
    """Name -> edges and heights, as the page draws a chart of curves."""
    axes = new_axes((4, 3), is_shown=False)
    draw_curves(axes, chart.curves)
    found = {}
    for stairs in axes.patches:
        heights, edges, _ = stairs.get_data()
        found[stairs.get_label()] = (edges, np.append(heights[0], heights))
    return found


def height(curve, radius):
    """What a step curve shows at a radius: between two points, the height of the later
    one.
    """
    edges, heights = curve
    return heights[int(np.searchsorted(edges, radius))]


def names_of(chart):
    return [curve.name for curve in chart.curves]


def test_curves_are_the_certified_accuracy_and_its_best():
    files = [run("narrow", 300, 0.25), run("wide", 200, 1.0, seed=1)]
    drawn = drawn_steps(charts(files, ["narrow", "wide"])["curves"])
    assert list(drawn) == ["narrow", "wide", "best of 2 runs, gaussian"]
    radii = np.linspace(0, 1, 57)
    expected = np.array([file.certified_accuracy(radii) for file in files])
    shown = np.array([[height(own, r) for r in radii] for own in drawn.values()])
    np.testing.assert_array_equal(shown[:2, 1:], expected[:, 1:])
    np.testing.assert_array_equal(shown[2], expected.max(axis=0))


def test_a_run_alone_has_its_interval():
    file = run("run", 40, 0.5)
    (curve,) = charts([file], ["run"])["curves"].curves
    for share, low, high in zip(curve.heights, *curve.band, strict=True):
        interval = binomtest(round(share * 40), 40).proportion_ci(0.95, "exact")
        np.testing.assert_allclose([low, high], interval, rtol=1e-9, atol=1e-12)
    two = charts([file, run("other", 40, 1.0)], ["run", "other"])["curves"]
    assert [own.band for own in two.curves] == [None] * 3


DATA = {"kind": "npz", "labels": "f00d", "skip": 1, "inputs": 50}
OTHER = {
    "norm": {"norm": float("inf")},
    "n": Manifest(procedure=Procedure(n=500), data=DATA),
    "bound": {"bound": "anytime"},
    "method": {"method": "semi-elastic"},
    "scope": {"scope": THIS_INPUT},
    "alpha": Manifest(procedure=Procedure(alpha=0.01), data=DATA),
    "labels": Manifest(data=DATA | {"labels": "beef"}),
    "skip": Manifest(data=DATA | {"skip": 2}),
}


@pytest.mark.parametrize("other", OTHER)
def test_there_is_no_best_of_what_cannot_be_compared(other):
    """The best was taken of runs on two data sets, or of other parts of one, without a
    word.
    """
    first, second = (
        replace(run(name, 50, sigma), manifest=Manifest(data=DATA))
        for name, sigma in (("first", 0.5), ("second", 1.0))
    )
    assert len(charts([first, second], ["a", "b"])["curves"].curves) == 3
    assert "[" not in table([first, second])
    if isinstance(change := OTHER[other], Manifest):
        second = replace(second, manifest=change)
    else:
        second = replace(
            second, rows=tuple(replace(row, **change) for row in second.rows)
        )
    assert len(charts([first, second], ["a", "b"])["curves"].curves) == 2
    assert (other == "method") == ("[" not in table([first, second]))


@pytest.mark.parametrize(
    "scope", [THIS_INPUT, ASSERTED_ENVELOPE, ANOTHERS, "utterly proven"]
)
def test_there_is_no_best_of_what_is_no_certificate_of_the_classifier(scope):
    files = [run("narrow", 50, 0.5), run("wide", 50, 1.0, seed=1)]
    files = [
        replace(f, rows=tuple(replace(row, scope=scope) for row in f.rows))
        for f in files
    ]
    assert len(charts(files, ["narrow", "wide"])["curves"].curves) == 2


def test_each_group_of_comparable_runs_has_its_best():
    files = [run("a", 50, 0.5), run("b", 50, 1.0), run("c", 50, 0.5, norm=1.0)]
    files += [
        run("d", 50, 1.0, norm=1.0),
        run("e", 50, 0.5, method="x"),
        run("f", 50, 0.5, method="x"),
    ]
    assert names_of(charts(files, list("abcdef"))["curves"])[6:] == [
        "best of 2 runs, gaussian, norm 2",
        "best of 2 runs, gaussian, norm 1",
    ]


def test_curves_of_many_rows_are_never_drawn_too_high():
    """A page shows so many steps; between two of them a curve stands as at the later
    one.
    """
    file = run("run", 4000, 0.7)
    (curve,) = drawn_steps(charts([file], ["run"])["curves"]).values()
    assert len(curve[0]) < 1000
    radii = np.linspace(0, 0.7, 997)
    shown = np.array([height(curve, radius) for radius in radii])
    true = file.certified_accuracy(radii)
    step = curve[0][1]
    assert (shown[1:] <= true[1:]).all()
    assert (shown >= file.certified_accuracy(radii + step)).all()
    assert shown[1:].sum() > 0.99 * true[1:].sum()
    band = charts([file], ["run"])["curves"].curves[0].band
    assert len(band[0]) == len(band[1]) == len(curve[0])


def test_infinite_radius_stays_in_the_picture():
    rows = tuple(Row(i, 1, 1, r, True) for i, r in enumerate([0.5, float("inf")]))
    places = charts([Results("run", rows)], ["run"])
    (curve,) = places["curves"].curves
    assert (curve.edges.tolist(), curve.heights.tolist()) == (
        [0.0, 0.5, 0.525],
        [1.0, 1.0, 0.5],
    )
    assert "p_a" not in places  # a file of the field has none


def test_table_of_the_runs(page):
    """Quantiles of p_A once hid the certified accuracies, and sigma was in a folded
    manifest.
    """
    known = [(0.875, 1), (0.75, 1), (0.9375, 0), (0.625, 1), (0.96875, 1)]
    data = DATA | {"inputs": 5}
    manifest = Manifest(model={"spec": "m:net"}, data=data, run={"data": "digits.npz"})
    files = []
    for name, sigma in (("a", 0.5), ("b", 1.0)):
        rows = [
            Row(
                i,
                0,
                1 - right,
                sigma,
                bool(right),
                "fixed noise",
                p_a=p_a,
                sigma=sigma,
                n=9,
            )
            for i, (p_a, right) in enumerate(known)
        ]
        files.append(Results(name, tuple(rows), manifest=manifest))
    text = page(files)
    lines = text.split("</table>")[0].split("<tr>")[1:]
    lines = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line) for line in lines]
    head, first, _, best = lines
    assert head[:6] == ["run", "r=0", "r=0.25", "r=0.5", "r=0.75", "r=1"]
    assert head[6:] == [
        "abstain",
        "ACR",
        "inputs",
        *(f"p_A {q}%" for q in (5, 25, 50, 75, 95)),
    ]
    assert first[0] == "a<br><small>sigma 0.5 (stated)</small>"
    above = text.split("<table>")[0]
    shared = "All runs: norm 2, n 100000, alpha 0.001, model m:net, data digits.npz"
    assert above.count(shared) == 1
    assert first[1:4] == ["0.800<br><small>.284–.995</small>"] * 3
    assert [cell[:5] for cell in first[4:6]] == ["0.000", "0.000"]
    assert first[-5:] == ["0.0000", "0.6250", "0.7500", "0.8750", "0.8750"]
    assert best == ["best of 2 runs", *["0.800"] * 5, *["-"] * 8]
    assert "Best of several runs: at each radius the highest" in text
    assert "Best of several runs" not in page(files[:1])


def hostile(folder):
    """Files whose name, columns, cells, scope and manifest would all like to run a
    script.
    """
    row = run("", 60, 0.5).rows[0]
    extra = {OWNED: OWNED, "@script@": "@body@", "&lt;b&gt;": "<b>"}
    own = Results(
        f"{OWNED}.tsv",
        tuple(
            Row(
                i,
                row.label,
                row.label,
                0.1 * i,
                True,
                OWNED,
                n=9,
                method=OWNED,
                extra=extra,
            )
            for i in range(3)
        ),
        note=OWNED,
        manifest=Manifest(method=OWNED, model={OWNED: OWNED}),
    )
    path = folder / "<b onclick=alert(1)>.tsv"
    write(
        path,
        Manifest(data={"inputs": 3}, scope=OWNED, extra={OWNED: "</pre>" + OWNED}),
        own.rows,
    )
    return [own, read(path)]


def test_strangers_text_is_never_markup(page, tmp_path):
    text = page(hostile(tmp_path))
    parsed = Parsed(text)
    assert len(parsed.scripts) == 1  # the page's own
    tags = {tag for tag, _ in parsed.tags}
    assert not tags & {"img", "b", "a", "link", "iframe", "object", "base", "form"}
    for tag, attributes in parsed.tags:
        assert not [name for name in attributes if name.startswith("on")], tag
        assert not {"src", "href", "action"} & set(attributes), tag
    assert OWNED in parsed.text  # escaped, and so shown
    rows = text.split("<h2>Rows</h2>")[1]
    escape = pytest.importorskip("markupsafe").escape
    for cell in (escape(OWNED), "@script@", "&amp;lt;b&amp;gt;"):
        assert re.search(rf"\t{re.escape(cell)}[\t\n]", rows)
    assert f"\t{escape(OWNED)}\t@body@\t&lt;b&gt;\n" in rows


def test_policy_knows_the_page_s_own_scripts_alone(page):
    parsed = Parsed(page([run("run", 3, 0.5)]))
    (policy,) = (
        a["content"] for tag, a in parsed.tags if tag == "meta" and a.get("http-equiv")
    )
    digests = [hashlib.sha256(script.encode()).digest() for script in parsed.scripts]
    own = " ".join(
        f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests
    )
    assert policy.endswith(f"script-src {own}")
    assert policy.startswith("default-src 'none'; form-action 'none'; base-uri 'none';")


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="needs Chromium")
def test_browser_draws_everything_and_runs_nothing_else(page, tmp_path):
    files = [
        run("narrow", 130, 0.25),
        run("wide", 120, 1.0, seed=1),
        *hostile(tmp_path),
    ]
    path = tmp_path / "hostile.html"
    text = page(files)
    # one more script, past all escaping: the policy must stop it
    path.write_text(
        text.replace("</body>", "<script>document.title='owned'</script></body>")
    )
    found = dom(path, tmp_path / "profile")
    title = re.search(r"<title>(.*?)</title>", found)[1]
    assert title.startswith("Certified accuracy: narrow [1], wide [1], ")
    for place in ("curves", "p_a", "accuracy", "abstention"):
        assert f'<figure class="chart" id="{place}"' in found
    assert "best of 2 runs, gaussian" in found


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="needs Chromium")
def test_a_box_of_the_legend_hides_its_curve(page, tmp_path):
    files = [run("narrow", 300, 0.25), run("wide", 200, 1.0, seed=1)]
    text = page(files)
    start = text.index('<meta http-equiv="Content-Security-Policy"')
    open_ = text[:start] + text[text.index(">", start) + 1 :]
    script = """<script>
    const hidden = (name) => [...document.querySelectorAll(`[id^="${name}"]`)].map(
      (part) => part.style.display);
    for (const place of ["curves", "accuracy"]) {
      document.querySelector(`#${place} input`).click();
    }
    const names = ["curves-0-", "curves-1-", "accuracy-0-", "p_a-0-"];
    document.title = names.map((name) => [...new Set(hidden(name))]).join("|");
    </script></body>"""
    (tmp_path / "box.html").write_text(open_.replace("</body>", script))
    found = dom(tmp_path / "box.html", tmp_path / "profile")
    assert re.search(r"<title>(.*?)</title>", found)[1] == "none||none|"


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="needs Chromium")
def test_rows_sort_in_a_browser(page, tmp_path):
    """Rows sorted, until the charts' library drew them."""
    file = run("run", 40, 0.5)
    text = page([file])
    click = """
    const rows = document.getElementById("rows");
    rows.addEventListener("toggle", () => {
      const heads = [...rows.querySelectorAll("th")];
      heads.find((head) => head.textContent === "radius").click();
    });
    rows.querySelector("summary").click();
    """
    start = text.index('<meta http-equiv="Content-Security-Policy"')
    open_ = (
        text[:start] + text[text.index(">", start) + 1 :]
    )  # its policy runs no other script
    end = f"<script>{click}</script></body>"
    (tmp_path / "clicked.html").write_text(open_.replace("</body>", end))
    found = dom(tmp_path / "clicked.html", tmp_path / "profile").split("<h2>Rows</h2>")[
        1
    ]
    lines = [re.findall("<td>(.*?)</td>", line) for line in found.split("</tr>")[1:41]]
    assert [float(line[4]) for line in lines] == sorted(
        (r.radius for r in file.rows), reverse=True
    )


@pytest.mark.slow
def test_a_page_of_ten_thousand_rows_and_the_charts_of_a_thousand_classes(page):
    """It took 5 MB, of which the rows were a small part; then 1.9, of which 1.8."""
    few = len(page([run("run", 100, 0.5)]))
    assert few < 60_000
    rows = [Row(i, i % 1000, i % 1000, 0.1, True, n=9, p_a=0.9) for i in range(10_000)]
    text = page([Results("run", tuple(rows))])
    assert len(text.split("<h2>Rows</h2>")[0]) < 200_000
    assert len(page([run("run", 10_000, 0.5)])) < 1_000_000


def test_an_abstention_rate_is_not_cut(page):
    """3 of 100 were shown as 0.0299, which is less than the rate."""
    rows = [Row(i, 0, -1 if i < 3 else 0, 0.5 * (i > 2), i > 2) for i in range(100)]
    assert "<td>0.0300</td>" in page([Results("run", tuple(rows))])


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="needs Chromium")
@pytest.mark.parametrize("width", [1400, 800, 500])  # no window is narrower
def test_columns_of_three_runs_fit_into_a_window(page, tmp_path, width):
    """All columns up to eight radii at 1400 pixels; a narrower page scrolls the table,
    not itself.
    """
    files = []
    for name, sigma in (("narrow", 0.25), ("middle", 0.5), ("wide", 0.5)):
        made = run(name, 60, sigma)
        # of up to 1.93, which are shown at 0, .25, ..., 1.75
        rows = (replace(row, radius=min(row.radius, 1.93)) for row in made.rows)
        files.append(replace(made, rows=(*rows, Row(60, 1, 1, 1.93, True, n=9))))
    text = page(files)
    assert "r=1.75" in text.split("</thead>")[0]
    start = text.index('<meta http-equiv="Content-Security-Policy"')
    open_ = text[:start] + text[text.index(">", start) + 1 :]
    table = "document.querySelector('.scroll')"
    body = "document.documentElement"
    fits = (f"{part}.scrollWidth <= {part}.clientWidth" for part in (table, body))
    script = f"<script>document.title = [{', '.join(fits)}]</script></body>"
    (tmp_path / "wide.html").write_text(open_.replace("</body>", script))
    size = f"--window-size={width},900"
    shown = dom(tmp_path / "wide.html", tmp_path / "profile", size)
    title = re.search(r"<title>(.*?)</title>", shown)[1]
    assert title == ("true,true" if width == 1400 else "false,true")

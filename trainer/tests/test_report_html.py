"""The report: hostile text stays text, nothing is requested, the page parses, numbers show."""

import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest

from cascade_rl.errors import DataError, RunError
from cascade_rl_trainer.report import heatmap
from cascade_rl_trainer.report.chart import (
    Panel,
    format_tick,
    line_chart,
    moving_average,
    nice_ticks,
    thinned,
)
from cascade_rl_trainer.report.heatmap import matrix_svg
from cascade_rl_trainer.report.html import clean, duration, write_report
from cascade_rl_trainer.report.matrix import EvalSample, Matrix
from cascade_rl_trainer.report.run_data import choose_rollouts
from cascade_rl_trainer.report.svg import tag
from cascade_rl_trainer.state import progress
from cascade_rl_trainer.state.fingerprint import Fingerprint
from cascade_rl_trainer.state.log import JsonLog

HOSTILE = (
    "<script>alert(1)</script></pre><img src=https://evil.example/x onerror=alert(2)>"
    "'\"&{{ 7 * 7 }}\x00\x1b[31m\u202e\ud800 https://evil.example"
)
STAGES = [
    {"name": "sft", "kind": "sft", "steps": 3, "domains": {"math": 1.0}},
    {
        "name": "math",
        "kind": "grpo",
        "steps": 40,
        "domain": "math",
        "gates": [{"domain": "ifeval", "max_drop": 0.1, "action": "warn"}],
    },
    {"name": "ifeval", "kind": "grpo", "steps": 9, "domain": "ifeval"},
]


def make_matrix(domains=("math", "ifeval")):
    def row(*shares):
        return [
            EvalSample(domain, f"p{i}", float(i < 100 * share), greedy=greedy)
            for domain, share in zip(domains, shares, strict=True)
            for i in range(100)
            for greedy in (False, True)
        ]

    made = Matrix.empty(domains, 1).with_row("before", [], row(0.05, 0.1))
    made = made.with_row("sft", domains[:1], row(0.3, 0.45))
    return made.with_row("math", domains[:1], row(0.71, 0.25))


def write_logs(folder, metrics, rollouts=()):
    for name, records in (("metrics", metrics), ("rollouts", rollouts)):
        log = JsonLog(folder / f"{name}.jsonl")
        for record in records:
            log.append(record)
        log.close()


@pytest.fixture
def run_dir(tmp_path):
    """A run with two stages done and one to come; everything a pack or model gives is hostile."""
    fingerprint = Fingerprint(
        cascade={"stages": STAGES},
        packs={},
        data={},
        versions={"torch": "2.13.0+cpu"},
        threads=2,
        device="cpu",
    )
    done = (
        progress.StageDone(name="sft", steps=3, seconds=1.5),
        progress.StageDone(name="math", steps=40, seconds=200, warnings=(HOSTILE,)),
    )
    record = progress.RunRecord(
        name="demo",
        seed=7,
        started="2026-01-01T00:00:00+00:00",
        fingerprint=fingerprint,
        done=done,
        seconds=201.5,
    )
    progress.save(tmp_path, record)
    (tmp_path / "matrix.json").write_text(make_matrix().model_dump_json())
    stages = tmp_path / "stages"
    write_logs(stages / "sft", [{"step": i + 1, "loss": 2.0 / (i + 1)} for i in range(3)])
    metrics = [
        {"step": i + 1, "reward": i / 40, "truncated": 0.5, "length": 10.0 + i, "unscored": i == 4,
         "unscored_by_status": {"timeout": 1} if i == 4 else {}, "grad_norm": float("nan")}
        for i in range(40)
    ]  # fmt: skip
    rollouts = [
        {"step": i + 1, "prompt": HOSTILE, "completion": HOSTILE, "reward": float(i % 2),
         "status": "scored", "reason": HOSTILE, "mode": HOSTILE, "ground_truth": {"x": HOSTILE}}
        for i in range(600)
    ]  # fmt: skip
    rollouts[-3] |= {"reward": None, "status": "timeout", "completion": "y" * 5000}
    write_logs(stages / "math", metrics, rollouts)
    return tmp_path


class Page(HTMLParser):
    """Checks that tags nest; collects tags, attributes and text."""

    VOID = frozenset({"meta", "br", "img", "input", "link", "hr"})

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.attributes, self.text = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes.extend(attrs)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.text.append(data)


@pytest.fixture
def html(run_dir):
    return write_report(run_dir).read_text(encoding="utf-8")


def test_hostile_text_stays_text(html):
    page = Page(html)
    assert not {"script", "img", "iframe", "link", "object", "a"} & set(page.tags)
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    text = "".join(page.text)
    assert text.count("<script>alert(1)</script></pre>") >= 12
    assert "{{ 7 * 7 }}\ufffd\ufffd[31m\u202e\ufffd" in text
    assert "49" not in re.findall(r"alert\(2\)>'\"&(\d+)", text)


def test_nothing_is_requested(html):
    page = Page(html)
    assert not {"src", "href", "srcset", "action", "xlink:href"} & {n for n, _ in page.attributes}
    assert "default-src 'none'" in html
    assert not re.search(r"@import|url\(", html)
    shown = "".join(page.text).count("https://")
    assert html.count("https://") == shown  # only as text of completions
    assert "http://" not in html


def test_the_page_says_what_happened(html):
    text = " ".join(" ".join(Page(html).text).split())
    for words in (
        "2 of 3 stages done",
        "seed 7",
        "3 min 22 s",
        "torch 2.13.0+cpu",
        "SFT on math",
        "40 steps in 3 min 20 s",
        "not started; 9 steps planned",
        "71.0 % ±4.6",
        "greedy 71.0",
        "▲ +41.0",
        "▼ -20.0",
        "✗ gate on ifeval after math: fell by 20.0 ± 6.6 points, from 45.0 % (sft) to 25.0 %",
        "1 sample not scored (1 timeout)",
        "late, highest reward",
        "late, not scored",
        "(3,400 more characters)",
        "nats per token",
        "% of samples",
    ):
        assert words in text, words
    assert "Gradient norm" not in text  # all NaN: there is nothing to draw


def test_every_chart_has_a_title_and_a_table_beside_it(html):
    page = Page(html)
    assert page.tags.count("svg") == page.tags.count("title") - 1
    tables = [t for t in page.tags if t == "table"]
    assert len(tables) == 3  # the matrix, and the curves of two stages


def test_a_gate_is_not_told_twice(run_dir):
    record = progress.load(run_dir)
    gate = (
        "gate on ifeval after math: fell by 20.0 ± 6.6 points, from 45.0 % (sft) to 25.0 %; "
        "allowed 10.0: FAILED"
    )
    done = (record.done[0], record.done[1].model_copy(update={"warnings": (gate,)}))
    progress.save(run_dir, record.model_copy(update={"done": done}))
    html = write_report(run_dir).read_text(encoding="utf-8")
    assert html.count("gate on ifeval") == 1


@pytest.mark.parametrize("missing", ["matrix.json", "stages"])
def test_a_run_that_has_only_begun_has_a_report(run_dir, missing):
    target = run_dir / missing
    target.rename(run_dir / "gone")
    page = Page(write_report(run_dir).read_text(encoding="utf-8"))
    assert "demo" in "".join(page.text)


def test_no_run_and_a_damaged_log_are_errors(run_dir, tmp_path_factory):
    with pytest.raises(RunError, match=r"holds no run: there is no run\.json"):
        write_report(tmp_path_factory.mktemp("empty"))
    (run_dir / "stages" / "sft" / "metrics.jsonl").write_text("{}\nx\n{}\n")
    with pytest.raises(DataError, match=r"sft/metrics\.jsonl, line 2"):
        write_report(run_dir)


def test_the_picture_alone_is_valid_xml_in_every_scheme():
    root = ET.fromstring(matrix_svg(make_matrix(domains=("<math>&", "a" * 60))))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    texts = [element.text for element in root.iter() if element.text]
    assert "<math>&" in texts
    assert "a" * 17 + "…" in texts
    assert "prefers-color-scheme:dark" in matrix_svg(make_matrix())
    said = next(e.text for e in root.iter() if e.tag.endswith("desc"))
    assert said.startswith("before: <math>& 5.0")
    ET.fromstring(matrix_svg(Matrix.empty(["math"], 1)))


def _luminance(colour):
    channels = [c / 255 for c in colour]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("scheme", [heatmap.LIGHT, heatmap.DARK])
def test_text_is_readable_on_every_cell(scheme):
    """WCAG 2.1 AA asks for a contrast ratio of 4.5."""
    page, ink, accent, _ = ([int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in scheme)
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        o = heatmap.cell_opacity(share)
        cell = [p * (1 - o) + a * o for p, a in zip(page, accent, strict=True)]
        bright, dark = sorted((_luminance(cell), _luminance(ink)), reverse=True)
        assert (bright + 0.05) / (dark + 0.05) >= 4.5


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0, 1, [0, 0.25, 0.5, 0.75, 1.0]),
        (0, 100, [0, 25, 50, 75, 100]),
        (0, 0, [0, 0.25, 0.5, 0.75, 1.0]),
        (-1, 2, [-1, 0, 1, 2]),
        (0, 7, [0, 2, 4, 6, 8]),
    ],
)
def test_nice_ticks(low, high, ticks):
    assert nice_ticks(low, high) == pytest.approx(ticks)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.25, "0.25"), (2e-6, "2e-6"), (2.5e-5, "2.5e-5"), (1234.5, "1234"),
     (12000, "12k"), (-0.5, "-0.5")],
)  # fmt: skip
def test_ticks_read_well(value, text):
    assert format_tick(value) == text


def test_curves_are_thinned_and_smoothed_and_keep_their_gaps():
    points = [(i, float(i)) for i in range(10)]
    assert thinned(points, 5) == [(1, 0.5), (3, 2.5), (5, 4.5), (7, 6.5), (9, 8.5)]
    assert moving_average([(0, 1.0), (1, None), (2, 3.0)], 1) == [(0, 1.0), (1, None), (2, 3.0)]
    assert moving_average([(0, 0.0), (1, 3.0), (2, 6.0)], 1)[0] == (0, 1.5)
    drawn = line_chart(Panel("x", "X", "y"), [(0, 1.0), (1, None), (2, 3.0)])
    raw = re.search(r'd="([^"]*)" class="raw"', drawn).group(1)
    assert raw.count("M") == 2
    assert "nan" not in line_chart(Panel("x", "X", "y"), [(5, -2.0)])


def test_tags_escape_everything():
    assert tag("text", "<b>", class_='"x', font_size=1.0) == (
        '<text class="&#34;x" font-size="1">&lt;b&gt;</text>'
    )


def test_chosen_rollouts_are_telling_and_never_the_same_twice():
    records = [
        {"step": i, "reward": r, "status": "scored" if r is not None else "error"}
        for i, r in enumerate([0.0, 1.0, 0.0, None, 1.0])
    ]
    chosen = choose_rollouts(records, records[1:])
    assert [(c.shown_as, c.record["step"]) for c in chosen] == [
        ("early", 0),
        ("late, highest reward", 4),
        ("late, lowest reward", 2),
        ("late, not scored", 3),
    ]
    assert [c.shown_as for c in choose_rollouts(records[:1], records[:1])] == ["early"]
    assert choose_rollouts([], []) == []


def test_an_odd_reward_in_a_log_is_no_number():
    odd = [{"reward": r} for r in ("NaN", True, None, "x")]
    assert [c.shown_as for c in choose_rollouts(odd, odd)] == ["early"]


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.04, "0.0 s"), (59.94, "59.9 s"), (60, "1 min 00 s"),
                          (3725, "1 h 02 min")]
)  # fmt: skip
def test_durations(seconds, text):
    assert duration(seconds) == text


def test_clean_keeps_text_and_replaces_controls():
    assert clean("a\tb\nc\r\x07\x9bé\ud800") == "a\tb\nc\ufffd\ufffd\ufffdé\ufffd"
    assert clean(json.loads('"\\udfff"')) == "\ufffd"
    assert clean(3) == "3"


def test_reports_are_made_without_torch(run_dir):
    code = (
        "import sys; from pathlib import Path; from cascade_rl_trainer.report import html, text; "
        "html.write_report(Path(sys.argv[1])); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, str(run_dir)], check=True, timeout=60)

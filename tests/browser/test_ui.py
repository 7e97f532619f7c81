"""What a person sees in the MLflow UI after a sweep, seen in a browser on what the project's own `make ui` serves."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from contextlib import closing, contextmanager
from itertools import chain
from pathlib import Path
from types import SimpleNamespace

import application
import pytest
from application import PROJECT, Application, succeeded
from PIL import Image
from playwright.sync_api import expect
from servers import free_port
from warm import CHARTS

WAIT = 60_000  # ms; a busy machine of two cores needs a while
TALL = 3400  # px, in which all open charts have room: MLflow draws those in the window only
WINDOW = {"width": 1400, "height": 900}
METRICS = ["ndcg", *(name for name in application.METRICS if name != "ndcg")]  # the one that decides is first
COSTS = ["context/tokens", "latency/mean_ms"]
SWEEP, OTHER = "alpha x k: alpha 0.5", "chunker: "
SWEEPS = ("-m retriever.alpha=0.3,0.5,0.7 k=3,10", "-m retriever=sparse chunker=page,recursive")
RUN = ".ag-row a[href*='/runs/']"  # a run's name in the list, beside the table's columns or the charts
ASSISTANT_WAS_HERE = "localStorage.setItem('mlflow.assistant.fab.autoOpenedOnFirstLoad_v1', 'true')"
EVERY_PLOT = "[...document.querySelectorAll('.js-plotly-plot')]"

pytestmark = [pytest.mark.browser, pytest.mark.release]
expect.set_options(timeout=WAIT)


@contextmanager
def make_ui(uri, folder):
    """`make ui` on another store: where it serves."""
    port = free_port()
    url, output = f"http://127.0.0.1:{port}", folder / "make_ui.txt"
    settings = f"VENV={sys.prefix}", f"URI={uri}", f"PORT={port}", f"--assume-old={sys.prefix}/.ready"
    with output.open("w") as out:
        server = subprocess.Popen(
            ["make", "--no-print-directory", "--directory", PROJECT, "ui", *settings],
            env={**os.environ, "PYTHONPATH": str(PROJECT / "src")},
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        for _ in range(1800):
            try:
                urllib.request.urlopen(f"{url}/health", timeout=5)
                break
            except OSError:
                assert server.poll() is None, output.read_text()
                time.sleep(0.1)
        yield url
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(60)


@pytest.fixture(scope="module")
def site(tmp_path_factory, cache, processes):
    """The UI on a store with two sweeps: the parent runs of both, and the first one's runs, best NDCG first.

    `shown` are those at the cutoff of the headline, which the view shows.
    """
    home = tmp_path_factory.mktemp("home")
    store = Application(home, cache)
    first, _ = (succeeded(store.run(*sweep.split(), **CHARTS)) for sweep in SWEEPS)
    sweep, other = store.parents()
    own = [run for run in store.children() if run.data.tags["mlflow.parentRunId"] == sweep.info.run_id]
    runs = sorted(own, key=lambda run: -run.data.metrics["ndcg"])
    with make_ui(store.uri, home) as url:
        yield SimpleNamespace(
            url=url,
            address=re.sub(r"^http://[^/]+", url, first.stdout.splitlines()[-1].partition(" ")[0]),  # as it was printed
            experiment=f"{url}/#/experiments/{sweep.info.experiment_id}/runs",
            store=store,
            sweep=sweep,
            other=other,
            runs=runs,
            shown=[run for run in runs if run.data.params["k"] == "3"],
        )


@pytest.fixture
def fresh_page(browser):
    """A page in a profile that has never seen MLflow."""
    with browser.new_context(viewport=WINDOW) as profile:
        profile.set_default_timeout(WAIT)
        yield profile.new_page()


@pytest.fixture(scope="module")
def profile(browser):
    """A profile where MLflow has offered its assistant before, which takes a third of the window.

    It has loaded MLflow's scripts before, and nothing else is left of earlier pages.
    """
    with browser.new_context(viewport=WINDOW) as kept:
        kept.set_default_timeout(WAIT)
        kept.add_init_script(f"if (window === top) {{ localStorage.clear(); {ASSISTANT_WAS_HERE} }}")
        yield kept


@pytest.fixture
def page(profile):
    with closing(profile.new_page()) as opened:
        yield opened


@pytest.fixture
def shoot(request):
    """Keep what a page shows, under the test's name, where RAGSWEEP_SCREENSHOTS names a folder.

    `height` px of it where the window is lower.
    """
    folder = os.environ.get("RAGSWEEP_SCREENSHOTS")

    def keep(page, height=WINDOW["height"]):
        if folder:
            page.set_viewport_size({**WINDOW, "height": height})
            page.wait_for_timeout(1000)  # charts are drawn anew
            page.screenshot(path=Path(folder, f"{request.node.name}.png"))

    return keep


def plots(page, least):
    """The traces of each plotly chart on a page, once there are as many as told."""
    page.wait_for_function(f"{EVERY_PLOT}.length >= {least} && {EVERY_PLOT}.every(plot => plot.data)")
    return json.loads(page.evaluate(f"JSON.stringify({EVERY_PLOT}.map(plot => plot.data))"))


def expect_runs(page, names):
    """Wait until the list has runs of these names, from top to bottom, whatever their order in the document."""
    shown = f"""() => [...document.querySelectorAll("{RUN}")].map(
        link => [Number(link.closest(".ag-row").getAttribute("row-index")), link.textContent]
    ).sort(([one], [other]) => one - other).map(([, name]) => name)"""
    try:
        page.wait_for_function(f"names => ({shown})().join('\\n') === names", arg="\n".join(names))
    finally:
        assert page.evaluate(shown) == names


def page_of(site, run):
    return f"{site.experiment}/{run.info.run_id}?workflowType=machine_learning"


def names_of(runs):
    return [run.info.run_name for run in runs]


def open_view(page, site, mode="CHART"):
    """Open the address that the first sweep printed, and wait for its runs."""
    page.goto(site.address.replace("compareRunsMode=CHART", f"compareRunsMode={mode}"))
    expect_runs(page, names_of(site.shown))


def test_the_printed_address_opens_the_sweeps_view_in_a_fresh_profile(fresh_page, site, shoot):
    open_view(fresh_page, site)
    fresh_page.get_by_role("button", name=f"{SWEEP}, 20").wait_for()
    fresh_page.locator(".js-plotly-plot").first.wait_for()
    shoot(fresh_page)


@pytest.fixture(scope="module")
def charts(profile, site):
    """A page with the view of the first sweep, in a window where all of its charts are drawn."""
    with closing(profile.new_page()) as page:
        page.set_viewport_size({"width": 1400, "height": TALL})
        open_view(page, site)
        yield page


def test_the_view_shows_what_decides_over_what_was_swept_at_the_k_of_the_headline(charts, site):
    expect(charts.locator(".parcoords .dimension .label")).to_have_text(["retriever.alpha", "ndcg"])
    bars = [traces[0] for traces in plots(charts, 15) if traces[0]["type"] == "bar"]
    assert len(bars) == len(METRICS)
    shown = dict(zip(bars[0]["y"], bars[0]["x"], strict=True))
    assert shown == pytest.approx({run.info.run_id: run.data.metrics["ndcg"] for run in site.shown})


def test_every_metric_is_drawn_over_the_cutoff_as_it_was_measured(charts, site, shoot):
    drawn = {}
    for trace in chain.from_iterable(plots(charts, 15)):
        if trace["type"] != "bar" and trace.get("uuid"):
            line = dict(zip(trace["x"], trace["y"], strict=True))
            drawn.setdefault(trace["metricKey"], {}).setdefault(trace["uuid"], []).append(line)
    assert list(drawn) == [f"at_k/{name}" for name in [*METRICS, "context/tokens"]]
    client = site.store.client()
    for run in site.shown:
        curve = {point.step: point.value for point in client.get_metric_history(run.info.run_id, "at_k/recall")}
        assert set(curve) == set(range(1, 21))
        for line in drawn["at_k/recall"][run.info.run_id]:  # a smoothed one would stand before the measured one
            assert line == pytest.approx(curve)
    shoot(charts, TALL)


def test_the_view_has_only_the_charts_that_were_promised(charts):
    headers = charts.get_by_test_id("experiment-view-compare-runs-section-header").all_inner_texts()
    assert [text.split("\n")[0] for text in headers] == [
        "Metrics at the run's k",
        "Settings and NDCG",
        "Metrics by cutoff",
        "Metrics by query type",
        "Costs",
    ]
    assert ["Add chart" in text for text in headers] == [True, True, True, False, False]  # two are closed


def test_the_table_of_the_view_has_the_decision_what_was_swept_and_the_metrics(page, site, shoot):
    page.set_viewport_size({"width": 2200, "height": 900})  # MLflow draws the columns in the window only
    open_view(page, site, "TABLE")
    page.get_by_text("hit_rate").wait_for()
    columns = page.evaluate(
        """[...document.querySelectorAll(".ag-header-cell")].map(
            cell => [cell.getBoundingClientRect().left, cell.innerText.trim()]
        ).sort(([one], [other]) => one - other).map(([, name]) => name).filter(name => name)"""
    )
    assert [name for name in columns if name not in ("Run Name", "Created", "Duration")] == [
        "decision",
        "retriever.alpha",
        *METRICS,
        *COSTS,
    ]
    shoot(page)


def test_the_experiment_has_a_view_for_each_sweep(page, site, shoot):
    page.goto(f"{site.experiment}?workflowType=machine_learning")
    page.get_by_role("button", name="Views").click()
    for name in (SWEEP, OTHER):
        page.get_by_text(name).first.wait_for()
    shoot(page)
    page.get_by_text(OTHER).last.click()
    expect_runs(page, ["chunker=page", "chunker=recursive"])


def test_children_are_nested_under_their_parent_with_readable_names(page, site, shoot):
    page.goto(f"{site.experiment}?workflowType=machine_learning")
    parents = [site.other.info.run_name, SWEEP]
    expect_runs(page, parents)
    page.locator(".ag-row", has_text=SWEEP).get_by_role("button").click()
    newest_first = sorted(site.runs, key=lambda run: -run.info.start_time)
    expect_runs(page, [*parents, *names_of(newest_first)])
    shoot(page)


def test_comparing_runs_shows_what_decides_over_their_settings(page, site, shoot):
    open_view(page, site, "TABLE")
    for index in range(3):
        page.locator(f".ag-row[row-index='{index}'] .ag-checkbox-input").first.check()
    page.get_by_role("button", name="Compare").click()
    page.get_by_text("Comparing 3 Runs from 1 Experiment").wait_for()
    [[trace, *_]] = plots(page, 1)
    axes = {axis["label"]: axis["values"] for axis in trace["dimensions"]}
    assert axes["retriever.alpha"] == [float(run.data.params["retriever.alpha"]) for run in site.shown]
    assert trace["line"]["color"] == pytest.approx([run.data.metrics["ndcg"] for run in site.shown])
    shoot(page)


def test_a_runs_page_leads_with_what_decides_and_shows_what_took_effect(page, site, shoot):
    run = site.runs[0]
    page.goto(page_of(site, run))
    page.get_by_text(f"Metrics ({len(run.data.metrics)})").wait_for()
    page.get_by_text(str(run.data.metrics["ndcg"])).first.wait_for()
    metrics = [name for name in page.get_by_role("row").all_inner_texts() if "\n" in name or "\t" in name]
    assert metrics[1].split()[0] == "ndcg"
    page.get_by_text("retriever.alpha", exact=True).wait_for()
    shoot(page, 1400)


def test_a_sweeps_page_shows_its_table_and_leaves_room_for_mlflows_own_panel(page, site, shoot):
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(page_of(site, site.sweep))
    page.get_by_text("Show more").click()
    page.get_by_role("cell", name=f"{site.runs[0].data.metrics['ndcg']:.3f} [").wait_for()
    panel = page.get_by_text("About this run").bounding_box()
    assert panel["x"] + panel["width"] <= 1440
    assert panel["y"] < 200  # beside the description
    shoot(page, 1400)


def test_the_clicks_that_the_terminal_names_lead_to_the_view(fresh_page, site):
    fresh_page.goto(site.url)
    fresh_page.get_by_text("Model training").first.click()
    fresh_page.get_by_role("link", name="cho_manual").click()
    fresh_page.get_by_role("button", name="Views").click()
    fresh_page.get_by_text(f"{SWEEP}, 20").last.click()
    expect_runs(fresh_page, names_of(site.shown))


def open_artifact(page, site, run, path):
    page.goto(f"{site.experiment}/{run.info.run_id}/artifacts/{path}")
    page.get_by_text(path.rpartition("/")[2]).first.wait_for()


def test_a_runs_charts_are_shown(page, site, shoot):
    run = site.runs[0]
    chart = site.store.artifacts(run) / "charts" / "metrics_by_cutoff.png"
    open_artifact(page, site, run, f"charts/{chart.name}")
    width = Image.open(chart).width
    page.wait_for_function(f"[...document.images].some(image => image.complete && image.naturalWidth === {width})")
    shoot(page)


def test_a_runs_tables_are_shown(page, site, shoot):
    run = site.runs[0]
    open_artifact(page, site, run, "results/summary_statistics.csv")
    for name in METRICS:
        page.get_by_text(str(run.data.metrics[name])).first.wait_for()
    shoot(page)


def test_the_description_of_a_sweep_leads_to_its_report_with_all_charts_and_a_table_that_is_sorted(page, site, shoot):
    """By mouse and keyboard."""
    page.goto(page_of(site, site.sweep))
    link = page.get_by_role("link", name="report.html").get_attribute("href")  # it opens another tab
    page.goto(page.url.partition("#")[0] + link)
    frame = page.locator("iframe").element_handle().content_frame()  # waits until it is there
    frame.get_by_role("heading", name="Which alpha and k for cho_manual?").wait_for()
    assert frame.get_by_text("Ship alpha 0.5 at every k").first.is_visible()
    frame.wait_for_function("document.images.length === 4 && [...document.images].every(image => image.complete)")
    assert all(width > 400 for width in frame.evaluate("[...document.images].map(image => image.naturalWidth)"))
    shoot(page)
    frame.get_by_text("All configurations").click()
    table = frame.locator("#table")
    button = table.get_by_role("button", name="Recall")

    def recalls():
        return [float(cell) for cell in table.locator("tbody td:nth-child(9)").all_text_contents()]

    button.click()
    assert len(recalls()) == 6
    assert recalls() == sorted(recalls(), reverse=True)
    button.press("Enter")
    assert recalls() == sorted(recalls())

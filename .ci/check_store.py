"""After `make sweep` in a clean checkout: does the store hold what the design promises?"""

from pathlib import Path

from mlflow import MlflowClient

PROJECT = Path(__file__).resolve().parents[1]
METRICS = ["precision", "recall", "f1", "mrr", "hit_rate", "ndcg", "map"]
RUN_FILES = [
    "config/config.yaml",
    "config/overrides.yaml",
    "environment/requirements.txt",
    "results/by_query_type.csv",
    "results/evaluation.json",
    "results/per_query.csv",
    "results/qrels.trec",
    "results/ranking.trec",
    "results/summary_statistics.csv",
    "charts/ndcg_by_query_type.png",
    "charts/metrics_by_cutoff.png",
]
SWEEP_FILES = [
    "decision.json",
    "report.html",
    "report.md",
    "results/summary_statistics.csv",
    "charts/1_retrieval_methods_comparison.png",
    "charts/2_alpha_sensitivity.png",
    "charts/3_topk_analysis.png",
    "charts/4_comprehensive_comparison.png",
    "charts/5_radar_chart.png",
    "charts/best_against_baseline.svg",
    "charts/by_cutoff.svg",
    "charts/cost_fronts.svg",
    "charts/one_setting.svg",
]
INTERVALS = [f"ci/{metric}_{bound}" for metric in METRICS for bound in ("low", "high")]
TAGS = ["git.commit", "git.dirty", "sweep.id", "config.digest", "reproduce"]


def files(client: MlflowClient, run_id: str, folder: str | None = None) -> set[str]:
    """Paths of all artifacts of a run."""
    found: set[str] = set()
    for item in client.list_artifacts(run_id, folder):
        found |= files(client, run_id, item.path) if item.is_dir else {item.path}
    return found


def require(condition: object, what: str) -> None:
    """Stop with `what` where the condition does not hold."""
    if not condition:
        raise SystemExit(f"store: {what}")


client = MlflowClient(f"sqlite:///{PROJECT}/mlruns/mlflow.db")
experiment = client.get_experiment_by_name("cho_manual")
require(experiment, "no experiment cho_manual")
runs = client.search_runs([experiment.experiment_id], max_results=1000)
parents = [run for run in runs if "mlflow.parentRunId" not in run.data.tags]
children = [run for run in runs if "mlflow.parentRunId" in run.data.tags]
require(len(parents) == 1, f"{len(parents)} parent runs")
require(len(children) == 15, f"{len(children)} children")
require(all(run.info.status == "FINISHED" for run in runs), "a run that is not FINISHED")
require(len({run.info.run_name for run in children}) == 15, "children that share a name")
for run in children:
    name = run.info.run_name
    missing = {*METRICS, *(f"at_k/{metric}" for metric in METRICS), *INTERVALS} - set(run.data.metrics)
    costs = {"context/tokens", "context/tokens_p95", "index/bytes", "latency/mean_ms", "latency/p95_ms"}
    missing |= {*costs, "coverage/units", "by_type/factual/ndcg"} - set(run.data.metrics)
    require(not missing, f"{name}: metrics {missing} are missing")
    steps = [point.step for point in client.get_metric_history(run.info.run_id, "at_k/recall")]
    require(sorted(steps) == list(range(1, 21)), f"{name}: at_k/recall has the steps {steps}")
    settings = {"retriever.alpha", "k", "dataset.name", "chunker.size"}
    settings.add("retriever.sparse.k1" if run.data.params["retriever.alpha"] == "0" else "encoder.model")
    require(settings <= set(run.data.params), f"{name}: params {settings - set(run.data.params)} are missing")
    require(set(TAGS) <= set(run.data.tags), f"{name}: tags {set(TAGS) - set(run.data.tags)} are missing")
    require(run.inputs.dataset_inputs, f"{name}: no dataset input")
    absent = set(RUN_FILES) - files(client, run.info.run_id)
    require(not absent, f"{name}: artifacts {absent} are missing")
[parent] = parents
held = files(client, parent.info.run_id)
require(set(SWEEP_FILES) <= held, f"parent: artifacts {set(SWEEP_FILES) - held} are missing")
require(any(path.startswith("results/evaluation_results_") for path in held), "parent: no evaluation_results CSV")
numbers = {"best/ndcg", "best/context/tokens", "expected/ndcg", "configurations"}
require(numbers <= set(parent.data.metrics), f"parent: metrics {numbers - set(parent.data.metrics)} are missing")
require(set(parent.data.params) == {"retriever.alpha", "k"}, f"parent: params {parent.data.params}")
require("best.configuration" in parent.data.tags, "parent: no best.configuration")
views = [name for name in experiment.tags if name == f"mlflow.sharedViewState.sweep-{parent.info.run_id}"]
require(views, "no saved view of the sweep")
best = parent.data.tags["best.configuration"]
print(f"store: 1 parent and {len(children)} finished children, as promised; best {best}")

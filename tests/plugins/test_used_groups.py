"""Groups that nothing uses in a configuration: what is said of them, and that no run is named by them."""

import pytest

from ragsweep.app.commands import composed
from ragsweep.config.groups import unused_groups
from ragsweep.config.walk import Walk
from ragsweep.core.errors import ConfigError

LOCAL = pytest.mark.extra("local")
GROUPS = ["encoder", "fusion", "index", "language_model", "reasoning"]


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize(
    ("overrides", "unused"),
    [
        ([], {"language_model"}),
        (["retriever=sparse"], {"encoder", "fusion", "index", "language_model"}),
        pytest.param(["query=hyde"], set(), marks=LOCAL),
        (["retriever=sparse", "reranker=encoder"], {"encoder", "fusion", "index", "language_model"}),  # it has its own
        pytest.param(["retriever=sparse", "query=hyde"], {"encoder", "fusion", "index"}, marks=LOCAL),
        (["task=answers"], {"language_model", "reasoning"}),
        pytest.param(["task=answers", "answerer=llm"], set(), marks=LOCAL),
    ],
)
def test_a_group_is_used_where_the_task_takes_it_or_something_that_is_used_refers_to_it(overrides, unused):
    walk = Walk(composed(overrides))
    walk.build("task")
    assert unused_groups([f"{group}.model" for group in GROUPS], walk.config, walk.mentioned) == unused


@pytest.mark.usefixtures("long_work")
def test_a_group_that_is_not_there_is_refused_by_its_name():
    for override in ("answerer=llm", "classifier=logistic", "questions.path=x"):
        group = override.partition("=")[0].partition(".")[0]
        with pytest.raises(ConfigError, match=f"^{group}[:.]"):
            composed([override])


def test_no_run_is_named_by_a_group_without_effect_and_no_sweep_varies_one(application):
    """Its runs would be the same under other names."""

    def dry(*given):
        return application.script_here("run", *application.arguments(*given, "+dry_run=true"))

    run = dry("retriever=sparse", "encoder=wordllama")
    assert run.stdout == "would run: retriever=sparse\n"
    assert run.stderr.startswith("encoder: no effect")
    swept = dry("-m", "retriever=sparse", "encoder=wordllama,minilm")
    assert (swept.returncode, swept.stdout) == (2, "")
    assert "encoder: sweeping it changes nothing" in swept.stderr
    used = dry("-m", "retriever=sparse,dense", "encoder=wordllama,minilm")
    assert "nothing that is measured uses" not in used.stderr

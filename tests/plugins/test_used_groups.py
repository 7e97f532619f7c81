"""Groups that nothing uses in a configuration: what is said of them, and that no run is named by them."""

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

from ragsweep.app.commands import composed
from ragsweep.config.groups import name_unused, refuse_unused, unused_groups
from ragsweep.core.errors import ConfigError
from ragsweep.core.project import CONF


def refused(overrides, monkeypatch):
    """What a command with these overrides is refused with."""
    monkeypatch.setattr("sys.argv", ["ragsweep", *overrides])
    parsed = OverridesParser.create().parse_overrides(overrides)
    with pytest.raises(ConfigError) as error:
        refuse_unused(composed(overrides), parsed)
    return str(error.value)


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize(
    ("override", "user"),
    [
        ("answerer=llm", "task=answers"),
        ("answerer.max_tokens=9", "task=answers"),
        ("+answerer=evidence", "task=answers"),
        ("reasoning=cot", "task=answers"),
        ("+reasoning=cot", "task=answers"),
        ("classifier=logistic", "retriever=routed has its own, retriever.classifier"),
        ("+classifier=logistic", "retriever=routed has its own, retriever.classifier"),
        ("generator=llm", "ragsweep generate"),
        ("+generator=extractive", "ragsweep generate"),
    ],
)
def test_a_group_that_another_one_would_use_is_refused_by_the_name_of_that(override, user, monkeypatch):
    said = refused([override], monkeypatch)
    assert said.startswith(override.lstrip("+").partition("=")[0].partition(".")[0])
    assert "nothing uses this group" in said
    assert user in said
    assert "sweep" not in said.replace("ragsweep", "")


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("+kk=3", "kk: no such setting"),
        ("++kk=3", "kk: no such setting"),
        ("+fusoin=rrf", "fusoin: no such setting (did you mean fusion?)"),
        ("+decisoin.metric=mrr", "decisoin: no such setting (did you mean decision?)"),
        (
            "~retriever.candidates",
            "retriever.candidates: cannot be deleted, as its default would be used; set retriever.candidates=",
        ),
    ],
)
def test_what_is_added_or_deleted_in_vain_is_refused(override, said, monkeypatch):
    assert refused([override], monkeypatch).startswith(said)


@pytest.mark.usefixtures("long_work")
def test_what_something_refers_to_or_asks_for_no_run_can_be_added():
    for overrides in (["+cutoff=7", "k=${cutoff}"], ["+dry_run=true"], ["~evaluation.metrics.mrr"]):
        parsed = OverridesParser.create().parse_overrides(overrides)
        assert refuse_unused(composed(overrides), parsed) == set()


@pytest.mark.usefixtures("long_work")
def test_the_user_of_a_group_is_read_from_the_configuration(monkeypatch, tmp_path):
    """Also from the user's own options."""
    for name, text in {"mine/one.yaml": "a: 1\n", "task/own.yaml": "defaults:\n  - /mine: one\n"}.items():
        (tmp_path / "conf" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "conf" / name).write_text(text)
    monkeypatch.setattr("ragsweep.config.groups.conf_folders", lambda: [CONF, tmp_path / "conf"])
    assert "task=own" in refused(["mine=one"], monkeypatch)


@pytest.mark.usefixtures("long_work")
def test_a_group_without_a_choice_names_its_options(monkeypatch):
    assert refused(["questions.path=x"], monkeypatch) == (
        "questions: nothing is chosen; expected one of beir, spans, table"
    )


@pytest.mark.usefixtures("long_work")
def test_a_sweep_that_has_the_group_in_some_configurations_says_so(monkeypatch):
    monkeypatch.setattr("sys.argv", ["ragsweep", "task=ranking,answers", "answerer=llm"])
    with pytest.raises(ConfigError, match="not every configuration of this sweep"):
        composed(["answerer=llm"])


@pytest.mark.parametrize(
    ("overrides", "unused"),
    [
        ([], {"language_model"}),
        (["retriever=sparse"], {"encoder", "fusion", "index", "language_model"}),
        (["query=hyde"], set()),
        (["retriever=sparse", "reranker=encoder"], {"encoder", "fusion", "index", "language_model"}),  # it has its own
        (["retriever=sparse", "query=hyde"], {"encoder", "fusion", "index"}),
        (["task=answers"], {"language_model", "reasoning"}),
        (["task=answers", "answerer=llm"], set()),
    ],
)
def test_a_group_is_used_where_the_task_takes_it_or_something_that_is_used_refers_to_it(overrides, unused):
    found = unused_groups(composed(overrides))
    assert found == unused


def test_a_run_is_not_named_by_a_group_without_effect(application):
    run = application.run("retriever=sparse", "encoder=wordllama", "+dry_run=true")
    assert run.stdout == "would run: retriever=sparse\n"
    assert "encoder: no effect, as nothing uses this group" in run.stderr
    refused = application.run("+generator=extractive", "+dry_run=true")
    assert (refused.returncode, refused.stdout) == (2, "")


def test_a_group_without_effect_that_is_not_swept_is_named(capsys):
    name_unused({"encoder"}, swept=["k"])
    assert capsys.readouterr().err.startswith("encoder: no effect, as nothing uses this group")


def test_a_sweep_over_a_group_without_effect_is_refused(application):
    """Its runs would be the same under other names."""
    swept = application.run("-m", "retriever=sparse", "encoder=wordllama,minilm", "+dry_run=true")
    assert (swept.returncode, swept.stdout) == (2, "")
    assert "encoder: sweeping it changes nothing, as nothing uses this group" in swept.stderr
    used = application.run("-m", "retriever=sparse,dense", "encoder=wordllama,minilm", "+dry_run=true")
    assert "nothing uses" not in used.stderr

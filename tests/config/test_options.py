"""Components by the name of an option, in our groups and in a user's own."""

import hydra
import pytest
from omegaconf import OmegaConf

from ragsweep.config.walk import Walk
from ragsweep.core.errors import ConfigError
from ragsweep.core.project import CONF, PROJECT, register_resolvers

LETTERS = """
_target_: letters.LetterEncoder
seconds: ${k}
"""
OTHERS = "_target_: ragsweep.retrieval.EncoderReranker\nencoder: letters\nstore: ${store}\n"


@pytest.fixture
def own(tmp_path, monkeypatch):
    """The folder of a user's own groups."""
    monkeypatch.setenv(PROJECT, str(tmp_path))
    for group, options in {"encoder": {"letters": LETTERS}, "reranker": {"letters": OTHERS}}.items():
        (tmp_path / "conf" / group).mkdir(parents=True)
        for name, text in options.items():
            (tmp_path / "conf" / group / f"{name}.yaml").write_text(text)
    return tmp_path


@pytest.fixture
def built(own):
    def build(*overrides):
        register_resolvers()
        with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
            searched = f"hydra.searchpath=[file://{own / 'conf'}]"
            walk = Walk(hydra.compose("config", [searched, *overrides]))
        return walk, walk.build("task")

    return build


def option(group, name):
    return OmegaConf.to_container(OmegaConf.load(CONF / group / f"{name}.yaml"), resolve=False)


@pytest.mark.usefixtures("long_work")
def test_a_name_stands_for_the_file_of_the_option(built):
    walk, task = built("retriever.fusion=rrf")
    assert walk.config.retriever.fusion == option("fusion", "rrf")
    assert walk.config.fusion == option("fusion", "minmax")
    assert task.retriever.fusion.constant == 60
    assert walk.settings["retriever.fusion.constant"] == 60


@pytest.mark.usefixtures("long_work")
def test_references_of_an_option_are_filled_in_and_options_name_options(built):
    walk, task = built("retriever=sparse", "reranker=letters", "k=7")
    assert type(task.reranker.encoder).__name__ == "LetterEncoder"
    assert task.reranker.encoder.seconds == 7
    assert walk.settings["k"] == 7


@pytest.mark.usefixtures("long_work")
def test_the_option_none_is_null(built):
    _, task = built("retriever=pipeline", "retriever.reranker=none")
    assert task.retriever.reranker is None


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["retriever.fusion=rff"], r"^retriever\.fusion: found 'rff', expected one of minmax, rrf, "),
        (["retriever.fusion=../store"], r"^retriever\.fusion: found '\.\./store', expected one of minmax"),
        (["returns=parent", "returns.chunker=nosuch"], r"^returns\.chunker: found 'nosuch', expected one of fixed"),
    ],
)
def test_another_name_is_refused_in_one_line(built, overrides, message):
    with pytest.raises(ConfigError, match=message) as error:
        built(*overrides)
    assert "\n" not in str(error.value)

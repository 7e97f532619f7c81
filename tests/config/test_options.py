"""Components by the name of an option, in our groups and in a user's own."""

import hydra
import pytest
from omegaconf import OmegaConf

from ragsweep.config.checking import check
from ragsweep.config.options import with_options
from ragsweep.core.errors import ConfigError
from ragsweep.core.project import CONF, PROJECT, register_resolvers
from ragsweep.experiment import GROUPS_OF_NO_TASK

LETTERS = """
_target_: letters.LetterEncoder
seconds: ${k}
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """The folder of a user's own groups."""
    monkeypatch.setenv(PROJECT, str(tmp_path))
    for group, options in {
        "encoder": {"letters": LETTERS},
        "retriever": {
            "itself": "_target_: ragsweep.retrieval.PipelineRetriever\nranker: itself\n",
            "two": "_target_: ragsweep.retrieval.FusedRetriever\nrankers: {words: sparse, letters: {_target_: "
            "ragsweep.retrieval.DenseRetriever, encoder: letters, store: '${store}'}}\n",
        },
    }.items():
        (tmp_path / "conf" / group).mkdir(parents=True)
        for name, text in options.items():
            (tmp_path / "conf" / group / f"{name}.yaml").write_text(text)
    return tmp_path


@pytest.fixture
def composed(own):
    def compose(*overrides):
        register_resolvers()
        with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
            searched = f"hydra.searchpath=[file://{own / 'conf'}]"
            return hydra.compose("config", [searched, *overrides])

    return compose


def option(group, name):
    return OmegaConf.to_container(OmegaConf.load(CONF / group / f"{name}.yaml"), resolve=False)


@pytest.mark.usefixtures("long_work")
def test_a_name_stands_for_the_file_of_the_option(composed):
    config = check(composed("retriever.fusion=rrf"), GROUPS_OF_NO_TASK)
    assert config.retriever.fusion == option("fusion", "rrf")
    assert config.fusion == option("fusion", "minmax")


@pytest.mark.usefixtures("long_work")
def test_interpolations_of_an_option_are_filled_in(composed):
    config = check(composed("retriever.dense.encoder=letters", "k=7"), GROUPS_OF_NO_TASK)
    assert config.retriever.dense.encoder == {"_target_": "letters.LetterEncoder", "seconds": 7}


@pytest.mark.usefixtures("long_work")
def test_options_name_options_in_mappings_and_in_their_own_files(composed):
    config = check(composed("retriever=two"), GROUPS_OF_NO_TASK)
    assert config.retriever.rankers.words.k1 == 1.5
    assert config.retriever.rankers.words.store == config.store
    assert config.retriever.rankers.letters.encoder._target_ == "letters.LetterEncoder"


@pytest.mark.usefixtures("long_work")
def test_the_option_none_is_null(composed):
    config = check(composed("retriever=pipeline", "retriever.reranker=none"), GROUPS_OF_NO_TASK)
    assert config.retriever.reranker is None


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (
            ["retriever.fusion=rff"],
            r"^retriever\.fusion: found 'rff', expected one of minmax, rrf, .*, or the settings of a",
        ),
        (["retriever.fusion=../store"], r"^retriever\.fusion: found '\.\./store', expected one of minmax"),
        (["retriever.dense=hybrid"], r"^retriever\.dense: retriever=hybrid is composed of other options"),
        (["retriever=itself"], r"^retriever\.ranker.*: found 'itself', an option whose file names itself"),
    ],
)
def test_another_name_is_refused_in_one_line(composed, overrides, message):
    with pytest.raises(ConfigError, match=message) as error:
        check(composed(*overrides), GROUPS_OF_NO_TASK)
    assert "\n" not in str(error.value)


@pytest.mark.usefixtures("long_work")
def test_a_configuration_without_names_is_left_as_it_is(composed):
    config = composed()
    assert with_options(config) is config

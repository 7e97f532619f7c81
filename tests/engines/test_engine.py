"""What comes from an engine is data: rows and labels are checked before they are used."""

import numpy as np
import pytest

from ragsweep.core.errors import RetrieverError
from ragsweep.retrieval.indexes.engine import ranked_by_engine
from ragsweep_engines.testing import corpus, queries


@pytest.mark.parametrize("passage", [-2, 40])
def test_a_passage_that_the_corpus_does_not_have_is_refused(passage):
    of = corpus(40)
    with pytest.raises(RetrieverError, match=f"returned passage {passage}, expected 0 to 39"):
        ranked_by_engine(lambda asked, wanted: np.full((len(asked), wanted), passage), of.embeddings, queries(of), 3)

"""Learned sparse retrieval: a model gives each text the weights of terms, including terms that are not in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt

from ragsweep.core.digest import digest, digest_texts, version
from ragsweep.core.hardware import cpu_abilities
from ragsweep.core.limits import Between
from ragsweep.core.progress import progress
from ragsweep.core.terminal import counted
from ragsweep.core.timing import sample, timed, with_circumstances
from ragsweep.models.encoders.embeddings import ENCODED_AT_ONCE, digests_of
from ragsweep.models.encoders.encoder import Role
from ragsweep.models.encoders.model_files import digest_of_model, prompts_of
from ragsweep.models.encoders.model_running import LIBRARIES, loaded, settings_of
from ragsweep.models.encoders.prompts import Prompted, prompted_for
from ragsweep.models.encoders.tokenizer import file_of, opened
from ragsweep.models.encoders.torch_model import TorchModel
from ragsweep.retrieval.bm25 import best_of
from ragsweep.retrieval.method import Method
from ragsweep.retrieval.ranking import Ranking, Search, Thresholded, searching
from ragsweep.retrieval.trace import Trace, Words
from ragsweep.store.code import code_of
from ragsweep.store.stage_store import Arrays, Store
from ragsweep.store.timed_stages import get_timed

if TYPE_CHECKING:
    from scipy import sparse

Weights = tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]  # of a text: its terms and how much each weighs


@dataclass(frozen=True)
class LearnedSparseRetriever(Thresholded, Prompted, TorchModel):
    """Ranks passages by the inner product of the term weights that a sentence-transformers `SparseEncoder` gives.

    SPLADE is the best known of these models (Formal et al. 2021, arXiv:2107.05720). A passage that shares no term with
    the query is not retrieved. On the CPU, the weights of a text do not depend on the texts beside it, as with the
    embeddings of `SentenceTransformerEncoder`.

    Attributes:
        model, device, batch_size: See `TorchModel`.
        store: Keeps the weights of texts, and rankings.
        max_terms: The terms of a text that are kept, those that weigh most; None keeps all. Weights are stored in full,
            so that a sweep over this setting encodes every text once.
    """

    model_class: ClassVar[str] = "SparseEncoder"
    group: ClassVar[str] = "retriever"
    role: ClassVar[str] = "learned sparse"
    beside_fingerprint: ClassVar[tuple[str, ...]] = ("max_terms", "score_threshold")

    store: Store
    max_terms: Annotated[int, Between(1)] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        with settings_of("retriever"):
            self._fill_prompts(None, prompts_of(self.folder), "retriever")  # the families are of dense models

    @property
    def method(self) -> Method:
        """For reports."""
        return Method("", f"pure {self.role} retrieval", vary="sweep max_terms instead")

    @cached_property
    def fingerprint(self) -> str:
        """Digest over the model's files and over what moves the last bits of a weight."""
        libraries = {name: version(name) for name in LIBRARIES}
        with settings_of("retriever"):
            return digest([digest_of_model(self.folder), self._kind, self._shapes, dict(self.prompts), libraries])

    def rank(self, search: Search, depth: int) -> Ranking:
        """Rank the passages for every query, at most `depth` of them."""
        queries, postings = self.weights(search.queries, "query"), self._postings(search.passages)

        def find(some: sparse.csr_array) -> Ranking:
            return best_of(
                lambda rows: (rows @ postings).toarray().astype(np.float64), some, len(search.passages), depth
            )

        with progress(searching(search.passages, search.queries), len(search.queries)):
            found = find(queries)
        search_ms = timed(lambda row: find(queries[[row]]), len(search.queries))
        size = postings.data.nbytes + postings.indices.nbytes + postings.indptr.nbytes
        return replace(found, latency_ms=self._encoding_ms(search.queries) + search_ms, index_bytes=np.array([size]))

    def trace(self, search: Search, query: int) -> Trace:
        """What each term of a query adds to the score of each passage."""
        weights, postings = self.weights([search.queries[query]], "query"), self._postings(search.passages)
        with settings_of("retriever"):
            tokenizer = opened(file_of(str(self.folder)))
        added = {}
        for term, weight in zip(weights.indices.tolist(), weights.data, strict=True):
            name = tokenizer.id_to_token(term) or str(term)
            added[name] = weight * postings[[term]].toarray()[0].astype(np.float64)
        return Trace(words=Words("", added))

    def weights(self, texts: Sequence[str], role: Role) -> sparse.csr_array:
        """The weight of every term in every text, shape [texts, terms]; only what the store lacks is encoded."""
        from scipy import sparse

        fingerprint = prompted_for(self, role).fingerprint
        stage = f"weights-{digest([*code_of(self), fingerprint, cpu_abilities(), role])[:16]}"
        wanted, pieces = digests_of(texts), list(self.store.arrays(stage))
        known = [piece["digests"] for piece in pieces]
        _, first = np.unique(wanted, return_index=True)
        missing = np.sort(first[~np.isin(wanted[first], np.concatenate([wanted[:0], *known]))])
        with progress(f"encoding {counted(len(missing), role)}", len(missing)):
            for start in range(0, len(missing), ENCODED_AT_ONCE):
                piece = [texts[row] for row in missing[start : start + ENCODED_AT_ONCE]]
                pieces.append(self.store.get(stage, digest_texts(piece), partial(self._encoded, piece, role)))
        digests = np.concatenate([piece["digests"] for piece in pieces])
        order = np.argsort(digests)
        rows = order[np.searchsorted(digests[order], wanted)]
        found = sparse.vstack([_matrix(piece) for piece in pieces], "csr")[rows]
        return found if self.max_terms is None else _heaviest(found, self.max_terms)

    def _postings(self, passages: Sequence[str]) -> sparse.csr_array:
        """The passages of every term, shape [terms, passages]."""
        postings: sparse.csr_array = self.weights(passages, "passage").T.tocsr()
        return postings

    def _encoding_ms(self, queries: Sequence[str]) -> npt.NDArray[np.float64]:
        texts = [queries[row] for row in sample(len(queries))]

        def build() -> Arrays:
            return with_circumstances(
                lambda: {"ms": timed(lambda row: self._encoded([texts[row]], "query"), len(texts))}
            )

        key = [*code_of(self), self.fingerprint, digest_texts(texts)]
        return get_timed(self.store, "encoding", key, build)["ms"]

    def _encoded(self, texts: Sequence[str], role: Role) -> Arrays:
        digests, texts = digests_of(texts), [text.replace("\f", " ") for text in texts]  # as encoders read them
        with settings_of("retriever"):
            model = _load(self.folder, str(self.device))
            encode = model.encode_query if role == "query" else model.encode_document
            encode = partial(_encode, partial(encode, prompt=self.prompt(role)))
            grouped = role == "passage" and type(model[0]).__name__.endswith("Transformer")
            found: list[Weights] = self._computed(model, encode, texts, self.prompt(role), grouped=grouped)
        return {
            "digests": digests,
            "terms": np.concatenate([terms for terms, _ in found]).astype(np.int32),
            "weights": np.concatenate([weights for _, weights in found]),
            "start": np.cumsum([0, *(len(terms) for terms, _ in found)]),
            "width": np.array([model.get_embedding_dimension()]),
        }


def _matrix(piece: Arrays) -> sparse.csr_array:
    from scipy import sparse

    shape = (len(piece["digests"]), int(piece["width"][0]))
    return sparse.csr_array((piece["weights"], piece["terms"], piece["start"]), shape)


def _encode(encode: Callable[..., Any], texts: list[str], **options: Any) -> list[Weights]:
    weights = encode(texts, convert_to_sparse_tensor=True, save_to_cpu=True, show_progress_bar=False, **options)
    weights = weights.coalesce()
    (text, term), value = weights.indices().numpy(), weights.values().float().numpy()
    ends = np.searchsorted(text, np.arange(1, len(texts)))
    return list(zip(np.split(term, ends), np.split(value, ends), strict=True))


def _heaviest(weights: sparse.csr_array, most: int) -> sparse.csr_array:
    """The `most` largest weights of each row; of equal ones those of the first terms."""
    from scipy import sparse

    text = np.repeat(np.arange(weights.shape[0]), np.diff(weights.indptr))
    order = np.lexsort((weights.indices, -weights.data, text))
    rank = np.arange(len(order)) - weights.indptr[text[order]]
    kept = np.sort(order[rank < most])
    start = np.searchsorted(text[kept], np.arange(weights.shape[0] + 1))
    return sparse.csr_array((weights.data[kept], weights.indices[kept], start), weights.shape)


@cache
def _load(folder: Path, device: str) -> Any:
    return loaded("SparseEncoder", folder, device)

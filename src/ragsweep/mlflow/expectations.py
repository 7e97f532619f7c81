"""Reads what is relevant in the expectations of a row, as MLflow's evaluation has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

EXPECTED, CONTEXT = "expected_documents", "expected_retrieved_context"


def relevant_in(expectations: Mapping[str, Any]) -> Any:
    """The value of `EXPECTED`; where it is missing or null, each `doc_uri` in MLflow's own `CONTEXT`."""
    found, context = expectations.get(EXPECTED), expectations.get(CONTEXT)
    if found is not None or not isinstance(context, list):
        return found
    return [str(each["doc_uri"]) for each in context if isinstance(each, dict) and each.get("doc_uri")]

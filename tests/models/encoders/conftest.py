"""MiniLM's transformer in folders of other names."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def minilm_as(tmp_path: Path) -> Callable[..., str]:
    """Write MiniLM without the module that normalises under another name; the path of its folder.

    Settings are those of sentence-transformers, such as prompts.
    """
    from ragsweep.retrieval import SentenceTransformerEncoder

    minilm = SentenceTransformerEncoder().folder

    def write(name: str, **settings: object) -> str:
        (tmp_path / name).mkdir()
        for file in ("1_Pooling", "config.json", "model.safetensors", "tokenizer.json", "sentence_bert_config.json"):
            (tmp_path / name / file).symlink_to(minilm / file)
        modules = json.loads((minilm / "modules.json").read_text())
        (tmp_path / name / "modules.json").write_text(json.dumps(modules[:2]))
        (tmp_path / name / "config_sentence_transformers.json").write_text(json.dumps(settings))
        return str(tmp_path / name)

    return write

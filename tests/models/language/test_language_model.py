"""Each language model keeps the contract: one behind an endpoint, over HTTP, and SmolLM2."""

import pytest
from endpoint_server import EndpointServer, completion

from ragsweep.core.project import SWEEP_ID
from ragsweep.models.language.openai_model import OpenAIModel
from ragsweep.models.language.smollm2 import SmolLM2Model
from ragsweep.testing import LanguageModelContract


@pytest.mark.extra("openai")
class TestOpenAI(LanguageModelContract):
    component = OpenAIModel

    @pytest.fixture(autouse=True)
    def endpoint(self, tmp_path, monkeypatch):
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test-12345678")
        monkeypatch.setenv(SWEEP_ID, str(tmp_path))  # a budget of its own
        with EndpointServer(lambda prompt, times: completion('{"reply": "yes"}' if "JSON" in prompt else prompt)) as on:
            type(self).settings = {"model": "model", "base_url": on.url}
            yield


@pytest.mark.extra("local")
class TestSmolLM2(LanguageModelContract):
    component = SmolLM2Model

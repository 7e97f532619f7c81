"""Each language model keeps the contract: of an endpoint, SmolLM2, and any that transformers loads: a tiny one here."""

import json
import shutil
from functools import partial
from pathlib import Path

import pytest
from application import in_this_process, succeeded
from endpoint_server import EndpointServer, completion

from ragsweep.core.errors import ModelError
from ragsweep.core.project import SWEEP_ID
from ragsweep.models.encoders import model_files
from ragsweep.models.language import transformers_model
from ragsweep.models.language.language_model import Message
from ragsweep.models.language.openai_model import OpenAIModel
from ragsweep.models.language.smollm2 import SmolLM2Model
from ragsweep.models.language.transformers_model import TransformersModel
from ragsweep.store.stage_store import Store
from ragsweep.testing import LanguageModelContract

CHAT = [Message("user", "Which tablets are taken daily?")]
TEMPLATE = (
    "{% for message in messages %}{% if message['role'] == 'system' %}{{ raise_exception('no such role') }}{% endif %}"
    "<{{ message['role'] }}>{{ message['content'] }}{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
)


@pytest.fixture(scope="session")
def folder(tmp_path_factory, models):
    """The files of a model of a few thousand weights: letters are its tokens, and it reads 512 of them."""
    import torch
    from tokenizers import Tokenizer, pre_tokenizers
    from tokenizers.models import BPE
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    texts = ["<end>", "<user>", "<assistant>", *map(chr, range(32, 127))]
    letters = Tokenizer(BPE({text: number for number, text in enumerate(texts)}, [], unk_token="?"))
    letters.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=letters, eos_token="<end>", model_max_length=512)
    tokenizer.add_special_tokens({"additional_special_tokens": texts[1:3]})
    tokenizer.chat_template = TEMPLATE
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = LlamaConfig(vocab_size=len(texts), max_position_embeddings=512, eos_token_id=0, **sizes)
    made: Path = tmp_path_factory.mktemp("model") / "tiny"
    LlamaForCausalLM(config).save_pretrained(made)
    tokenizer.save_pretrained(made)
    return made


@pytest.fixture
def copied(folder, tmp_path):
    return shutil.copytree(folder, tmp_path / "copied")


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


class TestTiny(LanguageModelContract):
    component = TransformersModel

    @pytest.fixture(autouse=True)
    def _of_the_folder(self, folder):
        type(self).settings = {"model": str(folder), "device": "cpu"}


@pytest.fixture
def logits(folder):
    """The logits of the token after each one, by the model itself, without a cache."""
    import torch
    from transformers import LlamaForCausalLM

    model = LlamaForCausalLM.from_pretrained(folder)
    with torch.inference_mode():
        yield lambda tokens: model(torch.tensor([tokens])).logits[0]


def test_the_likeliest_tokens_follow_whatever_the_model_would_sample(copied, logits, monkeypatch):
    monkeypatch.setattr(transformers_model, "PROMPT_TOKENS_AT_ONCE", 8)
    sampled = {"do_sample": True, "temperature": 5.0, "repetition_penalty": 3.0, "eos_token_id": 0}
    (copied / "generation_config.json").write_text(json.dumps(sampled))
    model = TransformersModel(str(copied), device="cpu")
    tokenizer = model.loaded().tokenizer
    _, prompt = model._prompt(tokenizer, CHAT, 9)
    written = []
    for _ in range(9):
        written.append(int(logits(prompt + written)[-1].argmax()))
    completion = model.complete(CHAT, 9)
    assert 0 not in written  # the end
    assert completion.text == tokenizer.decode(written, skip_special_tokens=True).strip()
    assert completion.tokens_in == len(prompt) == 2 + len(CHAT[0].content)  # the marks of both sides


def test_a_continuation_scores_what_its_tokens_do(folder, logits):
    model = TransformersModel(str(folder), device="cpu")
    tokenizer = model.loaded().tokenizer
    _, prompt = model._prompt(tokenizer, CHAT, 5)
    for continuation in ("d", "daily"):
        scores = model.option_scores(CHAT, [continuation, "never", continuation]).log_likelihoods
        written = tokenizer.encode(continuation, add_special_tokens=False)
        assert len(written) == len(continuation)
        log_probabilities = logits(prompt + written).log_softmax(-1)
        expected = sum(float(log_probabilities[len(prompt) + at - 1, token]) for at, token in enumerate(written))
        assert scores[0] == scores[2] == pytest.approx(expected, abs=1e-4)


def test_other_weights_or_another_template_have_another_fingerprint(copied, tmp_path):
    made = partial(TransformersModel, str(copied), device="cpu", store=Store(str(tmp_path / "store")))
    first = made()
    completion = first.complete(CHAT, 4)
    assert made().complete(CHAT, 4) == completion  # its time, too
    template = copied / "chat_template.jinja"
    template.write_text(f"{template.read_text()}Answer: ")
    model_files.digest_of_file.cache_clear()
    model_files.digest_of_model.cache_clear()
    assert made().fingerprint != first.fingerprint


REFUSED = {
    "nothing there": (shutil.rmtree, "there is no folder"),
    "no configuration": (lambda path: (path / "config.json").unlink(), "has no model: found no config.json"),
    "pickled": (lambda path: (path / "model.safetensors").rename(path / "pytorch_model.bin"), "could run code"),
}
NOT_LOADED = {
    "no chat": (lambda path: (path / "chat_template.jinja").unlink(), "has no chat template"),
    "not complete": (lambda path: drop_a_weight(path / "model.safetensors"), "lack model.layers.1.mlp.up_proj.weight"),
    "damaged": (lambda path: (path / "model.safetensors").write_bytes(b"PK"), "cannot be loaded"),
}


def drop_a_weight(file):
    from safetensors.torch import load_file, save_file

    weights = load_file(file)
    del weights["model.layers.1.mlp.up_proj.weight"]
    save_file(weights, file, metadata={"format": "pt"})


def test_a_model_that_cannot_be_used_is_refused_in_one_line(folder, tmp_path):
    """One that is not there, or could run code, before it is asked."""
    uses = [
        (REFUSED, lambda copied: TransformersModel(str(copied))),
        (NOT_LOADED, lambda copied: TransformersModel(str(copied), device="cpu").complete(CHAT, 1)),
    ]
    for changes, use in uses:
        for name, (change, expected) in changes.items():
            copied = shutil.copytree(folder, tmp_path / name)
            change(copied)
            with pytest.raises(ModelError, match=rf"^[^\n]*{expected}[^\n]*$") as error:
                use(copied)
            assert str(copied) in str(error.value)


def test_a_prompt_that_its_template_refuses_is_an_error_in_one_line(folder):
    with pytest.raises(ModelError, match=r"its chat template refuses the prompt \(no such role\)$"):
        TransformersModel(str(folder), device="cpu").complete([Message("system", "Be brief."), *CHAT], 1)


def test_a_run_asks_it_by_its_folder_and_refuses_a_folder_that_is_not_there(application, dataset, folder, tmp_path):
    asked = [*dataset, "retriever=sparse", "query=hyde", "query.max_tokens=4", "language_model=transformers"]
    succeeded(application.script_here("run", *application.arguments(*asked, f"language_model.model={folder}")))
    [run] = application.runs()
    assert run.data.params["language_model.model"].endswith("tiny")
    refused = in_this_process(tmp_path, "run", *asked, "language_model.model=./nowhere")
    assert refused.returncode == 2
    assert "language_model.model: there is no folder ./nowhere" in refused.stderr

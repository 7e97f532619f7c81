"""Language models: each keeps the contract; what transformers loads, what a response says, what looks like a key."""

import json
import shutil
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from application import in_this_process, succeeded
from endpoint_server import EndpointServer, completion

from ragsweep.core.errors import ModelError
from ragsweep.core.parsing import MalformedError
from ragsweep.core.project import SWEEP_ID
from ragsweep.models.encoders import model_files
from ragsweep.models.language import transformers_model
from ragsweep.models.language.endpoint_access import is_like_key, is_named_like_key, likely_key
from ragsweep.models.language.language_model import Message
from ragsweep.models.language.openai_model import OpenAIModel
from ragsweep.models.language.response import Cause, is_refusal, json_in, read_choice, without_thoughts
from ragsweep.models.language.smollm2 import SmolLM2Model
from ragsweep.models.language.transformers_model import TransformersModel
from ragsweep.models.language.writing import listed, prose
from ragsweep.testing import LanguageModelContract

CHAT = [Message("user", "Which tablets are taken daily?")]
WEIGHTS = "model.safetensors"
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


def test_a_completion_is_kept_and_another_template_has_another_fingerprint(copied, store):
    made = partial(TransformersModel, str(copied), device="cpu", store=store)
    first = made()
    completion = first.complete(CHAT, 4)
    assert made().complete(CHAT, 4) == completion  # its time, too
    template = copied / "chat_template.jinja"
    template.write_text(f"{template.read_text()}Answer: ")
    model_files.digest_of_file.cache_clear()
    model_files.digest_of_model.cache_clear()
    assert made().fingerprint != first.fingerprint


REFUSED = {  # whether only when it is loaded, what is done to the folder, and what is said
    "nothing there": (False, shutil.rmtree, "there is no folder"),
    "no configuration": (False, lambda path: (path / "config.json").unlink(), "has no model: found no config.json"),
    "pickled": (False, lambda path: (path / WEIGHTS).rename(path / "pytorch_model.bin"), "could run code"),
    "no chat": (True, lambda path: (path / "chat_template.jinja").unlink(), "has no chat template"),
    "not complete": (True, lambda path: drop_a_weight(path / WEIGHTS), "lack model.layers.1.mlp.up_proj.weight"),
    "damaged": (True, lambda path: (path / WEIGHTS).write_bytes(b"PK"), "cannot be loaded"),
}


def drop_a_weight(file):
    from safetensors.torch import load_file, save_file

    weights = load_file(file)
    del weights["model.layers.1.mlp.up_proj.weight"]
    save_file(weights, file, metadata={"format": "pt"})


def test_a_model_that_cannot_be_used_is_refused_in_one_line(folder, tmp_path):
    """One that is not there, or could run code, before it is asked."""
    for name, (is_late, change, expected) in REFUSED.items():
        copied = shutil.copytree(folder, tmp_path / name)
        change(copied)
        if is_late:
            model = TransformersModel(str(copied), device="cpu")
        with pytest.raises(ModelError, match=rf"\A[^\n]*{expected}[^\n]*\Z") as error:
            model.complete(CHAT, 1) if is_late else TransformersModel(str(copied))
        assert str(copied) in str(error.value)
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


def read(content, finish="stop", refusal=None, tool_calls=None):
    message = SimpleNamespace(content=content, refusal=refusal, tool_calls=tool_calls)
    return read_choice(SimpleNamespace(message=message, finish_reason=finish))


def test_the_text_is_what_follows_the_thoughts():
    contents = [
        *("B", "<think>A?</think>\n\nB", "A? no\n</think>\nB", "<thinking>A</thinking>B"),
        [{"type": "thinking", "thinking": [{"type": "text", "text": "A"}]}, {"type": "text", "text": "B"}],
    ]
    assert [read(content) for content in contents] == [("B", None)] * len(contents)
    text = '{"answer": "<think>A</think>B"}'  # marks in the texts of JSON are left alone
    assert read(text) == (text, None)
    assert without_thoughts(text) == text


WITH_RAW_MARKS = [
    "<think>long",
    "[THINK]A[/THINK]B",
    "◁think▷A◁/think▷B",
    "<think>x <think> y</think>B</think>",
    "<|channel|>analysis<|message|>A?<|end|><|start|>assistant<|channel|>final<|message|>B<|return|>",
    "<|begin_of_thought|>A<|end_of_thought|>B",
    "The answer is B. <think>Or is it A?",
]
WITHOUT_TEXT = [  # a response, and why it cannot be used
    *(((text,), Cause.EMPTY) for text in WITH_RAW_MARKS),  # a thought states no answer: a wrong letter is worse
    ((None, "length"), Cause.CUT_OFF),
    (("<think>long", "length"), Cause.CUT_OFF),
    (("", None), Cause.EMPTY),
    (('<tool_call>\n{"name": "f"}\n</tool_call>', "stop"), Cause.TOOL_CALL),
    (('[TOOL_CALLS][{"name": "f"}]', "stop"), Cause.TOOL_CALL),
    ((None, "stop", None, [{"function": {"name": "f"}}]), Cause.TOOL_CALL),
    ((None, "function_call"), Cause.TOOL_CALL),
    (("B", "content_filter"), Cause.REFUSED),
    ((None, "stop", "no"), Cause.REFUSED),
    (("I'm sorry, but I can't help with that.", "stop"), Cause.REFUSED),
]


def test_a_response_without_usable_text_says_why_and_its_start_is_given_where_it_was_cut_off():
    assert [(response, read(*response)) for response, cause in WITHOUT_TEXT if read(*response) != ("", cause)] == []
    assert read("It is", "length") == ("It is", Cause.CUT_OFF)
    with pytest.raises(MalformedError, match="broke off at the server"):
        read("It could be A", "error")


REFUSALS = [
    "I cannot answer this question.",
    "As an AI language model, I cannot provide medical advice.",
    "Sorry, I can\u2019t assist with that request.",
]
NO_REFUSALS = [
    "I cannot give medical advice. However, the correct answer is B.",
    "I'm sorry, but the answer is B.",
    "I cannot recommend iron enough. Take it daily.",
    "I am sorry to say that tea stops iron.",
    "I cannot answer this. " * 30,
]


def test_a_text_refuses_if_it_does_nothing_else():
    assert [text for text in (*REFUSALS, *NO_REFUSALS) if is_refusal(text)] == REFUSALS


def test_json_is_read_without_what_is_around_it():
    for around in ("{}", "```json\n{}\n```", "Here it is: {} Good luck!", "<think>a</think>{}"):
        assert json_in(around.replace("{}", '{"a": [1,\n 2,]}')) == {"a": [1, 2]}


LINES = ["What stops pallor fast?", "How is pallor treated?", "Which drug ends pallor?"]
PROSE = "Iron tablets are taken with lemon water."


def test_a_list_is_its_lines_alone():
    for mark in ("", "1. ", "2) ", "- ", "* ", "• ", "**1.** "):
        lines = [f"{mark}{line}" for line in LINES]
        assert listed("\n".join(lines)) == listed("\n".join(["Here they are:\n", *lines, lines[0]])) == LINES, mark


def test_a_passage_is_what_was_asked_for_alone():
    texts = [
        *(PROSE, PROSE.replace(" are", "\nare"), f'"{PROSE}"', f"```\n{PROSE}\n```", f"<passage>{PROSE}</passage>"),
        *(f"Passage: {PROSE}", f"**Passage:** {PROSE}", f"Here is a passage that answers the question:\n\n{PROSE}"),
    ]
    assert [text for text in texts if prose(text) != PROSE] == []
    for text in ("Iron: 5 mg\nZinc: 3 mg", "Here is how iron is taken: with water."):
        assert prose(text) == " ".join(text.split())
    refusal = "I'm sorry, but I can't help with that."  # nothing is searched for
    assert (listed(refusal), prose(refusal)) == ([], "")


KEYS = """
    Authorization Proxy-Authorization X-Authentication Cookie api-key apikey X-Api-Key X-Api-Keys x-goog-api-key
    Ocp-Apim-Subscription-Key X-Access-Token X-Access-Tokens X-Amz-Security-Token PRIVATE-TOKEN X_AUTH X-Auth JWT Bearer
    X-Session X-Auth-Token X-Signature X-KEY-1
    key token api_key apiKey OPENAI_API_KEY api_token auth_token authToken hf_token HF_TOKEN access_token id_token
    connection_string connectionString private_key privateKey bearer jwt password db_password client_secret credentials
"""
NO_KEYS = """
    max_tokens maxTokens max_completion_tokens min_tokens prompt_tokens token_type_ids stop_token_ids keywords monkey
    skip_special_tokens eos_token ignore_eos_token prompt_cache_key author author_id authors input_type reasoning_effort
    session_id x-session-affinity X-Title X-Tier HTTP-Referer top_k passage tokenizer thinking_budget_tokens keyframes
"""


LIKE_KEYS = """Bearer gsk_0123 | Authorization: bearer gsk_0123 | postgresql://user:pass@host/db | redis://:pass@host
| Basic dXNlcjpwYXNzd29yZA== | Token 0123456789 | ApiKey bXkta2V5 | sk-proj-0123456789abcdef | ghp_0123456789abcdefghij
| eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVmN | hf_0123456789abcdefghij | AKIAIOSFODNN7EXAMPLE"""
UNLIKE_KEYS = """Basic research of iron | token by token | Token | sk-SK | gpt-4o-mini-2024-07-18 | mail a@b.org
| hf-internal-testing/tiny-random-gpt2-for-tests | HuggingFaceTB/SmolLM2-135M-Instruct | the bearer of this letter
| https://host:8080/v1/@scope/name"""


def test_names_and_values_of_keys_are_recognised_and_no_others():
    assert [name for name in KEYS.split() if not is_named_like_key(name)] == []
    assert [name for name in NO_KEYS.split() if is_named_like_key(name)] == []
    like, unlike = (" ".join(text.split()).split(" | ") for text in (LIKE_KEYS, UNLIKE_KEYS))
    assert [value for value in like if not is_like_key(value)] == []
    assert [value for value in unlike if is_like_key(value)] == []


def test_fields_are_looked_at_at_any_depth():
    assert likely_key({"a": [{"b": [["Bearer gsk_0123"]]}], "max_tokens": 3}) == "b"
    managed = {"type": "system_assigned_managed_identity"}
    assert likely_key({"data_sources": [{"parameters": {"authentication": managed}}]}) is None
    assert likely_key({"authentication": {"type": "api_key", "key": "0123"}}) == "key"
    assert likely_key({"credentials": {"user": "me"}}) == "credentials"

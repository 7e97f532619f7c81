"""The twelve questions as tasks of Inspect AI. Running this file writes their logs."""

import json
from pathlib import Path
from random import Random

from inspect_ai import Task, eval, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import choice
from inspect_ai.solver import multiple_choice

TEMPLATE = """Question: Which animal barks?
A) Cat
B) Dog
C) Cow
ANSWER: B

Question: What is snow like?
A) Dry
B) Hot
C) Black
D) Cold
ANSWER: D

Question: {question}
{choices}
"""


def dataset():
    rows = [json.loads(line) for line in Path("cases.jsonl").read_text(encoding="utf-8").splitlines()]
    samples = [Sample(id=r["id"], input=r["question"], choices=r["options"], target=r["answer"]) for r in rows]
    return MemoryDataset(samples, name="quiz")


@task
def quiz():
    return Task(dataset(), solver=multiple_choice(template=TEMPLATE, max_tokens=8), scorer=choice())


@task
def quiz_shuffled_dataset():
    data = dataset()
    data.shuffle_choices(seed=3)
    return Task(data, solver=multiple_choice(template=TEMPLATE, max_tokens=8), scorer=choice())


@task
def quiz_shuffled_prompt():
    solver = multiple_choice(template=TEMPLATE, max_tokens=8, shuffle=Random(3))
    return Task(dataset(), solver=solver, scorer=choice())


if __name__ == "__main__":
    for quiz_task in (quiz, quiz_shuffled_dataset, quiz_shuffled_prompt):
        eval(
            quiz_task(),
            model="hf/SmolLM2-135M-Instruct",
            model_args={
                "model_path": "SmolLM2-135M-Instruct",
                "device": "cpu",
                "chat_template": "{{ messages[-1].content }}\n",
            },
            stop_seqs=["\n"],
            max_connections=1,
            temperature=0.01,
            seed=1,
            log_dir="inspect",
            display="none",
            log_realtime=False,
            score_display=False,
        )

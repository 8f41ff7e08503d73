"""Runs a recipe of tinker-cookbook, unmodified, on sums given here instead of the hub's data sets."""

import importlib
import json
import sys

import datasets

suffix = " Provide a numerical answer without units, written inside \\boxed{}."


def lesson(number):
    question, answer = f"What is {number % 4} + 1?", number % 4 + 1
    return {
        "messages": [
            {"role": "user", "content": question + suffix},
            {"role": "assistant", "content": f"\\boxed{{{answer}}}"},
        ],
        "question": question,
        "answer": f"#### {answer}",
    }


def load_dataset(*_, **__):
    return datasets.DatasetDict({"train": datasets.Dataset.from_list([lesson(n) for n in range(320)])})


datasets.load_dataset = load_dataset
recipe, settings = sys.argv[1], json.loads(sys.argv[2])
module = importlib.import_module(f"tinker_cookbook.recipes.{recipe}")
module.main(module.Config(**settings))

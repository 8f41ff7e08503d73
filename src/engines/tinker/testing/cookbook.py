"""Runs a recipe of tinker-cookbook, unmodified, on sums given here instead of the hub's data sets."""

import asyncio
import importlib
import json
import sys

import chz
import datasets

suffix = " Provide a numerical answer without units, written inside \\boxed{}."


def lesson(number):
    """Mostly of one sum, so that a tiny model can learn to be right more often in a few steps."""
    first = number // 8 % 4 if number % 8 == 0 else 0
    question, answer = f"What is {first} + 1?", first + 1
    return {
        "messages": [
            {"role": "user", "content": question + suffix},
            {"role": "assistant", "content": f"\\boxed{{{answer}}}"},
        ],
        "question": question,
        "answer": f"#### {answer}",
    }


def load_dataset(*_, split=None, **__):
    sizes = {"train": 320, "test": 16}
    all = {name: datasets.Dataset.from_list([lesson(n) for n in range(size)]) for name, size in sizes.items()}
    return datasets.DatasetDict(all) if split is None else all[split]


def replaced(config, settings):
    """Also in parts: `part.name`."""
    for name, value in settings.items():
        first, _, rest = name.partition(".")
        changed = replaced(getattr(config, first), {rest: value}) if rest else value
        config = chz.replace(config, **{first: changed})
    return config


datasets.load_dataset = load_dataset
recipe, settings = sys.argv[1], json.loads(sys.argv[2])
module = importlib.import_module(f"tinker_cookbook.recipes.{recipe}")
if hasattr(module, "cli_main"):
    asyncio.run(module.cli_main(module.CLIConfig(**settings)))
elif hasattr(module, "Config"):
    module.main(module.Config(**settings))
else:
    module.main(replaced(module.build_config_blueprint(settings["model_name"]).make(), settings))

"""A writer and a critic look for the opposite of a word, with the package `openai`: pip install openai."""

import json
import os

from openai import OpenAI

task = json.loads(os.environ["TROUPE_TASK"])


def ask(role: str, messages: list) -> str:
    client = OpenAI(
        base_url=os.environ[f"OPENAI_BASE_URL_{role}"],
        api_key=os.environ[f"OPENAI_API_KEY_{role}"],
    )
    completion = client.chat.completions.create(model=role, messages=messages)
    return completion.choices[0].message.content.strip()


conversation = [{"role": "user", "content": f"opposite of {task['word']}"}]
first = ask("WRITER", conversation)
question = f"is {first} the opposite of {task['word']}"
verdict = ask("CRITIC", [{"role": "user", "content": question}])
score = 1 if first == task["opposite"] else 0

if verdict == "no":
    conversation += [
        {"role": "assistant", "content": first},
        {"role": "user", "content": "no , another"},
    ]
    score = 0.6 if ask("WRITER", conversation) == task["opposite"] else 0

# The last line is the reward.
print(score)

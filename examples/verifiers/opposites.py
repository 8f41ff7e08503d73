"""A verifiers environment: what is the opposite of a word? Its harness asks the model once, without a program of its own."""

import openai
import verifiers.v1 as vf

PAIRS = {"hot": "cold", "cold": "hot", "big": "small", "small": "big"}


class WordData(vf.TaskData):
    opposite: str


class WordTask(vf.Task[WordData]):
    @vf.reward(weight=1.0)
    async def right(self, trace: vf.Trace) -> float:
        return float(trace.last_reply.strip() == self.data.opposite)


class Opposites(vf.Taskset[WordTask, vf.TasksetConfig]):
    def load(self) -> list[WordTask]:
        return [
            WordTask(WordData(prompt=f"opposite of {word}", opposite=opposite))
            for word, opposite in PAIRS.items()
        ]


class AskOnce(vf.Harness[vf.HarnessConfig]):
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(self, ctx, trace, runtime, endpoint, secret, mcp_urls, data) -> vf.ProgramResult:
        client = openai.AsyncOpenAI(base_url=endpoint, api_key=secret)
        message = {"role": "user", "content": data.prompt}
        await client.chat.completions.create(model=ctx.model, messages=[message])
        return vf.ProgramResult(exit_code=0, stdout="", stderr="")


__all__ = ["AskOnce", "Opposites"]

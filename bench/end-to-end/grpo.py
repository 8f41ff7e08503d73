"""The other side: TRL's GRPOTrainer on the same prompts, model and settings: grpo.py WORK.json.

It takes a step when a line of stdin says so. Rewards are asked of the benchmark, through the same lines: they are computed by
the code that rewards our side.
"""

import json
import os
import sys
import tempfile
import time
from pathlib import Path

answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # Libraries print what is no answer.
sys.path.insert(0, str(Path(__file__).parents[1] / "torch"))
work = json.loads(Path(sys.argv[1]).read_text())

import torch  # noqa: E402
import trl  # noqa: E402
from datasets import Dataset  # noqa: E402
from exact_tokens import exact_tokenizer, text_of  # noqa: E402
from peft import LoraConfig  # noqa: E402
from transformers import TrainerCallback  # noqa: E402
from trl import GRPOConfig, GRPOTrainer  # noqa: E402

torch.set_num_threads(work["threads"])
config = json.loads((Path(work["model"]) / "config.json").read_text())
samples, end, adam = work["samples"], work["end"], work["adam"]
together = work["tasksPerStep"] * samples
counts = {"sampled": 0, "trained": 0}


def say(message):
    answers.write(json.dumps(message) + "\n")
    answers.flush()


def hold():
    """Answers until a step is requested."""
    for line in iter(sys.stdin.readline, ""):
        request = json.loads(line)
        if request["verb"] == "step":
            return
        if request["verb"] == "save":
            trainer.model.save_pretrained(request["to"])
        say({"versions": f"TRL {trl.__version__}, PyTorch {torch.__version__}"})
    os._exit(0)


def reward(completion_ids, task, **_):
    counts["sampled"] = sum(map(len, completion_ids))
    say({"replies": [{"task": one, "tokens": tokens} for one, tokens in zip(task, completion_ids)]})
    return json.loads(sys.stdin.readline())["scores"]


class Steps(TrainerCallback):
    def on_step_begin(self, *_, **__):
        hold()
        counts.update(sampled=0, trained=0)
        self.start, self.processor = time.perf_counter(), time.process_time()

    def on_step_end(self, *_, **__):
        seconds, processor = time.perf_counter() - self.start, time.process_time() - self.processor
        say({"seconds": seconds, "processor": processor, **counts})


class Counted(GRPOTrainer):
    def _compute_loss(self, model, inputs):
        counts["trained"] += int(inputs["completion_mask"].sum())
        return super()._compute_loss(model, inputs)


options = GRPOConfig(
    output_dir=tempfile.mkdtemp(),
    use_cpu=True,
    bf16=work["precision"] == "bfloat16",
    model_init_kwargs={"dtype": "float32"},
    per_device_train_batch_size=work["batch"],
    gradient_accumulation_steps=together // work["batch"],
    gradient_checkpointing=False,
    num_generations=samples,
    max_completion_length=work["reply"],
    temperature=1.0,
    # The mean over all tokens of a step, without a reference, as in our `grpo`.
    loss_type="dapo",
    beta=0.0,
    epsilon=work["clip"],
    learning_rate=adam["learningRate"],
    lr_scheduler_type="constant",
    adam_beta1=adam["beta1"],
    adam_beta2=adam["beta2"],
    adam_epsilon=adam["epsilon"],
    weight_decay=adam["weightDecay"],
    max_grad_norm=adam["clipNorm"],
    optim="adamw_torch_fused",
    max_steps=work["steps"],
    shuffle_dataset=False,
    save_strategy="no",
    logging_strategy="no",
    report_to=[],
    disable_tqdm=True,
    dataloader_pin_memory=False,
)
adapter = work.get("adapter")
trainer = Counted(
    model=work["model"],
    args=options,
    reward_funcs=reward,
    train_dataset=Dataset.from_list([{"prompt": text_of(one, end), "task": i} for i, one in enumerate(work["prompts"])]),
    processing_class=exact_tokenizer(config["vocab_size"], end, work["prompts"]),
    peft_config=adapter and LoraConfig(r=adapter["rank"], lora_alpha=adapter["alpha"], target_modules=adapter["targetModules"]),
    callbacks=[Steps()],
)
trainer.train()
hold()

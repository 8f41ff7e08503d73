"""TRL's GRPOTrainer on the same work: trl_side.py WORK, a JSON object. Prints a line of JSON for each step, and the peak."""

import json
import sys
import tempfile
import time
from pathlib import Path

work = json.loads(sys.argv[1])

import torch  # noqa: E402
import trl  # noqa: E402
from datasets import Dataset  # noqa: E402
from exact_tokens import exact_tokenizer, text_of  # noqa: E402
from peft import LoraConfig  # noqa: E402
from transformers import TrainerCallback  # noqa: E402
from trl import GRPOConfig, GRPOTrainer  # noqa: E402

torch.set_num_threads(work["threads"])
# The end is a token that no prompt has, and no reply may have before it is complete.
size, end = json.loads((Path(work["model"]) / "config.json").read_text())["vocab_size"], 0
prompts = [text_of(prompt, end) for prompt in work["prompts"]]
tokenizer = exact_tokenizer(size, end, work["prompts"])
samples = work["samples"]
together = len(prompts) * samples
seconds = {"sample": 0.0, "sampleProcessor": 0.0}


def reward(completion_ids, **_):
    lengths = {len(each) for each in completion_ids}
    assert lengths == {work["reply"]}, f"replies of {lengths} tokens; expected {work['reply']}"
    return [float(index % 2) for index in range(len(completion_ids))]


class Clock(TrainerCallback):
    def on_step_begin(self, *_, **__):
        seconds.update(sample=0.0, sampleProcessor=0.0)
        self.start, self.processor = time.perf_counter(), time.process_time()

    def on_step_end(self, *_, **__):
        whole, processor = time.perf_counter() - self.start, time.process_time() - self.processor
        train = {"train": whole - seconds["sample"], "trainProcessor": processor - seconds["sampleProcessor"]}
        print(json.dumps({**seconds, **train}), flush=True)


def peak() -> int:
    status = Path("/proc/self/status").read_text()
    return 1024 * int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])


bfloat16 = work["precision"] == "bfloat16"
options = GRPOConfig(
    output_dir=tempfile.mkdtemp(),
    use_cpu=work["device"] == "cpu",
    bf16=bfloat16,
    per_device_train_batch_size=work["batch"],
    gradient_accumulation_steps=together // work["batch"],
    num_generations=samples,
    max_completion_length=work["reply"],
    generation_kwargs={"min_new_tokens": work["reply"]},
    gradient_checkpointing=work["recompute"],
    model_init_kwargs={"dtype": work["precision"]},
    max_steps=work["steps"],
    learning_rate=1e-5,
    lr_scheduler_type="constant",
    shuffle_dataset=False,
    save_strategy="no",
    report_to=[],
    disable_tqdm=True,
    dataloader_pin_memory=False,
    **work.get("more", {}),
)
adapter = work["adapter"]
trainer = GRPOTrainer(
    model=work["model"],
    args=options,
    reward_funcs=reward,
    train_dataset=Dataset.from_list([{"prompt": prompt} for prompt in prompts] * work["steps"]),
    processing_class=tokenizer,
    peft_config=LoraConfig(r=adapter["rank"], lora_alpha=adapter["alpha"], target_modules=adapter["targetModules"]),
    callbacks=[Clock()],
)
generate = trainer._generate


def timed(*given, **named):
    start, processor = time.perf_counter(), time.process_time()
    try:
        return generate(*given, **named)
    finally:
        seconds["sample"] += time.perf_counter() - start
        seconds["sampleProcessor"] += time.process_time() - processor


trainer._generate = timed
trainer.train()
print(json.dumps({"peak": peak(), "trl": trl.__version__, "torch": torch.__version__}), flush=True)

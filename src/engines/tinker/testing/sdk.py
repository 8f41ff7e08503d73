"""Trains and samples with the official SDK; prints what it found as JSON. Arguments: the address, the model's name."""

import json
import os
import sys
import warnings

warnings.filterwarnings("ignore")
os.environ["TINKER_TELEMETRY"] = "0"
import tinker  # noqa: E402
from tinker import types  # noqa: E402

url, base_model = sys.argv[1:]


def tensor(values, dtype):
    return types.TensorData(data=values, dtype=dtype, shape=[len(values)])


def datum(tokens, **numbers):
    inputs = {name: tensor(values, "float32") for name, values in numbers.items()}
    inputs["target_tokens"] = tensor(tokens[1:], "int64")
    return types.Datum(model_input=types.ModelInput.from_ints(tokens[:-1]), loss_fn_inputs=inputs)


service = tinker.ServiceClient(base_url=url, api_key=os.environ["TINKER_API_KEY"])
model = service.create_lora_training_client(base_model=base_model, rank=4, seed=1).result()
prompt = [1, 6, 7]
params = types.SamplingParams(max_tokens=6, temperature=1.0, seed=3, stop=[])
found = {"losses": [], "name": model.get_info().model_data.model_name}

for _ in range(4):
    gradients = model.forward_backward([datum([1, 6, 7, 8, 9], weights=[0.0, 1.0, 1.0, 1.0])], "cross_entropy")
    step = model.optim_step(types.AdamParams(learning_rate=0.02))
    found["losses"].append(gradients.result().metrics["loss:sum"])
    found["norm"] = step.result().metrics["grad_norm"]

sampler = model.save_weights_and_get_sampling_client().result()
sampled = sampler.sample(types.ModelInput.from_ints(prompt), 2, params).result().sequences
found["tokens"] = [list(map(int, each.tokens)) for each in sampled]
scores = sampler.compute_logprobs(types.ModelInput.from_ints(prompt + found["tokens"][0])).result()
scored = sampler.sample(types.ModelInput.from_ints(prompt), 1, params, include_prompt_logprobs=True, topk_prompt_logprobs=2)
scored = scored.result()
found["top"] = [
    row is None if at == 0 else len(row) == 2 and row[0][1] >= row[1][1] and all(
        abs(logprob - scored.prompt_logprobs[at]) < 1e-4 for token, logprob in row if token == prompt[at])
    for at, row in enumerate(scored.topk_prompt_logprobs)
]
found["sampled"] = [float(each) for each in sampled[0].logprobs]
found["scored"] = [float(each) for each in scores[len(prompt) :]]

# Reinforcement: better than average actions become more probable.
rows = []
for advantage, each in zip([1.0, -1.0], sampled):
    zeros = [0.0] * (len(prompt) - 1)
    tokens = list(map(int, each.tokens))
    rows.append(
        datum(prompt + tokens, advantages=zeros + [advantage] * len(tokens), logprobs=zeros + list(map(float, each.logprobs)))
    )
for loss in ["importance_sampling", "ppo"]:
    model.forward_backward(rows, loss).result()
model.optim_step(types.AdamParams(learning_rate=0.01)).result()

path = model.save_state("state").result().path
again = service.create_training_client_from_state_with_optimizer(path).result()
fresh = service.create_lora_training_client(base_model=base_model, rank=4, seed=1).result()
forward = [each.forward(rows, "importance_sampling").result() for each in (model, again, fresh)]
found["forward"] = [each.metrics["loss:sum"] for each in forward]
found["restored"] = [forward[0].loss_fn_outputs[0]["logprobs"].data == each.loss_fn_outputs[0]["logprobs"].data for each in forward]
# Also the optimizer's state: after the same step, they still are the same.
for each in (model, again):
    each.forward_backward(rows, "ppo").result()
    each.optim_step(types.AdamParams(learning_rate=0.01)).result()
after = [each.forward(rows, "importance_sampling").result().metrics["loss:sum"] for each in (model, again)]
found["after"] = [after[0] == after[1], after[0] == found["forward"][0]]
# A rejected request holds up none after it.
found["failed"] = []
for ask in [
    lambda: model.optim_step(types.AdamParams(learning_rate=float("nan"))),
    lambda: model.save_state("a", ttl_seconds=60),
    lambda: model.save_state("b" * 600),
]:
    try:
        ask().result()
    except (tinker.RequestFailedError, tinker.TinkerError, ValueError) as error:
        found["failed"].append(type(error).__name__)
saved = model.save_weights_for_sampler("final").result().path
other = service.create_sampling_client(model_path=saved).result()
found["again"] = list(map(int, other.sample(types.ModelInput.from_ints(prompt), 1, params).result().sequences[0].tokens))
rest = service.create_rest_client()
run = model.model_id
runs = rest.list_training_runs().result()
found["runs"] = [[each.training_run_id == run, each.base_model, each.lora_rank] for each in runs.training_runs]
found["total"] = runs.cursor.total_count
found["run"] = rest.get_training_run(run).result().last_checkpoint.tinker_path == path
found["of_path"] = rest.get_training_run_by_tinker_path(path).result().training_run_id == run
listed = rest.list_checkpoints(run).result().checkpoints
found["checkpoints"] = [[each.checkpoint_id, each.checkpoint_type, each.size_bytes > 0] for each in listed]
found["user"] = [each.tinker_path for each in rest.list_user_checkpoints(limit=1).result().checkpoints] == [saved]
(session,) = rest.list_sessions().result().sessions
found["session"] = run in rest.get_session(session).result().training_run_ids
found["weights"] = rest.get_weights_info_by_tinker_path(path).result().lora_rank
rest.publish_checkpoint_from_tinker_path(path).result()
found["public"] = [each.public for each in rest.list_checkpoints(run).result().checkpoints]
rest.unpublish_checkpoint_from_tinker_path(path).result()
rest.set_checkpoint_ttl_from_tinker_path(path, 3600).result()
found["expires"] = [each.expires_at is not None for each in rest.list_checkpoints(run).result().checkpoints]
rest.set_checkpoint_ttl_from_tinker_path(path, None).result()
rest.delete_checkpoint_from_tinker_path(path).result()
found["left"] = [each.checkpoint_id for each in rest.list_checkpoints(run).result().checkpoints]
found["missing"] = []
for ask in [
    lambda: rest.get_training_run("nothing").result(),
    lambda: rest.get_weights_info_by_tinker_path(path).result(),
    lambda: rest.copy_weights(saved, "project").result(),
    lambda: rest.export_session_trace(session).result(),
]:
    try:
        ask()
    except tinker.APIStatusError as error:
        found["missing"].append(f"{error.status_code} {error.body['detail']}")
try:
    model.forward_backward([datum([1, 6, 7], weights=[1.0, 1.0])], "dro").result()
except tinker.RequestFailedError as error:
    found["rejected"] = str(error)
print(json.dumps(found))

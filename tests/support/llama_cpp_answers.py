"""What llama.cpp makes of a GGUF file, through llama-cpp-python. Reads one JSON request, writes one JSON answer.

Request: file, texts (list of strings), prompts (lists of ids), expected (for each prompt, the continuation to compare
with), context, exact (whether keys and values are cached in float32, not float16). Answer: ids of each text, control
tokens included; whether a text gets a first token; the end tokens; the chat template; the logits after the first
prompt; and for each prompt the greedy continuation as long as the expected one, with the place of the first difference
and by how much the logit of llama.cpp's own token exceeds the expected one's there.
"""
import json
import sys

import llama_cpp
import numpy

request = json.load(sys.stdin)
cache = {"type_k": llama_cpp.GGML_TYPE_F32, "type_v": llama_cpp.GGML_TYPE_F32} if request["exact"] else {}
llm = llama_cpp.Llama(
    request["file"], n_ctx=request["context"], n_batch=request["context"], n_threads=1, n_threads_batch=1, verbose=False, **cache,
)
rows = llm.n_vocab()
vocabulary = llama_cpp.llama_model_get_vocab(llm.model)


def next_logits():
    return numpy.ctypeslib.as_array(llama_cpp.llama_get_logits_ith(llm.ctx, -1), shape=(rows,)).copy()


def compare(prompt, expected):
    llm.reset()
    llm.eval(prompt)
    tokens, at, gap = [], None, 0.0
    for index, wanted in enumerate(expected):
        logits = next_logits()
        best = int(logits.argmax())
        tokens.append(best)
        if best != wanted and at is None:
            at, gap = index, float(logits[best] - logits[wanted])
        if index + 1 < len(expected):
            llm.eval([best])
    return {"tokens": tokens, "at": at, "gap": gap}


def first_logits(prompt):
    llm.reset()
    llm.eval(prompt)
    return [float(value) for value in next_logits()]


json.dump(
    {
        "tokens": [llm.tokenize(text.encode(), add_bos=False, special=True) for text in request["texts"]],
        "addsFirst": llm.tokenize(b"a", add_bos=True) != llm.tokenize(b"a", add_bos=False),
        "ends": [token for token in range(rows) if llama_cpp.llama_vocab_is_eog(vocabulary, token)],
        "template": llm.metadata.get("tokenizer.chat_template"),
        "continuations": [compare(*pair) for pair in zip(request["prompts"], request["expected"])],
        "logits": first_logits(request["prompts"][0]),
    },
    sys.stdout,
)

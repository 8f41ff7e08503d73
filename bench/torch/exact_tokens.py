"""A tokenizer with a word for each token, so that a trainer of texts gets exactly the tokens of the work."""

from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast


def text_of(tokens, end):
    return " ".join("<end>" if token == end else f"t{token}" for token in tokens)


def exact_tokenizer(size, end, prompts):
    """Of a vocabulary of `size` tokens. `prompts`: token ids that must survive; the padding is none of their tokens."""
    padding = next(token for token in range(size) if token != end and not any(token in prompt for prompt in prompts))
    words = {f"t{token}": token for token in range(size)} | {"<end>": end, "<pad>": padding}
    del words[f"t{end}"], words[f"t{padding}"]
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<end>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    exact = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<end>", pad_token="<pad>")
    for prompt in prompts:
        assert exact(text_of(prompt, end))["input_ids"] == list(prompt), "the tokenizer gives other tokens than those of the work"
    return exact

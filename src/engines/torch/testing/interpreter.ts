/** An interpreter with PyTorch and transformers. Undefined: tests that need one are skipped. */
export const python = process.env["TROUPE_TORCH_PYTHON"];

/** One that has vLLM, too: a build for the processor, where there is no GPU. */
export const vllmPython = process.env["TROUPE_VLLM_PYTHON"];

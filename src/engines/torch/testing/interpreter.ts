/** An interpreter with PyTorch and transformers. Undefined: tests that need one are skipped. */
export const python = process.env["TROUPE_TORCH_PYTHON"];

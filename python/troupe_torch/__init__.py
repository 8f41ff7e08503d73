"""The worker of Troupe's engine `torch`: policies on PyTorch and transformers, behind a pipe (src/engines/torch)."""

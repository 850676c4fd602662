"""The rows of scripts/gpu-check and what they stand on."""

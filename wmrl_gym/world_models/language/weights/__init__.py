"""Weights that install with pip: GGUF files and their exact conversion to safetensors."""

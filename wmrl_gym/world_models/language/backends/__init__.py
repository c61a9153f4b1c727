"""Language models in this process, in a vLLM engine, and behind an OpenAI-compatible server."""

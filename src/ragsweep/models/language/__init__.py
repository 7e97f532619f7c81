"""Language models: SmolLM2 on this machine, and those behind any OpenAI-compatible endpoint."""

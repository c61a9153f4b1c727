"""The ways to ask a language model for a prediction."""

"""What is measured by the words of a text: grounding, reasoning, pitfalls, safety and confused conditions."""

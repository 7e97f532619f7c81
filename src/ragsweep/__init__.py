"""ragsweep: which retrieval configuration should I ship, and can I trust that answer?"""

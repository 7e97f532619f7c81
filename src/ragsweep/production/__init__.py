"""The winner leaves: a recorded configuration as a folder that answers questions, and the retriever that it holds."""

"""All that knows a language or a script: normal forms, words, sentences, phrases and stop words."""

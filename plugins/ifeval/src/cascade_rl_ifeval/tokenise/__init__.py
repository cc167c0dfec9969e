"""Sentences and words, without nltk and its data: rules written for this pack."""

"""The plugins that come with turnkeeper: who is asked whether an utterance is for them."""

"""How people say stop, and nothing else, in each language; folded as `words.folded` does it."""

STOP: dict[str, frozenset[str]] = {
    "de": frozenset(
        {
            "stop",
            "stopp",
            "halt",
            "hör auf",
            "hör bitte auf",
            "bitte aufhören",
            "aufhören",
            "abbrechen",
            "brich ab",
            "schluss",
            "ruhe",
            "sei still",
            "bitte stopp",
            "stopp bitte",
        }
    ),
    "en": frozenset(
        {
            "stop",
            "stop it",
            "stop that",
            "stop this",
            "stop now",
            "please stop",
            "stop please",
            "cancel",
            "cancel it",
            "cancel that",
            "abort",
            "quiet",
            "be quiet",
            "shut up",
            "never mind",
            "nevermind",
        }
    ),
    "es": frozenset(
        {
            "para",
            "para ya",
            "para por favor",
            "por favor para",
            "detente",
            "alto",
            "basta",
            "cancela",
            "cancelar",
            "cállate",
            "silencio",
        }
    ),
    "fr": frozenset(
        {
            "stop",
            "arrête",
            "arrête toi",
            "arrête ça",
            "arrêtez",
            "arrête s il te plaît",
            "annule",
            "annuler",
            "tais toi",
            "silence",
            "ça suffit",
        }
    ),
    "it": frozenset(
        {
            "stop",
            "ferma",
            "fermati",
            "fermo",
            "basta",
            "smettila",
            "annulla",
            "zitto",
            "silenzio",
            "per favore fermati",
        }
    ),
    "nl": frozenset(
        {
            "stop",
            "stop ermee",
            "stop maar",
            "hou op",
            "houd op",
            "ophouden",
            "annuleer",
            "annuleren",
            "stil",
            "wees stil",
            "stop alsjeblieft",
            "genoeg",
        }
    ),
    "pt": frozenset(
        {
            "para",
            "pare",
            "para com isso",
            "pare com isso",
            "para por favor",
            "pare por favor",
            "chega",
            "basta",
            "cancela",
            "cancelar",
            "cala te",
            "silêncio",
        }
    ),
}

EVERYTHING: dict[str, frozenset[str]] = {
    "de": frozenset({"stopp alles", "stoppe alles", "alles stoppen", "alles anhalten", "halte alles an"}),
    "en": frozenset({"stop everything", "stop all", "stop it all", "stop all of it", "cancel everything"}),
    "es": frozenset({"para todo", "detén todo", "cancela todo"}),
    "fr": frozenset({"arrête tout", "arrêtez tout", "tout arrêter", "annule tout"}),
    "it": frozenset({"ferma tutto", "annulla tutto"}),
    "nl": frozenset({"stop alles", "alles stoppen"}),
    "pt": frozenset({"para tudo", "pare tudo", "cancela tudo"}),
}

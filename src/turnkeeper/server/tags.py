"""The groups in which routes are told, in the order in which a newcomer needs them."""

TAGS = [
    {"name": name, "description": description}
    for name, description in (
        ("chat", "Say something and get the answer, as JSON or as a stream. Begin here."),
        ("sessions", "Conversations: begin, find, read, pause, reset, close and fork them."),
        ("runs", "Attempts to answer: follow, cancel and answer them."),
        ("explanations", "Why a run came out as it did, failed ones too."),
        ("units", "What a session knows."),
        ("knowledge bases", "Texts and their units, which sessions can mount."),
        ("packs", "Versioned bundles that configure an agent: prompts, intents, responses."),
        ("approvals", "What people are asked to allow."),
        ("invoke", "Full envelopes: who asks, through which channel, with which packs and limits."),
        ("channels", "Doors for e-mail, voice, sms and webhooks, and what goes out through them."),
        ("artifacts", "Content, kept for good under its hash."),
        ("substrate", "Manifests and pointers: trees of artifacts, and names that move between them."),
        ("scope", "Tenants, projects, objectives, users, agents and models: what a session inherits."),
        ("custody", "State that clients keep themselves."),
        ("erasure", "Exporting and erasing, with a receipt."),
        ("audit", "What was asked for, and what became of it."),
        ("keys", "Tokens of people and programs."),
        ("house", "Whether this server is alive and ready, what it counts, and how it is described."),
    )
]

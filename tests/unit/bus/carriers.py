"""Carriers as strangers might send them, for the tests of the bus."""

from typing import Any

from hypothesis import strategies as st

SKILLS = ("lamp.skill", "music.skill", "news.skill")
LANGS = ("en-US", "de-DE", "pt-PT", "nl")

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-9, 9, allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)
SKILL = st.sampled_from(SKILLS)
TIMES = st.integers(0, 200)
HANDLERS = st.lists(
    st.fixed_dictionaries({"skill_id": SKILL, "activated_at": TIMES}),
    min_size=1,
    max_size=3,
    unique_by=lambda each: str(each["skill_id"]),
)
ENTRY = st.fixed_dictionaries(
    {"value": st.none() | st.text(max_size=3)},
    optional={"expires_at": st.none() | TIMES, "turns_remaining": st.none() | st.integers(-1, 4)},
)
KEYS = ("room", "city", "lamp.skill:room", "lamp.skill:city", "music.skill:room")
CONTEXT = st.dictionaries(st.sampled_from(KEYS), ENTRY, max_size=5)

SOUND_FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "session_id": st.sampled_from(("default", "kiosk-9")),
    "lang": st.sampled_from(LANGS),
    "output_lang": st.sampled_from(LANGS),
    "stt_lang": st.sampled_from(LANGS),
    "pipeline": st.lists(st.sampled_from(("stop", "converse", "intents")), max_size=3),
    "blacklisted_skills": st.lists(SKILL, max_size=2),
    "active_handlers": HANDLERS,
    "converse_handlers": HANDLERS,
    "response_mode": st.fixed_dictionaries({"skill_id": SKILL, "expires_at": TIMES}),
    "intent_context": CONTEXT.filter(bool),
    "site_id": st.sampled_from(("kitchen", "hall")),
    "utterance_transformers": st.lists(st.sampled_from(("t1", "t2")), max_size=2),
    "location": st.fixed_dictionaries({"lat": st.floats(-90, 90), "tz": st.just("Europe/Lisbon")}),
    "x_vendor": JSON.filter(lambda value: value is not None),
}
SESSIONS = st.fixed_dictionaries({}, optional=SOUND_FIELDS)
ODD_SESSIONS = st.dictionaries(st.sampled_from((*SOUND_FIELDS, "secondary_langs", "y")), JSON, max_size=6)

-- Sessions gain what they prefer, what is mounted to them, and the session that they continue; units, knowledge bases
-- and a door for retention are new.
ALTER TABLE sessions ADD COLUMN preferences TEXT NOT NULL DEFAULT '{}';
ALTER TABLE sessions ADD COLUMN mounts TEXT NOT NULL DEFAULT '[]';
ALTER TABLE sessions ADD COLUMN from_session_id TEXT;

-- Who may still expire. Nothing in it changes with a turn.
CREATE INDEX sessions_alive ON sessions (tenant, id) WHERE status IN ('active', 'paused');

-- What is known in one place: a session, or a knowledge base. `since` is the epoch of the session, or the revision of
-- the base that brought the unit; `until` is the revision that took it out. A forgotten unit has no data.
CREATE TABLE units (
    tenant        TEXT    NOT NULL,
    place         TEXT    NOT NULL,
    no            INTEGER NOT NULL,
    id            TEXT    NOT NULL,
    since         INTEGER NOT NULL,
    until         INTEGER,
    status        TEXT    NOT NULL CHECK (status IN ('committed', 'superseded', 'pushed_out', 'forgotten')),
    superseded_by TEXT,
    turn          INTEGER,
    run_id        TEXT,
    source_id     TEXT    NOT NULL,
    scopes        TEXT    NOT NULL,
    hash          TEXT    NOT NULL,
    slot_key      TEXT,
    subject_key   TEXT,
    object_key    TEXT,
    data          TEXT,
    search_row    INTEGER,
    kept_at       INTEGER NOT NULL,
    PRIMARY KEY (tenant, place, no)
) STRICT, WITHOUT ROWID;

CREATE INDEX units_by_id ON units (tenant, place, id);
CREATE INDEX units_that_guide ON units (tenant, place, no) WHERE scopes <> 'kb-plugin';
CREATE INDEX units_by_hash ON units (tenant, place, hash) WHERE status = 'committed';
CREATE INDEX units_by_slot ON units (tenant, place, slot_key) WHERE slot_key IS NOT NULL;
CREATE INDEX units_by_subject ON units (tenant, place, subject_key) WHERE subject_key IS NOT NULL;
CREATE INDEX units_by_object ON units (tenant, place, object_key) WHERE object_key IS NOT NULL;

-- The words of committed units, as `turnkeeper.wording` prepares them. They stand here as codes that are made for one
-- tenant and one place: a search finds nothing else and reads nothing else, and what is left of a word that was deleted
-- tells nobody what it was.
CREATE VIRTUAL TABLE unit_search USING fts5 (
    tenant UNINDEXED, place UNINDEXED, no UNINDEXED, topic, said, more,
    tokenize = 'unicode61', detail = 'column'
);

CREATE TABLE knowledge_bases (
    tenant     TEXT    NOT NULL,
    id         TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    parent_id  TEXT,
    revision   INTEGER NOT NULL,
    sources    INTEGER NOT NULL,
    units      INTEGER NOT NULL,
    created_by TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE sources (
    tenant   TEXT    NOT NULL,
    base_id  TEXT    NOT NULL,
    id       TEXT    NOT NULL,
    name     TEXT    NOT NULL,
    kind     TEXT    NOT NULL,
    hash     TEXT    NOT NULL,
    content  TEXT    NOT NULL,
    units    INTEGER NOT NULL,
    since    INTEGER NOT NULL,
    until    INTEGER,
    added_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, base_id, id)
) STRICT, WITHOUT ROWID;

-- Retention comes through here: while a row says so, in the transaction of whoever put it there, old explanations go.
CREATE TABLE doors (
    tenant TEXT NOT NULL,
    name   TEXT NOT NULL,
    PRIMARY KEY (tenant, name)
) STRICT, WITHOUT ROWID;

DROP TRIGGER explanations_stay;
CREATE TRIGGER explanations_stay BEFORE DELETE ON explanations
WHEN NOT EXISTS (SELECT 1 FROM doors WHERE tenant = '-' AND name = 'retention')
BEGIN SELECT RAISE(ABORT, 'explanations is append-only'); END;

-- Sessions gain what they prefer, what is mounted to them, and the session that they continue; units, knowledge bases
-- and a door for retention are new.
ALTER TABLE sessions ADD COLUMN preferences TEXT NOT NULL DEFAULT '{}';
ALTER TABLE sessions ADD COLUMN mounts TEXT NOT NULL DEFAULT '[]';
ALTER TABLE sessions ADD COLUMN from_session_id TEXT;

-- Who may still expire. Nothing in it changes with a turn.
CREATE INDEX sessions_alive ON sessions (tenant, id) WHERE status IN ('active', 'paused');

-- What is known in one place: a session, or a knowledge base. `since` is the epoch of the session, or the revision of
-- the base that brought the unit; `until` is the revision that took it out. A forgotten unit has no data. `words` are those
-- of a committed unit, as `turnkeeper.wording` prepares them: A in its topic, B in what it says, C elsewhere.
CREATE TABLE units (
    tenant        TEXT COLLATE "C" NOT NULL,
    place         TEXT COLLATE "C" NOT NULL,
    no            BIGINT           NOT NULL,
    id            TEXT COLLATE "C" NOT NULL,
    since         BIGINT           NOT NULL,
    until         BIGINT,
    status        TEXT             NOT NULL CHECK (status IN ('committed', 'superseded', 'pushed_out', 'forgotten')),
    superseded_by TEXT COLLATE "C",
    turn          BIGINT,
    run_id        TEXT COLLATE "C",
    source_id     TEXT COLLATE "C" NOT NULL,
    scopes        TEXT             NOT NULL,
    hash          TEXT COLLATE "C" NOT NULL,
    slot_key      TEXT COLLATE "C",
    subject_key   TEXT COLLATE "C",
    object_key    TEXT COLLATE "C",
    data          TEXT,
    words         TSVECTOR,
    kept_at       BIGINT           NOT NULL,
    PRIMARY KEY (tenant, place, no)
);

CREATE INDEX units_by_id ON units (tenant, place, id);
CREATE INDEX units_that_guide ON units (tenant, place, no) WHERE scopes <> 'kb-plugin';
CREATE INDEX units_by_hash ON units (tenant, place, hash) WHERE status = 'committed';
CREATE INDEX units_by_slot ON units (tenant, place, slot_key) WHERE slot_key IS NOT NULL;
CREATE INDEX units_by_subject ON units (tenant, place, subject_key) WHERE subject_key IS NOT NULL;
CREATE INDEX units_by_object ON units (tenant, place, object_key) WHERE object_key IS NOT NULL;

CREATE TABLE knowledge_bases (
    tenant     TEXT COLLATE "C" NOT NULL,
    id         TEXT COLLATE "C" NOT NULL,
    name       TEXT             NOT NULL,
    parent_id  TEXT,
    revision   BIGINT           NOT NULL,
    sources    BIGINT           NOT NULL,
    units      BIGINT           NOT NULL,
    created_by TEXT             NOT NULL,
    created_at BIGINT           NOT NULL,
    updated_at BIGINT           NOT NULL,
    PRIMARY KEY (tenant, id)
);

CREATE TABLE sources (
    tenant   TEXT COLLATE "C" NOT NULL,
    base_id  TEXT COLLATE "C" NOT NULL,
    id       TEXT COLLATE "C" NOT NULL,
    name     TEXT             NOT NULL,
    kind     TEXT             NOT NULL,
    hash     TEXT COLLATE "C" NOT NULL,
    content  TEXT             NOT NULL,
    units    BIGINT           NOT NULL,
    since    BIGINT           NOT NULL,
    until    BIGINT,
    added_at BIGINT           NOT NULL,
    PRIMARY KEY (tenant, base_id, id)
);

CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- Retention comes through here: it says so in its own transaction, and old explanations go.
    IF TG_OP = 'DELETE' AND TG_TABLE_NAME = 'explanations'
       AND current_setting('turnkeeper.door', true) = 'retention' THEN
        RETURN NULL;
    END IF;
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME;
END
$$;

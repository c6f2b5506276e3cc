-- Runs gain their mode, messages what their Event held beyond its text, sessions a class and the moment they end at the
-- latest. Effects, buckets, artifacts, bindings and what goes out are new.
ALTER TABLE sessions ADD COLUMN classification TEXT;
ALTER TABLE sessions ADD COLUMN expires_by BIGINT;
ALTER TABLE runs ADD COLUMN mode TEXT NOT NULL DEFAULT 'batch';
ALTER TABLE messages ADD COLUMN event TEXT;

-- What a run did to the world, before and after it did it. `run_id` is the first attempt, so that a later one finds
-- it.
CREATE TABLE effects (
    tenant     TEXT COLLATE "C" NOT NULL,
    run_id     TEXT COLLATE "C" NOT NULL,
    key        TEXT COLLATE "C" NOT NULL,
    status     TEXT             NOT NULL CHECK (status IN ('started', 'done', 'failed', 'unknown')),
    attempts   BIGINT           NOT NULL,
    result     TEXT,
    started_at BIGINT           NOT NULL,
    ended_at   BIGINT,
    PRIMARY KEY (tenant, run_id, key)
);

-- How much a tenant may still ask for at once. Nodes take from it in advance.
CREATE TABLE buckets (
    tenant    TEXT COLLATE "C" NOT NULL,
    name      TEXT COLLATE "C" NOT NULL,
    tokens    DOUBLE PRECISION NOT NULL,
    filled_at BIGINT           NOT NULL,
    PRIMARY KEY (tenant, name)
);

-- Content by its hash, once a tenant.
CREATE TABLE blobs (
    tenant TEXT COLLATE "C" NOT NULL,
    sha256 TEXT COLLATE "C" NOT NULL,
    size   BIGINT           NOT NULL,
    data   BYTEA            NOT NULL,
    PRIMARY KEY (tenant, sha256)
);

-- Who kept which content, under which name.
CREATE TABLE artifacts (
    tenant     TEXT COLLATE "C" NOT NULL,
    id         TEXT COLLATE "C" NOT NULL,
    sha256     TEXT COLLATE "C" NOT NULL,
    media_type TEXT             NOT NULL,
    name       TEXT,
    size       BIGINT           NOT NULL,
    created_by TEXT COLLATE "C" NOT NULL,
    created_at BIGINT           NOT NULL,
    PRIMARY KEY (tenant, id)
);

-- A door through which a channel comes in: whose it is, who answers, and how far it may go.
CREATE TABLE bindings (
    tenant     TEXT COLLATE "C" NOT NULL,
    id         TEXT COLLATE "C" NOT NULL,
    channel    TEXT COLLATE "C" NOT NULL,
    data       TEXT             NOT NULL,
    created_by TEXT COLLATE "C" NOT NULL,
    created_at BIGINT           NOT NULL,
    updated_at BIGINT           NOT NULL,
    PRIMARY KEY (tenant, id)
);

-- Where a binding is, for those who come from outside and know nothing else. Rows belong to the reserved tenant '-'.
CREATE TABLE binding_places (
    tenant TEXT COLLATE "C" NOT NULL,
    id     TEXT COLLATE "C" NOT NULL,
    owner  TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, id)
);

-- An address of the outside world, and whose conversation it goes on with.
CREATE TABLE contacts (
    tenant     TEXT COLLATE "C" NOT NULL,
    binding    TEXT COLLATE "C" NOT NULL,
    address    TEXT COLLATE "C" NOT NULL,
    user_id    TEXT COLLATE "C" NOT NULL,
    session_id TEXT COLLATE "C",
    changed_at BIGINT           NOT NULL,
    PRIMARY KEY (tenant, binding, address)
);

-- What goes out through a channel, one row a delivery, written with the turn that says it.
CREATE TABLE outbox (
    tenant     TEXT COLLATE "C" NOT NULL,
    id         TEXT COLLATE "C" NOT NULL,
    session_id TEXT COLLATE "C" NOT NULL,
    run_id     TEXT COLLATE "C" NOT NULL,
    binding    TEXT COLLATE "C" NOT NULL,
    channel    TEXT             NOT NULL,
    data       TEXT             NOT NULL,
    status     TEXT             NOT NULL CHECK (status IN ('pending', 'sending', 'sent', 'failed', 'unknown')),
    attempts   BIGINT           NOT NULL,
    due_at     BIGINT           NOT NULL,
    holder     TEXT,
    error      TEXT,
    created_at BIGINT           NOT NULL,
    ended_at   BIGINT,
    PRIMARY KEY (tenant, id)
);

-- Nothing in it changes while a run comes to its end.
CREATE INDEX runs_that_last ON runs (tenant, id) WHERE mode = 'long_running';
CREATE INDEX outbox_open ON outbox (tenant, due_at) WHERE status IN ('pending', 'sending');
CREATE INDEX outbox_of_session ON outbox (tenant, session_id, id);
CREATE INDEX contacts_of_user ON contacts (tenant, user_id);

CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- Retention comes through here: it says so in its own transaction, and old explanations and checkpoints go.
    IF TG_OP = 'DELETE' AND TG_TABLE_NAME IN ('explanations', 'checkpoints')
       AND current_setting('turnkeeper.door', true) = 'retention' THEN
        RETURN NULL;
    END IF;
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME;
END
$$;
CREATE TRIGGER blobs_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON blobs EXECUTE FUNCTION refuse_change();
CREATE TRIGGER artifacts_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON artifacts EXECUTE FUNCTION refuse_change();

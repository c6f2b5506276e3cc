-- Runs gain their mode, messages what their Event held beyond its text, sessions a class and the moment they end at the
-- latest. Effects, buckets, artifacts, bindings and what goes out are new.
ALTER TABLE sessions ADD COLUMN classification TEXT;
ALTER TABLE sessions ADD COLUMN expires_by INTEGER;
ALTER TABLE runs ADD COLUMN mode TEXT NOT NULL DEFAULT 'batch';
ALTER TABLE messages ADD COLUMN event TEXT;

-- What a run did to the world, before and after it did it. `run_id` is the first attempt, so that a later one finds
-- it.
CREATE TABLE effects (
    tenant     TEXT    NOT NULL,
    run_id     TEXT    NOT NULL,
    key        TEXT    NOT NULL,
    status     TEXT    NOT NULL CHECK (status IN ('started', 'done', 'failed', 'unknown')),
    attempts   INTEGER NOT NULL,
    result     TEXT,
    started_at INTEGER NOT NULL,
    ended_at   INTEGER,
    PRIMARY KEY (tenant, run_id, key)
) STRICT, WITHOUT ROWID;

-- How much a tenant may still ask for at once. Nodes take from it in advance.
CREATE TABLE buckets (
    tenant    TEXT    NOT NULL,
    name      TEXT    NOT NULL,
    tokens    REAL    NOT NULL,
    filled_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, name)
) STRICT, WITHOUT ROWID;

-- Content by its hash, once a tenant.
CREATE TABLE blobs (
    tenant TEXT    NOT NULL,
    sha256 TEXT    NOT NULL,
    size   INTEGER NOT NULL,
    data   BLOB    NOT NULL,
    PRIMARY KEY (tenant, sha256)
) STRICT, WITHOUT ROWID;

-- Who kept which content, under which name.
CREATE TABLE artifacts (
    tenant     TEXT    NOT NULL,
    id         TEXT    NOT NULL,
    sha256     TEXT    NOT NULL,
    media_type TEXT    NOT NULL,
    name       TEXT,
    size       INTEGER NOT NULL,
    created_by TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

-- A door through which a channel comes in: whose it is, who answers, and how far it may go.
CREATE TABLE bindings (
    tenant     TEXT    NOT NULL,
    id         TEXT    NOT NULL,
    channel    TEXT    NOT NULL,
    data       TEXT    NOT NULL,
    created_by TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

-- Where a binding is, for those who come from outside and know nothing else. Rows belong to the reserved tenant '-'.
CREATE TABLE binding_places (
    tenant TEXT    NOT NULL,
    id     TEXT    NOT NULL,
    owner  TEXT    NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

-- An address of the outside world, and whose conversation it goes on with.
CREATE TABLE contacts (
    tenant     TEXT    NOT NULL,
    binding    TEXT    NOT NULL,
    address    TEXT    NOT NULL,
    user_id    TEXT    NOT NULL,
    session_id TEXT,
    changed_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, binding, address)
) STRICT, WITHOUT ROWID;

-- What goes out through a channel, one row a delivery, written with the turn that says it.
CREATE TABLE outbox (
    tenant     TEXT    NOT NULL,
    id         TEXT    NOT NULL,
    session_id TEXT    NOT NULL,
    run_id     TEXT    NOT NULL,
    binding    TEXT    NOT NULL,
    channel    TEXT    NOT NULL,
    data       TEXT    NOT NULL,
    status     TEXT    NOT NULL CHECK (status IN ('pending', 'sending', 'sent', 'failed', 'unknown')),
    attempts   INTEGER NOT NULL,
    due_at     INTEGER NOT NULL,
    holder     TEXT,
    error      TEXT,
    created_at INTEGER NOT NULL,
    ended_at   INTEGER,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

-- Nothing in it changes while a run comes to its end.
CREATE INDEX runs_that_last ON runs (tenant, id) WHERE mode = 'long_running';
CREATE INDEX outbox_open ON outbox (tenant, due_at) WHERE status IN ('pending', 'sending');
CREATE INDEX outbox_of_session ON outbox (tenant, session_id, id);
CREATE INDEX contacts_of_user ON contacts (tenant, user_id);

DROP TRIGGER checkpoints_stay;
CREATE TRIGGER checkpoints_stay BEFORE DELETE ON checkpoints
WHEN NOT EXISTS (SELECT 1 FROM doors WHERE tenant = '-' AND name = 'retention')
BEGIN SELECT RAISE(ABORT, 'checkpoints is append-only'); END;
CREATE TRIGGER blobs_keep BEFORE UPDATE ON blobs BEGIN SELECT RAISE(ABORT, 'blobs is append-only'); END;
CREATE TRIGGER blobs_stay BEFORE DELETE ON blobs BEGIN SELECT RAISE(ABORT, 'blobs is append-only'); END;
CREATE TRIGGER artifacts_keep BEFORE UPDATE ON artifacts BEGIN SELECT RAISE(ABORT, 'artifacts is append-only'); END;
CREATE TRIGGER artifacts_stay BEFORE DELETE ON artifacts BEGIN SELECT RAISE(ABORT, 'artifacts is append-only'); END;

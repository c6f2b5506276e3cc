-- What custody needs where our store does not keep the session: what a device has kept of its own, the keys of the seals
-- under which carried state travels, and the newest revision where a client wants no older one to be taken.
-- Code from before goes on beside it: it knows nothing of these tables, and needs none of them.

-- The session of a device, as its owner has kept it. `fields` are those of its carrier.
CREATE TABLE device_sessions (
    tenant  TEXT    NOT NULL,
    user_id TEXT    NOT NULL,
    id      TEXT    NOT NULL,
    fields  TEXT    NOT NULL,
    kept_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, user_id, id)
) STRICT, WITHOUT ROWID;

-- The newest one that is not retired seals; the others open what they have sealed.
CREATE TABLE seal_keys (
    tenant     TEXT    NOT NULL,
    id         TEXT    NOT NULL,
    key        BLOB,
    created_at INTEGER NOT NULL,
    retired_at INTEGER,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

-- One number for each session that a client keeps and wants no older state of.
CREATE TABLE carried_revisions (
    tenant     TEXT    NOT NULL,
    user_id    TEXT    NOT NULL,
    session_id TEXT    NOT NULL,
    revision   INTEGER NOT NULL,
    at         INTEGER NOT NULL,
    PRIMARY KEY (tenant, user_id, session_id)
) STRICT, WITHOUT ROWID;

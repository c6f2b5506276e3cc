-- API keys. Code from before goes on beside it: it knows nothing of this table, and lets nobody in with a key.

-- Of a token that was given out only its digest is kept. A login is what a browser holds in its cookie.
CREATE TABLE api_keys (
    tenant      TEXT    NOT NULL,
    id          TEXT    NOT NULL,
    kind        TEXT    NOT NULL CHECK (kind IN ('key', 'login')),
    name        TEXT    NOT NULL,
    user_id     TEXT    NOT NULL,
    role        TEXT    NOT NULL,
    digest      BLOB    NOT NULL,
    grants      TEXT    NOT NULL,
    limited_to  TEXT,
    session_id  TEXT,
    is_operator INTEGER NOT NULL,
    per_second  REAL,
    burst       INTEGER,
    parent      TEXT,
    created_by  TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    expires_at  INTEGER,
    revoked_at  INTEGER,
    used_at     INTEGER,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX api_keys_by_user ON api_keys (tenant, user_id, kind, id);
CREATE INDEX api_keys_by_session ON api_keys (tenant, session_id) WHERE session_id IS NOT NULL;

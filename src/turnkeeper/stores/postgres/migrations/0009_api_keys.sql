-- API keys. Code from before goes on beside it: it knows nothing of this table, and lets nobody in with a key.

-- Of a token that was given out only its digest is kept. A login is what a browser holds in its cookie.
CREATE TABLE api_keys (
    tenant      TEXT COLLATE "C" NOT NULL,
    id          TEXT COLLATE "C" NOT NULL,
    kind        TEXT             NOT NULL CHECK (kind IN ('key', 'login')),
    name        TEXT             NOT NULL,
    user_id     TEXT COLLATE "C" NOT NULL,
    role        TEXT             NOT NULL,
    digest      BYTEA            NOT NULL,
    grants      TEXT             NOT NULL,
    limited_to  TEXT,
    session_id  TEXT COLLATE "C",
    is_operator BIGINT           NOT NULL,
    per_second  DOUBLE PRECISION,
    burst       BIGINT,
    parent      TEXT,
    created_by  TEXT COLLATE "C" NOT NULL,
    created_at  BIGINT           NOT NULL,
    expires_at  BIGINT,
    revoked_at  BIGINT,
    used_at     BIGINT,
    PRIMARY KEY (tenant, id)
);

CREATE INDEX api_keys_by_user ON api_keys (tenant, user_id, kind, id);
CREATE INDEX api_keys_by_session ON api_keys (tenant, session_id) WHERE session_id IS NOT NULL;

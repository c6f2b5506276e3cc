-- What custody needs where our store does not keep the session: what a device has kept of its own, the keys of the seals
-- under which carried state travels, and the newest revision where a client wants no older one to be taken.
-- Code from before goes on beside it: it knows nothing of these tables, and needs none of them.

-- The session of a device, as its owner has kept it. `fields` are those of its carrier.
CREATE TABLE device_sessions (
    tenant     TEXT COLLATE "C" NOT NULL,
    user_id    TEXT COLLATE "C" NOT NULL,
    id         TEXT COLLATE "C" NOT NULL,
    fields     TEXT             NOT NULL,
    kept_at    BIGINT           NOT NULL,
    PRIMARY KEY (tenant, user_id, id)
);

-- The newest one that is not retired seals; the others open what they have sealed.
CREATE TABLE seal_keys (
    tenant     TEXT COLLATE "C" NOT NULL,
    id         TEXT COLLATE "C" NOT NULL,
    key        BYTEA,
    created_at BIGINT           NOT NULL,
    retired_at BIGINT,
    PRIMARY KEY (tenant, id)
);

-- One number for each session that a client keeps and wants no older state of.
CREATE TABLE carried_revisions (
    tenant     TEXT COLLATE "C" NOT NULL,
    user_id    TEXT COLLATE "C" NOT NULL,
    session_id TEXT COLLATE "C" NOT NULL,
    revision   BIGINT           NOT NULL,
    at         BIGINT           NOT NULL,
    PRIMARY KEY (tenant, user_id, session_id)
);

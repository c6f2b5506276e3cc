-- Sessions gain the packs they are pinned to and what they hold about their intent; packs and their overrides are new.
ALTER TABLE sessions ADD COLUMN packs TEXT NOT NULL DEFAULT '[]';
ALTER TABLE sessions ADD COLUMN dialogue TEXT NOT NULL DEFAULT '{}';

-- Bundles that configure agents, with the files they were pushed with. The three numbers of a version are its order.
CREATE TABLE packs (
    tenant             TEXT COLLATE "C" NOT NULL,
    id                 TEXT COLLATE "C" NOT NULL,
    major              BIGINT           NOT NULL,
    minor              BIGINT           NOT NULL,
    patch              BIGINT           NOT NULL,
    hash               TEXT COLLATE "C" NOT NULL,
    files              TEXT             NOT NULL,
    knowledge_base     TEXT,
    knowledge_revision BIGINT           NOT NULL,
    pushed_by          TEXT             NOT NULL,
    pushed_at          BIGINT           NOT NULL,
    PRIMARY KEY (tenant, id, major, minor, patch)
);

-- What a tenant wants otherwise than a pack says, outside of its hash.
CREATE TABLE pack_overrides (
    tenant     TEXT COLLATE "C" NOT NULL,
    pack_id    TEXT COLLATE "C" NOT NULL,
    key        TEXT COLLATE "C" NOT NULL,
    value      TEXT             NOT NULL,
    enabled    BIGINT           NOT NULL,
    changed_by TEXT             NOT NULL,
    changed_at BIGINT           NOT NULL,
    PRIMARY KEY (tenant, pack_id, key)
);

CREATE TRIGGER packs_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON packs EXECUTE FUNCTION refuse_change();

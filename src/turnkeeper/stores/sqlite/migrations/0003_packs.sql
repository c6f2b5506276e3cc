-- Sessions gain the packs they are pinned to and what they hold about their intent; packs and their overrides are new.
ALTER TABLE sessions ADD COLUMN packs TEXT NOT NULL DEFAULT '[]';
ALTER TABLE sessions ADD COLUMN dialogue TEXT NOT NULL DEFAULT '{}';

-- Bundles that configure agents, with the files they were pushed with. The three numbers of a version are its order.
CREATE TABLE packs (
    tenant             TEXT    NOT NULL,
    id                 TEXT    NOT NULL,
    major              INTEGER NOT NULL,
    minor              INTEGER NOT NULL,
    patch              INTEGER NOT NULL,
    hash               TEXT    NOT NULL,
    files              TEXT    NOT NULL,
    knowledge_base     TEXT,
    knowledge_revision INTEGER NOT NULL,
    pushed_by          TEXT    NOT NULL,
    pushed_at          INTEGER NOT NULL,
    PRIMARY KEY (tenant, id, major, minor, patch)
) STRICT, WITHOUT ROWID;

-- What a tenant wants otherwise than a pack says, outside of its hash.
CREATE TABLE pack_overrides (
    tenant     TEXT    NOT NULL,
    pack_id    TEXT    NOT NULL,
    key        TEXT    NOT NULL,
    value      TEXT    NOT NULL,
    enabled    INTEGER NOT NULL,
    changed_by TEXT    NOT NULL,
    changed_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, pack_id, key)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER packs_keep BEFORE UPDATE ON packs BEGIN SELECT RAISE(ABORT, 'packs is append-only'); END;
CREATE TRIGGER packs_stay BEFORE DELETE ON packs BEGIN SELECT RAISE(ABORT, 'packs is append-only'); END;

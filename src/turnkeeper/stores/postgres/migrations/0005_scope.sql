-- Sessions gain what they are for, what they inherited and what their agent remembers; runs an account of themselves.
-- Layers, users, definitions, manifests, pointers, outputs, approvals and receipts are new. The bytes of content move
-- into pieces, so that code from before cannot read them.
ALTER TABLE sessions ADD COLUMN module TEXT COLLATE "C";
ALTER TABLE sessions ADD COLUMN project_id TEXT COLLATE "C";
ALTER TABLE sessions ADD COLUMN objective_id TEXT COLLATE "C";
ALTER TABLE sessions ADD COLUMN objective TEXT;
ALTER TABLE sessions ADD COLUMN policy TEXT;
ALTER TABLE sessions ADD COLUMN model_profile TEXT;
ALTER TABLE sessions ADD COLUMN backend TEXT;
ALTER TABLE sessions ADD COLUMN context_sha256 TEXT COLLATE "C";
ALTER TABLE sessions ADD COLUMN removed TEXT;
ALTER TABLE sessions ADD COLUMN agent_head TEXT;
ALTER TABLE sessions ADD COLUMN fork_of TEXT COLLATE "C";
ALTER TABLE sessions ADD COLUMN fork_turn BIGINT;
ALTER TABLE sessions ADD COLUMN fork_seq BIGINT;
ALTER TABLE sessions ADD COLUMN pruned_at BIGINT;
ALTER TABLE sessions ADD COLUMN archived_at BIGINT;
ALTER TABLE sessions ADD COLUMN archive TEXT COLLATE "C";
ALTER TABLE sessions ADD COLUMN pause_reason TEXT;
ALTER TABLE runs ADD COLUMN account TEXT;
ALTER TABLE turns ADD COLUMN preferences TEXT;
ALTER TABLE turns ADD COLUMN dialogue TEXT;
ALTER TABLE turns ADD COLUMN agent_head TEXT;

-- What sessions inherit: from their tenant, its projects and their objectives. Every change of a layer is a revision.
CREATE TABLE layers (
    tenant     TEXT COLLATE "C" NOT NULL,
    level      TEXT COLLATE "C" NOT NULL CHECK (level IN ('tenant', 'project', 'objective')),
    id         TEXT COLLATE "C" NOT NULL,
    project_id TEXT COLLATE "C",
    name       TEXT             NOT NULL,
    status     TEXT             NOT NULL CHECK (status IN ('active', 'suspended', 'archived')),
    revision   BIGINT           NOT NULL,
    data       TEXT             NOT NULL,
    created_by TEXT COLLATE "C" NOT NULL,
    created_at BIGINT           NOT NULL,
    updated_at BIGINT           NOT NULL,
    PRIMARY KEY (tenant, level, id)
);

CREATE TABLE users (
    tenant     TEXT COLLATE "C" NOT NULL,
    id         TEXT COLLATE "C" NOT NULL,
    name       TEXT,
    role       TEXT             NOT NULL CHECK (role IN ('owner', 'admin', 'member', 'viewer', 'agent')),
    status     TEXT             NOT NULL CHECK (status IN ('active', 'suspended')),
    version    BIGINT           NOT NULL,
    created_by TEXT COLLATE "C" NOT NULL,
    created_at BIGINT           NOT NULL,
    updated_at BIGINT           NOT NULL,
    PRIMARY KEY (tenant, id)
);

-- How an agent may be used in a tenant; its code registers under the same id.
CREATE TABLE agent_definitions (
    tenant     TEXT COLLATE "C" NOT NULL,
    id         TEXT COLLATE "C" NOT NULL,
    version    BIGINT           NOT NULL,
    data       TEXT             NOT NULL,
    created_by TEXT COLLATE "C" NOT NULL,
    created_at BIGINT           NOT NULL,
    updated_at BIGINT           NOT NULL,
    PRIMARY KEY (tenant, id)
);

CREATE TABLE model_profiles (
    tenant     TEXT COLLATE "C" NOT NULL,
    id         TEXT COLLATE "C" NOT NULL,
    version    BIGINT           NOT NULL,
    data       TEXT             NOT NULL,
    created_by TEXT COLLATE "C" NOT NULL,
    created_at BIGINT           NOT NULL,
    updated_at BIGINT           NOT NULL,
    PRIMARY KEY (tenant, id)
);

-- What sessions inherited, frozen, by its hash: two sessions under the same layers share one row.
CREATE TABLE contexts (
    tenant     TEXT COLLATE "C" NOT NULL,
    sha256     TEXT COLLATE "C" NOT NULL,
    data       TEXT             NOT NULL,
    created_at BIGINT           NOT NULL,
    PRIMARY KEY (tenant, sha256)
);

-- Which session a user goes on with in a module of a project. `project_id` is empty where there is none.
CREATE TABLE current_sessions (
    tenant     TEXT COLLATE "C" NOT NULL,
    owner      TEXT COLLATE "C" NOT NULL,
    module     TEXT COLLATE "C" NOT NULL,
    project_id TEXT COLLATE "C" NOT NULL,
    session_id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, owner, module, project_id)
);

-- How a user's screen looked. Convenience: losing it loses nothing else.
CREATE TABLE layouts (
    tenant     TEXT COLLATE "C" NOT NULL,
    session_id TEXT COLLATE "C" NOT NULL,
    data       TEXT             NOT NULL,
    saved_at   BIGINT           NOT NULL,
    PRIMARY KEY (tenant, session_id)
);

-- How many runs a tenant with a quota has had in a month.
CREATE TABLE run_counts (
    tenant TEXT COLLATE "C" NOT NULL,
    month  TEXT COLLATE "C" NOT NULL,
    runs   BIGINT           NOT NULL,
    PRIMARY KEY (tenant, month)
);

-- The bytes of content that is kept in the database, piece by piece. `content` names one upload; its blob names it.
CREATE TABLE blob_pieces (
    tenant  TEXT COLLATE "C" NOT NULL,
    content TEXT COLLATE "C" NOT NULL,
    no      BIGINT           NOT NULL,
    sha256  TEXT COLLATE "C" NOT NULL,
    data    BYTEA            NOT NULL,
    PRIMARY KEY (tenant, content, no)
);

-- A tree of artifacts, by the hash of its entries.
CREATE TABLE manifests (
    tenant        TEXT COLLATE "C" NOT NULL,
    sha256        TEXT COLLATE "C" NOT NULL,
    parent_sha256 TEXT COLLATE "C",
    entry_count   BIGINT           NOT NULL,
    total_size    BIGINT           NOT NULL,
    metadata      TEXT             NOT NULL,
    message       TEXT,
    created_by    TEXT COLLATE "C" NOT NULL,
    created_at    BIGINT           NOT NULL,
    PRIMARY KEY (tenant, sha256)
);

CREATE TABLE manifest_entries (
    tenant   TEXT COLLATE "C" NOT NULL,
    manifest TEXT COLLATE "C" NOT NULL,
    no       BIGINT           NOT NULL,
    path     TEXT             NOT NULL,
    sha256   TEXT COLLATE "C" NOT NULL,
    metadata TEXT             NOT NULL,
    PRIMARY KEY (tenant, manifest, no)
);

CREATE INDEX manifest_entries_by_content ON manifest_entries (tenant, sha256);

-- A movable name for a manifest.
CREATE TABLE pointers (
    tenant      TEXT COLLATE "C" NOT NULL,
    id          TEXT COLLATE "C" NOT NULL,
    namespace   TEXT COLLATE "C" NOT NULL,
    name        TEXT COLLATE "C" NOT NULL,
    kind        TEXT             NOT NULL CHECK (kind IN ('bundle', 'corpus', 'snapshot')),
    manifest    TEXT COLLATE "C",
    description TEXT,
    metadata    TEXT             NOT NULL,
    moves       BIGINT           NOT NULL,
    created_by  TEXT COLLATE "C" NOT NULL,
    created_at  BIGINT           NOT NULL,
    updated_at  BIGINT           NOT NULL,
    deleted_at  BIGINT,
    PRIMARY KEY (tenant, id)
);

CREATE UNIQUE INDEX pointers_by_name ON pointers (tenant, namespace, name) WHERE deleted_at IS NULL;

CREATE TABLE pointer_moves (
    tenant     TEXT COLLATE "C" NOT NULL,
    pointer_id TEXT COLLATE "C" NOT NULL,
    no         BIGINT           NOT NULL,
    operation  TEXT             NOT NULL CHECK (operation IN ('create', 'advance', 'reset', 'delete')),
    old        TEXT COLLATE "C",
    new        TEXT COLLATE "C",
    reason     TEXT,
    session_id TEXT COLLATE "C",
    run_id     TEXT COLLATE "C",
    moved_by   TEXT COLLATE "C" NOT NULL,
    moved_at   BIGINT           NOT NULL,
    PRIMARY KEY (tenant, pointer_id, no)
);

CREATE INDEX pointer_moves_by_manifest ON pointer_moves (tenant, new) WHERE new IS NOT NULL;

-- What came out of a session: artifacts, manifests and moves of pointers, each under the number of its feed entry.
CREATE TABLE outputs (
    tenant     TEXT COLLATE "C" NOT NULL,
    session_id TEXT COLLATE "C" NOT NULL,
    no         BIGINT           NOT NULL,
    run_id     TEXT COLLATE "C",
    kind       TEXT             NOT NULL CHECK (kind IN ('artifact', 'manifest', 'pointer')),
    ref        TEXT COLLATE "C" NOT NULL,
    data       TEXT             NOT NULL,
    at         BIGINT           NOT NULL,
    epoch      BIGINT           NOT NULL,
    PRIMARY KEY (tenant, session_id, no)
);

CREATE INDEX outputs_by_ref ON outputs (tenant, ref, session_id);

-- What a person is asked to allow before a run goes on, or to look at after it did.
CREATE TABLE approvals (
    tenant        TEXT COLLATE "C" NOT NULL,
    id            TEXT COLLATE "C" NOT NULL,
    run_id        TEXT COLLATE "C" NOT NULL,
    session_id    TEXT COLLATE "C" NOT NULL,
    action        TEXT             NOT NULL,
    gate          TEXT             NOT NULL,
    required_role TEXT             NOT NULL,
    data          TEXT             NOT NULL,
    status        TEXT             NOT NULL CHECK (status IN ('pending', 'approved', 'rejected', 'expired', 'cancelled')),
    requested_at  BIGINT           NOT NULL,
    due_at        BIGINT,
    decided_at    BIGINT,
    decided_by    TEXT COLLATE "C",
    reason        TEXT,
    PRIMARY KEY (tenant, id)
);

CREATE INDEX approvals_pending ON approvals (tenant, due_at) WHERE status = 'pending';
CREATE INDEX approvals_of_run ON approvals (tenant, run_id);
CREATE INDEX approvals_of_session ON approvals (tenant, session_id, id);

-- What was erased, when and by whom: which tables and how many rows, never what they said.
CREATE TABLE receipts (
    tenant    TEXT COLLATE "C" NOT NULL,
    id        TEXT COLLATE "C" NOT NULL,
    kind      TEXT             NOT NULL CHECK (kind IN ('user', 'session')),
    subject   TEXT COLLATE "C" NOT NULL,
    data      TEXT             NOT NULL,
    erased_by TEXT COLLATE "C" NOT NULL,
    erased_at BIGINT           NOT NULL,
    PRIMARY KEY (tenant, id)
);

CREATE INDEX sessions_by_project ON sessions (tenant, project_id, id) WHERE project_id IS NOT NULL;
CREATE INDEX sessions_by_fork ON sessions (tenant, fork_of) WHERE fork_of IS NOT NULL;
CREATE INDEX artifacts_by_content ON artifacts (tenant, sha256);

INSERT INTO blob_pieces (tenant, content, no, sha256, data) SELECT tenant, sha256, 0, sha256, data FROM blobs;
DROP TABLE blobs;
CREATE TABLE blobs (
    tenant  TEXT COLLATE "C" NOT NULL,
    sha256  TEXT COLLATE "C" NOT NULL,
    size    BIGINT           NOT NULL,
    content TEXT COLLATE "C",
    PRIMARY KEY (tenant, sha256)
);
INSERT INTO blobs (tenant, sha256, size, content) SELECT tenant, sha256, octet_length(data), content FROM blob_pieces;
CREATE INDEX blobs_by_upload ON blobs (tenant, content);
-- Few sessions pin content; the collector reads these again right before it removes any.
CREATE INDEX sessions_that_pin_content ON sessions (tenant, id) WHERE strpos(mounts, '"artifact"') > 0;
CREATE TRIGGER blobs_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON blobs EXECUTE FUNCTION refuse_change();

CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    door text;
BEGIN
    -- Retention, erasure and the collection of what nobody refers to come through here: they say so in their own
    -- transaction.
    door := current_setting('turnkeeper.door', true);
    IF TG_OP = 'DELETE' AND (
        door = 'retention' AND TG_TABLE_NAME IN ('explanations', 'checkpoints')
        OR door = 'collection' AND TG_TABLE_NAME IN ('blobs', 'blob_pieces', 'artifacts', 'manifests',
                                                     'manifest_entries', 'contexts')
        OR door = 'erasure' AND TG_TABLE_NAME NOT IN ('audit', 'packs', 'leases', 'contexts', 'receipts')
    ) THEN
        RETURN NULL;
    END IF;
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME;
END
$$;
CREATE TRIGGER manifests_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON manifests EXECUTE FUNCTION refuse_change();
CREATE TRIGGER manifest_entries_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON manifest_entries EXECUTE FUNCTION refuse_change();
CREATE TRIGGER pointer_moves_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON pointer_moves EXECUTE FUNCTION refuse_change();
CREATE TRIGGER outputs_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON outputs EXECUTE FUNCTION refuse_change();
CREATE TRIGGER contexts_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON contexts EXECUTE FUNCTION refuse_change();
CREATE TRIGGER receipts_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON receipts EXECUTE FUNCTION refuse_change();
CREATE TRIGGER blob_pieces_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON blob_pieces EXECUTE FUNCTION refuse_change();

UPDATE schema_info SET min_code = 5;

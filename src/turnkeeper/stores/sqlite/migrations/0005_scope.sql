-- Sessions gain what they are for, what they inherited and what their agent remembers; runs an account of themselves.
-- Layers, users, definitions, manifests, pointers, outputs, approvals and receipts are new. The bytes of content move
-- into pieces, so that code from before cannot read them.
ALTER TABLE sessions ADD COLUMN module TEXT;
ALTER TABLE sessions ADD COLUMN project_id TEXT;
ALTER TABLE sessions ADD COLUMN objective_id TEXT;
ALTER TABLE sessions ADD COLUMN objective TEXT;
ALTER TABLE sessions ADD COLUMN policy TEXT;
ALTER TABLE sessions ADD COLUMN model_profile TEXT;
ALTER TABLE sessions ADD COLUMN backend TEXT;
ALTER TABLE sessions ADD COLUMN context_sha256 TEXT;
ALTER TABLE sessions ADD COLUMN removed TEXT;
ALTER TABLE sessions ADD COLUMN agent_head TEXT;
ALTER TABLE sessions ADD COLUMN fork_of TEXT;
ALTER TABLE sessions ADD COLUMN fork_turn INTEGER;
ALTER TABLE sessions ADD COLUMN fork_seq INTEGER;
ALTER TABLE sessions ADD COLUMN pruned_at INTEGER;
ALTER TABLE sessions ADD COLUMN archived_at INTEGER;
ALTER TABLE sessions ADD COLUMN archive TEXT;
ALTER TABLE sessions ADD COLUMN pause_reason TEXT;
ALTER TABLE runs ADD COLUMN account TEXT;
ALTER TABLE turns ADD COLUMN preferences TEXT;
ALTER TABLE turns ADD COLUMN dialogue TEXT;
ALTER TABLE turns ADD COLUMN agent_head TEXT;

-- What sessions inherit: from their tenant, its projects and their objectives. Every change of a layer is a revision.
CREATE TABLE layers (
    tenant     TEXT    NOT NULL,
    level      TEXT    NOT NULL CHECK (level IN ('tenant', 'project', 'objective')),
    id         TEXT    NOT NULL,
    project_id TEXT,
    name       TEXT    NOT NULL,
    status     TEXT    NOT NULL CHECK (status IN ('active', 'suspended', 'archived')),
    revision   INTEGER NOT NULL,
    data       TEXT    NOT NULL,
    created_by TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, level, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE users (
    tenant     TEXT    NOT NULL,
    id         TEXT    NOT NULL,
    name       TEXT,
    role       TEXT    NOT NULL CHECK (role IN ('owner', 'admin', 'member', 'viewer', 'agent')),
    status     TEXT    NOT NULL CHECK (status IN ('active', 'suspended')),
    version    INTEGER NOT NULL,
    created_by TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

-- How an agent may be used in a tenant; its code registers under the same id.
CREATE TABLE agent_definitions (
    tenant     TEXT    NOT NULL,
    id         TEXT    NOT NULL,
    version    INTEGER NOT NULL,
    data       TEXT    NOT NULL,
    created_by TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE model_profiles (
    tenant     TEXT    NOT NULL,
    id         TEXT    NOT NULL,
    version    INTEGER NOT NULL,
    data       TEXT    NOT NULL,
    created_by TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

-- What sessions inherited, frozen, by its hash: two sessions under the same layers share one row.
CREATE TABLE contexts (
    tenant     TEXT    NOT NULL,
    sha256     TEXT    NOT NULL,
    data       TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, sha256)
) STRICT, WITHOUT ROWID;

-- Which session a user goes on with in a module of a project. `project_id` is empty where there is none.
CREATE TABLE current_sessions (
    tenant     TEXT NOT NULL,
    owner      TEXT NOT NULL,
    module     TEXT NOT NULL,
    project_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    PRIMARY KEY (tenant, owner, module, project_id)
) STRICT, WITHOUT ROWID;

-- How a user's screen looked. Convenience: losing it loses nothing else.
CREATE TABLE layouts (
    tenant     TEXT    NOT NULL,
    session_id TEXT    NOT NULL,
    data       TEXT    NOT NULL,
    saved_at   INTEGER NOT NULL,
    PRIMARY KEY (tenant, session_id)
) STRICT, WITHOUT ROWID;

-- How many runs a tenant with a quota has had in a month.
CREATE TABLE run_counts (
    tenant TEXT    NOT NULL,
    month  TEXT    NOT NULL,
    runs   INTEGER NOT NULL,
    PRIMARY KEY (tenant, month)
) STRICT, WITHOUT ROWID;

-- The bytes of content that is kept in the database, piece by piece. `content` names one upload; its blob names it.
CREATE TABLE blob_pieces (
    tenant  TEXT    NOT NULL,
    content TEXT    NOT NULL,
    no      INTEGER NOT NULL,
    sha256  TEXT    NOT NULL,
    data    BLOB    NOT NULL,
    PRIMARY KEY (tenant, content, no)
) STRICT, WITHOUT ROWID;

-- A tree of artifacts, by the hash of its entries.
CREATE TABLE manifests (
    tenant        TEXT    NOT NULL,
    sha256        TEXT    NOT NULL,
    parent_sha256 TEXT,
    entry_count   INTEGER NOT NULL,
    total_size    INTEGER NOT NULL,
    metadata      TEXT    NOT NULL,
    message       TEXT,
    created_by    TEXT    NOT NULL,
    created_at    INTEGER NOT NULL,
    PRIMARY KEY (tenant, sha256)
) STRICT, WITHOUT ROWID;

CREATE TABLE manifest_entries (
    tenant   TEXT    NOT NULL,
    manifest TEXT    NOT NULL,
    no       INTEGER NOT NULL,
    path     TEXT    NOT NULL,
    sha256   TEXT    NOT NULL,
    metadata TEXT    NOT NULL,
    PRIMARY KEY (tenant, manifest, no)
) STRICT, WITHOUT ROWID;

CREATE INDEX manifest_entries_by_content ON manifest_entries (tenant, sha256);

-- A movable name for a manifest.
CREATE TABLE pointers (
    tenant      TEXT    NOT NULL,
    id          TEXT    NOT NULL,
    namespace   TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    kind        TEXT    NOT NULL CHECK (kind IN ('bundle', 'corpus', 'snapshot')),
    manifest    TEXT,
    description TEXT,
    metadata    TEXT    NOT NULL,
    moves       INTEGER NOT NULL,
    created_by  TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    deleted_at  INTEGER,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX pointers_by_name ON pointers (tenant, namespace, name) WHERE deleted_at IS NULL;

CREATE TABLE pointer_moves (
    tenant     TEXT    NOT NULL,
    pointer_id TEXT    NOT NULL,
    no         INTEGER NOT NULL,
    operation  TEXT    NOT NULL CHECK (operation IN ('create', 'advance', 'reset', 'delete')),
    old        TEXT,
    new        TEXT,
    reason     TEXT,
    session_id TEXT,
    run_id     TEXT,
    moved_by   TEXT    NOT NULL,
    moved_at   INTEGER NOT NULL,
    PRIMARY KEY (tenant, pointer_id, no)
) STRICT, WITHOUT ROWID;

CREATE INDEX pointer_moves_by_manifest ON pointer_moves (tenant, new) WHERE new IS NOT NULL;

-- What came out of a session: artifacts, manifests and moves of pointers, each under the number of its feed entry.
CREATE TABLE outputs (
    tenant     TEXT    NOT NULL,
    session_id TEXT    NOT NULL,
    no         INTEGER NOT NULL,
    run_id     TEXT,
    kind       TEXT    NOT NULL CHECK (kind IN ('artifact', 'manifest', 'pointer')),
    ref        TEXT    NOT NULL,
    data       TEXT    NOT NULL,
    at         INTEGER NOT NULL,
    epoch      INTEGER NOT NULL,
    PRIMARY KEY (tenant, session_id, no)
) STRICT, WITHOUT ROWID;

CREATE INDEX outputs_by_ref ON outputs (tenant, ref, session_id);

-- What a person is asked to allow before a run goes on, or to look at after it did.
CREATE TABLE approvals (
    tenant        TEXT    NOT NULL,
    id            TEXT    NOT NULL,
    run_id        TEXT    NOT NULL,
    session_id    TEXT    NOT NULL,
    action        TEXT    NOT NULL,
    gate          TEXT    NOT NULL,
    required_role TEXT    NOT NULL,
    data          TEXT    NOT NULL,
    status        TEXT    NOT NULL CHECK (status IN ('pending', 'approved', 'rejected', 'expired', 'cancelled')),
    requested_at  INTEGER NOT NULL,
    due_at        INTEGER,
    decided_at    INTEGER,
    decided_by    TEXT,
    reason        TEXT,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX approvals_pending ON approvals (tenant, due_at) WHERE status = 'pending';
CREATE INDEX approvals_of_run ON approvals (tenant, run_id);
CREATE INDEX approvals_of_session ON approvals (tenant, session_id, id);

-- What was erased, when and by whom: which tables and how many rows, never what they said.
CREATE TABLE receipts (
    tenant    TEXT    NOT NULL,
    id        TEXT    NOT NULL,
    kind      TEXT    NOT NULL CHECK (kind IN ('user', 'session')),
    subject   TEXT    NOT NULL,
    data      TEXT    NOT NULL,
    erased_by TEXT    NOT NULL,
    erased_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_by_project ON sessions (tenant, project_id, id) WHERE project_id IS NOT NULL;
CREATE INDEX sessions_by_fork ON sessions (tenant, fork_of) WHERE fork_of IS NOT NULL;
CREATE INDEX artifacts_by_content ON artifacts (tenant, sha256);

INSERT INTO blob_pieces (tenant, content, no, sha256, data) SELECT tenant, sha256, 0, sha256, data FROM blobs;
DROP TABLE blobs;
CREATE TABLE blobs (
    tenant  TEXT    NOT NULL,
    sha256  TEXT    NOT NULL,
    size    INTEGER NOT NULL,
    content TEXT,
    PRIMARY KEY (tenant, sha256)
) STRICT, WITHOUT ROWID;
INSERT INTO blobs (tenant, sha256, size, content) SELECT tenant, sha256, length(data), content FROM blob_pieces;
CREATE INDEX blobs_by_upload ON blobs (tenant, content);
-- Few sessions pin content; the collector reads these again right before it removes any.
CREATE INDEX sessions_that_pin_content ON sessions (tenant, id) WHERE instr(mounts, '"artifact"') > 0;
CREATE TRIGGER blobs_keep BEFORE UPDATE ON blobs BEGIN SELECT RAISE(ABORT, 'blobs is append-only'); END;

CREATE TRIGGER manifests_keep BEFORE UPDATE ON manifests BEGIN SELECT RAISE(ABORT, 'manifests is append-only'); END;
CREATE TRIGGER manifest_entries_keep BEFORE UPDATE ON manifest_entries BEGIN SELECT RAISE(ABORT, 'manifest_entries is append-only'); END;
CREATE TRIGGER pointer_moves_keep BEFORE UPDATE ON pointer_moves BEGIN SELECT RAISE(ABORT, 'pointer_moves is append-only'); END;
CREATE TRIGGER outputs_keep BEFORE UPDATE ON outputs BEGIN SELECT RAISE(ABORT, 'outputs is append-only'); END;
CREATE TRIGGER contexts_keep BEFORE UPDATE ON contexts BEGIN SELECT RAISE(ABORT, 'contexts is append-only'); END;
CREATE TRIGGER receipts_keep BEFORE UPDATE ON receipts BEGIN SELECT RAISE(ABORT, 'receipts is append-only'); END;
CREATE TRIGGER blob_pieces_keep BEFORE UPDATE ON blob_pieces BEGIN SELECT RAISE(ABORT, 'blob_pieces is append-only'); END;
DROP TRIGGER messages_stay;
CREATE TRIGGER messages_stay BEFORE DELETE ON messages
WHEN NOT EXISTS (SELECT 1 FROM doors WHERE tenant = '-' AND name IN ('erasure'))
BEGIN SELECT RAISE(ABORT, 'messages is append-only'); END;
DROP TRIGGER turns_stay;
CREATE TRIGGER turns_stay BEFORE DELETE ON turns
WHEN NOT EXISTS (SELECT 1 FROM doors WHERE tenant = '-' AND name IN ('erasure'))
BEGIN SELECT RAISE(ABORT, 'turns is append-only'); END;
DROP TRIGGER epochs_stay;
CREATE TRIGGER epochs_stay BEFORE DELETE ON epochs
WHEN NOT EXISTS (SELECT 1 FROM doors WHERE tenant = '-' AND name IN ('erasure'))
BEGIN SELECT RAISE(ABORT, 'epochs is append-only'); END;
DROP TRIGGER feed_stay;
CREATE TRIGGER feed_stay BEFORE DELETE ON feed
WHEN NOT EXISTS (SELECT 1 FROM doors WHERE tenant = '-' AND name IN ('erasure'))
BEGIN SELECT RAISE(ABORT, 'feed is append-only'); END;
DROP TRIGGER checkpoints_stay;
CREATE TRIGGER checkpoints_stay BEFORE DELETE ON checkpoints
WHEN NOT EXISTS (SELECT 1 FROM doors WHERE tenant = '-' AND name IN ('retention', 'erasure'))
BEGIN SELECT RAISE(ABORT, 'checkpoints is append-only'); END;
DROP TRIGGER explanations_stay;
CREATE TRIGGER explanations_stay BEFORE DELETE ON explanations
WHEN NOT EXISTS (SELECT 1 FROM doors WHERE tenant = '-' AND name IN ('retention', 'erasure'))
BEGIN SELECT RAISE(ABORT, 'explanations is append-only'); END;
CREATE TRIGGER blobs_stay BEFORE DELETE ON blobs
WHEN NOT EXISTS (SELECT 1 FROM doors WHERE tenant = '-' AND name IN ('collection', 'erasure'))
BEGIN SELECT RAISE(ABORT, 'blobs is append-only'); END;
DROP TRIGGER artifacts_stay;
CREATE TRIGGER artifacts_stay BEFORE DELETE ON artifacts
WHEN NOT EXISTS (SELECT 1 FROM doors WHERE tenant = '-' AND name IN ('collection', 'erasure'))
BEGIN SELECT RAISE(ABORT, 'artifacts is append-only'); END;
CREATE TRIGGER manifests_stay BEFORE DELETE ON manifests
WHEN NOT EXISTS (SELECT 1 FROM doors WHERE tenant = '-' AND name IN ('collection', 'erasure'))
BEGIN SELECT RAISE(ABORT, 'manifests is append-only'); END;
CREATE TRIGGER manifest_entries_stay BEFORE DELETE ON manifest_entries
WHEN NOT EXISTS (SELECT 1 FROM doors WHERE tenant = '-' AND name IN ('collection', 'erasure'))
BEGIN SELECT RAISE(ABORT, 'manifest_entries is append-only'); END;
CREATE TRIGGER pointer_moves_stay BEFORE DELETE ON pointer_moves
WHEN NOT EXISTS (SELECT 1 FROM doors WHERE tenant = '-' AND name IN ('erasure'))
BEGIN SELECT RAISE(ABORT, 'pointer_moves is append-only'); END;
CREATE TRIGGER outputs_stay BEFORE DELETE ON outputs
WHEN NOT EXISTS (SELECT 1 FROM doors WHERE tenant = '-' AND name IN ('erasure'))
BEGIN SELECT RAISE(ABORT, 'outputs is append-only'); END;
CREATE TRIGGER contexts_stay BEFORE DELETE ON contexts
WHEN NOT EXISTS (SELECT 1 FROM doors WHERE tenant = '-' AND name IN ('collection'))
BEGIN SELECT RAISE(ABORT, 'contexts is append-only'); END;
CREATE TRIGGER blob_pieces_stay BEFORE DELETE ON blob_pieces
WHEN NOT EXISTS (SELECT 1 FROM doors WHERE tenant = '-' AND name IN ('collection', 'erasure'))
BEGIN SELECT RAISE(ABORT, 'blob_pieces is append-only'); END;
CREATE TRIGGER receipts_stay BEFORE DELETE ON receipts BEGIN SELECT RAISE(ABORT, 'receipts is append-only'); END;

UPDATE schema_info SET min_code = 5;

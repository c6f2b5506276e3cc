-- A new database. migrations/ brings an old one to the same place; a test compares the two.
-- Moments are microseconds since 1970. JSON is text.

CREATE TABLE schema_info (
    min_code   INTEGER NOT NULL
) STRICT;

CREATE TABLE migrations (
    number     INTEGER NOT NULL PRIMARY KEY,
    name       TEXT    NOT NULL,
    checksum   TEXT    NOT NULL,
    applied_at INTEGER NOT NULL
) STRICT;

CREATE TABLE sessions (
    tenant           TEXT    NOT NULL,
    id               TEXT    NOT NULL,
    owner            TEXT    NOT NULL,
    agent            TEXT    NOT NULL,
    status           TEXT    NOT NULL CHECK (status IN ('active', 'paused', 'closed', 'expired')),
    revision         INTEGER NOT NULL,
    version          INTEGER NOT NULL,
    turns            INTEGER NOT NULL,
    last_seq         INTEGER NOT NULL,
    epoch            INTEGER NOT NULL,
    epoch_started_at INTEGER NOT NULL,
    epoch_first_seq  INTEGER NOT NULL,
    title            TEXT,
    double_text      TEXT,
    metadata         TEXT    NOT NULL,
    idle_for_seconds INTEGER NOT NULL,
    created_at       INTEGER NOT NULL,
    last_active_at   INTEGER NOT NULL,
    closed_at        INTEGER,
    closed_reason    TEXT,
    preferences      TEXT    NOT NULL DEFAULT '{}',
    mounts           TEXT    NOT NULL DEFAULT '[]',
    from_session_id  TEXT,
    packs            TEXT    NOT NULL DEFAULT '[]',
    dialogue         TEXT    NOT NULL DEFAULT '{}',
    classification   TEXT,
    expires_by       INTEGER,
    module           TEXT,
    project_id       TEXT,
    objective_id     TEXT,
    objective        TEXT,
    policy           TEXT,
    model_profile    TEXT,
    backend          TEXT,
    context_sha256   TEXT,
    removed          TEXT,
    agent_head       TEXT,
    fork_of          TEXT,
    fork_turn        INTEGER,
    fork_seq         INTEGER,
    pruned_at        INTEGER,
    archived_at      INTEGER,
    archive          TEXT,
    pause_reason     TEXT,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_by_owner ON sessions (tenant, owner, id);
-- Who may still expire. Nothing in it changes with a turn.
CREATE INDEX sessions_alive ON sessions (tenant, id) WHERE status IN ('active', 'paused');

-- Who may run now, and the counters that are raised under its lock. Never deleted, so that a fence never repeats.
CREATE TABLE leases (
    tenant        TEXT    NOT NULL,
    subject       TEXT    NOT NULL,
    holder        TEXT,
    run_id        TEXT,
    fence         INTEGER NOT NULL,
    expires_at    INTEGER NOT NULL,
    taken_at      INTEGER NOT NULL,
    stop_how      TEXT,
    stop_by       TEXT,
    first_delta   INTEGER NOT NULL,
    queued        INTEGER NOT NULL CHECK (queued >= 0),
    last_queue_no INTEGER NOT NULL,
    last_feed_no  INTEGER NOT NULL,
    PRIMARY KEY (tenant, subject)
) STRICT, WITHOUT ROWID;

CREATE TABLE runs (
    tenant        TEXT    NOT NULL,
    id            TEXT    NOT NULL,
    session_id    TEXT    NOT NULL,
    subject       TEXT    NOT NULL,
    custody       TEXT    NOT NULL,
    agent         TEXT    NOT NULL,
    user_id       TEXT    NOT NULL,
    status        TEXT    NOT NULL CHECK (status IN ('queued', 'running', 'waiting', 'completed', 'failed',
                                                     'cancelled', 'timed_out', 'superseded', 'abandoned')),
    queue_no      INTEGER NOT NULL,
    line_no       INTEGER,
    feed_no       INTEGER NOT NULL,
    trace_id      TEXT    NOT NULL,
    input         TEXT,
    accepted_at   INTEGER NOT NULL,
    wait_until    INTEGER NOT NULL,
    started_at    INTEGER,
    ended_at      INTEGER,
    fence         INTEGER,
    turn          INTEGER,
    finish        TEXT,
    result        TEXT,
    error         TEXT,
    retry_of      TEXT,
    superseded_by TEXT,
    merged        INTEGER,
    retry_safe    INTEGER NOT NULL,
    mode          TEXT    NOT NULL DEFAULT 'batch',
    account       TEXT,
    carried_until INTEGER,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX runs_of_session ON runs (tenant, session_id, id);
-- The runs that are not running yet or not running now. A run that begins at once never enters it: on the common path
-- it costs nothing, and no indexed column of a run changes.
CREATE INDEX runs_in_line ON runs (tenant, subject, line_no) WHERE line_no IS NOT NULL;

CREATE TABLE messages (
    tenant     TEXT    NOT NULL,
    session_id TEXT    NOT NULL,
    seq        INTEGER NOT NULL,
    id         TEXT    NOT NULL,
    turn       INTEGER NOT NULL,
    epoch      INTEGER NOT NULL,
    role       TEXT    NOT NULL,
    content    TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    event      TEXT,
    PRIMARY KEY (tenant, session_id, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE turns (
    tenant       TEXT    NOT NULL,
    session_id   TEXT    NOT NULL,
    number       INTEGER NOT NULL,
    run_id       TEXT    NOT NULL,
    epoch        INTEGER NOT NULL,
    revision     INTEGER NOT NULL,
    first_seq    INTEGER NOT NULL,
    last_seq     INTEGER NOT NULL,
    finish       TEXT    NOT NULL,
    state        TEXT    NOT NULL,
    committed_at INTEGER NOT NULL,
    preferences  TEXT,
    dialogue     TEXT,
    agent_head   TEXT,
    PRIMARY KEY (tenant, session_id, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE epochs (
    tenant     TEXT    NOT NULL,
    session_id TEXT    NOT NULL,
    number     INTEGER NOT NULL,
    revision   INTEGER NOT NULL,
    first_seq  INTEGER NOT NULL,
    run_id     TEXT    NOT NULL,
    cause      TEXT    NOT NULL,
    started_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, session_id, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE feed (
    tenant  TEXT    NOT NULL,
    subject TEXT    NOT NULL,
    no      INTEGER NOT NULL,
    type    TEXT    NOT NULL,
    run_id  TEXT,
    at      INTEGER NOT NULL,
    data    TEXT    NOT NULL,
    PRIMARY KEY (tenant, subject, no)
) STRICT, WITHOUT ROWID;

-- Provisional output of runs that have not ended. Numbered like the feed, deleted with the end of the run.
CREATE TABLE chunks (
    tenant  TEXT    NOT NULL,
    subject TEXT    NOT NULL,
    no      INTEGER NOT NULL,
    run_id  TEXT    NOT NULL,
    at      INTEGER NOT NULL,
    text    TEXT    NOT NULL,
    PRIMARY KEY (tenant, subject, no)
) STRICT, WITHOUT ROWID;

CREATE TABLE checkpoints (
    tenant TEXT    NOT NULL,
    run_id TEXT    NOT NULL,
    no     INTEGER NOT NULL,
    at     INTEGER NOT NULL,
    data   TEXT    NOT NULL,
    PRIMARY KEY (tenant, run_id, no)
) STRICT, WITHOUT ROWID;

CREATE TABLE explanations (
    tenant     TEXT NOT NULL,
    session_id TEXT NOT NULL,
    run_id     TEXT NOT NULL,
    data       TEXT NOT NULL,
    PRIMARY KEY (tenant, session_id, run_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE requests (
    tenant    TEXT    NOT NULL,
    user_id   TEXT    NOT NULL,
    key       TEXT    NOT NULL,
    body_hash BLOB    NOT NULL,
    run_id    TEXT    NOT NULL,
    at        INTEGER NOT NULL,
    answer    TEXT,
    PRIMARY KEY (tenant, user_id, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE audit (
    tenant TEXT    NOT NULL,
    chain  TEXT    NOT NULL,
    no     INTEGER NOT NULL,
    body   TEXT    NOT NULL,
    hash   BLOB    NOT NULL,
    PRIMARY KEY (tenant, chain, no)
) STRICT, WITHOUT ROWID;

-- Nodes belong to the reserved tenant '-'.
CREATE TABLE nodes (
    tenant     TEXT    NOT NULL,
    id         TEXT    NOT NULL,
    started_at INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL,
    agents     TEXT    NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

-- What is known in one place: a session, or a knowledge base. `since` is the epoch of the session, or the revision of
-- the base that brought the unit; `until` is the revision that took it out. A forgotten unit has no data.
CREATE TABLE units (
    tenant        TEXT    NOT NULL,
    place         TEXT    NOT NULL,
    no            INTEGER NOT NULL,
    id            TEXT    NOT NULL,
    since         INTEGER NOT NULL,
    until         INTEGER,
    status        TEXT    NOT NULL CHECK (status IN ('committed', 'superseded', 'pushed_out', 'forgotten')),
    superseded_by TEXT,
    turn          INTEGER,
    run_id        TEXT,
    source_id     TEXT    NOT NULL,
    scopes        TEXT    NOT NULL,
    hash          TEXT    NOT NULL,
    slot_key      TEXT,
    subject_key   TEXT,
    object_key    TEXT,
    data          TEXT,
    search_row    INTEGER,
    kept_at       INTEGER NOT NULL,
    PRIMARY KEY (tenant, place, no)
) STRICT, WITHOUT ROWID;

CREATE INDEX units_by_id ON units (tenant, place, id);
CREATE INDEX units_that_guide ON units (tenant, place, no) WHERE scopes <> 'kb-plugin';
CREATE INDEX units_by_hash ON units (tenant, place, hash) WHERE status = 'committed';
CREATE INDEX units_by_slot ON units (tenant, place, slot_key) WHERE slot_key IS NOT NULL;
CREATE INDEX units_by_subject ON units (tenant, place, subject_key) WHERE subject_key IS NOT NULL;
CREATE INDEX units_by_object ON units (tenant, place, object_key) WHERE object_key IS NOT NULL;

-- The words of committed units, as `turnkeeper.wording` prepares them. They stand here as codes that are made for one
-- tenant and one place: a search finds nothing else and reads nothing else, and what is left of a word that was deleted
-- tells nobody what it was.
CREATE VIRTUAL TABLE unit_search USING fts5 (
    tenant UNINDEXED, place UNINDEXED, no UNINDEXED, topic, said, more,
    tokenize = 'unicode61', detail = 'column'
);

CREATE TABLE knowledge_bases (
    tenant     TEXT    NOT NULL,
    id         TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    parent_id  TEXT,
    revision   INTEGER NOT NULL,
    sources    INTEGER NOT NULL,
    units      INTEGER NOT NULL,
    created_by TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE sources (
    tenant   TEXT    NOT NULL,
    base_id  TEXT    NOT NULL,
    id       TEXT    NOT NULL,
    name     TEXT    NOT NULL,
    kind     TEXT    NOT NULL,
    hash     TEXT    NOT NULL,
    content  TEXT    NOT NULL,
    units    INTEGER NOT NULL,
    since    INTEGER NOT NULL,
    until    INTEGER,
    added_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, base_id, id)
) STRICT, WITHOUT ROWID;

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
    tenant  TEXT    NOT NULL,
    sha256  TEXT    NOT NULL,
    size    INTEGER NOT NULL,
    content TEXT,
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
-- Results that tell what a client is to carry, and are to tell it no longer than this.
CREATE INDEX runs_that_carry ON runs (tenant, carried_until) WHERE carried_until IS NOT NULL;
CREATE INDEX runs_that_last ON runs (tenant, id) WHERE mode = 'long_running';
CREATE INDEX outbox_open ON outbox (tenant, due_at) WHERE status IN ('pending', 'sending');
CREATE INDEX outbox_of_session ON outbox (tenant, session_id, id);
CREATE INDEX contacts_of_user ON contacts (tenant, user_id);

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
CREATE INDEX blobs_by_upload ON blobs (tenant, content);
-- Few sessions pin content; the collector reads these again right before it removes any.
CREATE INDEX sessions_that_pin_content ON sessions (tenant, id) WHERE instr(mounts, '"artifact"') > 0;

-- Retention, erasure and the collection of what nobody refers to come through here: while a row says so, in the
-- transaction of whoever put it there.
CREATE TABLE doors (
    tenant TEXT NOT NULL,
    name   TEXT NOT NULL,
    PRIMARY KEY (tenant, name)
) STRICT, WITHOUT ROWID;

-- The session of a device, as its owner has kept it. `fields` are those of its carrier.
CREATE TABLE device_sessions (
    tenant  TEXT    NOT NULL,
    user_id TEXT    NOT NULL,
    id      TEXT    NOT NULL,
    fields  TEXT    NOT NULL,
    kept_at INTEGER NOT NULL,
    version INTEGER NOT NULL DEFAULT 1,
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

CREATE TRIGGER messages_keep BEFORE UPDATE ON messages BEGIN SELECT RAISE(ABORT, 'messages is append-only'); END;
CREATE TRIGGER turns_keep BEFORE UPDATE ON turns BEGIN SELECT RAISE(ABORT, 'turns is append-only'); END;
CREATE TRIGGER epochs_keep BEFORE UPDATE ON epochs BEGIN SELECT RAISE(ABORT, 'epochs is append-only'); END;
CREATE TRIGGER feed_keep BEFORE UPDATE ON feed BEGIN SELECT RAISE(ABORT, 'feed is append-only'); END;
CREATE TRIGGER checkpoints_keep BEFORE UPDATE ON checkpoints BEGIN SELECT RAISE(ABORT, 'checkpoints is append-only'); END;
CREATE TRIGGER explanations_keep BEFORE UPDATE ON explanations BEGIN SELECT RAISE(ABORT, 'explanations is append-only'); END;
CREATE TRIGGER audit_keep BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'audit is append-only'); END;
CREATE TRIGGER audit_stay BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'audit is append-only'); END;
CREATE TRIGGER packs_keep BEFORE UPDATE ON packs BEGIN SELECT RAISE(ABORT, 'packs is append-only'); END;
CREATE TRIGGER packs_stay BEFORE DELETE ON packs BEGIN SELECT RAISE(ABORT, 'packs is append-only'); END;
CREATE TRIGGER blobs_keep BEFORE UPDATE ON blobs BEGIN SELECT RAISE(ABORT, 'blobs is append-only'); END;
CREATE TRIGGER artifacts_keep BEFORE UPDATE ON artifacts BEGIN SELECT RAISE(ABORT, 'artifacts is append-only'); END;
CREATE TRIGGER manifests_keep BEFORE UPDATE ON manifests BEGIN SELECT RAISE(ABORT, 'manifests is append-only'); END;
CREATE TRIGGER manifest_entries_keep BEFORE UPDATE ON manifest_entries BEGIN SELECT RAISE(ABORT, 'manifest_entries is append-only'); END;
CREATE TRIGGER pointer_moves_keep BEFORE UPDATE ON pointer_moves BEGIN SELECT RAISE(ABORT, 'pointer_moves is append-only'); END;
CREATE TRIGGER outputs_keep BEFORE UPDATE ON outputs BEGIN SELECT RAISE(ABORT, 'outputs is append-only'); END;
CREATE TRIGGER contexts_keep BEFORE UPDATE ON contexts BEGIN SELECT RAISE(ABORT, 'contexts is append-only'); END;
CREATE TRIGGER receipts_keep BEFORE UPDATE ON receipts BEGIN SELECT RAISE(ABORT, 'receipts is append-only'); END;
CREATE TRIGGER blob_pieces_keep BEFORE UPDATE ON blob_pieces BEGIN SELECT RAISE(ABORT, 'blob_pieces is append-only'); END;
CREATE TRIGGER messages_stay BEFORE DELETE ON messages
WHEN NOT EXISTS (SELECT 1 FROM doors WHERE tenant = '-' AND name IN ('erasure'))
BEGIN SELECT RAISE(ABORT, 'messages is append-only'); END;
CREATE TRIGGER turns_stay BEFORE DELETE ON turns
WHEN NOT EXISTS (SELECT 1 FROM doors WHERE tenant = '-' AND name IN ('erasure'))
BEGIN SELECT RAISE(ABORT, 'turns is append-only'); END;
CREATE TRIGGER epochs_stay BEFORE DELETE ON epochs
WHEN NOT EXISTS (SELECT 1 FROM doors WHERE tenant = '-' AND name IN ('erasure'))
BEGIN SELECT RAISE(ABORT, 'epochs is append-only'); END;
CREATE TRIGGER feed_stay BEFORE DELETE ON feed
WHEN NOT EXISTS (SELECT 1 FROM doors WHERE tenant = '-' AND name IN ('erasure'))
BEGIN SELECT RAISE(ABORT, 'feed is append-only'); END;
CREATE TRIGGER checkpoints_stay BEFORE DELETE ON checkpoints
WHEN NOT EXISTS (SELECT 1 FROM doors WHERE tenant = '-' AND name IN ('retention', 'erasure'))
BEGIN SELECT RAISE(ABORT, 'checkpoints is append-only'); END;
CREATE TRIGGER explanations_stay BEFORE DELETE ON explanations
WHEN NOT EXISTS (SELECT 1 FROM doors WHERE tenant = '-' AND name IN ('retention', 'erasure'))
BEGIN SELECT RAISE(ABORT, 'explanations is append-only'); END;
CREATE TRIGGER blobs_stay BEFORE DELETE ON blobs
WHEN NOT EXISTS (SELECT 1 FROM doors WHERE tenant = '-' AND name IN ('collection', 'erasure'))
BEGIN SELECT RAISE(ABORT, 'blobs is append-only'); END;
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
CREATE TRIGGER leases_stay BEFORE DELETE ON leases BEGIN SELECT RAISE(ABORT, 'a lease is never deleted'); END;

INSERT INTO schema_info (min_code) VALUES (5);

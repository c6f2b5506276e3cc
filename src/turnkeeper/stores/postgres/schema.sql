-- A new database. migrations/ brings an old one to the same place; a test compares the two.
-- Moments are microseconds since 1970. JSON is text. Names compare by their bytes, whatever the language of the server.
-- Rows that change with every turn have room beside them for their next version.

CREATE TABLE schema_info (
    min_code BIGINT NOT NULL
);

CREATE TABLE migrations (
    number     BIGINT NOT NULL PRIMARY KEY,
    name       TEXT   NOT NULL,
    checksum   TEXT   NOT NULL,
    applied_at BIGINT NOT NULL
);

CREATE TABLE sessions (
    tenant           TEXT COLLATE "C" NOT NULL,
    id               TEXT COLLATE "C" NOT NULL,
    owner            TEXT COLLATE "C" NOT NULL,
    agent            TEXT             NOT NULL,
    status           TEXT             NOT NULL CHECK (status IN ('active', 'paused', 'closed', 'expired')),
    revision         BIGINT           NOT NULL,
    version          BIGINT           NOT NULL,
    turns            BIGINT           NOT NULL,
    last_seq         BIGINT           NOT NULL,
    epoch            BIGINT           NOT NULL,
    epoch_started_at BIGINT           NOT NULL,
    epoch_first_seq  BIGINT           NOT NULL,
    title            TEXT,
    double_text      TEXT,
    metadata         TEXT             NOT NULL,
    idle_for_seconds BIGINT           NOT NULL,
    created_at       BIGINT           NOT NULL,
    last_active_at   BIGINT           NOT NULL,
    closed_at        BIGINT,
    closed_reason    TEXT,
    preferences      TEXT             NOT NULL DEFAULT '{}',
    mounts           TEXT             NOT NULL DEFAULT '[]',
    from_session_id  TEXT,
    packs            TEXT             NOT NULL DEFAULT '[]',
    dialogue         TEXT             NOT NULL DEFAULT '{}',
    classification   TEXT,
    expires_by       BIGINT,
    module           TEXT COLLATE "C",
    project_id       TEXT COLLATE "C",
    objective_id     TEXT COLLATE "C",
    objective        TEXT,
    policy           TEXT,
    model_profile    TEXT,
    backend          TEXT,
    context_sha256   TEXT COLLATE "C",
    removed          TEXT,
    agent_head       TEXT,
    fork_of          TEXT COLLATE "C",
    fork_turn        BIGINT,
    fork_seq         BIGINT,
    pruned_at        BIGINT,
    archived_at      BIGINT,
    archive          TEXT COLLATE "C",
    pause_reason     TEXT
) WITH (fillfactor = 80);

-- Of two indexes that look alike to the planner, as they do while a table is young, it takes the one made last.
CREATE INDEX sessions_by_owner ON sessions (tenant, owner, id);
-- Who may still expire. Nothing in it changes with a turn.
CREATE INDEX sessions_alive ON sessions (tenant, id) WHERE status IN ('active', 'paused');
ALTER TABLE sessions ADD PRIMARY KEY (tenant, id);

-- Who may run now, and the counters that are raised under its lock. Never deleted, so that a fence never repeats.
CREATE TABLE leases (
    tenant        TEXT COLLATE "C" NOT NULL,
    subject       TEXT COLLATE "C" NOT NULL,
    holder        TEXT,
    run_id        TEXT COLLATE "C",
    fence         BIGINT           NOT NULL,
    expires_at    BIGINT           NOT NULL,
    taken_at      BIGINT           NOT NULL,
    stop_how      TEXT,
    stop_by       TEXT,
    first_delta   BIGINT           NOT NULL,
    queued        BIGINT           NOT NULL CHECK (queued >= 0),
    last_queue_no BIGINT           NOT NULL,
    last_feed_no  BIGINT           NOT NULL,
    PRIMARY KEY (tenant, subject)
) WITH (fillfactor = 50);

CREATE TABLE runs (
    tenant        TEXT COLLATE "C" NOT NULL,
    id            TEXT COLLATE "C" NOT NULL,
    session_id    TEXT COLLATE "C" NOT NULL,
    subject       TEXT COLLATE "C" NOT NULL,
    custody       TEXT             NOT NULL,
    agent         TEXT             NOT NULL,
    user_id       TEXT COLLATE "C" NOT NULL,
    status        TEXT             NOT NULL CHECK (status IN ('queued', 'running', 'waiting', 'completed', 'failed',
                                                     'cancelled', 'timed_out', 'superseded', 'abandoned')),
    queue_no      BIGINT           NOT NULL,
    line_no       BIGINT,
    feed_no       BIGINT           NOT NULL,
    trace_id      TEXT             NOT NULL,
    input         TEXT,
    accepted_at   BIGINT           NOT NULL,
    wait_until    BIGINT           NOT NULL,
    started_at    BIGINT,
    ended_at      BIGINT,
    fence         BIGINT,
    turn          BIGINT,
    finish        TEXT,
    result        TEXT,
    error         TEXT,
    retry_of      TEXT,
    superseded_by TEXT,
    merged        SMALLINT,
    retry_safe    SMALLINT         NOT NULL,
    mode          TEXT             NOT NULL DEFAULT 'batch',
    account       TEXT,
    carried_until BIGINT
) WITH (fillfactor = 80);

CREATE INDEX runs_of_session ON runs (tenant, session_id, id);
-- The runs that are not running yet or not running now. A run that begins at once never enters it: on the common path
-- it costs nothing, and no indexed column of a run changes.
CREATE INDEX runs_in_line ON runs (tenant, subject, line_no) WHERE line_no IS NOT NULL;
ALTER TABLE runs ADD PRIMARY KEY (tenant, id);

CREATE TABLE messages (
    tenant     TEXT COLLATE "C" NOT NULL,
    session_id TEXT COLLATE "C" NOT NULL,
    seq        BIGINT           NOT NULL,
    id         TEXT COLLATE "C" NOT NULL,
    turn       BIGINT           NOT NULL,
    epoch      BIGINT           NOT NULL,
    role       TEXT             NOT NULL,
    content    TEXT             NOT NULL,
    created_at BIGINT           NOT NULL,
    event      TEXT,
    PRIMARY KEY (tenant, session_id, seq)
);

CREATE TABLE turns (
    tenant       TEXT COLLATE "C" NOT NULL,
    session_id   TEXT COLLATE "C" NOT NULL,
    number       BIGINT           NOT NULL,
    run_id       TEXT COLLATE "C" NOT NULL,
    epoch        BIGINT           NOT NULL,
    revision     BIGINT           NOT NULL,
    first_seq    BIGINT           NOT NULL,
    last_seq     BIGINT           NOT NULL,
    finish       TEXT             NOT NULL,
    state        TEXT             NOT NULL,
    committed_at BIGINT           NOT NULL,
    preferences  TEXT,
    dialogue     TEXT,
    agent_head   TEXT,
    PRIMARY KEY (tenant, session_id, number)
);

CREATE TABLE epochs (
    tenant     TEXT COLLATE "C" NOT NULL,
    session_id TEXT COLLATE "C" NOT NULL,
    number     BIGINT           NOT NULL,
    revision   BIGINT           NOT NULL,
    first_seq  BIGINT           NOT NULL,
    run_id     TEXT COLLATE "C" NOT NULL,
    cause      TEXT             NOT NULL,
    started_at BIGINT           NOT NULL,
    PRIMARY KEY (tenant, session_id, number)
);

CREATE TABLE feed (
    tenant  TEXT COLLATE "C" NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    no      BIGINT           NOT NULL,
    type    TEXT             NOT NULL,
    run_id  TEXT COLLATE "C",
    at      BIGINT           NOT NULL,
    data    TEXT             NOT NULL,
    PRIMARY KEY (tenant, subject, no)
);

-- Provisional output of runs that have not ended. Numbered like the feed, deleted with the end of the run.
CREATE TABLE chunks (
    tenant  TEXT COLLATE "C" NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    no      BIGINT           NOT NULL,
    run_id  TEXT COLLATE "C" NOT NULL,
    at      BIGINT           NOT NULL,
    text    TEXT             NOT NULL,
    PRIMARY KEY (tenant, subject, no)
);

CREATE TABLE checkpoints (
    tenant TEXT COLLATE "C" NOT NULL,
    run_id TEXT COLLATE "C" NOT NULL,
    no     BIGINT           NOT NULL,
    at     BIGINT           NOT NULL,
    data   TEXT             NOT NULL,
    PRIMARY KEY (tenant, run_id, no)
);

CREATE TABLE explanations (
    tenant     TEXT COLLATE "C" NOT NULL,
    session_id TEXT COLLATE "C" NOT NULL,
    run_id     TEXT COLLATE "C" NOT NULL,
    data       TEXT             NOT NULL,
    PRIMARY KEY (tenant, session_id, run_id)
);

CREATE TABLE requests (
    tenant    TEXT COLLATE "C" NOT NULL,
    user_id   TEXT COLLATE "C" NOT NULL,
    key       TEXT COLLATE "C" NOT NULL,
    body_hash BYTEA            NOT NULL,
    run_id    TEXT COLLATE "C" NOT NULL,
    at        BIGINT           NOT NULL,
    answer    TEXT,
    PRIMARY KEY (tenant, user_id, key)
);

CREATE TABLE audit (
    tenant TEXT COLLATE "C" NOT NULL,
    chain  TEXT COLLATE "C" NOT NULL,
    no     BIGINT           NOT NULL,
    body   TEXT             NOT NULL,
    hash   BYTEA            NOT NULL,
    PRIMARY KEY (tenant, chain, no)
);

-- Nodes belong to the reserved tenant '-'.
CREATE TABLE nodes (
    tenant     TEXT COLLATE "C" NOT NULL,
    id         TEXT COLLATE "C" NOT NULL,
    started_at BIGINT           NOT NULL,
    seen_at    BIGINT           NOT NULL,
    agents     TEXT             NOT NULL,
    PRIMARY KEY (tenant, id)
);

-- What is known in one place: a session, or a knowledge base. `since` is the epoch of the session, or the revision of
-- the base that brought the unit; `until` is the revision that took it out. A forgotten unit has no data. `words` are those
-- of a committed unit, as `turnkeeper.wording` prepares them: A in its topic, B in what it says, C elsewhere.
CREATE TABLE units (
    tenant        TEXT COLLATE "C" NOT NULL,
    place         TEXT COLLATE "C" NOT NULL,
    no            BIGINT           NOT NULL,
    id            TEXT COLLATE "C" NOT NULL,
    since         BIGINT           NOT NULL,
    until         BIGINT,
    status        TEXT             NOT NULL CHECK (status IN ('committed', 'superseded', 'pushed_out', 'forgotten')),
    superseded_by TEXT COLLATE "C",
    turn          BIGINT,
    run_id        TEXT COLLATE "C",
    source_id     TEXT COLLATE "C" NOT NULL,
    scopes        TEXT             NOT NULL,
    hash          TEXT COLLATE "C" NOT NULL,
    slot_key      TEXT COLLATE "C",
    subject_key   TEXT COLLATE "C",
    object_key    TEXT COLLATE "C",
    data          TEXT,
    words         TSVECTOR,
    kept_at       BIGINT           NOT NULL,
    PRIMARY KEY (tenant, place, no)
);

CREATE INDEX units_by_id ON units (tenant, place, id);
CREATE INDEX units_that_guide ON units (tenant, place, no) WHERE scopes <> 'kb-plugin';
CREATE INDEX units_by_hash ON units (tenant, place, hash) WHERE status = 'committed';
CREATE INDEX units_by_slot ON units (tenant, place, slot_key) WHERE slot_key IS NOT NULL;
CREATE INDEX units_by_subject ON units (tenant, place, subject_key) WHERE subject_key IS NOT NULL;
CREATE INDEX units_by_object ON units (tenant, place, object_key) WHERE object_key IS NOT NULL;

CREATE TABLE knowledge_bases (
    tenant     TEXT COLLATE "C" NOT NULL,
    id         TEXT COLLATE "C" NOT NULL,
    name       TEXT             NOT NULL,
    parent_id  TEXT,
    revision   BIGINT           NOT NULL,
    sources    BIGINT           NOT NULL,
    units      BIGINT           NOT NULL,
    created_by TEXT             NOT NULL,
    created_at BIGINT           NOT NULL,
    updated_at BIGINT           NOT NULL,
    PRIMARY KEY (tenant, id)
);

CREATE TABLE sources (
    tenant   TEXT COLLATE "C" NOT NULL,
    base_id  TEXT COLLATE "C" NOT NULL,
    id       TEXT COLLATE "C" NOT NULL,
    name     TEXT             NOT NULL,
    kind     TEXT             NOT NULL,
    hash     TEXT COLLATE "C" NOT NULL,
    content  TEXT             NOT NULL,
    units    BIGINT           NOT NULL,
    since    BIGINT           NOT NULL,
    until    BIGINT,
    added_at BIGINT           NOT NULL,
    PRIMARY KEY (tenant, base_id, id)
);

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

-- What a run did to the world, before and after it did it. `run_id` is the first attempt, so that a later one finds
-- it.
CREATE TABLE effects (
    tenant     TEXT COLLATE "C" NOT NULL,
    run_id     TEXT COLLATE "C" NOT NULL,
    key        TEXT COLLATE "C" NOT NULL,
    status     TEXT             NOT NULL CHECK (status IN ('started', 'done', 'failed', 'unknown')),
    attempts   BIGINT           NOT NULL,
    result     TEXT,
    started_at BIGINT           NOT NULL,
    ended_at   BIGINT,
    PRIMARY KEY (tenant, run_id, key)
);

-- How much a tenant may still ask for at once. Nodes take from it in advance.
CREATE TABLE buckets (
    tenant    TEXT COLLATE "C" NOT NULL,
    name      TEXT COLLATE "C" NOT NULL,
    tokens    DOUBLE PRECISION NOT NULL,
    filled_at BIGINT           NOT NULL,
    PRIMARY KEY (tenant, name)
);

-- Content by its hash, once a tenant.
CREATE TABLE blobs (
    tenant  TEXT COLLATE "C" NOT NULL,
    sha256  TEXT COLLATE "C" NOT NULL,
    size    BIGINT           NOT NULL,
    content TEXT COLLATE "C",
    PRIMARY KEY (tenant, sha256)
);

-- Who kept which content, under which name.
CREATE TABLE artifacts (
    tenant     TEXT COLLATE "C" NOT NULL,
    id         TEXT COLLATE "C" NOT NULL,
    sha256     TEXT COLLATE "C" NOT NULL,
    media_type TEXT             NOT NULL,
    name       TEXT,
    size       BIGINT           NOT NULL,
    created_by TEXT COLLATE "C" NOT NULL,
    created_at BIGINT           NOT NULL,
    PRIMARY KEY (tenant, id)
);

-- A door through which a channel comes in: whose it is, who answers, and how far it may go.
CREATE TABLE bindings (
    tenant     TEXT COLLATE "C" NOT NULL,
    id         TEXT COLLATE "C" NOT NULL,
    channel    TEXT COLLATE "C" NOT NULL,
    data       TEXT             NOT NULL,
    created_by TEXT COLLATE "C" NOT NULL,
    created_at BIGINT           NOT NULL,
    updated_at BIGINT           NOT NULL,
    PRIMARY KEY (tenant, id)
);

-- Where a binding is, for those who come from outside and know nothing else. Rows belong to the reserved tenant '-'.
CREATE TABLE binding_places (
    tenant TEXT COLLATE "C" NOT NULL,
    id     TEXT COLLATE "C" NOT NULL,
    owner  TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, id)
);

-- An address of the outside world, and whose conversation it goes on with.
CREATE TABLE contacts (
    tenant     TEXT COLLATE "C" NOT NULL,
    binding    TEXT COLLATE "C" NOT NULL,
    address    TEXT COLLATE "C" NOT NULL,
    user_id    TEXT COLLATE "C" NOT NULL,
    session_id TEXT COLLATE "C",
    changed_at BIGINT           NOT NULL,
    PRIMARY KEY (tenant, binding, address)
);

-- What goes out through a channel, one row a delivery, written with the turn that says it.
CREATE TABLE outbox (
    tenant     TEXT COLLATE "C" NOT NULL,
    id         TEXT COLLATE "C" NOT NULL,
    session_id TEXT COLLATE "C" NOT NULL,
    run_id     TEXT COLLATE "C" NOT NULL,
    binding    TEXT COLLATE "C" NOT NULL,
    channel    TEXT             NOT NULL,
    data       TEXT             NOT NULL,
    status     TEXT             NOT NULL CHECK (status IN ('pending', 'sending', 'sent', 'failed', 'unknown')),
    attempts   BIGINT           NOT NULL,
    due_at     BIGINT           NOT NULL,
    holder     TEXT,
    error      TEXT,
    created_at BIGINT           NOT NULL,
    ended_at   BIGINT,
    PRIMARY KEY (tenant, id)
);

-- Nothing in it changes while a run comes to its end.
-- Results that tell what a client is to carry, and are to tell it no longer than this.
CREATE INDEX runs_that_carry ON runs (tenant, carried_until) WHERE carried_until IS NOT NULL;
CREATE INDEX runs_that_last ON runs (tenant, id) WHERE mode = 'long_running';
CREATE INDEX outbox_open ON outbox (tenant, due_at) WHERE status IN ('pending', 'sending');
CREATE INDEX outbox_of_session ON outbox (tenant, session_id, id);
CREATE INDEX contacts_of_user ON contacts (tenant, user_id);

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
CREATE INDEX blobs_by_upload ON blobs (tenant, content);
-- Few sessions pin content; the collector reads these again right before it removes any.
CREATE INDEX sessions_that_pin_content ON sessions (tenant, id) WHERE strpos(mounts, '"artifact"') > 0;


-- The session of a device, as its owner has kept it. `fields` are those of its carrier.
CREATE TABLE device_sessions (
    tenant     TEXT COLLATE "C" NOT NULL,
    user_id    TEXT COLLATE "C" NOT NULL,
    id         TEXT COLLATE "C" NOT NULL,
    fields     TEXT             NOT NULL,
    kept_at    BIGINT           NOT NULL,
    version    BIGINT           NOT NULL DEFAULT 1,
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

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
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

CREATE TRIGGER messages_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON messages EXECUTE FUNCTION refuse_change();
CREATE TRIGGER turns_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON turns EXECUTE FUNCTION refuse_change();
CREATE TRIGGER epochs_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON epochs EXECUTE FUNCTION refuse_change();
CREATE TRIGGER feed_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON feed EXECUTE FUNCTION refuse_change();
CREATE TRIGGER checkpoints_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON checkpoints EXECUTE FUNCTION refuse_change();
CREATE TRIGGER explanations_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON explanations EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON audit EXECUTE FUNCTION refuse_change();
CREATE TRIGGER packs_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON packs EXECUTE FUNCTION refuse_change();
CREATE TRIGGER blobs_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON blobs EXECUTE FUNCTION refuse_change();
CREATE TRIGGER artifacts_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON artifacts EXECUTE FUNCTION refuse_change();
CREATE TRIGGER manifests_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON manifests EXECUTE FUNCTION refuse_change();
CREATE TRIGGER manifest_entries_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON manifest_entries EXECUTE FUNCTION refuse_change();
CREATE TRIGGER pointer_moves_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON pointer_moves EXECUTE FUNCTION refuse_change();
CREATE TRIGGER outputs_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON outputs EXECUTE FUNCTION refuse_change();
CREATE TRIGGER contexts_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON contexts EXECUTE FUNCTION refuse_change();
CREATE TRIGGER receipts_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON receipts EXECUTE FUNCTION refuse_change();
CREATE TRIGGER blob_pieces_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON blob_pieces EXECUTE FUNCTION refuse_change();
CREATE TRIGGER leases_stay BEFORE DELETE OR TRUNCATE ON leases EXECUTE FUNCTION refuse_change();

INSERT INTO schema_info (min_code) VALUES (5);

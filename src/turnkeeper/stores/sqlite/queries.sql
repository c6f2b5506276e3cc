-- Every statement names the tenant. :clock is the database's clock, by which leases go; :now is the caller's.

-- name: insert_session
INSERT INTO sessions (tenant, id, owner, agent, status, revision, version, turns, last_seq, epoch, epoch_started_at,
                      epoch_first_seq, title, double_text, metadata, idle_for_seconds, created_at, last_active_at)
VALUES (:tenant, :session_id, :owner, :agent, :status, :revision, :version, :turns, :last_seq, :epoch,
        :epoch_started_at, :epoch_first_seq, :title, :double_text, :metadata, :idle_for_seconds, :created_at,
        :last_active_at);

-- name: insert_lease
-- A new subject: nobody holds it yet, unless :holder takes it at once.
INSERT INTO leases (tenant, subject, holder, run_id, fence, expires_at, taken_at, first_delta, queued, last_queue_no,
                    last_feed_no)
VALUES (:tenant, :subject, NULL, NULL, 0, 0, 0, 0, 0, 0, 0);

-- name: load_session
-- The state belongs to the last turn; after a reset that turn is of an earlier epoch, and there is no state.
SELECT s.*, t.state
  FROM sessions s
  LEFT JOIN turns t ON t.tenant = s.tenant AND t.session_id = s.id AND t.number = s.turns AND t.epoch = s.epoch
 WHERE s.tenant = :tenant AND s.id = :session_id;

-- name: newest_messages
-- The columns in the order in which they are unpacked.
SELECT id, seq, turn, epoch, role, content, created_at FROM messages
 WHERE tenant = :tenant AND session_id = :session_id AND seq >= :first_seq
 ORDER BY seq DESC LIMIT :window;

-- name: get_session
SELECT * FROM sessions WHERE tenant = :tenant AND id = :session_id;

-- name: list_sessions
SELECT * FROM sessions WHERE tenant = :tenant AND id < :before ORDER BY id DESC LIMIT :limit;

-- name: list_sessions_of_owner
SELECT * FROM sessions WHERE tenant = :tenant AND owner = :owner AND id < :before ORDER BY id DESC LIMIT :limit;

-- name: messages_after
SELECT * FROM messages
 WHERE tenant = :tenant AND session_id = :session_id AND seq > :after
 ORDER BY seq LIMIT :limit;

-- name: change_settings
UPDATE sessions
   SET status = :status, title = :title, double_text = :double_text, closed_at = :closed_at,
       closed_reason = :closed_reason, version = version + 1
 WHERE tenant = :tenant AND id = :session_id AND version = :version;

-- name: session_and_lease
-- What intake must know before it takes a message in.
SELECT s.owner, s.agent, s.status, s.double_text, s.last_active_at, s.idle_for_seconds, l.*
  FROM sessions s
  JOIN leases l ON l.tenant = s.tenant AND l.subject = s.id
 WHERE s.tenant = :tenant AND s.id = :session_id;

-- name: touch_session
-- A message on a paused session resumes it, which is a change of its settings.
UPDATE sessions SET last_active_at = :now, status = 'active', version = version + (status = 'paused')
 WHERE tenant = :tenant AND id = :session_id;

-- name: queue_on_lease
UPDATE leases
   SET last_queue_no = last_queue_no + 1, last_feed_no = last_feed_no + 1, queued = queued + 1
 WHERE tenant = :tenant AND subject = :subject;

-- name: take_lease_at_intake
-- The queue was empty and nobody held it: the newcomer runs at once.
UPDATE leases
   SET last_queue_no = last_queue_no + 1, last_feed_no = last_feed_no + 1, holder = :holder, run_id = :run_id,
       fence = fence + 1, expires_at = :expires_at, taken_at = :clock, stop_how = NULL, stop_by = NULL, first_delta = 0
 WHERE tenant = :tenant AND subject = :subject;

-- name: take_lease
UPDATE leases
   SET queued = queued - 1, holder = :holder, run_id = :run_id, fence = fence + 1, expires_at = :expires_at,
       taken_at = :clock, stop_how = NULL, stop_by = NULL, first_delta = 0
 WHERE tenant = :tenant AND subject = :subject;

-- name: read_lease
SELECT * FROM leases WHERE tenant = :tenant AND subject = :subject;

-- name: hold_lease
-- For a write in the middle of a run; changes no row when the fence has been raised.
UPDATE leases SET last_feed_no = last_feed_no + 1
 WHERE tenant = :tenant AND subject = :subject AND fence = :fence AND holder IS NOT NULL
RETURNING last_feed_no;

-- name: release_lease
-- With the end of a run; changes no row when the fence has been raised.
UPDATE leases SET holder = NULL, run_id = NULL, expires_at = 0, last_feed_no = last_feed_no + 1
 WHERE tenant = :tenant AND subject = :subject AND fence = :fence AND holder IS NOT NULL
RETURNING last_feed_no, queued, first_delta;

-- name: raise_fence
-- Whoever held the lease has lost the right to write.
UPDATE leases SET holder = NULL, run_id = NULL, expires_at = 0, fence = fence + 1
 WHERE tenant = :tenant AND subject = :subject;

-- name: renew_lease
UPDATE leases SET expires_at = :expires_at
 WHERE tenant = :tenant AND subject = :subject AND fence = :fence AND holder IS NOT NULL;

-- name: next_feed_no
UPDATE leases SET last_feed_no = last_feed_no + 1 WHERE tenant = :tenant AND subject = :subject
RETURNING last_feed_no;

-- name: leave_queue
UPDATE leases SET queued = queued - 1 WHERE tenant = :tenant AND subject = :subject;

-- name: join_queue
UPDATE leases SET queued = queued + 1 WHERE tenant = :tenant AND subject = :subject;

-- name: wish_to_stop
UPDATE leases SET stop_how = :how, stop_by = :by
 WHERE tenant = :tenant AND subject = :subject AND holder IS NOT NULL AND stop_how IS NULL;

-- name: insert_run
INSERT INTO runs (tenant, id, session_id, subject, custody, agent, user_id, status, queue_no, feed_no, trace_id, input,
                  accepted_at, wait_until, started_at, fence, retry_of, retry_safe, line_no)
VALUES (:tenant, :run_id, :session_id, :subject, :custody, :agent, :user, :status, :queue_no, :feed_no, :trace_id,
        :input, :accepted_at, :wait_until, :started_at, :fence, :retry_of, :retry_safe,
        CASE WHEN :status = 'queued' THEN :queue_no END);

-- name: get_run
SELECT * FROM runs WHERE tenant = :tenant AND id = :run_id;

-- name: list_runs
-- Run ids sort by the moment they were made. A run in client custody belongs to no session of ours.
SELECT * FROM runs
 WHERE tenant = :tenant AND session_id = :session_id AND custody = 'engine' AND id < :before
 ORDER BY id DESC LIMIT :limit;

-- name: first_queued_run
SELECT * FROM runs
 WHERE tenant = :tenant AND subject = :subject AND line_no IS NOT NULL AND status = 'queued'
 ORDER BY line_no, id LIMIT 1;

-- name: queued_runs_out_of_time
SELECT * FROM runs
 WHERE tenant = :tenant AND subject = :subject AND line_no IS NOT NULL AND wait_until <= :now
 ORDER BY line_no, id;

-- name: waiting_runs
SELECT * FROM runs
 WHERE tenant = :tenant AND subject = :subject AND line_no IS NOT NULL AND status = 'waiting'
 ORDER BY line_no, id;

-- name: start_run
UPDATE runs SET status = 'running', line_no = NULL, started_at = :started_at, fence = :fence,
                retry_safe = :retry_safe
 WHERE tenant = :tenant AND id = :run_id;

-- name: complete_run
-- The input lives on as messages of the turn.
UPDATE runs SET status = 'completed', ended_at = :now, turn = :turn, finish = :finish, input = NULL
 WHERE tenant = :tenant AND id = :run_id;

-- name: end_run
UPDATE runs SET status = :status, line_no = NULL, ended_at = :now, error = :error, result = :result,
                superseded_by = :by, input = CASE WHEN :status = 'completed' THEN NULL ELSE input END
 WHERE tenant = :tenant AND id = :run_id;

-- name: supersede_run
UPDATE runs SET status = 'superseded', ended_at = :now, superseded_by = :by, turn = :turn, finish = :finish,
                merged = :merged
 WHERE tenant = :tenant AND id = :run_id;

-- name: merge_input
UPDATE runs SET input = :input, merged = 1 WHERE tenant = :tenant AND id = :run_id;

-- name: note_not_merged
UPDATE runs SET merged = 0 WHERE tenant = :tenant AND id = :run_id AND merged IS NULL;

-- name: suspend_run
UPDATE runs SET status = 'waiting', line_no = queue_no, wait_until = :wait_until
 WHERE tenant = :tenant AND id = :run_id;

-- name: resume_run
UPDATE runs SET status = :status, queue_no = :queue_no,
                line_no = CASE WHEN :status = 'queued' THEN :queue_no END, wait_until = :wait_until, started_at = :started_at,
                fence = :fence, retry_safe = :retry_safe
 WHERE tenant = :tenant AND id = :run_id;

-- name: due_work
-- Runs in line whose time has come: the lease is free or has run out, or they have waited too long.
SELECT DISTINCT r.tenant, r.subject
  FROM runs r
  JOIN leases l ON l.tenant = r.tenant AND l.subject = r.subject
 WHERE r.line_no IS NOT NULL
   AND (r.wait_until <= :now
        OR (r.status = 'queued' AND r.agent IN (SELECT value FROM json_each(:agents))
            AND (l.holder IS NULL OR l.expires_at <= :clock)))
 LIMIT :limit;

-- name: leases_after
-- A walk over all leases, page by page; only done for a node that is gone.
SELECT tenant, subject, holder FROM leases
 WHERE (tenant, subject) > (:tenant, :subject)
 ORDER BY tenant, subject LIMIT :limit;

-- name: advance_session
-- Changes no row when another turn was committed first; the caller then raises SessionMoved.
UPDATE sessions SET revision = revision + 1, turns = turns + 1, last_seq = :last_seq
 WHERE tenant = :tenant AND id = :session_id AND revision = :expected_revision;

-- name: reset_session
-- Changes no row when something was committed first; the caller then raises SessionMoved.
UPDATE sessions
   SET revision = revision + 1, epoch = epoch + 1, epoch_started_at = :now, epoch_first_seq = last_seq + 1
 WHERE tenant = :tenant AND id = :session_id AND revision = :expected_revision
RETURNING epoch, epoch_first_seq, revision;

-- name: append_message
INSERT INTO messages (tenant, session_id, seq, id, turn, epoch, role, content, created_at)
VALUES (:tenant, :session_id, :seq, :id, :turn, :epoch, :role, :content, :created_at);

-- name: append_turn
INSERT INTO turns (tenant, session_id, number, run_id, epoch, revision, first_seq, last_seq, finish, state, committed_at)
VALUES (:tenant, :session_id, :turn, :run_id, :epoch, :revision, :first_seq, :last_seq, :finish, :state, :now);

-- name: append_epoch
INSERT INTO epochs (tenant, session_id, number, revision, first_seq, run_id, cause, started_at)
VALUES (:tenant, :session_id, :epoch, :revision, :first_seq, :run_id, :cause, :now);

-- name: append_feed
INSERT INTO feed (tenant, subject, no, type, run_id, at, data)
VALUES (:tenant, :subject, :no, :type, :run_id, :now, :data);

-- name: append_explanation
INSERT INTO explanations (tenant, session_id, run_id, data) VALUES (:tenant, :session_id, :run_id, :explanation);

-- name: get_explanation
SELECT data FROM explanations WHERE tenant = :tenant AND session_id = :session_id AND run_id = :run_id;

-- name: append_checkpoint
INSERT INTO checkpoints (tenant, run_id, no, at, data)
SELECT :tenant, :run_id, COALESCE(MAX(no), 0) + 1, :now, :data
  FROM checkpoints WHERE tenant = :tenant AND run_id = :run_id;

-- name: newest_checkpoint
SELECT data FROM checkpoints WHERE tenant = :tenant AND run_id = :run_id ORDER BY no DESC LIMIT 1;

-- name: add_delta
-- Changes no row when the fence has been raised. The first delta closes the time in which the run could be merged.
UPDATE leases
   SET last_feed_no = last_feed_no + 1,
       first_delta = CASE WHEN first_delta = 0 THEN last_feed_no + 1 ELSE first_delta END
 WHERE tenant = :tenant AND subject = :subject AND fence = :fence AND holder IS NOT NULL
RETURNING last_feed_no;

-- name: append_chunk
INSERT INTO chunks (tenant, subject, no, run_id, at, text) VALUES (:tenant, :subject, :no, :run_id, :now, :text);

-- name: chunks_of_run
SELECT no, text FROM chunks
 WHERE tenant = :tenant AND subject = :subject AND no >= :first AND run_id = :run_id
 ORDER BY no;

-- name: drop_chunks
DELETE FROM chunks WHERE tenant = :tenant AND subject = :subject AND no >= :first AND run_id = :run_id;

-- name: feed_after
SELECT no, type, run_id, at, data FROM feed
 WHERE tenant = :tenant AND subject = :subject AND no > :after
UNION ALL
SELECT no, 'output.delta', run_id, at, json_object('text', text) FROM chunks
 WHERE tenant = :tenant AND subject = :subject AND no > :after
 ORDER BY no LIMIT :limit;

-- name: feed_of_run
SELECT no, type, run_id, at, data FROM feed
 WHERE tenant = :tenant AND subject = :subject AND no >= :first AND run_id = :run_id
UNION ALL
SELECT no, 'output.delta', run_id, at, '{}' FROM chunks
 WHERE tenant = :tenant AND subject = :subject AND no >= :first AND run_id = :run_id
 ORDER BY no LIMIT :limit;

-- name: message_content
SELECT content FROM messages WHERE tenant = :tenant AND session_id = :session_id AND seq = :seq;

-- name: find_request
SELECT * FROM requests WHERE tenant = :tenant AND user_id = :user AND key = :key;

-- name: insert_request
INSERT INTO requests (tenant, user_id, key, body_hash, run_id, at)
VALUES (:tenant, :user, :key, :body_hash, :run_id, :now);

-- name: move_request
UPDATE requests SET run_id = :run_id WHERE tenant = :tenant AND user_id = :user AND key = :key;

-- name: forget_requests
DELETE FROM requests WHERE tenant = :tenant AND at < :before;

-- name: tenants_with_requests
SELECT DISTINCT tenant FROM requests;

-- name: append_audit
INSERT INTO audit (tenant, chain, no, body, hash) VALUES (:tenant, :chain, :no, :body, :hash);

-- name: audit_head
SELECT no, hash FROM audit WHERE tenant = :tenant AND chain = :chain ORDER BY no DESC LIMIT 1;

-- name: audit_page
SELECT tenant, chain, no, body, hash FROM audit
 WHERE (tenant, chain, no) > (:tenant, :chain, :no)
 ORDER BY tenant, chain, no LIMIT :limit;

-- name: beat_node
INSERT INTO nodes (tenant, id, started_at, seen_at, agents) VALUES ('-', :node, :started_at, :clock, :agents)
ON CONFLICT (tenant, id) DO UPDATE SET seen_at = excluded.seen_at, agents = excluded.agents;

-- name: drop_node
DELETE FROM nodes WHERE tenant = '-' AND id = :node;

-- name: living_nodes
SELECT * FROM nodes WHERE tenant = '-' AND seen_at > :since ORDER BY id;

-- name: gone_nodes
SELECT * FROM nodes WHERE tenant = '-' AND seen_at <= :since ORDER BY id;

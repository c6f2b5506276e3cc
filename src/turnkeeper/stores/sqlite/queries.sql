-- Every statement names the tenant. :clock is the database's clock, by which leases go; :now is the caller's.

-- name: insert_session
INSERT INTO sessions (tenant, id, owner, agent, status, revision, version, turns, last_seq, epoch, epoch_started_at,
                      epoch_first_seq, title, double_text, metadata, idle_for_seconds, created_at, last_active_at,
                      preferences, mounts, from_session_id, packs, dialogue,
                      classification, expires_by, module, project_id, objective_id, objective, policy,
                      model_profile, backend, context_sha256, removed, agent_head, fork_of, fork_turn, fork_seq)
VALUES (:tenant, :session_id, :owner, :agent, :status, :revision, :version, :turns, :last_seq, :epoch,
        :epoch_started_at, :epoch_first_seq, :title, :double_text, :metadata, :idle_for_seconds, :created_at,
        :last_active_at, :preferences, :mounts, :from_session_id, :packs, :dialogue,
        :classification, :expires_by, :module, :project_id, :objective_id, :objective, :policy,
        :model_profile, :backend, :context_hash, :removed, :agent_head, :fork_of, :fork_turn, :fork_seq);

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
SELECT id, seq, turn, epoch, role, content, created_at, event FROM messages
 WHERE tenant = :tenant AND session_id = :session_id AND seq >= :first_seq
 ORDER BY seq DESC LIMIT :window;

-- name: get_session
SELECT * FROM sessions WHERE tenant = :tenant AND id = :session_id;

-- name: list_sessions
SELECT * FROM sessions
 WHERE tenant = :tenant AND id < :before AND (:status IS NULL OR status = :status)
   AND (:module IS NULL OR module = :module) AND (:project_id IS NULL OR project_id = :project_id)
   AND (:agent IS NULL OR agent = :agent) AND (:title IS NULL OR instr(lower(title), :title) > 0)
   AND (:created_from IS NULL OR created_at >= :created_from) AND (:created_until IS NULL OR created_at < :created_until)
   AND (:active_from IS NULL OR last_active_at >= :active_from)
   AND (:active_until IS NULL OR last_active_at < :active_until) AND (:fork_of IS NULL OR fork_of = :fork_of)
 ORDER BY id DESC LIMIT :limit;

-- name: list_sessions_of_owner
SELECT * FROM sessions
 WHERE tenant = :tenant AND owner = :owner AND id < :before AND (:status IS NULL OR status = :status)
   AND (:module IS NULL OR module = :module) AND (:project_id IS NULL OR project_id = :project_id)
   AND (:agent IS NULL OR agent = :agent) AND (:title IS NULL OR instr(lower(title), :title) > 0)
   AND (:created_from IS NULL OR created_at >= :created_from) AND (:created_until IS NULL OR created_at < :created_until)
   AND (:active_from IS NULL OR last_active_at >= :active_from)
   AND (:active_until IS NULL OR last_active_at < :active_until) AND (:fork_of IS NULL OR fork_of = :fork_of)
 ORDER BY id DESC LIMIT :limit;

-- name: walk_sessions
-- Of all that fit no more than a walk needs, page by page.
SELECT id, title, last_active_at FROM sessions
 WHERE tenant = :tenant AND id < :before AND (:status IS NULL OR status = :status)
   AND (:module IS NULL OR module = :module) AND (:project_id IS NULL OR project_id = :project_id)
   AND (:agent IS NULL OR agent = :agent) AND (:title IS NULL OR instr(lower(title), :title) > 0)
   AND (:created_from IS NULL OR created_at >= :created_from) AND (:created_until IS NULL OR created_at < :created_until)
   AND (:active_from IS NULL OR last_active_at >= :active_from)
   AND (:active_until IS NULL OR last_active_at < :active_until) AND (:fork_of IS NULL OR fork_of = :fork_of)
 ORDER BY id DESC LIMIT :limit;

-- name: walk_sessions_of_owner
SELECT id, title, last_active_at FROM sessions
 WHERE tenant = :tenant AND owner = :owner AND id < :before AND (:status IS NULL OR status = :status)
   AND (:module IS NULL OR module = :module) AND (:project_id IS NULL OR project_id = :project_id)
   AND (:agent IS NULL OR agent = :agent) AND (:title IS NULL OR instr(lower(title), :title) > 0)
   AND (:created_from IS NULL OR created_at >= :created_from) AND (:created_until IS NULL OR created_at < :created_until)
   AND (:active_from IS NULL OR last_active_at >= :active_from)
   AND (:active_until IS NULL OR last_active_at < :active_until) AND (:fork_of IS NULL OR fork_of = :fork_of)
 ORDER BY id DESC LIMIT :limit;

-- name: sessions_named
SELECT * FROM sessions WHERE tenant = :tenant AND id IN (SELECT value FROM json_each(:ids));

-- name: openings
-- What a user said first in the epoch of each session. Of a fork it may stand in one of those whose messages it shares;
-- the least seq is the first.
WITH RECURSIVE places (session_id, place, first_seq, upto) AS (
    SELECT id, id, epoch_first_seq, last_seq FROM sessions
     WHERE tenant = :tenant AND id IN (SELECT value FROM json_each(:ids))
    UNION ALL
    SELECT p.session_id, s.fork_of, p.first_seq, MIN(p.upto, s.fork_seq)
      FROM places p
      JOIN sessions s ON s.tenant = :tenant AND s.id = p.place
     WHERE s.fork_of IS NOT NULL AND s.fork_seq >= p.first_seq
)
SELECT p.session_id, substr(m.content, 1, :most) AS opening
  FROM places p
 CROSS JOIN messages m ON m.tenant = :tenant AND m.session_id = p.place
   AND m.seq = (SELECT n.seq FROM messages n
                 WHERE n.tenant = :tenant AND n.session_id = p.place AND n.seq BETWEEN p.first_seq AND p.upto
                   AND n.role = 'user'
                 ORDER BY n.seq LIMIT 1)
 ORDER BY m.seq DESC;

-- name: unanswered
-- What was said to the newest run of the epoch of each session, as long as it stands in no message.
SELECT s.id AS session_id, r.input
  FROM sessions s
  LEFT JOIN epochs e ON e.tenant = s.tenant AND e.session_id = s.id AND e.number = s.epoch
  JOIN runs r ON r.tenant = s.tenant AND r.id =
       (SELECT n.id FROM runs n
         WHERE n.tenant = s.tenant AND n.session_id = s.id AND n.input IS NOT NULL AND n.turn IS NULL
           AND n.id >= COALESCE(e.run_id, '')
         ORDER BY n.id DESC LIMIT 1)
 WHERE s.tenant = :tenant AND s.id IN (SELECT value FROM json_each(:ids));

-- name: messages_after
SELECT * FROM messages
 WHERE tenant = :tenant AND session_id = :session_id AND seq > :after
 ORDER BY seq LIMIT :limit;

-- name: forked_from
-- The sessions whose messages a fork shares, the nearest first, each up to a seq.
WITH RECURSIVE chain (session_id, upto, depth) AS (
    SELECT fork_of, fork_seq, 1 FROM sessions WHERE tenant = :tenant AND id = :session_id AND fork_of IS NOT NULL
    UNION ALL
    SELECT s.fork_of, MIN(c.upto, s.fork_seq), c.depth + 1
      FROM chain c
      JOIN sessions s ON s.tenant = :tenant AND s.id = c.session_id
     WHERE s.fork_of IS NOT NULL
)
SELECT session_id, upto FROM chain ORDER BY depth;

-- name: messages_between
SELECT * FROM messages
 WHERE tenant = :tenant AND session_id = :session_id AND seq > :after AND seq <= :upto
 ORDER BY seq LIMIT :limit;

-- name: newest_messages_until
SELECT * FROM messages
 WHERE tenant = :tenant AND session_id = :session_id AND seq >= :first_seq AND seq <= :upto
 ORDER BY seq DESC LIMIT :limit;

-- name: turn_as_of
-- A turn has what it changed; all else is as the newest turn before it in its epoch left it.
SELECT t.run_id, t.epoch, t.last_seq, t.state, t.committed_at,
       (SELECT p.preferences FROM turns p
         WHERE p.tenant = t.tenant AND p.session_id = t.session_id AND p.number <= t.number AND p.epoch = t.epoch
           AND p.preferences IS NOT NULL
         ORDER BY p.number DESC LIMIT 1) AS preferences,
       (SELECT p.dialogue FROM turns p
         WHERE p.tenant = t.tenant AND p.session_id = t.session_id AND p.number <= t.number AND p.epoch = t.epoch
           AND p.dialogue IS NOT NULL
         ORDER BY p.number DESC LIMIT 1) AS dialogue,
       (SELECT p.agent_head FROM turns p
         WHERE p.tenant = t.tenant AND p.session_id = t.session_id AND p.number <= t.number AND p.epoch = t.epoch
           AND p.agent_head IS NOT NULL
         ORDER BY p.number DESC LIMIT 1) AS agent_head
  FROM turns t
 WHERE t.tenant = :tenant AND t.session_id = :session_id AND t.number = :turn;

-- name: get_epoch
SELECT first_seq, started_at FROM epochs WHERE tenant = :tenant AND session_id = :session_id AND number = :epoch;

-- name: units_as_of
-- Newest first. What was forgotten since then says nothing any more; what was superseded only later still held.
SELECT u.data FROM units u
  LEFT JOIN units b ON b.tenant = u.tenant AND b.place = u.place AND b.id = u.superseded_by
 WHERE u.tenant = :tenant AND u.place = :session_id AND u.since = :epoch AND u.data IS NOT NULL
   AND (u.turn <= :turn OR (u.turn IS NULL AND u.kept_at <= :at))
   AND (u.status IN ('committed', 'pushed_out') OR b.turn > :turn OR (b.turn IS NULL AND b.kept_at > :at))
 ORDER BY u.no DESC LIMIT :limit;

-- name: heads_of_session
SELECT agent_head FROM turns WHERE tenant = :tenant AND session_id = :session_id AND agent_head IS NOT NULL
 ORDER BY number DESC LIMIT :limit;

-- name: open_checkpoints_of_session
SELECT c.data FROM runs r INDEXED BY runs_of_session
  CROSS JOIN checkpoints c ON c.tenant = r.tenant AND c.run_id = r.id
 WHERE r.tenant = :tenant AND r.session_id = :session_id AND r.ended_at IS NULL;

-- name: mark_pruned
UPDATE sessions SET pruned_at = :now
 WHERE tenant = :tenant AND id = :session_id AND pruned_at IS NULL AND closed_at IS NOT NULL
RETURNING status;

-- name: change_settings
UPDATE sessions
   SET status = :status, title = :title, double_text = :double_text, idle_for_seconds = :idle_for_seconds,
       mounts = :mounts, packs = :packs, classification = :classification,
       expires_by = :expires_by, last_active_at = :last_active_at, closed_at = :closed_at, closed_reason = :closed_reason,
       pause_reason = :pause_reason, module = :module, project_id = :project_id, objective_id = :objective_id, objective = :objective,
       policy = :policy, model_profile = :model_profile, backend = :backend, context_sha256 = :context_hash,
       removed = :removed, version = version + 1
 WHERE tenant = :tenant AND id = :session_id AND version = :version;

-- name: session_and_lease
-- What intake must know before it takes a message in. A session in which a run waits for an approval does not expire.
SELECT s.owner, s.agent, s.status, s.double_text, s.last_active_at, s.idle_for_seconds, s.expires_by, l.*,
       EXISTS (SELECT 1 FROM approvals a INDEXED BY approvals_of_session
                 CROSS JOIN runs r ON r.tenant = a.tenant AND r.id = a.run_id
                WHERE a.tenant = s.tenant AND a.session_id = s.id AND a.status = 'pending' AND r.status = 'waiting'
              ) AS is_awaited
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
                  accepted_at, wait_until, started_at, fence, retry_of, retry_safe, mode, line_no)
VALUES (:tenant, :run_id, :session_id, :subject, :custody, :agent, :user, :status, :queue_no, :feed_no, :trace_id,
        :input, :accepted_at, :wait_until, :started_at, :fence, :retry_of, :retry_safe, :mode,
        CASE WHEN :status = 'queued' THEN :queue_no END);

-- name: get_run
SELECT * FROM runs WHERE tenant = :tenant AND id = :run_id;

-- name: list_runs
-- Run ids sort by the moment they were made. A run of a session that somebody else keeps belongs to none of ours.
SELECT * FROM runs
 WHERE tenant = :tenant AND session_id = :session_id AND custody = 'engine' AND id < :before
 ORDER BY id DESC LIMIT :limit;

-- name: walk_runs
-- The newest runs of a tenant that fit. No more than :walked of them are looked at, whether they fit or not.
SELECT r.*
  FROM (SELECT id, status, agent, session_id, accepted_at, user_id, custody FROM runs
         WHERE tenant = :tenant AND id < :before AND id >= :first
         ORDER BY id DESC LIMIT :walked) w
 CROSS JOIN runs r ON r.tenant = :tenant AND r.id = w.id
 WHERE (:statuses IS NULL OR w.status IN (SELECT value FROM json_each(:statuses)))
   AND (:agent IS NULL OR w.agent = :agent) AND (:session_id IS NULL OR w.session_id = :session_id)
   AND (:since IS NULL OR w.accepted_at >= :since) AND (:until IS NULL OR w.accepted_at < :until)
   AND (:user IS NULL OR w.user_id = :user
        OR (w.custody = 'engine' AND EXISTS (SELECT 1 FROM sessions s
                                              WHERE s.tenant = :tenant AND s.id = w.session_id AND s.owner = :user)))
 ORDER BY w.id DESC LIMIT :limit;

-- name: last_walked_run
-- Where such a walk ended before the runs did.
SELECT id FROM runs WHERE tenant = :tenant AND id < :before AND id >= :first
 ORDER BY id DESC LIMIT 1 OFFSET :walked - 1;

-- name: live_runs
-- Those in line, by their index, and those that a lease is held for, by a walk over the leases of the tenant.
SELECT r.* FROM runs r
 WHERE r.tenant = :tenant AND r.id < :before AND r.id >= :first
   AND r.id IN (SELECT q.id FROM runs q INDEXED BY runs_in_line WHERE q.tenant = :tenant AND q.line_no IS NOT NULL
                UNION
                SELECT l.run_id FROM leases l WHERE l.tenant = :tenant AND l.holder IS NOT NULL)
   AND (:statuses IS NULL OR r.status IN (SELECT value FROM json_each(:statuses)))
   AND (:agent IS NULL OR r.agent = :agent) AND (:session_id IS NULL OR r.session_id = :session_id)
   AND (:since IS NULL OR r.accepted_at >= :since) AND (:until IS NULL OR r.accepted_at < :until)
   AND (:user IS NULL OR r.user_id = :user
        OR (r.custody = 'engine' AND EXISTS (SELECT 1 FROM sessions s
                                              WHERE s.tenant = :tenant AND s.id = r.session_id AND s.owner = :user)))
 ORDER BY r.id DESC LIMIT :limit;

-- name: leases_held
-- A walk over the leases of the tenant, which are narrow rows, one a session.
SELECT l.holder, l.run_id, l.fence, l.taken_at, l.expires_at, l.queued, r.session_id, r.agent
  FROM leases l
  JOIN runs r ON r.tenant = l.tenant AND r.id = l.run_id
 WHERE l.tenant = :tenant AND l.holder IS NOT NULL
 ORDER BY l.taken_at, l.subject LIMIT :limit;

-- name: usage_page
-- One page of a walk along the ids of runs, which sort by the moment they were made, added up.
SELECT accepted_at / :width AS span, agent, COUNT(*) AS runs,
       SUM(status = 'completed') AS completed,
       SUM(status IN ('failed', 'timed_out', 'abandoned')) AS failed,
       TOTAL(json_extract(account, '$.tokens')) AS tokens,
       TOTAL(json_extract(account, '$.cost_cents')) AS cost_cents,
       TOTAL(json_extract(account, '$.model_calls')) AS model_calls,
       TOTAL(json_extract(account, '$.tool_calls')) AS tool_calls,
       MAX(id) AS last
  FROM (SELECT id, accepted_at, agent, status, account FROM runs
         WHERE tenant = :tenant AND id > :after AND id < :last
         ORDER BY id LIMIT :limit) page
 GROUP BY 1, 2;

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
UPDATE runs SET status = 'completed', ended_at = :now, turn = :turn, finish = :finish, input = NULL,
                account = :account
 WHERE tenant = :tenant AND id = :run_id;

-- name: end_run
UPDATE runs SET status = :status, line_no = NULL, ended_at = :now, error = :error, result = :result,
                account = :account, carried_until = :carried_until, superseded_by = :by,
                input = CASE WHEN :status = 'completed' THEN NULL
                             WHEN custody = 'client' THEN json_remove(input, '$.carried')
                             ELSE input END
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
                fence = :fence, retry_safe = :retry_safe, input = :input
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
UPDATE sessions SET revision = revision + 1, turns = turns + 1, last_seq = :last_seq,
                    preferences = COALESCE(:preferences, preferences),
                    packs = CASE WHEN packs = '[]' THEN COALESCE(:packs, packs) ELSE packs END,
                    classification = COALESCE(:classification, classification),
                    idle_for_seconds = min(idle_for_seconds, COALESCE(:most_idle_seconds, idle_for_seconds)),
                    expires_by = COALESCE(:expires_by, expires_by),
                    dialogue = COALESCE(:dialogue, dialogue),
                    agent_head = COALESCE(:agent_head, agent_head),
                    last_active_at = max(last_active_at, :now)
 WHERE tenant = :tenant AND id = :session_id AND revision = :expected_revision;

-- name: reset_session
-- Changes no row when something was committed first; the caller then raises SessionMoved.
UPDATE sessions
   SET revision = revision + 1, epoch = epoch + 1, epoch_started_at = :now, epoch_first_seq = last_seq + 1,
       preferences = '{}', dialogue = :dialogue, agent_head = NULL
 WHERE tenant = :tenant AND id = :session_id AND revision = :expected_revision
RETURNING epoch, epoch_first_seq, revision;

-- name: append_message
INSERT INTO messages (tenant, session_id, seq, id, turn, epoch, role, content, created_at, event)
VALUES (:tenant, :session_id, :seq, :id, :turn, :epoch, :role, :content, :created_at, :event);

-- name: append_turn
INSERT INTO turns (tenant, session_id, number, run_id, epoch, revision, first_seq, last_seq, finish, state,
                   committed_at, preferences, dialogue, agent_head)
VALUES (:tenant, :session_id, :turn, :run_id, :epoch, :revision, :first_seq, :last_seq, :finish, :state, :now,
        :preferences, :dialogue, :agent_head);

-- name: append_epoch
INSERT INTO epochs (tenant, session_id, number, revision, first_seq, run_id, cause, started_at)
VALUES (:tenant, :session_id, :epoch, :revision, :first_seq, :run_id, :cause, :now);

-- name: epoch_of_run
-- Whether one of these two runs has begun an epoch.
SELECT number FROM epochs
 WHERE tenant = :tenant AND session_id = :session_id AND (run_id = :run_id OR run_id = :retry_of) LIMIT 1;

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
SELECT run_id, no, at, data FROM checkpoints WHERE tenant = :tenant AND run_id = :run_id ORDER BY no DESC LIMIT 1;

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

-- name: known_request
SELECT body_hash FROM requests WHERE tenant = :tenant AND user_id = :user AND key = :key;

-- name: open_long_runs
-- No more than `most` are looked for, among those that began since `since`: run ids sort by the moment they were made.
SELECT count(*) AS found
  FROM (SELECT 1 FROM runs
         WHERE tenant = :tenant AND mode = 'long_running' AND id >= :since AND ended_at IS NULL
         LIMIT :most) AS open_ones;

-- name: claim_request
-- Gives a row to who may do it now: nobody has, or whoever began has not been heard of for too long.
INSERT INTO requests (tenant, user_id, key, body_hash, run_id, at)
VALUES (:tenant, :user, :key, :body_hash, :run_id, :now)
    ON CONFLICT (tenant, user_id, key) DO UPDATE SET at = excluded.at
 WHERE requests.answer IS NULL AND requests.body_hash = excluded.body_hash AND requests.at < :stale
RETURNING at;

-- name: claimed_request
SELECT body_hash, answer FROM requests WHERE tenant = :tenant AND user_id = :user AND key = :key;

-- name: answer_request
-- Changes no row when another has taken it over since.
UPDATE requests SET answer = :answer
 WHERE tenant = :tenant AND user_id = :user AND key = :key AND at = :at RETURNING at;

-- name: release_request
DELETE FROM requests
 WHERE tenant = :tenant AND user_id = :user AND key = :key AND at = :at AND answer IS NULL RETURNING at;

-- name: insert_request
INSERT INTO requests (tenant, user_id, key, body_hash, run_id, at)
VALUES (:tenant, :user, :key, :body_hash, :run_id, :now);

-- name: move_request
UPDATE requests SET run_id = :run_id WHERE tenant = :tenant AND user_id = :user AND key = :key;

-- name: forget_requests
DELETE FROM requests WHERE tenant = :tenant AND at < :before;

-- name: tenants_with_requests
SELECT DISTINCT tenant FROM requests;

-- name: forget_carried
UPDATE runs INDEXED BY runs_that_carry
   SET result = NULLIF(json_remove(result, '$.carried'), '{}'), carried_until = NULL
 WHERE tenant = :tenant AND carried_until <= :now;

-- name: tenants_that_carry
SELECT DISTINCT tenant FROM runs INDEXED BY runs_that_carry WHERE carried_until <= :now;

-- name: append_audit
INSERT INTO audit (tenant, chain, no, body, hash) VALUES (:tenant, :chain, :no, :body, :hash);

-- name: audit_head
SELECT no, hash FROM audit WHERE tenant = :tenant AND chain = :chain ORDER BY no DESC LIMIT 1;

-- name: newest_of_chains
-- From chain to chain along the key, so that the length of none of them counts.
WITH RECURSIVE chains (chain) AS (
    SELECT MIN(a.chain) FROM audit a WHERE a.tenant = :tenant AND a.chain > ''
    UNION ALL
    SELECT (SELECT MIN(a.chain) FROM audit a WHERE a.tenant = :tenant AND a.chain > c.chain)
      FROM chains c WHERE c.chain IS NOT NULL
)
SELECT a.tenant, a.chain, a.no, a.body, a.hash
  FROM chains c
  JOIN audit a ON a.tenant = :tenant AND a.chain = c.chain
   AND a.no = (SELECT MAX(b.no) FROM audit b WHERE b.tenant = :tenant AND b.chain = c.chain);

-- name: audit_before
SELECT tenant, chain, no, body, hash FROM audit
 WHERE tenant = :tenant AND chain = :chain AND no < :no
 ORDER BY no DESC LIMIT :limit;

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

-- name: last_unit_no
SELECT COALESCE(MAX(no), 0) AS no FROM units WHERE tenant = :tenant AND place = :place;

-- name: insert_unit
INSERT INTO units (tenant, place, no, id, since, status, turn, run_id, source_id, scopes, hash, slot_key, subject_key,
                   object_key, data, search_row, kept_at)
VALUES (:tenant, :place, :no, :id, :since, 'committed', :turn, :run_id, :source_id, :scopes, :hash, :slot_key,
        :subject_key, :object_key, :data, :search_row, :now);

-- name: index_unit
INSERT INTO unit_search (tenant, place, no, topic, said, more) VALUES (:tenant, :place, :no, :topic, :said, :more);

-- name: unindex_unit
DELETE FROM unit_search
 WHERE rowid = (SELECT search_row FROM units WHERE tenant = :tenant AND place = :place AND id = :id);

-- name: unindex_session
DELETE FROM unit_search
 WHERE rowid IN (SELECT search_row FROM units WHERE tenant = :tenant AND place = :session_id);

-- name: place_in_search
UPDATE units SET search_row = :search_row WHERE tenant = :tenant AND place = :place AND no = :no;

-- name: retire_unit
UPDATE units SET status = :status, superseded_by = :by, search_row = NULL
 WHERE tenant = :tenant AND place = :place AND id = :id AND status = 'committed';

-- name: forget_unit
-- Nothing of what it said is left, whatever had become of it.
UPDATE units SET status = 'forgotten', data = NULL, hash = '', slot_key = NULL, subject_key = NULL, object_key = NULL,
                 search_row = NULL
 WHERE tenant = :tenant AND place = :place AND id = :id;

-- name: get_unit
SELECT * FROM units WHERE tenant = :tenant AND place = :place AND id = :id;

-- name: units_after
SELECT * FROM units
 WHERE tenant = :tenant AND place = :place AND no > :after AND (:epoch IS NULL OR since = :epoch)
 ORDER BY no LIMIT :limit;

-- name: search_units
-- The words lead, and what is found of them is looked up one by one.
SELECT u.no, u.hash, unit_search.topic, unit_search.said, unit_search.more
  FROM unit_search CROSS JOIN units u
 WHERE unit_search MATCH :match
   AND u.tenant = :tenant AND u.place = :place AND u.no = unit_search.no AND u.search_row = unit_search.rowid
   AND u.status = 'committed' AND u.since BETWEEN :first AND :revision AND (u.until IS NULL OR u.until > :revision)
   AND instr(' ' || u.scopes || ' ', ' ' || :scope || ' ');

-- name: units_by_no
SELECT no, data FROM units
 WHERE tenant = :tenant AND place = :place AND no IN (SELECT value FROM json_each(:nos));

-- name: guiding_units
-- Few units guide. Left to itself the planner would walk over all of a place. Each content once, its newest unit.
SELECT data, MAX(no) AS no FROM units INDEXED BY units_that_guide
 WHERE tenant = :tenant AND place = :place AND scopes <> 'kb-plugin' AND status = 'committed'
   AND since BETWEEN :first AND :revision AND (until IS NULL OR until > :revision)
   AND instr(' ' || scopes || ' ', ' ' || :scope || ' ')
 GROUP BY hash ORDER BY 2 DESC LIMIT :limit;

-- name: units_about
-- Each content once, its newest unit.
SELECT data, MAX(no) AS no FROM (
    SELECT data, no, hash FROM units INDEXED BY units_by_subject
     WHERE tenant = :tenant AND place = :place AND subject_key IN (SELECT value FROM json_each(:keys))
       AND status = 'committed' AND since BETWEEN :first AND :revision AND (until IS NULL OR until > :revision)
     UNION ALL
    SELECT data, no, hash FROM units INDEXED BY units_by_object
     WHERE tenant = :tenant AND place = :place AND object_key IN (SELECT value FROM json_each(:keys))
       AND status = 'committed' AND since BETWEEN :first AND :revision AND (until IS NULL OR until > :revision))
 GROUP BY hash ORDER BY 2 DESC LIMIT :limit;

-- name: newest_units
SELECT data FROM units
 WHERE tenant = :tenant AND place = :place AND since = :epoch AND status = 'committed'
 ORDER BY no DESC LIMIT :limit;

-- name: known_units
SELECT data, no FROM units INDEXED BY units_by_hash
 WHERE tenant = :tenant AND place = :place AND hash IN (SELECT value FROM json_each(:hashes))
   AND status = 'committed' AND since = :epoch
 UNION
SELECT data, no FROM units INDEXED BY units_by_slot
 WHERE tenant = :tenant AND place = :place AND slot_key IN (SELECT value FROM json_each(:slots))
   AND status = 'committed' AND since = :epoch
 UNION
SELECT data, no FROM units INDEXED BY units_by_id
 WHERE tenant = :tenant AND place = :place AND id IN (SELECT value FROM json_each(:ids))
   AND status = 'committed' AND since = :epoch
 ORDER BY no;

-- name: committed_unit_ids
SELECT id FROM units
 WHERE tenant = :tenant AND place = :place AND since = :epoch AND status = 'committed'
 ORDER BY no;

-- name: change_revision
-- For a command that changes units; changes no row when something was committed first.
UPDATE sessions SET revision = revision + 1
 WHERE tenant = :tenant AND id = :session_id AND revision = :expected_revision;

-- name: living_sessions_after
-- A walk over the sessions that may still expire, page by page.
SELECT tenant, id, min(last_active_at + idle_for_seconds * 1000000, coalesce(expires_by, last_active_at + idle_for_seconds * 1000000)) <= :now AS is_idle FROM sessions
 WHERE status IN ('active', 'paused') AND (tenant, id) > (:tenant, :session_id)
 ORDER BY tenant, id LIMIT :limit;

-- name: explained_run
-- Of a run that is no turn only the input is told; that of a client, who keeps its own messages, never is one.
SELECT e.data, r.input,
       (SELECT substr(m.content, 1, :chars) FROM messages m
         WHERE m.tenant = e.tenant AND m.session_id = e.session_id AND m.seq = t.first_seq) AS asked,
       (SELECT substr(m.content, 1, :chars) FROM messages m
         WHERE m.tenant = e.tenant AND m.session_id = e.session_id AND m.seq = t.last_seq AND m.role = 'assistant')
       AS preview
  FROM explanations e
  JOIN runs r ON r.tenant = e.tenant AND r.id = e.run_id
  LEFT JOIN turns t ON t.tenant = e.tenant AND t.session_id = e.session_id AND t.number = r.turn
 WHERE e.tenant = :tenant AND e.session_id = :session_id AND e.run_id = :run_id;

-- name: explanations_before
SELECT e.data, r.input,
       (SELECT substr(m.content, 1, :chars) FROM messages m
         WHERE m.tenant = e.tenant AND m.session_id = e.session_id AND m.seq = t.first_seq) AS asked,
       (SELECT substr(m.content, 1, :chars) FROM messages m
         WHERE m.tenant = e.tenant AND m.session_id = e.session_id AND m.seq = t.last_seq AND m.role = 'assistant')
       AS preview
  FROM explanations e
  JOIN runs r ON r.tenant = e.tenant AND r.id = e.run_id AND r.custody = 'engine'
  LEFT JOIN turns t ON t.tenant = e.tenant AND t.session_id = e.session_id AND t.number = r.turn
 WHERE e.tenant = :tenant AND e.session_id = :session_id AND e.run_id < :before
 ORDER BY e.run_id DESC LIMIT :limit;

-- name: open_door
INSERT INTO doors (tenant, name) VALUES ('-', 'retention');

-- name: close_door
DELETE FROM doors WHERE tenant = '-' AND name = 'retention';

-- name: trim_explanations
DELETE FROM explanations
 WHERE tenant = :tenant AND session_id = :session_id
   AND run_id <= (SELECT run_id FROM explanations WHERE tenant = :tenant AND session_id = :session_id
                   ORDER BY run_id DESC LIMIT 1 OFFSET :keep);

-- name: insert_base
INSERT INTO knowledge_bases (tenant, id, name, parent_id, revision, sources, units, created_by, created_at, updated_at)
VALUES (:tenant, :id, :name, :parent_id, :revision, :sources, :units, :created_by, :created_at, :updated_at);

-- name: get_base
SELECT * FROM knowledge_bases WHERE tenant = :tenant AND id = :id;

-- name: list_bases
SELECT * FROM knowledge_bases WHERE tenant = :tenant AND id < :before ORDER BY id DESC LIMIT :limit;

-- name: base_revisions
SELECT id, revision FROM knowledge_bases
 WHERE tenant = :tenant AND id IN (SELECT value FROM json_each(:ids));

-- name: advance_base
UPDATE knowledge_bases SET revision = revision + 1, sources = sources + :sources, units = units + :units,
                           updated_at = :now
 WHERE tenant = :tenant AND id = :id;

-- name: insert_source
INSERT INTO sources (tenant, base_id, id, name, kind, hash, content, units, since, added_at)
VALUES (:tenant, :base_id, :id, :name, :kind, :hash, :content, :units, :since, :added_at);

-- name: sources_of_base
-- Without what they say, which may be a megabyte each.
SELECT id, name, kind, hash, units, added_at FROM sources
 WHERE tenant = :tenant AND base_id = :base_id AND until IS NULL ORDER BY id;

-- name: get_source
SELECT * FROM sources WHERE tenant = :tenant AND base_id = :base_id AND id = :id AND until IS NULL;

-- name: copy_sources
INSERT INTO sources (tenant, base_id, id, name, kind, hash, content, units, since, added_at)
SELECT tenant, :id, id, name, kind, hash, content, units, :revision, added_at FROM sources
 WHERE tenant = :tenant AND base_id = :parent_id AND until IS NULL;

-- name: copy_units
INSERT INTO units (tenant, place, no, id, since, status, source_id, scopes, hash, slot_key, subject_key, object_key,
                   data, kept_at)
SELECT tenant, :id, no, id, :revision, status, source_id, scopes, hash, slot_key, subject_key, object_key, data,
       :created_at FROM units
 WHERE tenant = :tenant AND place = :parent_id AND until IS NULL AND status = 'committed';

-- name: end_source
UPDATE sources SET until = :revision WHERE tenant = :tenant AND base_id = :base_id AND id = :id;

-- name: end_units_of_source
UPDATE units SET until = :revision
 WHERE tenant = :tenant AND place = :place AND source_id = :source_id AND until IS NULL;

-- name: units_of_base
SELECT no, data FROM units
 WHERE tenant = :tenant AND place = :place AND no > :after AND until IS NULL AND status = 'committed'
 ORDER BY no LIMIT :limit;

-- name: insert_pack
-- Changes no row when this version is there; the caller then compares the hashes.
INSERT INTO packs (tenant, id, major, minor, patch, hash, files, knowledge_base, knowledge_revision, pushed_by, pushed_at)
VALUES (:tenant, :id, :major, :minor, :patch, :hash, :files, :knowledge_base, :knowledge_revision, :pushed_by, :pushed_at)
ON CONFLICT (tenant, id, major, minor, patch) DO NOTHING;

-- name: get_pack
SELECT * FROM packs
 WHERE tenant = :tenant AND id = :id AND major = :major AND minor = :minor AND patch = :patch;

-- name: newest_pack
SELECT * FROM packs WHERE tenant = :tenant AND id = :id ORDER BY major DESC, minor DESC, patch DESC LIMIT 1;

-- name: list_packs
SELECT tenant, id, major, minor, patch, hash, '{}' AS files, knowledge_base, knowledge_revision, pushed_by, pushed_at
  FROM packs
 WHERE tenant = :tenant AND (id, major, minor, patch) > (:id, :major, :minor, :patch)
 ORDER BY id, major, minor, patch LIMIT :limit;

-- name: pack_overrides
SELECT * FROM pack_overrides WHERE tenant = :tenant AND pack_id = :pack_id ORDER BY key;

-- name: set_pack_override
INSERT INTO pack_overrides (tenant, pack_id, key, value, enabled, changed_by, changed_at)
VALUES (:tenant, :pack_id, :key, :value, :enabled, :changed_by, :changed_at)
ON CONFLICT (tenant, pack_id, key) DO UPDATE
   SET value = excluded.value, enabled = excluded.enabled, changed_by = excluded.changed_by,
       changed_at = excluded.changed_at;

-- name: drop_pack_override
DELETE FROM pack_overrides WHERE tenant = :tenant AND pack_id = :pack_id AND key = :key RETURNING key;

-- name: insert_binding
INSERT INTO bindings (tenant, id, channel, data, created_by, created_at, updated_at)
VALUES (:tenant, :id, :channel, :data, :created_by, :created_at, :updated_at);

-- name: insert_binding_place
INSERT INTO binding_places (tenant, id, owner) VALUES (:house, :id, :tenant);

-- name: find_binding
-- By someone from outside: the house knows whose it is.
SELECT b.* FROM binding_places p JOIN bindings b ON b.tenant = p.owner AND b.id = p.id
 WHERE p.tenant = :house AND p.id = :id;

-- name: get_binding
SELECT * FROM bindings WHERE tenant = :tenant AND id = :id;

-- name: list_bindings
SELECT * FROM bindings WHERE tenant = :tenant AND id < :before ORDER BY id DESC LIMIT :limit;

-- name: change_binding
UPDATE bindings SET data = :data, updated_at = :updated_at WHERE tenant = :tenant AND id = :id RETURNING id;

-- name: remove_binding
DELETE FROM bindings WHERE tenant = :tenant AND id = :id RETURNING id;

-- name: remove_binding_place
DELETE FROM binding_places WHERE tenant = :house AND id = :id;

-- name: remove_contacts
DELETE FROM contacts WHERE tenant = :tenant AND binding = :id;

-- name: put_contact
-- Gives no row when there is no such binding.
INSERT INTO contacts (tenant, binding, address, user_id, session_id, changed_at)
SELECT :tenant, :binding, :address, :user, :session_id, :changed_at FROM bindings
 WHERE tenant = :tenant AND id = :binding
ON CONFLICT (tenant, binding, address) DO UPDATE
   SET user_id = excluded.user_id, session_id = excluded.session_id, changed_at = excluded.changed_at
RETURNING address;

-- name: remember_contact
-- Changes no row when the address belongs to another user by now, or the binding is gone.
INSERT INTO contacts (tenant, binding, address, user_id, session_id, changed_at)
SELECT :tenant, :binding, :address, :user, :session_id, :changed_at FROM bindings
 WHERE tenant = :tenant AND id = :binding
ON CONFLICT (tenant, binding, address) DO UPDATE
   SET session_id = excluded.session_id, changed_at = excluded.changed_at
 WHERE contacts.user_id = excluded.user_id
RETURNING address;

-- name: get_contact
SELECT * FROM contacts WHERE tenant = :tenant AND binding = :binding AND address = :address;

-- name: list_contacts
SELECT * FROM contacts
 WHERE tenant = :tenant AND binding = :binding AND address > :after AND (:user IS NULL OR user_id = :user)
 ORDER BY address LIMIT :limit;

-- name: remove_contact
DELETE FROM contacts WHERE tenant = :tenant AND binding = :binding AND address = :address RETURNING address;

-- name: insert_delivery
INSERT INTO outbox (tenant, id, session_id, run_id, binding, channel, data, status, attempts, due_at, error, created_at,
                    ended_at)
VALUES (:tenant, :id, :session_id, :run_id, :binding, :channel, :data, :status, :attempts, :due_at, :error, :created_at,
        :ended_at);

-- name: due_deliveries
-- Of any tenant: what waits for its time, and what a node has left behind in the middle of sending it.
SELECT * FROM outbox
 WHERE status IN ('pending', 'sending')
   AND ((status = 'pending' AND due_at <= :now) OR (status = 'sending' AND due_at <= :clock))
 ORDER BY due_at, tenant, id LIMIT :limit;

-- name: claim_delivery
-- While it is being sent, `due_at` is when the claim runs out, by the clock of the database.
UPDATE outbox SET status = 'sending', holder = :node, attempts = attempts + 1, due_at = :until
 WHERE tenant = :tenant AND id = :id;

-- name: settle_delivery
-- Gives no row when the claim was lost.
UPDATE outbox SET status = :status, due_at = :due_at, error = :error, ended_at = :ended_at, holder = NULL
 WHERE tenant = :tenant AND id = :id AND status = 'sending' AND holder = :node
RETURNING id;

-- name: get_delivery
SELECT * FROM outbox WHERE tenant = :tenant AND id = :id;

-- name: list_deliveries
SELECT * FROM outbox
 WHERE tenant = :tenant AND id < :before AND (:status IS NULL OR status = :status)
 ORDER BY id DESC LIMIT :limit;

-- name: deliveries_of_session
SELECT * FROM outbox
 WHERE tenant = :tenant AND session_id = :session_id AND id < :before AND (:status IS NULL OR status = :status)
 ORDER BY id DESC LIMIT :limit;

-- name: retry_delivery
-- Gives no row unless it is over and was not sent for certain.
UPDATE outbox SET status = 'pending', due_at = :now, error = NULL, ended_at = NULL
 WHERE tenant = :tenant AND id = :id AND status IN ('failed', 'unknown')
RETURNING *;

-- name: get_effect
SELECT * FROM effects WHERE tenant = :tenant AND run_id = :run_id AND key = :key;

-- name: list_effects
SELECT * FROM effects WHERE tenant = :tenant AND run_id = :run_id ORDER BY started_at, key;

-- name: any_effect
-- What came out of a session is an effect too.
SELECT 1 AS found FROM effects WHERE tenant = :tenant AND run_id = :run_id
UNION ALL
SELECT 1 FROM outputs WHERE tenant = :tenant AND session_id = :session_id AND run_id = :run_id
LIMIT 1;

-- name: begin_effect
-- A second attempt keeps the moment of the first.
INSERT INTO effects (tenant, run_id, key, status, attempts, started_at)
VALUES (:tenant, :run_id, :key, 'started', 1, :now)
ON CONFLICT (tenant, run_id, key) DO UPDATE
   SET status = 'started', attempts = effects.attempts + 1, ended_at = NULL;

-- name: end_effect
UPDATE effects SET status = :status, result = :result, ended_at = :now
 WHERE tenant = :tenant AND run_id = :run_id AND key = :key;

-- name: checkpoints_of_run
SELECT run_id, no, at, data FROM checkpoints WHERE tenant = :tenant AND run_id = :run_id ORDER BY no;

-- name: last_resume
-- How the walk through the agent that is under way began: after an answer, or after its node was gone.
SELECT type, no, data FROM feed
 WHERE tenant = :tenant AND subject = :subject AND no >= :first AND run_id = :run_id
   AND type IN ('run.resumed', 'run.answered')
 ORDER BY no DESC LIMIT 1;

-- name: requeue_run
UPDATE runs SET status = 'queued', line_no = queue_no, wait_until = :wait_until, fence = NULL
 WHERE tenant = :tenant AND id = :run_id;

-- name: runs_to_forget
-- A walk over the runs that left checkpoints or effects, page by page; when each and its session ended.
SELECT k.tenant, k.run_id, r.ended_at, s.closed_at, s.classification
  FROM (SELECT tenant, run_id FROM checkpoints WHERE (tenant, run_id) > (:tenant, :run_id)
         UNION SELECT tenant, run_id FROM effects WHERE (tenant, run_id) > (:tenant, :run_id)
         ORDER BY tenant, run_id LIMIT :limit) k
  LEFT JOIN runs r ON r.tenant = k.tenant AND r.id = k.run_id
  LEFT JOIN sessions s ON s.tenant = r.tenant AND s.id = r.session_id AND r.custody = 'engine'
 ORDER BY k.tenant, k.run_id;

-- name: forget_checkpoints
DELETE FROM checkpoints WHERE tenant = :tenant AND run_id = :run_id;

-- name: forget_effects
DELETE FROM effects WHERE tenant = :tenant AND run_id = :run_id;

-- name: make_bucket
INSERT INTO buckets (tenant, name, tokens, filled_at) VALUES (:tenant, :name, :tokens, :filled_at)
ON CONFLICT (tenant, name) DO NOTHING;

-- name: read_bucket
SELECT tokens, filled_at FROM buckets WHERE tenant = :tenant AND name = :name;

-- name: look_into_bucket
SELECT tokens, filled_at FROM buckets WHERE tenant = :tenant AND name = :name;

-- name: put_bucket
UPDATE buckets SET tokens = :tokens, filled_at = :filled_at WHERE tenant = :tenant AND name = :name;

-- name: insert_layer
-- Gives no row when there is one of this id already.
INSERT INTO layers (tenant, level, id, project_id, name, status, revision, data, created_by, created_at, updated_at)
VALUES (:tenant, :level, :id, :project_id, :name, :status, :revision, :data, :created_by, :created_at, :updated_at)
ON CONFLICT (tenant, level, id) DO NOTHING
RETURNING id;

-- name: get_layer
SELECT * FROM layers WHERE tenant = :tenant AND level = :level AND id = :id;

-- name: layers_above
-- The tenant, the project and the objective of a session, as far as they are there.
SELECT * FROM layers WHERE tenant = :tenant AND level = 'tenant' AND id = :tenant
UNION ALL
SELECT * FROM layers WHERE tenant = :tenant AND level = 'project' AND id = :project_id
UNION ALL
SELECT * FROM layers WHERE tenant = :tenant AND level = 'objective' AND id = :objective_id;

-- name: list_layers
SELECT * FROM layers
 WHERE tenant = :tenant AND level = :level AND id < :before AND (:project_id IS NULL OR project_id = :project_id)
 ORDER BY id DESC LIMIT :limit;

-- name: list_tenants
-- For the operator: the layers of all tenants.
SELECT * FROM layers WHERE tenant > :after AND level = 'tenant' ORDER BY tenant LIMIT :limit;

-- name: change_layer
-- Changes no row when it has another revision by now.
UPDATE layers SET name = :name, status = :status, data = :data, updated_at = :updated_at, revision = revision + 1
 WHERE tenant = :tenant AND level = :level AND id = :id AND revision = :revision
RETURNING revision;

-- name: insert_user
INSERT INTO users (tenant, id, name, role, status, version, created_by, created_at, updated_at)
VALUES (:tenant, :id, :name, :role, :status, :version, :created_by, :created_at, :updated_at)
ON CONFLICT (tenant, id) DO NOTHING
RETURNING id;

-- name: get_user
SELECT * FROM users WHERE tenant = :tenant AND id = :id;

-- name: list_users
SELECT * FROM users WHERE tenant = :tenant AND id > :after ORDER BY id LIMIT :limit;

-- name: acting_owners
-- Whoever takes an owner away is alone with them until it has.
SELECT id FROM users WHERE tenant = :tenant AND role = 'owner' AND status = 'active';

-- name: change_user
UPDATE users SET name = :name, role = :role, status = :status, updated_at = :updated_at, version = version + 1
 WHERE tenant = :tenant AND id = :id AND version = :version
RETURNING version;

-- name: put_agent_definition
-- Changes no row when it has another version by now.
INSERT INTO agent_definitions (tenant, id, version, data, created_by, created_at, updated_at)
VALUES (:tenant, :id, 1, :data, :created_by, :created_at, :updated_at)
ON CONFLICT (tenant, id) DO UPDATE
   SET data = excluded.data, updated_at = excluded.updated_at, version = agent_definitions.version + 1
 WHERE :version IS NULL OR agent_definitions.version = :version
RETURNING *;

-- name: get_agent_definition
SELECT * FROM agent_definitions WHERE tenant = :tenant AND id = :id;

-- name: list_agent_definitions
SELECT * FROM agent_definitions WHERE tenant = :tenant AND id > :after ORDER BY id LIMIT :limit;

-- name: remove_agent_definition
DELETE FROM agent_definitions WHERE tenant = :tenant AND id = :id RETURNING id;

-- name: put_model_profile
INSERT INTO model_profiles (tenant, id, version, data, created_by, created_at, updated_at)
VALUES (:tenant, :id, 1, :data, :created_by, :created_at, :updated_at)
ON CONFLICT (tenant, id) DO UPDATE
   SET data = excluded.data, updated_at = excluded.updated_at, version = model_profiles.version + 1
 WHERE :version IS NULL OR model_profiles.version = :version
RETURNING *;

-- name: get_model_profile
SELECT * FROM model_profiles WHERE tenant = :tenant AND id = :id;

-- name: list_model_profiles
SELECT * FROM model_profiles WHERE tenant = :tenant AND id > :after ORDER BY id LIMIT :limit;

-- name: remove_model_profile
DELETE FROM model_profiles WHERE tenant = :tenant AND id = :id RETURNING id;

-- name: keep_context
INSERT INTO contexts (tenant, sha256, data, created_at) VALUES (:tenant, :hash, :data, :created_at)
ON CONFLICT (tenant, sha256) DO NOTHING
RETURNING sha256;

-- name: get_context
SELECT data FROM contexts WHERE tenant = :tenant AND sha256 = :hash;

-- name: put_layout
-- Only for a session that is there.
INSERT INTO layouts (tenant, session_id, data, saved_at)
SELECT s.tenant, s.id, :data, :saved_at FROM sessions s WHERE s.tenant = :tenant AND s.id = :session_id
ON CONFLICT (tenant, session_id) DO UPDATE SET data = excluded.data, saved_at = excluded.saved_at
RETURNING session_id;

-- name: get_layout
SELECT data FROM layouts WHERE tenant = :tenant AND session_id = :session_id;

-- name: drop_layout
DELETE FROM layouts WHERE tenant = :tenant AND session_id = :session_id RETURNING session_id;

-- name: claim_current
-- So that there is a row to hold on to, whoever comes first.
INSERT INTO current_sessions (tenant, owner, module, project_id, session_id)
VALUES (:tenant, :owner, :module, :project_id, '')
ON CONFLICT (tenant, owner, module, project_id) DO NOTHING;

-- name: find_current
-- Wherever it was begun: of those that live, the one that was used last.
SELECT * FROM sessions INDEXED BY sessions_by_owner
 WHERE tenant = :tenant AND owner = :owner AND module = :module AND COALESCE(project_id, '') = :project_id
   AND status IN ('active', 'paused')
   AND last_active_at + idle_for_seconds * 1000000 > :now AND (expires_by IS NULL OR expires_by > :now)
 ORDER BY last_active_at DESC, id DESC LIMIT 1;

-- name: put_current
UPDATE current_sessions SET session_id = :session_id
 WHERE tenant = :tenant AND owner = :owner AND module = :module AND project_id = :project_id;

-- name: start_run_count
INSERT INTO run_counts (tenant, month, runs) VALUES (:tenant, :month, 0) ON CONFLICT (tenant, month) DO NOTHING;

-- name: count_run
-- Changes no row when the quota is used up.
UPDATE run_counts SET runs = runs + 1 WHERE tenant = :tenant AND month = :month AND runs < :most RETURNING runs;

-- name: read_run_count
SELECT runs FROM run_counts WHERE tenant = :tenant AND month = :month;

-- name: living_sessions
-- How many sessions of a tenant live; one whose time is over, but whom nobody has told so, does not.
SELECT count(*) AS found FROM sessions INDEXED BY sessions_alive
 WHERE tenant = :tenant AND status IN ('active', 'paused')
   AND last_active_at + idle_for_seconds * 1000000 > :now AND (expires_by IS NULL OR expires_by > :now);

-- name: session_events
SELECT * FROM feed
 WHERE tenant = :tenant AND subject = :subject AND type = 'session.changed' AND no > :after
 ORDER BY no LIMIT :limit;

-- name: first_run_after
SELECT * FROM feed
 WHERE tenant = :tenant AND subject = :subject AND type = 'run.accepted' AND no > :after
 ORDER BY no LIMIT 1;

-- name: count_sessions
SELECT count(*) AS found FROM sessions
 WHERE tenant = :tenant AND (:owner IS NULL OR owner = :owner) AND (:status IS NULL OR status = :status)
   AND (:module IS NULL OR module = :module) AND (:project_id IS NULL OR project_id = :project_id)
   AND (:agent IS NULL OR agent = :agent) AND (:title IS NULL OR instr(lower(title), :title) > 0)
   AND (:created_from IS NULL OR created_at >= :created_from) AND (:created_until IS NULL OR created_at < :created_until)
   AND (:active_from IS NULL OR last_active_at >= :active_from)
   AND (:active_until IS NULL OR last_active_at < :active_until) AND (:fork_of IS NULL OR fork_of = :fork_of);

-- name: count_runs_of_session
SELECT count(*) AS found FROM runs INDEXED BY runs_of_session
 WHERE tenant = :tenant AND session_id = :session_id AND custody = 'engine';

-- name: insert_approval
INSERT INTO approvals (tenant, id, run_id, session_id, action, gate, required_role, data, status, requested_at, due_at)
VALUES (:tenant, :id, :run_id, :session_id, :action, :gate, :required_role, :data, :status, :requested_at, :due_at);

-- name: get_approval
SELECT * FROM approvals WHERE tenant = :tenant AND id = :id;

-- name: list_approvals
SELECT a.* FROM approvals a
 WHERE a.tenant = :tenant AND a.id < :before
   AND (:session_id IS NULL OR a.session_id = :session_id)
   AND (:status IS NULL OR a.status = :status)
   AND (:owner IS NULL
        OR EXISTS (SELECT 1 FROM sessions s WHERE s.tenant = a.tenant AND s.id = a.session_id AND s.owner = :owner))
 ORDER BY a.id DESC LIMIT :limit;

-- name: list_pending_approvals
SELECT a.* FROM approvals a INDEXED BY approvals_pending
 WHERE a.tenant = :tenant AND a.status = 'pending' AND a.id < :before
   AND (:session_id IS NULL OR a.session_id = :session_id)
   AND (:owner IS NULL
        OR EXISTS (SELECT 1 FROM sessions s WHERE s.tenant = a.tenant AND s.id = a.session_id AND s.owner = :owner))
 ORDER BY a.id DESC LIMIT :limit;

-- name: decide_approval
UPDATE approvals SET status = :status, decided_at = :now, decided_by = :by, reason = :reason
 WHERE tenant = :tenant AND id = :id AND status = 'pending';

-- name: cancel_approvals
UPDATE approvals INDEXED BY approvals_of_run SET status = 'cancelled', decided_at = :now
 WHERE tenant = :tenant AND run_id = :run_id AND status = 'pending';

-- name: cancel_approvals_of_session
UPDATE approvals INDEXED BY approvals_of_session SET status = 'cancelled', decided_at = :now
 WHERE tenant = :tenant AND session_id = :session_id AND status = 'pending';

-- name: escalate_approval
-- Gives no row when it was decided or escalated meanwhile.
UPDATE approvals SET required_role = :required_role, due_at = :due_at
 WHERE tenant = :tenant AND id = :id AND status = 'pending' AND due_at = :from_due
RETURNING id;

-- name: due_approvals
-- A walk over those of every tenant, page by page.
SELECT * FROM approvals
 WHERE status = 'pending' AND due_at <= :now AND (tenant, id) > (:tenant, :id)
 ORDER BY tenant, id LIMIT :limit;

-- Artifacts, manifests, pointers and outputs

-- name: insert_blob
-- No row comes back when the tenant has this content already.
INSERT INTO blobs (tenant, sha256, size, content) VALUES (:tenant, :hash, :size, :content)
ON CONFLICT DO NOTHING RETURNING sha256;

-- name: hold_blob
-- Content that is there stays there until the end of this transaction.
SELECT * FROM blobs WHERE tenant = :tenant AND sha256 = :hash;

-- name: get_blob
SELECT * FROM blobs WHERE tenant = :tenant AND sha256 = :hash;

-- name: insert_piece
INSERT INTO blob_pieces (tenant, content, no, sha256, data) VALUES (:tenant, :content, :no, :hash, :data);

-- name: pieces_of_blob
SELECT no, sha256, length(data) AS size FROM blob_pieces WHERE tenant = :tenant AND content = :content ORDER BY no;

-- name: get_piece
SELECT data FROM blob_pieces WHERE tenant = :tenant AND content = :content AND no = :no;

-- name: hold_pieces
-- What is held here is not swept away before it has its blob.
SELECT no FROM blob_pieces WHERE tenant = :tenant AND content = :content;

-- name: drop_pieces
DELETE FROM blob_pieces WHERE tenant = :tenant AND content = :content;

-- name: insert_artifact
INSERT INTO artifacts (tenant, id, sha256, media_type, name, size, created_by, created_at)
VALUES (:tenant, :id, :hash, :media_type, :name, :size, :created_by, :created_at)
ON CONFLICT (tenant, id) DO NOTHING;

-- name: get_artifact
SELECT * FROM artifacts WHERE tenant = :tenant AND id = :id;

-- name: list_artifacts
SELECT * FROM artifacts
 WHERE tenant = :tenant AND id < :before AND created_by = COALESCE(:user, created_by)
 ORDER BY id DESC LIMIT :limit;

-- name: artifacts_of_content
SELECT * FROM artifacts INDEXED BY artifacts_by_content WHERE tenant = :tenant AND sha256 = :hash ORDER BY created_at, id;

-- name: kept_contents
SELECT DISTINCT sha256 FROM artifacts INDEXED BY artifacts_by_content
 WHERE tenant = :tenant AND sha256 IN (SELECT value FROM json_each(:hashes));

-- name: content_in_a_manifest
SELECT 1 AS found FROM manifest_entries WHERE tenant = :tenant AND sha256 = :hash LIMIT 1;

-- name: hold_contents
-- What is held here is not collected before its manifest is there.
SELECT sha256, size FROM blobs WHERE tenant = :tenant AND sha256 IN (SELECT value FROM json_each(:hashes)) ORDER BY sha256;

-- name: contents_open_to
-- What a user kept, and what is in a manifest already.
SELECT sha256 FROM artifacts INDEXED BY artifacts_by_content
 WHERE tenant = :tenant AND sha256 IN (SELECT value FROM json_each(:hashes)) AND created_by = :user_id
UNION
SELECT sha256 FROM manifest_entries INDEXED BY manifest_entries_by_content
 WHERE tenant = :tenant AND sha256 IN (SELECT value FROM json_each(:hashes));

-- name: insert_manifest
-- No row comes back when the same tree is there already.
INSERT INTO manifests (tenant, sha256, parent_sha256, entry_count, total_size, metadata, message, created_by,
                       created_at)
VALUES (:tenant, :hash, :parent, :entry_count, :total_size, :metadata, :message, :created_by, :created_at)
ON CONFLICT DO NOTHING RETURNING sha256;

-- name: insert_manifest_entry
INSERT INTO manifest_entries (tenant, manifest, no, path, sha256, metadata)
VALUES (:tenant, :manifest, :no, :path, :hash, :metadata);

-- name: get_manifest
SELECT * FROM manifests WHERE tenant = :tenant AND sha256 = :hash;

-- name: manifest_entries
SELECT * FROM manifest_entries WHERE tenant = :tenant AND manifest = :hash AND no > :after ORDER BY no LIMIT :limit;

-- name: manifest_entry
SELECT * FROM manifest_entries WHERE tenant = :tenant AND manifest = :hash AND path = :path;

-- name: manifest_history
-- A parent is there before its child, so that the walk comes to an end.
WITH RECURSIVE line AS (
    SELECT m.*, 1 AS step FROM manifests m WHERE m.tenant = :tenant AND m.sha256 = :hash
    UNION ALL
    SELECT m.*, line.step + 1 FROM manifests m JOIN line ON m.tenant = line.tenant AND m.sha256 = line.parent_sha256
     WHERE line.step < :limit
)
SELECT * FROM line ORDER BY step;

-- name: insert_pointer
INSERT INTO pointers (tenant, id, namespace, name, kind, manifest, description, metadata, moves, created_by,
                      created_at, updated_at)
VALUES (:tenant, :id, :namespace, :name, :kind, :manifest, :description, :metadata, :moves, :created_by,
        :created_at, :updated_at);

-- name: get_pointer
SELECT * FROM pointers WHERE tenant = :tenant AND id = :id;

-- name: hold_pointer
-- Whoever holds it is alone with it until the end of its transaction.
SELECT * FROM pointers WHERE tenant = :tenant AND id = :id AND deleted_at IS NULL;

-- name: pointer_named
SELECT * FROM pointers
 WHERE tenant = :tenant AND namespace = :namespace AND name = :name AND deleted_at IS NULL;

-- name: list_pointers
SELECT * FROM pointers
 WHERE tenant = :tenant AND id < :before AND deleted_at IS NULL
   AND namespace = COALESCE(:namespace, namespace) AND kind = COALESCE(:kind, kind)
 ORDER BY id DESC LIMIT :limit;

-- name: move_pointer
UPDATE pointers SET manifest = :manifest, moves = :moves, updated_at = :updated_at, deleted_at = :deleted_at
 WHERE tenant = :tenant AND id = :id;

-- name: append_move
INSERT INTO pointer_moves (tenant, pointer_id, no, operation, old, new, reason, session_id, run_id, moved_by,
                           moved_at)
VALUES (:tenant, :pointer_id, :no, :operation, :old, :new, :reason, :session_id, :run_id, :moved_by, :moved_at);

-- name: pointer_history
SELECT * FROM pointer_moves
 WHERE tenant = :tenant AND pointer_id = :pointer_id AND no < :before ORDER BY no DESC LIMIT :limit;

-- name: insert_output
-- What a client keeps the session of belongs to no epoch of ours.
INSERT INTO outputs (tenant, session_id, no, run_id, kind, ref, data, at, epoch)
VALUES (:tenant, :session_id, :no, :run_id, :kind, :ref, :data, :now,
        COALESCE((SELECT s.epoch FROM sessions s WHERE s.tenant = :tenant AND s.id = :session_id), 0));

-- name: known_output
-- What came out before a reset may come out again.
SELECT 1 AS found FROM outputs
 WHERE tenant = :tenant AND session_id = :session_id AND ref = :ref AND kind = :kind
   AND epoch = COALESCE((SELECT s.epoch FROM sessions s WHERE s.tenant = :tenant AND s.id = :session_id), 0)
 LIMIT 1;

-- name: list_outputs
SELECT * FROM outputs
 WHERE tenant = :tenant AND session_id = :session_id AND no > :after
   AND kind = COALESCE(:kind, kind) AND (:run_id IS NULL OR run_id = :run_id)
 ORDER BY no LIMIT :limit;

-- name: count_outputs
SELECT kind, COUNT(*) AS count FROM outputs
 WHERE tenant = :tenant AND session_id = :session_id AND (:run_id IS NULL OR run_id = :run_id)
 GROUP BY kind;

-- name: accounts_of_session
SELECT id, account FROM runs
 WHERE tenant = :tenant AND session_id = :session_id AND custody = 'engine' AND id > :after
 ORDER BY id LIMIT :limit;

-- name: newest_outputs
SELECT * FROM outputs WHERE tenant = :tenant AND session_id = :session_id ORDER BY no DESC LIMIT :limit;

-- name: storage_of_sessions
-- What the messages of a session take, and the content that came out of it.
SELECT s.id, s.classification,
       (SELECT COALESCE(SUM(length(CAST(m.content AS BLOB)) + COALESCE(length(CAST(m.event AS BLOB)), 0)), 0) FROM messages m
         WHERE m.tenant = s.tenant AND m.session_id = s.id) AS message_bytes,
       (SELECT COALESCE(SUM(json_extract(o.data, '$.size')), 0) FROM outputs o
         WHERE o.tenant = s.tenant AND o.session_id = s.id AND o.kind = 'artifact') AS output_bytes
  FROM sessions s WHERE s.tenant = :tenant AND s.id >= :first AND s.id > :after ORDER BY s.id LIMIT :limit;

-- name: stored_bytes
SELECT COALESCE(SUM(size), 0) AS found FROM blobs WHERE tenant = :tenant;

-- name: storage_totals
SELECT (SELECT COUNT(*) FROM blobs WHERE tenant = :tenant) AS blobs,
       (SELECT COALESCE(SUM(size), 0) FROM blobs WHERE tenant = :tenant) AS blob_bytes,
       (SELECT COUNT(*) FROM artifacts WHERE tenant = :tenant) AS artifacts,
       (SELECT COUNT(*) FROM manifests WHERE tenant = :tenant) AS manifests;

-- What a session reaches through its pointers

-- name: living_pointers
SELECT id FROM pointers WHERE tenant = :tenant AND id IN (SELECT value FROM json_each(:ids)) AND deleted_at IS NULL;

-- name: manifest_in_reach
-- Where one of these pointers stands or stood, what one is fixed to, or what came out of the session since its last reset.
SELECT 1 AS found FROM pointer_moves INDEXED BY pointer_moves_by_manifest
 WHERE tenant = :tenant AND new = :hash AND pointer_id IN (SELECT value FROM json_each(:followed))
UNION ALL
SELECT 1 FROM outputs INDEXED BY outputs_by_ref
 WHERE tenant = :tenant AND ref = :hash AND session_id = :session_id AND kind = 'manifest'
   AND epoch = COALESCE((SELECT s.epoch FROM sessions s WHERE s.tenant = :tenant AND s.id = :session_id), 0)
LIMIT 1;

-- name: content_in_reach
-- In a manifest that is held, or brought out by the session itself since its last reset.
SELECT 1 AS found FROM outputs INDEXED BY outputs_by_ref
 WHERE tenant = :tenant AND ref = :hash AND session_id = :session_id AND kind = 'artifact'
   AND epoch = COALESCE((SELECT s.epoch FROM sessions s WHERE s.tenant = :tenant AND s.id = :session_id), 0)
UNION ALL
SELECT 1 FROM manifest_entries e INDEXED BY manifest_entries_by_content
 WHERE e.tenant = :tenant AND e.sha256 = :hash
   AND (e.manifest IN (SELECT value FROM json_each(:fixed))
        OR EXISTS (SELECT 1 FROM pointer_moves p INDEXED BY pointer_moves_by_manifest
                    WHERE p.tenant = :tenant AND p.new = e.manifest AND p.pointer_id IN (SELECT value FROM json_each(:followed)))
        OR EXISTS (SELECT 1 FROM outputs o INDEXED BY outputs_by_ref
                    WHERE o.tenant = :tenant AND o.ref = e.manifest AND o.session_id = :session_id
                      AND o.kind = 'manifest'
                      AND o.epoch = COALESCE((SELECT s.epoch FROM sessions s WHERE s.tenant = :tenant AND s.id = :session_id), 0)))
LIMIT 1;

-- What nobody refers to

-- name: open_collection
INSERT INTO doors (tenant, name) VALUES ('-', 'collection');

-- name: close_collection
DELETE FROM doors WHERE tenant = '-' AND name = 'collection';

-- name: tenants_with_content
SELECT tenant FROM blobs UNION SELECT tenant FROM blob_pieces ORDER BY tenant;

-- name: loose_blobs
-- Content that is in no manifest and no output, and was last kept before a moment.
SELECT b.* FROM blobs b
 WHERE b.tenant = :tenant AND b.sha256 > :after
   AND NOT EXISTS (SELECT 1 FROM manifest_entries e INDEXED BY manifest_entries_by_content
                    WHERE e.tenant = b.tenant AND e.sha256 = b.sha256)
   AND NOT EXISTS (SELECT 1 FROM outputs o INDEXED BY outputs_by_ref WHERE o.tenant = b.tenant AND o.ref = b.sha256)
   AND NOT EXISTS (SELECT 1 FROM artifacts a INDEXED BY artifacts_by_content
                    WHERE a.tenant = b.tenant AND a.sha256 = b.sha256 AND a.created_at >= :before)
 ORDER BY b.sha256 LIMIT :limit;

-- name: is_loose
SELECT 1 AS found FROM blobs b
 WHERE b.tenant = :tenant AND b.sha256 = :hash
   AND NOT EXISTS (SELECT 1 FROM manifest_entries e INDEXED BY manifest_entries_by_content
                    WHERE e.tenant = b.tenant AND e.sha256 = b.sha256)
   AND NOT EXISTS (SELECT 1 FROM outputs o INDEXED BY outputs_by_ref WHERE o.tenant = b.tenant AND o.ref = b.sha256)
   AND NOT EXISTS (SELECT 1 FROM artifacts a INDEXED BY artifacts_by_content
                    WHERE a.tenant = b.tenant AND a.sha256 = b.sha256 AND a.created_at >= :before);

-- name: claim_blob
-- Whoever wants to refer to it waits for the end of this transaction, and then finds it gone or still there.
SELECT * FROM blobs WHERE tenant = :tenant AND sha256 = :hash AND content = :content;

-- name: remove_artifacts
DELETE FROM artifacts WHERE tenant = :tenant AND sha256 = :hash;

-- name: remove_blob
DELETE FROM blobs WHERE tenant = :tenant AND sha256 = :hash;

-- name: messages_that_mention
SELECT session_id, seq, event FROM messages
 WHERE tenant = :tenant AND (session_id, seq) > (:session_id, :seq) ORDER BY session_id, seq LIMIT :limit;

-- name: runs_that_mention
-- What was sent and is no message, or none yet.
SELECT id, session_id, input FROM runs WHERE tenant = :tenant AND id > :after ORDER BY id LIMIT :limit;

-- name: inputs_since
SELECT input FROM runs WHERE tenant = :tenant AND id > :after AND input IS NOT NULL;

-- name: sessions_that_mention
SELECT id, mounts, archive, removed FROM sessions
 WHERE tenant = :tenant AND id > :after ORDER BY id LIMIT :limit;

-- name: content_pinned
SELECT mounts FROM sessions INDEXED BY sessions_that_pin_content
 WHERE tenant = :tenant AND instr(mounts, '"artifact"') > 0;

-- name: contexts_since
SELECT data FROM contexts WHERE tenant = :tenant AND created_at >= :since;

-- name: contexts_that_mention
SELECT sha256 AS id, data FROM contexts WHERE tenant = :tenant AND sha256 > :after ORDER BY sha256 LIMIT :limit;

-- name: layers_that_mention
SELECT data FROM layers WHERE tenant = :tenant;

-- name: loose_uploads
-- Uploads are named after the moment they began, so that old ones come first.
SELECT p.content FROM blob_pieces p
 WHERE p.tenant = :tenant AND p.no = 0 AND p.content >= 'upl_' AND p.content < :before
   AND NOT EXISTS (SELECT 1 FROM blobs b WHERE b.tenant = p.tenant AND b.content = p.content)
 LIMIT :limit;

-- name: claim_pieces
SELECT no FROM blob_pieces WHERE tenant = :tenant AND content = :content;

-- name: known_uploads
SELECT content FROM blobs WHERE tenant = :tenant AND content IN (SELECT value FROM json_each(:contents));

-- name: awaited_session
-- Whether a run of the session waits for an approval.
SELECT 1 AS is_awaited
  FROM approvals a INDEXED BY approvals_of_session
 CROSS JOIN runs r ON r.tenant = a.tenant AND r.id = a.run_id
 WHERE a.tenant = :tenant AND a.session_id = :session_id AND a.status = 'pending' AND r.status = 'waiting' LIMIT 1;

-- Exporting, erasing, archiving.

-- name: open_erasure
INSERT INTO doors (tenant, name) VALUES ('-', 'erasure');

-- name: close_erasure
DELETE FROM doors WHERE tenant = '-' AND name = 'erasure';

-- name: erase_unit_search
DELETE FROM unit_search
 WHERE rowid IN (SELECT search_row FROM units WHERE tenant = :tenant AND place = :session_id);

-- name: erase_checkpoints
DELETE FROM checkpoints WHERE tenant = :tenant AND run_id IN (SELECT id FROM runs INDEXED BY runs_of_session
                                           WHERE tenant = :tenant AND session_id = :session_id AND subject = :subject);

-- name: erase_effects
DELETE FROM effects WHERE tenant = :tenant AND run_id IN (SELECT id FROM runs INDEXED BY runs_of_session
                                           WHERE tenant = :tenant AND session_id = :session_id AND subject = :subject);

-- name: erase_approvals
DELETE FROM approvals WHERE tenant = :tenant AND run_id IN (SELECT id FROM runs INDEXED BY runs_of_session
                                           WHERE tenant = :tenant AND session_id = :session_id AND subject = :subject);

-- name: erase_outbox
DELETE FROM outbox WHERE tenant = :tenant AND run_id IN (SELECT id FROM runs INDEXED BY runs_of_session
                                           WHERE tenant = :tenant AND session_id = :session_id AND subject = :subject);

-- name: erase_explanations
DELETE FROM explanations WHERE tenant = :tenant AND session_id = :session_id
   AND run_id IN (SELECT id FROM runs INDEXED BY runs_of_session
                                           WHERE tenant = :tenant AND session_id = :session_id AND subject = :subject);

-- name: erase_requests
-- A session that was begun without a message is kept with its request under its own id.
DELETE FROM requests WHERE tenant = :tenant AND (run_id = :session_id
   OR run_id IN (SELECT id FROM runs INDEXED BY runs_of_session
                                           WHERE tenant = :tenant AND session_id = :session_id AND subject = :subject));

-- name: erase_chunks
DELETE FROM chunks WHERE tenant = :tenant AND subject = :subject;

-- name: erase_feed
DELETE FROM feed WHERE tenant = :tenant AND subject = :subject;

-- name: erase_runs
DELETE FROM runs INDEXED BY runs_of_session WHERE tenant = :tenant AND session_id = :session_id AND subject = :subject;

-- name: erase_messages
DELETE FROM messages WHERE tenant = :tenant AND session_id = :session_id;

-- name: erase_turns
DELETE FROM turns WHERE tenant = :tenant AND session_id = :session_id;

-- name: erase_epochs
DELETE FROM epochs WHERE tenant = :tenant AND session_id = :session_id;

-- name: erase_outputs
DELETE FROM outputs WHERE tenant = :tenant AND session_id = :session_id;

-- name: erase_layouts
DELETE FROM layouts WHERE tenant = :tenant AND session_id = :session_id;

-- name: erase_current_sessions
DELETE FROM current_sessions WHERE tenant = :tenant AND session_id = :session_id;

-- name: erase_units
DELETE FROM units WHERE tenant = :tenant AND place = :session_id;

-- name: erase_sessions
DELETE FROM sessions WHERE tenant = :tenant AND id = :session_id;

-- name: erase_manifests
-- Changes no row while another session, a pointer that is not deleted or a later manifest names it.
DELETE FROM manifests WHERE tenant = :tenant AND sha256 = :hash
   AND NOT EXISTS (SELECT 1 FROM outputs o WHERE o.tenant = :tenant AND o.ref = :hash)
   AND NOT EXISTS (SELECT 1 FROM pointers p WHERE p.tenant = :tenant AND p.manifest = :hash AND p.deleted_at IS NULL)
   AND NOT EXISTS (SELECT 1 FROM pointer_moves w JOIN pointers p ON p.tenant = w.tenant AND p.id = w.pointer_id
                    WHERE w.tenant = :tenant AND w.new = :hash AND p.deleted_at IS NULL)
   AND NOT EXISTS (SELECT 1 FROM manifests c WHERE c.tenant = :tenant AND c.parent_sha256 = :hash);

-- name: erase_manifest_entries
DELETE FROM manifest_entries WHERE tenant = :tenant AND manifest = :hash;

-- name: erase_artifacts
DELETE FROM artifacts WHERE tenant = :tenant AND id = :id;

-- name: erase_pointer_moves
-- They are put back without what the session said.
DELETE FROM pointer_moves WHERE tenant = :tenant AND session_id = :session_id;

-- name: erase_requests_of_user
DELETE FROM requests WHERE tenant = :tenant AND user_id = :user;

-- name: erase_contacts_of_user
DELETE FROM contacts WHERE tenant = :tenant AND user_id = :user;

-- name: erase_users
DELETE FROM users WHERE tenant = :tenant AND id = :user;

-- name: erase_contacts
-- The address stays; its next message begins a new session.
UPDATE contacts SET session_id = NULL WHERE tenant = :tenant AND session_id = :session_id;

-- name: erase_forks
-- What they shared is gone; they say so.
UPDATE sessions SET fork_of = '-', version = version + 1 WHERE tenant = :tenant AND fork_of = :session_id;

-- name: quiet_lease
-- Whoever runs has lost the right to write; nothing but the counters stays.
UPDATE leases SET holder = NULL, run_id = NULL, expires_at = 0, fence = fence + 1, queued = 0,
       stop_how = NULL, stop_by = NULL WHERE tenant = :tenant AND subject = :subject;

-- name: rename_in_runs
UPDATE runs SET user_id = :pseudonym WHERE tenant = :tenant AND user_id = :user;

-- name: rename_in_approvals
UPDATE approvals SET decided_by = :pseudonym, reason = NULL WHERE tenant = :tenant AND decided_by = :user;

-- name: rename_in_pack_overrides
UPDATE pack_overrides SET changed_by = :pseudonym WHERE tenant = :tenant AND changed_by = :user;

-- name: rename_in_knowledge_bases
UPDATE knowledge_bases SET created_by = :pseudonym WHERE tenant = :tenant AND created_by = :user;

-- name: rename_in_bindings
UPDATE bindings SET created_by = :pseudonym WHERE tenant = :tenant AND created_by = :user;

-- name: rename_in_layers
UPDATE layers SET created_by = :pseudonym WHERE tenant = :tenant AND created_by = :user;

-- name: rename_in_users
UPDATE users SET created_by = :pseudonym WHERE tenant = :tenant AND created_by = :user;

-- name: rename_in_agent_definitions
UPDATE agent_definitions SET created_by = :pseudonym WHERE tenant = :tenant AND created_by = :user;

-- name: rename_in_model_profiles
UPDATE model_profiles SET created_by = :pseudonym WHERE tenant = :tenant AND created_by = :user;

-- name: rename_in_pointers
UPDATE pointers SET created_by = :pseudonym WHERE tenant = :tenant AND created_by = :user;

-- name: sessions_of_owner
SELECT id AS session_id, id AS subject FROM sessions WHERE tenant = :tenant AND owner = :user ORDER BY id;

-- name: carried_by_user
-- Where somebody else keeps the session, and the runs are ours.
SELECT DISTINCT session_id, subject FROM runs WHERE tenant = :tenant AND user_id = :user AND custody <> 'engine'
 ORDER BY session_id, subject;

-- name: events_of_session
SELECT seq, event FROM messages
 WHERE tenant = :tenant AND session_id = :session_id AND seq > :seq AND event IS NOT NULL ORDER BY seq LIMIT :limit;

-- name: inputs_of_session
SELECT id, input FROM runs
 WHERE tenant = :tenant AND session_id = :session_id AND subject = :subject AND id > :after ORDER BY id LIMIT :limit;

-- name: manifests_of_session
-- Those that came out of it, and the one of its archive; the newest first.
SELECT m.sha256, m.created_at FROM manifests m JOIN outputs o ON o.tenant = m.tenant AND o.ref = m.sha256
 WHERE m.tenant = :tenant AND o.session_id = :session_id AND o.kind = 'manifest'
UNION
SELECT m.sha256, m.created_at FROM sessions s
  JOIN manifest_entries e ON e.tenant = s.tenant AND e.sha256 = s.archive
  JOIN manifests m ON m.tenant = e.tenant AND m.sha256 = e.manifest AND m.entry_count = 1
 WHERE s.tenant = :tenant AND s.id = :session_id
 ORDER BY created_at DESC, sha256;

-- name: contents_of_session
-- What it brought out, and its archive.
SELECT o.ref AS sha256 FROM outputs o WHERE o.tenant = :tenant AND o.session_id = :session_id AND o.kind = 'artifact'
UNION
SELECT e.sha256 FROM manifest_entries e JOIN outputs o ON o.tenant = e.tenant AND o.ref = e.manifest
 WHERE e.tenant = :tenant AND o.session_id = :session_id AND o.kind = 'manifest'
UNION
SELECT s.archive FROM sessions s WHERE s.tenant = :tenant AND s.id = :session_id AND s.archive IS NOT NULL;

-- name: artifacts_of_user
SELECT id, sha256 FROM artifacts WHERE tenant = :tenant AND created_by = :user ORDER BY id;

-- name: moves_of_session
SELECT * FROM pointer_moves WHERE tenant = :tenant AND session_id = :session_id ORDER BY pointer_id, no;

-- name: sessions_after
-- How many go on from it with a copy of what was said last.
SELECT COUNT(*) AS found FROM sessions WHERE tenant = :tenant AND from_session_id = :session_id;

-- name: sources_of_session
SELECT COUNT(*) AS found FROM sources WHERE tenant = :tenant AND name = :name;

-- name: stays_of_user
-- Where the database itself refuses to change a row.
SELECT 'packs' AS place, COUNT(*) AS found FROM packs WHERE tenant = :tenant AND pushed_by = :user
UNION ALL
SELECT 'manifests', COUNT(*) FROM manifests WHERE tenant = :tenant AND created_by = :user
UNION ALL
SELECT 'pointer_moves', COUNT(*) FROM pointer_moves WHERE tenant = :tenant AND moved_by = :user
UNION ALL
SELECT 'artifacts', COUNT(*) FROM artifacts WHERE tenant = :tenant AND created_by = :user;

-- name: insert_receipt
INSERT INTO receipts (tenant, id, kind, subject, data, erased_by, erased_at)
VALUES (:tenant, :id, :kind, :subject, :data, :erased_by, :erased_at);

-- name: get_receipt
SELECT * FROM receipts WHERE tenant = :tenant AND id = :id;

-- name: list_receipts
SELECT * FROM receipts WHERE tenant = :tenant AND id < :before ORDER BY id DESC LIMIT :limit;

-- name: receipts_since
-- Of every tenant: what lies outside of the database is cleared by whoever looks.
SELECT * FROM receipts WHERE erased_at >= :since AND (tenant, id) > (:tenant, :after) ORDER BY tenant, id LIMIT :limit;

-- name: sessions_that_are_over
-- Of every tenant.
SELECT tenant, id, closed_at, classification, archived_at FROM sessions
 WHERE (tenant, id) > (:tenant, :after) AND closed_at IS NOT NULL AND closed_at <= :before
 ORDER BY tenant, id LIMIT :limit;

-- name: mark_archived
UPDATE sessions SET archived_at = :now, archive = :hash
 WHERE tenant = :tenant AND id = :session_id AND archived_at IS NULL AND closed_at IS NOT NULL
RETURNING status;

-- name: export_turns
SELECT * FROM turns
 WHERE tenant = :tenant AND session_id = :session_id AND number > :after ORDER BY number LIMIT :limit;

-- name: export_epochs
SELECT * FROM epochs
 WHERE tenant = :tenant AND session_id = :session_id AND number > :after ORDER BY number LIMIT :limit;

-- name: export_units
SELECT * FROM units
 WHERE tenant = :tenant AND place = :session_id AND no > :after ORDER BY no LIMIT :limit;

-- name: export_runs
SELECT * FROM runs
 WHERE tenant = :tenant AND session_id = :session_id AND subject = :subject AND id > :after ORDER BY id LIMIT :limit;

-- name: export_explanations
SELECT * FROM explanations
 WHERE tenant = :tenant AND session_id = :session_id
   AND run_id IN (SELECT id FROM runs INDEXED BY runs_of_session
                                           WHERE tenant = :tenant AND session_id = :session_id AND subject = :subject)
   AND run_id > :after ORDER BY run_id LIMIT :limit;

-- name: export_feed
SELECT * FROM feed
 WHERE tenant = :tenant AND subject = :subject AND no > :after ORDER BY no LIMIT :limit;

-- name: export_outputs
SELECT * FROM outputs
 WHERE tenant = :tenant AND session_id = :session_id AND no > :after ORDER BY no LIMIT :limit;

-- name: export_approvals
SELECT * FROM approvals
 WHERE tenant = :tenant AND run_id IN (SELECT id FROM runs INDEXED BY runs_of_session
                                           WHERE tenant = :tenant AND session_id = :session_id AND subject = :subject)
   AND id > :after ORDER BY id LIMIT :limit;

-- name: export_deliveries
SELECT * FROM outbox
 WHERE tenant = :tenant AND run_id IN (SELECT id FROM runs INDEXED BY runs_of_session
                                           WHERE tenant = :tenant AND session_id = :session_id AND subject = :subject)
   AND id > :after ORDER BY id LIMIT :limit;

-- name: export_checkpoints
SELECT * FROM checkpoints
 WHERE tenant = :tenant AND run_id = :session_id AND no > :after ORDER BY no LIMIT :limit;

-- name: export_effects
SELECT * FROM effects
 WHERE tenant = :tenant AND run_id = :session_id AND key > :after ORDER BY key LIMIT :limit;

-- name: export_contacts
SELECT * FROM contacts WHERE tenant = :tenant AND user_id = :user ORDER BY binding, address;

-- name: load_device
SELECT * FROM device_sessions WHERE tenant = :tenant AND user_id = :user AND id = :session_id;

-- name: keep_device
-- Changes no row when another version is there than the one it takes the place of; the caller then raises SessionMoved.
INSERT INTO device_sessions (tenant, user_id, id, fields, kept_at, version)
SELECT :tenant, :user, :session_id, :fields, :now, 1
 WHERE :version = 0
    OR EXISTS (SELECT 1 FROM device_sessions WHERE tenant = :tenant AND user_id = :user AND id = :session_id)
ON CONFLICT (tenant, user_id, id) DO UPDATE
   SET fields = excluded.fields, kept_at = excluded.kept_at, version = device_sessions.version + 1
 WHERE device_sessions.version = :version;

-- name: list_seal_keys
SELECT * FROM seal_keys WHERE tenant = :tenant ORDER BY created_at, id;

-- name: make_first_seal_key
INSERT INTO seal_keys (tenant, id, key, created_at)
SELECT :tenant, :id, :key, :created_at
 WHERE NOT EXISTS (SELECT 1 FROM seal_keys WHERE tenant = :tenant AND retired_at IS NULL);

-- name: add_seal_key
INSERT INTO seal_keys (tenant, id, key, created_at) VALUES (:tenant, :id, :key, :created_at);

-- name: retire_seal_key
UPDATE seal_keys SET key = NULL, retired_at = COALESCE(retired_at, :now) WHERE tenant = :tenant AND id = :id;

-- name: newest_revision
SELECT revision FROM carried_revisions WHERE tenant = :tenant AND user_id = :user AND session_id = :session_id;

-- name: remember_revision
-- Changes no row when the session has gone on from a newer state; the caller then raises CarriedStale.
INSERT INTO carried_revisions (tenant, user_id, session_id, revision, at)
VALUES (:tenant, :user, :session_id, :revision, :now)
ON CONFLICT (tenant, user_id, session_id) DO UPDATE SET revision = excluded.revision, at = excluded.at
 WHERE carried_revisions.revision <= :sent;

-- name: revisions_of_user
SELECT session_id, revision FROM carried_revisions WHERE tenant = :tenant AND user_id = :user ORDER BY session_id;

-- name: erase_carried_revisions
DELETE FROM carried_revisions WHERE tenant = :tenant AND user_id = :user;

-- name: erase_device_sessions
DELETE FROM device_sessions WHERE tenant = :tenant AND user_id = :user;

-- name: count_live_keys
SELECT COUNT(*) AS found FROM api_keys INDEXED BY api_keys_by_user
 WHERE tenant = :tenant AND user_id = :user AND kind = :kind
   AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > :created_at);

-- name: add_key
INSERT INTO api_keys (tenant, id, kind, name, user_id, role, digest, grants, limited_to, session_id, is_operator, per_second,
                      burst, parent, created_by, created_at, expires_at)
VALUES (:tenant, :id, :kind, :name, :user, :role, :digest, :grants, :limited_to, :session_id, :is_operator, :per_second,
        :burst, :parent, :created_by, :created_at, :expires_at);

-- name: drop_old_logins
DELETE FROM api_keys INDEXED BY api_keys_by_user
 WHERE tenant = :tenant AND user_id = :user AND kind = 'login' AND expires_at <= :created_at;

-- name: drop_first_login
DELETE FROM api_keys
 WHERE tenant = :tenant AND id = (
    SELECT MIN(id) FROM api_keys WHERE tenant = :tenant AND user_id = :user AND kind = 'login');

-- name: find_key
SELECT * FROM api_keys WHERE tenant = :tenant AND id = :id;

-- name: list_keys
SELECT * FROM api_keys WHERE tenant = :tenant AND id < :before AND kind = :kind ORDER BY id DESC LIMIT :limit;

-- name: list_keys_of_user
SELECT * FROM api_keys INDEXED BY api_keys_by_user
 WHERE tenant = :tenant AND user_id = :user AND kind = :kind AND id < :before
 ORDER BY id DESC LIMIT :limit;

-- name: revoke_key
UPDATE api_keys SET revoked_at = COALESCE(revoked_at, :now) WHERE tenant = :tenant AND id = :id RETURNING *;

-- name: use_key
UPDATE api_keys SET used_at = :now WHERE tenant = :tenant AND id = :id;

-- name: erase_api_keys
DELETE FROM api_keys WHERE tenant = :tenant AND session_id = :session_id;

-- name: erase_api_keys_of_user
DELETE FROM api_keys WHERE tenant = :tenant AND user_id = :user;

-- name: rename_in_api_keys
UPDATE api_keys SET created_by = :pseudonym WHERE tenant = :tenant AND created_by = :user;

-- Every statement names the tenant. Leases go by the clock of the server, read inside the statement; the parameter now
-- is the caller's. Whoever writes locks the lease row first, then the session row, then the rest.
--
-- The first statements are whole writes: one round trip each, and nothing is kept unless all of it is. Parts that lock
-- the lease first see its newest version, and what they decide is decided on that.

-- name: accept_message
-- The intake of a message on a known session. Gives no row, and writes nothing, when the message is refused; the caller
-- then looks for the reason.
WITH lease AS (
    SELECT holder, queued FROM leases WHERE tenant = :tenant AND subject = :subject FOR UPDATE
), session AS (
    UPDATE sessions s
       SET last_active_at = :accepted_at, status = 'active', version = s.version + (s.status = 'paused')::int
      FROM lease l
     WHERE s.tenant = :tenant AND s.id = :session_id
       AND (s.owner = :user OR :sees_whole_tenant::boolean)
       AND s.status IN ('active', 'paused')
       AND (l.holder IS NOT NULL OR l.queued > 0
            OR :accepted_at < LEAST(s.last_active_at + s.idle_for_seconds * 1000000, s.expires_by))
       AND (l.holder IS NULL AND l.queued = 0
            OR l.queued < :queue_limit
               AND 'reject' <> COALESCE(:double_text::text, s.double_text,
                                        CASE WHEN COALESCE(:wanted_agent::text, s.agent) = ANY (:rejecting::text[])
                                             THEN 'reject' ELSE '' END))
    RETURNING COALESCE(:wanted_agent::text, s.agent) AS agent, s.double_text,
              l.holder IS NULL AND l.queued = 0
              AND COALESCE(:wanted_agent::text, s.agent) = ANY (:agents_here::text[]) AS is_taken
), taken AS (
    UPDATE leases l
       SET last_queue_no = l.last_queue_no + 1,
           last_feed_no = l.last_feed_no + 1,
           queued = l.queued + (NOT s.is_taken)::int,
           fence = l.fence + s.is_taken::int,
           holder = CASE WHEN s.is_taken THEN :holder ELSE l.holder END,
           run_id = CASE WHEN s.is_taken THEN :run_id ELSE l.run_id END,
           taken_at = CASE WHEN s.is_taken
                           THEN (extract(epoch FROM clock_timestamp()) * 1000000)::bigint ELSE l.taken_at END,
           expires_at = CASE WHEN s.is_taken
                             THEN (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + :lease_micros
                             ELSE l.expires_at END,
           stop_how = CASE WHEN s.is_taken THEN NULL ELSE l.stop_how END,
           stop_by = CASE WHEN s.is_taken THEN NULL ELSE l.stop_by END,
           first_delta = CASE WHEN s.is_taken THEN 0 ELSE l.first_delta END
      FROM session s
     WHERE l.tenant = :tenant AND l.subject = :subject
    RETURNING l.last_queue_no AS queue_no, l.last_feed_no AS feed_no, l.fence, l.expires_at, s.agent, s.double_text,
              s.is_taken
), run AS (
    INSERT INTO runs (tenant, id, session_id, subject, custody, agent, user_id, status, queue_no, feed_no, trace_id,
                      input, accepted_at, wait_until, started_at, fence, retry_of, retry_safe, mode, line_no)
    SELECT :tenant, :run_id, :session_id, :subject, :custody, t.agent, :user,
           CASE WHEN t.is_taken THEN 'running' ELSE 'queued' END, t.queue_no, t.feed_no, :trace_id, :input,
           :accepted_at, :wait_until, CASE WHEN t.is_taken THEN :accepted_at::bigint END,
           CASE WHEN t.is_taken THEN t.fence END, :retry_of,
           (t.is_taken AND t.agent = ANY (:retry_safe_agents::text[]))::int, :mode,
           CASE WHEN NOT t.is_taken THEN t.queue_no END
      FROM taken t
), told AS (
    INSERT INTO feed (tenant, subject, no, type, run_id, at, data)
    SELECT :tenant, :subject, t.feed_no, 'run.accepted', :run_id, :accepted_at,
           json_build_object('agent', t.agent, 'queue_no', t.queue_no)::text
      FROM taken t
), request AS (
    INSERT INTO requests (tenant, user_id, key, body_hash, run_id, at)
    SELECT :tenant, :request_user, :key, :body_hash, :run_id, :accepted_at FROM taken WHERE :key::text IS NOT NULL
), audited AS (
    INSERT INTO audit (tenant, chain, no, body, hash)
    SELECT :audit_tenant, :audit_chain, :audit_no, :audit_body, :audit_hash FROM taken
)
SELECT * FROM taken;

-- name: accept_first_message
-- The intake of a message that begins its subject: a new session, or a run whose session the client keeps.
WITH session AS (
    INSERT INTO sessions (tenant, id, owner, agent, status, revision, version, turns, last_seq, epoch, epoch_started_at,
                          epoch_first_seq, title, double_text, metadata, idle_for_seconds, created_at, last_active_at,
                      preferences, mounts, from_session_id, packs, dialogue,
                      classification, expires_by, module, project_id, objective_id, objective, policy,
                      model_profile, backend, context_sha256, removed, agent_head, fork_of, fork_turn, fork_seq)
    SELECT :tenant, :session_id, :owner, :session_agent, 'active', :revision, :version, :turns, :last_seq, :epoch,
           :epoch_started_at, :epoch_first_seq, :title, :double_text, :metadata, :idle_for_seconds, :created_at,
           :accepted_at, :preferences, :mounts, :from_session_id, :packs, :dialogue,
        :classification, :expires_by, :module, :project_id, :objective_id, :objective, :policy,
        :model_profile, :backend, :context_hash, :removed, :agent_head, :fork_of, :fork_turn, :fork_seq
     WHERE :custody::text = 'engine'
), lease AS (
    INSERT INTO leases (tenant, subject, holder, run_id, fence, expires_at, taken_at, first_delta, queued,
                        last_queue_no, last_feed_no)
    SELECT :tenant, :subject, CASE WHEN :is_taken THEN :holder END, CASE WHEN :is_taken THEN :run_id END,
           :is_taken::int,
           CASE WHEN :is_taken THEN (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + :lease_micros ELSE 0 END,
           CASE WHEN :is_taken THEN (extract(epoch FROM clock_timestamp()) * 1000000)::bigint ELSE 0 END,
           0, (NOT :is_taken::boolean)::int, :queue_no, :feed_no
    RETURNING fence, expires_at
), run AS (
    INSERT INTO runs (tenant, id, session_id, subject, custody, agent, user_id, status, queue_no, feed_no, trace_id,
                      input, accepted_at, wait_until, started_at, fence, retry_of, retry_safe, mode, line_no)
    VALUES (:tenant, :run_id, :session_id, :subject, :custody, :agent, :user, :status, :queue_no, :feed_no, :trace_id,
            :input, :accepted_at, :wait_until, :started_at, :fence, :retry_of, :retry_safe, :mode,
        CASE WHEN :status::text = 'queued' THEN :queue_no::bigint END)
), told AS (
    INSERT INTO feed (tenant, subject, no, type, run_id, at, data)
    VALUES (:tenant, :subject, :feed_no, 'run.accepted', :run_id, :accepted_at, :data)
), request AS (
    INSERT INTO requests (tenant, user_id, key, body_hash, run_id, at)
    SELECT :tenant, :request_user, :key, :body_hash, :run_id, :accepted_at WHERE :key::text IS NOT NULL
), audited AS (
    INSERT INTO audit (tenant, chain, no, body, hash)
    VALUES (:audit_tenant, :audit_chain, :audit_no, :audit_body, :audit_hash)
)
SELECT * FROM lease;

-- name: create_session
WITH session AS (
    INSERT INTO sessions (tenant, id, owner, agent, status, revision, version, turns, last_seq, epoch, epoch_started_at,
                          epoch_first_seq, title, double_text, metadata, idle_for_seconds, created_at, last_active_at,
                      preferences, mounts, from_session_id, packs, dialogue,
                      classification, expires_by, module, project_id, objective_id, objective, policy,
                      model_profile, backend, context_sha256, removed, agent_head, fork_of, fork_turn, fork_seq)
    VALUES (:tenant, :session_id, :owner, :agent, :status, :revision, :version, :turns, :last_seq, :epoch,
            :epoch_started_at, :epoch_first_seq, :title, :double_text, :metadata, :idle_for_seconds, :created_at,
            :last_active_at, :preferences, :mounts, :from_session_id, :packs, :dialogue,
        :classification, :expires_by, :module, :project_id, :objective_id, :objective, :policy,
        :model_profile, :backend, :context_hash, :removed, :agent_head, :fork_of, :fork_turn, :fork_seq)
), lease AS (
    INSERT INTO leases (tenant, subject, holder, run_id, fence, expires_at, taken_at, first_delta, queued,
                        last_queue_no, last_feed_no)
    VALUES (:tenant, :session_id, NULL, NULL, 0, 0, 0, 0, 0, 0, 0)
)
INSERT INTO audit (tenant, chain, no, body, hash)
VALUES (:audit_tenant, :audit_chain, :audit_no, :audit_body, :audit_hash)
RETURNING no;

-- name: load_conversation
-- The state belongs to the last turn; after a reset that turn is of an earlier epoch, and there is no state. The newest
-- messages come as one list per column, newest first.
SELECT s.*, m.*,
       (SELECT t.state FROM turns t
         WHERE t.tenant = s.tenant AND t.session_id = s.id AND t.number = s.turns AND t.epoch = s.epoch
           AND s.revision <> :known_revision) AS state
  FROM sessions s
 CROSS JOIN LATERAL (
       SELECT array_agg(w.seq) AS message_seqs, array_agg(w.id) AS message_ids, array_agg(w.turn) AS message_turns,
              array_agg(w.role) AS message_roles, array_agg(w.content) AS message_contents,
              array_agg(w.created_at) AS message_moments, array_agg(w.event) AS message_events
         FROM (SELECT seq, id, turn, role, content, created_at, event FROM messages
                WHERE tenant = s.tenant AND session_id = s.id AND seq >= s.epoch_first_seq
                  AND s.revision <> :known_revision
                ORDER BY seq DESC LIMIT :window) w) m
 WHERE s.tenant = :tenant AND s.id = :session_id;

-- name: commit_turn
-- Gives is_held = false when the fence has been raised, and no last_feed_no when another turn was committed first; in
-- both cases nothing is written.
WITH lease AS (
    SELECT fence = :fence AND holder IS NOT NULL AS is_held
      FROM leases WHERE tenant = :tenant AND subject = :subject FOR UPDATE
), session AS (
    UPDATE sessions s SET revision = s.revision + 1, turns = s.turns + 1, last_seq = :last_seq,
                          preferences = COALESCE(:preferences, s.preferences),
                          packs = CASE WHEN s.packs = '[]' THEN COALESCE(:packs, s.packs) ELSE s.packs END,
                          classification = COALESCE(:classification, s.classification),
                          idle_for_seconds = LEAST(s.idle_for_seconds, :most_idle_seconds),
                          expires_by = COALESCE(:expires_by, s.expires_by),
                          dialogue = COALESCE(:dialogue, s.dialogue),
                          agent_head = COALESCE(:agent_head, s.agent_head),
                          last_active_at = GREATEST(s.last_active_at, :now)
      FROM lease l
     WHERE l.is_held AND s.tenant = :tenant AND s.id = :session_id AND s.revision = :expected_revision
    RETURNING s.revision
), released AS (
    UPDATE leases l SET holder = NULL, run_id = NULL, expires_at = 0, last_feed_no = l.last_feed_no + 1
      FROM session
     WHERE l.tenant = :tenant AND l.subject = :subject
    RETURNING l.last_feed_no, l.queued, l.first_delta
), message AS (
    INSERT INTO messages (tenant, session_id, seq, id, turn, epoch, role, content, created_at, event)
    SELECT :tenant, :session_id, m.seq, m.id, :turn, :epoch, m.role, m.content, m.created_at, m.event
      FROM released, unnest(:message_seqs::bigint[], :message_ids::text[], :message_roles::text[],
                            :message_contents::text[], :message_moments::bigint[], :message_events::text[])
                     AS m (seq, id, role, content, created_at, event)
), turn AS (
    INSERT INTO turns (tenant, session_id, number, run_id, epoch, revision, first_seq, last_seq, finish, state,
                       committed_at, preferences, dialogue, agent_head)
    SELECT :tenant, :session_id, :turn, :run_id, :epoch, s.revision, :first_seq, :last_seq, :finish, :state, :now,
           :preferences, :dialogue, :agent_head
      FROM session s
), run AS (
    -- The input lives on as messages of the turn.
    UPDATE runs r SET status = 'completed', ended_at = :now, turn = :turn, finish = :finish, input = NULL,
                      account = :account
      FROM released
     WHERE r.tenant = :tenant AND r.id = :run_id
), explanation AS (
    INSERT INTO explanations (tenant, session_id, run_id, data)
    SELECT :tenant, :session_id, :run_id, :explanation FROM released
), dropped AS (
    DELETE FROM chunks
     WHERE tenant = :tenant AND subject = :subject AND run_id = :run_id
       AND no >= (SELECT first_delta FROM released WHERE first_delta > 0)
    RETURNING no
), told AS (
    INSERT INTO feed (tenant, subject, no, type, run_id, at, data)
    SELECT :tenant, :subject, d.last_feed_no, 'run.completed', :run_id, :now,
           CASE WHEN d.first_delta = 0 THEN :said
                ELSE format('%s,"deltas":[%s,%s]}', left(:said, -1), d.first_delta, (SELECT COALESCE(max(no), d.first_delta) FROM dropped)) END
      FROM released d
)
SELECT l.is_held, r.last_feed_no, r.queued FROM lease l LEFT JOIN released r ON true;

-- name: end_held_run
-- Gives no row, and writes nothing, when the fence has been raised.
WITH released AS (
    UPDATE leases SET holder = NULL, run_id = NULL, expires_at = 0, last_feed_no = last_feed_no + 1
     WHERE tenant = :tenant AND subject = :subject AND fence = :fence AND holder IS NOT NULL
    RETURNING last_feed_no, queued, first_delta
), run AS (
    UPDATE runs r SET status = :status, ended_at = :now, error = :error, result = :result, account = :account,
                      superseded_by = :by, input = CASE WHEN :status = 'completed' THEN NULL ELSE r.input END
      FROM released
     WHERE r.tenant = :tenant AND r.id = :run_id
), explanation AS (
    INSERT INTO explanations (tenant, session_id, run_id, data)
    SELECT :tenant, :session_id, :run_id, :explanation FROM released
), dropped AS (
    DELETE FROM chunks
     WHERE tenant = :tenant AND subject = :subject AND run_id = :run_id
       AND no >= (SELECT first_delta FROM released WHERE first_delta > 0)
    RETURNING no
), told AS (
    INSERT INTO feed (tenant, subject, no, type, run_id, at, data)
    SELECT :tenant, :subject, d.last_feed_no, :type, :run_id, :now,
           CASE WHEN d.first_delta = 0 THEN :said
                ELSE format('%s%s"deltas":[%s,%s]}', left(:said, -1), CASE WHEN :said = '{}' THEN '' ELSE ',' END,
                            d.first_delta, (SELECT COALESCE(max(no), d.first_delta) FROM dropped)) END
      FROM released d
)
SELECT * FROM released;

-- name: add_delta
-- Gives no row when the fence has been raised. The first delta closes the time in which the run could be merged.
WITH added AS (
    UPDATE leases
       SET last_feed_no = last_feed_no + 1,
           first_delta = CASE WHEN first_delta = 0 THEN last_feed_no + 1 ELSE first_delta END
     WHERE tenant = :tenant AND subject = :subject AND fence = :fence AND holder IS NOT NULL
    RETURNING last_feed_no
)
INSERT INTO chunks (tenant, subject, no, run_id, at, text)
SELECT :tenant, :subject, last_feed_no, :run_id, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, :text
  FROM added
RETURNING no;

-- name: renew_lease
-- The leases among these that are still held; the lists are of equal length.
UPDATE leases l SET expires_at = (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + :lease_micros
  FROM unnest(:tenants::text[], :subjects::text[], :fences::bigint[]) AS h (tenant, subject, fence)
 WHERE l.tenant = h.tenant AND l.subject = h.subject AND l.fence = h.fence AND l.holder IS NOT NULL
RETURNING l.tenant, l.subject, l.fence;

-- name: lock_lease
-- Whoever has this lock is alone with the subject until the end of its transaction.
SELECT *, expires_at <= (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS has_run_out
  FROM leases WHERE tenant = :tenant AND subject = :subject FOR UPDATE;

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
INSERT INTO leases (tenant, subject, holder, run_id, fence, expires_at, taken_at, first_delta, queued, last_queue_no,
                    last_feed_no)
VALUES (:tenant, :subject, NULL, NULL, 0, 0, 0, 0, 0, 0, 0);

-- name: load_session
-- The state belongs to the last turn; after a reset that turn is of an earlier epoch, and there is no state.
SELECT s.*,
       (SELECT t.state FROM turns t
         WHERE t.tenant = s.tenant AND t.session_id = s.id AND t.number = s.turns AND t.epoch = s.epoch) AS state
  FROM sessions s
 WHERE s.tenant = :tenant AND s.id = :session_id;

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
   SET status = :status, title = :title, double_text = :double_text, idle_for_seconds = :idle_for_seconds,
       mounts = :mounts, packs = :packs, classification = :classification,
       expires_by = :expires_by, last_active_at = :last_active_at, closed_at = :closed_at, closed_reason = :closed_reason,
       module = :module, project_id = :project_id, objective_id = :objective_id, objective = :objective,
       policy = :policy, model_profile = :model_profile, backend = :backend, context_sha256 = :context_hash,
       removed = :removed, version = version + 1
 WHERE tenant = :tenant AND id = :session_id AND version = :version;

-- name: session_and_lease
-- What intake must know before it takes a message in.
SELECT s.owner, s.agent, s.status, s.double_text, s.last_active_at, s.idle_for_seconds, s.expires_by, l.*
  FROM sessions s
  JOIN leases l ON l.tenant = s.tenant AND l.subject = s.id
 WHERE s.tenant = :tenant AND s.id = :session_id;

-- name: touch_session
-- A message on a paused session resumes it, which is a change of its settings.
UPDATE sessions SET last_active_at = :now, status = 'active', version = version + (status = 'paused')::int
 WHERE tenant = :tenant AND id = :session_id;

-- name: queue_on_lease
UPDATE leases
   SET last_queue_no = last_queue_no + 1, last_feed_no = last_feed_no + 1, queued = queued + 1
 WHERE tenant = :tenant AND subject = :subject;

-- name: take_lease_at_intake
-- The queue was empty and nobody held it: the newcomer runs at once.
UPDATE leases
   SET last_queue_no = last_queue_no + 1, last_feed_no = last_feed_no + 1, holder = :holder, run_id = :run_id,
       fence = fence + 1, expires_at = (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + :lease_micros,
       taken_at = (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, stop_how = NULL, stop_by = NULL,
       first_delta = 0
 WHERE tenant = :tenant AND subject = :subject
RETURNING *;

-- name: take_lease
UPDATE leases
   SET queued = queued - 1, holder = :holder, run_id = :run_id, fence = fence + 1,
       expires_at = (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + :lease_micros,
       taken_at = (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, stop_how = NULL, stop_by = NULL,
       first_delta = 0
 WHERE tenant = :tenant AND subject = :subject
RETURNING *;

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
        CASE WHEN :status::text = 'queued' THEN :queue_no::bigint END);

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

-- name: end_run
UPDATE runs SET status = :status, line_no = NULL, ended_at = :now, error = :error, result = :result,
                account = :account, superseded_by = :by,
                input = CASE WHEN :status = 'completed' THEN NULL ELSE input END
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
                line_no = CASE WHEN :status::text = 'queued' THEN :queue_no::bigint END, wait_until = :wait_until, started_at = :started_at,
                fence = :fence, retry_safe = :retry_safe, input = :input
 WHERE tenant = :tenant AND id = :run_id;

-- name: due_work
-- Runs in line whose time has come: the lease is free or has run out, or they have waited too long.
SELECT DISTINCT r.tenant, r.subject
  FROM runs r
  JOIN leases l ON l.tenant = r.tenant AND l.subject = r.subject
 WHERE r.line_no IS NOT NULL
   AND (r.wait_until <= :now
        OR (r.status = 'queued' AND r.agent = ANY (:agents::text[])
            AND (l.holder IS NULL OR l.expires_at <= (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)))
 LIMIT :limit;

-- name: leases_after
-- A walk over all leases, page by page; only done for a node that is gone.
SELECT tenant, subject, holder FROM leases
 WHERE (tenant, subject) > (:tenant, :subject)
 ORDER BY tenant, subject LIMIT :limit;

-- name: advance_session
UPDATE sessions SET revision = revision + 1, turns = turns + 1, last_seq = :last_seq,
                    preferences = COALESCE(:preferences, preferences),
                    packs = CASE WHEN packs = '[]' THEN COALESCE(:packs, packs) ELSE packs END,
                    classification = COALESCE(:classification, classification),
                    idle_for_seconds = LEAST(idle_for_seconds, :most_idle_seconds),
                    expires_by = COALESCE(:expires_by, expires_by),
                    dialogue = COALESCE(:dialogue, dialogue),
                    last_active_at = GREATEST(last_active_at, :now)
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

-- name: chunks_of_run
SELECT no, text FROM chunks
 WHERE tenant = :tenant AND subject = :subject AND no >= :first AND run_id = :run_id
 ORDER BY no;

-- name: drop_chunks
DELETE FROM chunks WHERE tenant = :tenant AND subject = :subject AND no >= :first AND run_id = :run_id;

-- name: feed_after
-- Each half is limited by itself, so that a page of a long feed costs no more than one of a short feed.
(SELECT no, type, run_id, at, data FROM feed
  WHERE tenant = :tenant AND subject = :subject AND no > :after
  ORDER BY no LIMIT :limit)
UNION ALL
(SELECT no, 'output.delta', run_id, at, json_build_object('text', text)::text FROM chunks
  WHERE tenant = :tenant AND subject = :subject AND no > :after
  ORDER BY no LIMIT :limit)
 ORDER BY no LIMIT :limit;

-- name: feed_of_run
SELECT no, type, run_id, at, data FROM feed
 WHERE tenant = :tenant AND subject = :subject AND no >= :first AND run_id = :run_id
UNION ALL
SELECT no, 'output.delta', run_id, at, '{}' FROM chunks
 WHERE tenant = :tenant AND subject = :subject AND no >= :first AND run_id = :run_id
 ORDER BY no LIMIT :limit;

-- name: message_content
SELECT seq, content FROM messages WHERE tenant = :tenant AND session_id = :session_id AND seq = ANY (:seqs::bigint[]);

-- name: find_request
-- Locked: of two that bring the same request at once, the second sees what became of the first.
SELECT * FROM requests WHERE tenant = :tenant AND user_id = :user AND key = :key FOR UPDATE;

-- name: known_request
SELECT body_hash FROM requests WHERE tenant = :tenant AND user_id = :user AND key = :key;

-- name: lock_long_runs
-- Whoever counts the long runs of a tenant is alone with them until it has taken in its own. In a statement before the
-- count, which would else not see what was taken in while it waited. 24 is ours, in the space of keys of two numbers.
SELECT pg_advisory_xact_lock(24, hashtext(:tenant));

-- name: open_long_runs
-- No more than `most` are looked for, among those that began since `since`: run ids sort by the moment they were made.
SELECT count(*) AS found
  FROM (SELECT 1 FROM runs
         WHERE tenant = :tenant AND mode = 'long_running' AND id >= :since AND ended_at IS NULL
         LIMIT :most) AS open_ones;

-- name: insert_request
INSERT INTO requests (tenant, user_id, key, body_hash, run_id, at)
VALUES (:tenant, :user, :key, :body_hash, :run_id, :now);

-- name: move_request
UPDATE requests SET run_id = :run_id WHERE tenant = :tenant AND user_id = :user AND key = :key;

-- name: forget_requests
WITH gone AS (DELETE FROM requests WHERE tenant = :tenant AND at < :before RETURNING 1)
SELECT count(*) AS forgotten FROM gone;

-- name: tenants_with_requests
SELECT DISTINCT tenant FROM requests;

-- name: append_audit
INSERT INTO audit (tenant, chain, no, body, hash)
VALUES (:audit_tenant, :audit_chain, :audit_no, :audit_body, :audit_hash)
RETURNING no;

-- name: audit_head
SELECT no, hash FROM audit WHERE tenant = :tenant AND chain = :chain ORDER BY no DESC LIMIT 1;

-- name: audit_page
SELECT tenant, chain, no, body, hash FROM audit
 WHERE (tenant, chain, no) > (:tenant, :chain, :no)
 ORDER BY tenant, chain, no LIMIT :limit;

-- name: beat_node
INSERT INTO nodes (tenant, id, started_at, seen_at, agents)
VALUES ('-', :node, :started_at, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, :agents)
ON CONFLICT (tenant, id) DO UPDATE SET seen_at = excluded.seen_at, agents = excluded.agents
RETURNING id;

-- name: drop_node
DELETE FROM nodes WHERE tenant = '-' AND id = :node RETURNING id;

-- name: living_nodes
SELECT * FROM nodes
 WHERE tenant = '-' AND seen_at > (extract(epoch FROM clock_timestamp()) * 1000000)::bigint - :within_micros
 ORDER BY id;

-- name: gone_nodes
SELECT * FROM nodes
 WHERE tenant = '-' AND seen_at <= (extract(epoch FROM clock_timestamp()) * 1000000)::bigint - :within_micros
 ORDER BY id;

-- name: insert_units
-- Numbered behind those that are in their place already. The lists are of equal length.
INSERT INTO units (tenant, place, no, id, since, status, turn, run_id, source_id, scopes, hash, slot_key, subject_key,
                   object_key, data, words, kept_at)
SELECT :tenant, :place,
       u.nth + (SELECT COALESCE(MAX(no), 0) FROM units WHERE tenant = :tenant AND place = :place),
       u.id, :since, 'committed', :turn, :run_id, u.source_id, u.scopes, u.hash, u.slot_key, u.subject_key,
       u.object_key, u.data, u.words::tsvector, :now
  FROM unnest(:ids::text[], :source_ids::text[], :scopes::text[], :hashes::text[], :slot_keys::text[],
              :subject_keys::text[], :object_keys::text[], :datas::text[], :words::text[])
       WITH ORDINALITY AS u (id, source_id, scopes, hash, slot_key, subject_key, object_key, data, words, nth);

-- name: unindex_session
UPDATE units SET words = NULL WHERE tenant = :tenant AND place = :session_id AND words IS NOT NULL;

-- name: retire_unit
UPDATE units SET status = :status, superseded_by = :by, words = NULL
 WHERE tenant = :tenant AND place = :place AND id = :id AND status = 'committed';

-- name: search_units
-- Each word that is asked for counts by the best part of the unit that has it; each content once, since two sources of a
-- base may state it.
SELECT s.name, s.data, s.score
  FROM (SELECT p.name, p.nth, u.data, u.no, w.score, w.covered,
               ROW_NUMBER() OVER (PARTITION BY p.nth, u.hash ORDER BY w.score DESC, w.covered DESC, u.no DESC) AS copy
          FROM unnest(:places::text[], :names::text[], :firsts::bigint[], :revisions::bigint[])
               WITH ORDINALITY AS p (place, name, first, revision, nth)
         CROSS JOIN LATERAL (
               SELECT data, hash, no, words FROM units
                WHERE tenant = :tenant AND place = p.place AND status = 'committed'
                  AND since BETWEEN p.first AND p.revision AND (until IS NULL OR until > p.revision)
                  AND position(' ' || :scope::text || ' ' IN ' ' || scopes || ' ') > 0
                  AND words @@ :match::text::tsquery) u
         CROSS JOIN LATERAL (
               SELECT SUM(CASE WHEN u.words @@ a.topic THEN :in_topic::int WHEN u.words @@ a.said THEN :in_content::int
                               ELSE :in_the_rest::int END) AS score,
                      COUNT(*) AS covered
                 FROM unnest(:topics::text[]::tsquery[], :saids::text[]::tsquery[], :anywhere::text[]::tsquery[])
                      AS a (topic, said, anywhere)
                WHERE u.words @@ a.anywhere) w) s
 WHERE s.copy = 1
 ORDER BY s.score DESC, s.covered DESC, s.nth, s.no DESC LIMIT :limit;

-- name: open_door
-- For this transaction alone; says so for the house, not for a tenant.
SELECT set_config('turnkeeper.door', 'retention', true);

-- name: insert_base
INSERT INTO knowledge_bases (tenant, id, name, parent_id, revision, sources, units, created_by, created_at, updated_at)
VALUES (:tenant, :id, :name, :parent_id, :revision, :sources, :units, :created_by, :created_at, :updated_at);

-- name: lock_base
SELECT * FROM knowledge_bases WHERE tenant = :tenant AND id = :id FOR UPDATE;

-- name: forget_unit
-- Nothing of what it said is left, whatever had become of it.
UPDATE units SET status = 'forgotten', data = NULL, hash = '', slot_key = NULL, subject_key = NULL, object_key = NULL,
                 words = NULL
 WHERE tenant = :tenant AND place = :place AND id = :id;

-- name: get_unit
SELECT * FROM units WHERE tenant = :tenant AND place = :place AND id = :id;

-- name: units_after
SELECT * FROM units
 WHERE tenant = :tenant AND place = :place AND no > :after AND (:epoch::bigint IS NULL OR since = :epoch)
 ORDER BY no LIMIT :limit;

-- name: guiding_units
-- Each content once, its newest unit.
SELECT data FROM (
    SELECT DISTINCT ON (hash) data, no FROM units
     WHERE tenant = :tenant AND place = :place AND scopes <> 'kb-plugin' AND status = 'committed'
       AND since BETWEEN :first AND :revision AND (until IS NULL OR until > :revision)
       AND position(' ' || :scope::text || ' ' IN ' ' || scopes || ' ') > 0
     ORDER BY hash, no DESC) u
 ORDER BY no DESC LIMIT :limit;

-- name: units_about
-- Each content once, its newest unit.
SELECT data FROM (
    SELECT DISTINCT ON (hash) data, no FROM (
        SELECT data, no, hash FROM units
         WHERE tenant = :tenant AND place = :place AND subject_key = ANY (:keys::text[])
           AND status = 'committed' AND since BETWEEN :first AND :revision AND (until IS NULL OR until > :revision)
         UNION ALL
        SELECT data, no, hash FROM units
         WHERE tenant = :tenant AND place = :place AND object_key = ANY (:keys::text[])
           AND status = 'committed' AND since BETWEEN :first AND :revision AND (until IS NULL OR until > :revision)) u
     ORDER BY hash, no DESC) u
 ORDER BY no DESC LIMIT :limit;

-- name: newest_units
SELECT data FROM units
 WHERE tenant = :tenant AND place = :place AND since = :epoch AND status = 'committed'
 ORDER BY no DESC LIMIT :limit;

-- name: known_units
SELECT data, no FROM units
 WHERE tenant = :tenant AND place = :place AND hash = ANY (:hashes::text[])
   AND status = 'committed' AND since = :epoch
 UNION
SELECT data, no FROM units
 WHERE tenant = :tenant AND place = :place AND slot_key = ANY (:slots::text[])
   AND status = 'committed' AND since = :epoch
 UNION
SELECT data, no FROM units
 WHERE tenant = :tenant AND place = :place AND id = ANY (:ids::text[])
   AND status = 'committed' AND since = :epoch
 ORDER BY no;

-- name: committed_unit_ids
SELECT id FROM units
 WHERE tenant = :tenant AND place = :place AND since = :epoch AND status = 'committed'
 ORDER BY no;

-- name: change_revision
-- For a command that changes units; changes no row when something was committed first.
UPDATE sessions SET revision = revision + 1
 WHERE tenant = :tenant AND id = :session_id AND revision = :expected_revision
RETURNING revision;

-- name: living_sessions_after
-- A walk over the sessions that may still expire, page by page.
SELECT tenant, id, LEAST(last_active_at + idle_for_seconds * 1000000, expires_by) <= :now AS is_idle FROM sessions
 WHERE status IN ('active', 'paused') AND (tenant, id) > (:tenant, :session_id)
 ORDER BY tenant, id LIMIT :limit;

-- name: explained_run
-- Of a run that is no turn only the input is told; that of a client, who keeps its own messages, never is one.
SELECT e.data, r.input,
       (SELECT left(m.content, :chars) FROM messages m
         WHERE m.tenant = e.tenant AND m.session_id = e.session_id AND m.seq = t.first_seq) AS asked,
       (SELECT left(m.content, :chars) FROM messages m
         WHERE m.tenant = e.tenant AND m.session_id = e.session_id AND m.seq = t.last_seq AND m.role = 'assistant')
       AS preview
  FROM explanations e
  JOIN runs r ON r.tenant = e.tenant AND r.id = e.run_id
  LEFT JOIN turns t ON t.tenant = e.tenant AND t.session_id = e.session_id AND t.number = r.turn
 WHERE e.tenant = :tenant AND e.session_id = :session_id AND e.run_id = :run_id;

-- name: explanations_before
SELECT e.data, r.input,
       (SELECT left(m.content, :chars) FROM messages m
         WHERE m.tenant = e.tenant AND m.session_id = e.session_id AND m.seq = t.first_seq) AS asked,
       (SELECT left(m.content, :chars) FROM messages m
         WHERE m.tenant = e.tenant AND m.session_id = e.session_id AND m.seq = t.last_seq AND m.role = 'assistant')
       AS preview
  FROM explanations e
  JOIN runs r ON r.tenant = e.tenant AND r.id = e.run_id AND r.custody = 'engine'
  LEFT JOIN turns t ON t.tenant = e.tenant AND t.session_id = e.session_id AND t.number = r.turn
 WHERE e.tenant = :tenant AND e.session_id = :session_id AND e.run_id < :before
 ORDER BY e.run_id DESC LIMIT :limit;

-- name: trim_explanations
DELETE FROM explanations
 WHERE tenant = :tenant AND session_id = :session_id
   AND run_id <= (SELECT run_id FROM explanations WHERE tenant = :tenant AND session_id = :session_id
                   ORDER BY run_id DESC LIMIT 1 OFFSET :keep);

-- name: get_base
SELECT * FROM knowledge_bases WHERE tenant = :tenant AND id = :id;

-- name: list_bases
SELECT * FROM knowledge_bases WHERE tenant = :tenant AND id < :before ORDER BY id DESC LIMIT :limit;

-- name: base_revisions
SELECT id, revision FROM knowledge_bases
 WHERE tenant = :tenant AND id = ANY (:ids::text[]);

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
                   data, words, kept_at)
SELECT tenant, :id, no, id, :revision, status, source_id, scopes, hash, slot_key, subject_key, object_key, data, words,
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

-- name: insert_blob
-- The tenant may have this content already.
INSERT INTO blobs (tenant, sha256, size, content) VALUES (:tenant, :hash, :size, :hash)
ON CONFLICT DO NOTHING;

-- name: insert_piece
INSERT INTO blob_pieces (tenant, content, no, sha256, data) VALUES (:tenant, :hash, 0, :hash, :data)
ON CONFLICT DO NOTHING;

-- name: get_blob
SELECT p.data FROM blobs b JOIN blob_pieces p ON p.tenant = b.tenant AND p.content = b.content
 WHERE b.tenant = :tenant AND b.sha256 = :hash ORDER BY p.no;

-- name: insert_artifact
INSERT INTO artifacts (tenant, id, sha256, media_type, name, size, created_by, created_at)
VALUES (:tenant, :id, :hash, :media_type, :name, :size, :created_by, :created_at)
ON CONFLICT (tenant, id) DO NOTHING;

-- name: get_artifact
SELECT * FROM artifacts WHERE tenant = :tenant AND id = :id;

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
SELECT :tenant, :binding, :address::text, :user::text, :session_id::text, :changed_at::bigint FROM bindings
 WHERE tenant = :tenant AND id = :binding
ON CONFLICT (tenant, binding, address) DO UPDATE
   SET user_id = excluded.user_id, session_id = excluded.session_id, changed_at = excluded.changed_at
RETURNING address;

-- name: remember_contact
-- Changes no row when the address belongs to another user by now, or the binding is gone.
INSERT INTO contacts (tenant, binding, address, user_id, session_id, changed_at)
SELECT :tenant, :binding, :address::text, :user::text, :session_id::text, :changed_at::bigint FROM bindings
 WHERE tenant = :tenant AND id = :binding
ON CONFLICT (tenant, binding, address) DO UPDATE
   SET session_id = excluded.session_id, changed_at = excluded.changed_at
 WHERE contacts.user_id = excluded.user_id
RETURNING address;

-- name: get_contact
SELECT * FROM contacts WHERE tenant = :tenant AND binding = :binding AND address = :address;

-- name: list_contacts
SELECT * FROM contacts
 WHERE tenant = :tenant AND binding = :binding AND address > :after AND (:user::text IS NULL OR user_id = :user)
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
   AND ((status = 'pending' AND due_at <= :now) OR (status = 'sending' AND due_at <= (extract(epoch FROM clock_timestamp()) * 1000000)::bigint))
 ORDER BY due_at, tenant, id LIMIT :limit FOR UPDATE SKIP LOCKED;

-- name: claim_delivery
-- While it is being sent, `due_at` is when the claim runs out, by the clock of the database.
UPDATE outbox SET status = 'sending', holder = :node, attempts = attempts + 1, due_at = (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + :lease_micros
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
 WHERE tenant = :tenant AND id < :before AND (:status::text IS NULL OR status = :status)
 ORDER BY id DESC LIMIT :limit;

-- name: deliveries_of_session
SELECT * FROM outbox
 WHERE tenant = :tenant AND session_id = :session_id AND id < :before AND (:status::text IS NULL OR status = :status)
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
SELECT key FROM effects WHERE tenant = :tenant AND run_id = :run_id LIMIT 1;

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
INSERT INTO buckets (tenant, name, tokens, filled_at)
VALUES (:tenant, :name, :tokens, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
ON CONFLICT (tenant, name) DO NOTHING;

-- name: read_bucket
-- Locked: of two nodes that take at once, the second sees what the first has left.
SELECT tokens, filled_at, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now
  FROM buckets WHERE tenant = :tenant AND name = :name FOR UPDATE;

-- name: put_bucket
UPDATE buckets SET tokens = :tokens, filled_at = :filled_at WHERE tenant = :tenant AND name = :name;

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
                      carried_until = :carried_until, superseded_by = :by,
                      input = CASE WHEN :status = 'completed' THEN NULL
                                   WHEN r.custody = 'client'
                                   THEN (SELECT json_object_agg(key, value)::text
                                           FROM json_each(regexp_replace(r.input, '(?<!\\)((?:\\\\)*)\\u0000', '\1\\ufffd', 'g')::json)
                                          WHERE key <> 'carried')
                                   ELSE r.input END
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
SELECT * FROM sessions
 WHERE tenant = :tenant AND id < :before AND (:status::text IS NULL OR status = :status)
   AND (:module::text IS NULL OR module = :module) AND (:project_id::text IS NULL OR project_id = :project_id)
   AND (:agent::text IS NULL OR agent = :agent)
   AND (:title::text IS NULL OR strpos(lower(title COLLATE "C"), :title) > 0)
   AND (:created_from::bigint IS NULL OR created_at >= :created_from)
   AND (:created_until::bigint IS NULL OR created_at < :created_until)
   AND (:active_from::bigint IS NULL OR last_active_at >= :active_from)
   AND (:active_until::bigint IS NULL OR last_active_at < :active_until)
   AND (:fork_of::text IS NULL OR fork_of = :fork_of)
 ORDER BY id DESC LIMIT :limit;

-- name: list_sessions_of_owner
SELECT * FROM sessions
 WHERE tenant = :tenant AND owner = :owner AND id < :before AND (:status::text IS NULL OR status = :status)
   AND (:module::text IS NULL OR module = :module) AND (:project_id::text IS NULL OR project_id = :project_id)
   AND (:agent::text IS NULL OR agent = :agent)
   AND (:title::text IS NULL OR strpos(lower(title COLLATE "C"), :title) > 0)
   AND (:created_from::bigint IS NULL OR created_at >= :created_from)
   AND (:created_until::bigint IS NULL OR created_at < :created_until)
   AND (:active_from::bigint IS NULL OR last_active_at >= :active_from)
   AND (:active_until::bigint IS NULL OR last_active_at < :active_until)
   AND (:fork_of::text IS NULL OR fork_of = :fork_of)
 ORDER BY id DESC LIMIT :limit;

-- name: walk_sessions
-- Of all that fit no more than a walk needs, page by page.
SELECT id, title, last_active_at FROM sessions
 WHERE tenant = :tenant AND id < :before AND (:status::text IS NULL OR status = :status)
   AND (:module::text IS NULL OR module = :module) AND (:project_id::text IS NULL OR project_id = :project_id)
   AND (:agent::text IS NULL OR agent = :agent)
   AND (:title::text IS NULL OR strpos(lower(title COLLATE "C"), :title) > 0)
   AND (:created_from::bigint IS NULL OR created_at >= :created_from)
   AND (:created_until::bigint IS NULL OR created_at < :created_until)
   AND (:active_from::bigint IS NULL OR last_active_at >= :active_from)
   AND (:active_until::bigint IS NULL OR last_active_at < :active_until)
   AND (:fork_of::text IS NULL OR fork_of = :fork_of)
 ORDER BY id DESC LIMIT :limit;

-- name: walk_sessions_of_owner
SELECT id, title, last_active_at FROM sessions
 WHERE tenant = :tenant AND owner = :owner AND id < :before AND (:status::text IS NULL OR status = :status)
   AND (:module::text IS NULL OR module = :module) AND (:project_id::text IS NULL OR project_id = :project_id)
   AND (:agent::text IS NULL OR agent = :agent)
   AND (:title::text IS NULL OR strpos(lower(title COLLATE "C"), :title) > 0)
   AND (:created_from::bigint IS NULL OR created_at >= :created_from)
   AND (:created_until::bigint IS NULL OR created_at < :created_until)
   AND (:active_from::bigint IS NULL OR last_active_at >= :active_from)
   AND (:active_until::bigint IS NULL OR last_active_at < :active_until)
   AND (:fork_of::text IS NULL OR fork_of = :fork_of)
 ORDER BY id DESC LIMIT :limit;

-- name: sessions_named
SELECT * FROM sessions WHERE tenant = :tenant AND id = ANY(:ids);

-- name: openings
-- What a user said first in the epoch of each session. Of a fork it may stand in one of those whose messages it shares;
-- the least seq is the first.
WITH RECURSIVE places (session_id, place, first_seq, upto) AS (
    SELECT id, id, epoch_first_seq, last_seq FROM sessions WHERE tenant = :tenant AND id = ANY(:ids)
    UNION ALL
    SELECT p.session_id, s.fork_of, p.first_seq, LEAST(p.upto, s.fork_seq)
      FROM places p
      JOIN sessions s ON s.tenant = :tenant AND s.id = p.place
     WHERE s.fork_of IS NOT NULL AND s.fork_seq >= p.first_seq
)
SELECT p.session_id, left(m.content, :most) AS opening
  FROM places p
 CROSS JOIN LATERAL (SELECT n.seq, n.content FROM messages n
                      WHERE n.tenant = :tenant AND n.session_id = p.place AND n.seq BETWEEN p.first_seq AND p.upto
                        AND n.role = 'user'
                      ORDER BY n.seq LIMIT 1) m
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
 WHERE s.tenant = :tenant AND s.id = ANY(:ids);

-- name: messages_after
SELECT * FROM messages
 WHERE tenant = :tenant AND session_id = :session_id AND seq > :after
 ORDER BY seq LIMIT :limit;

-- name: forked_from
-- The sessions whose messages a fork shares, the nearest first, each up to a seq.
WITH RECURSIVE chain (session_id, upto, depth) AS (
    SELECT fork_of, fork_seq, 1 FROM sessions WHERE tenant = :tenant AND id = :session_id AND fork_of IS NOT NULL
    UNION ALL
    SELECT s.fork_of, LEAST(c.upto, s.fork_seq), c.depth + 1
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
SELECT c.data FROM runs r
  JOIN checkpoints c ON c.tenant = r.tenant AND c.run_id = r.id
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
       EXISTS (SELECT 1 FROM approvals a JOIN runs r ON r.tenant = a.tenant AND r.id = a.run_id
                WHERE a.tenant = s.tenant AND a.session_id = s.id AND a.status = 'pending' AND r.status = 'waiting'
              ) AS is_awaited
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
 JOIN runs r ON r.tenant = :tenant AND r.id = w.id
 WHERE (:statuses::text[] IS NULL OR w.status = ANY(:statuses))
   AND (:agent::text IS NULL OR w.agent = :agent) AND (:session_id::text IS NULL OR w.session_id = :session_id)
   AND (:since::bigint IS NULL OR w.accepted_at >= :since) AND (:until::bigint IS NULL OR w.accepted_at < :until)
   AND (:user::text IS NULL OR w.user_id = :user
        OR (w.custody = 'engine' AND EXISTS (SELECT 1 FROM sessions s
                                              WHERE s.tenant = :tenant AND s.id = w.session_id AND s.owner = :user)))
 ORDER BY w.id DESC LIMIT :limit;

-- name: last_walked_run
-- Where such a walk ended before the runs did.
SELECT id FROM runs WHERE tenant = :tenant AND id < :before AND id >= :first
 ORDER BY id DESC LIMIT 1 OFFSET :walked::bigint - 1;

-- name: live_runs
-- Those in line, by their index, and those that a lease is held for, by a walk over the leases of the tenant.
SELECT r.* FROM runs r
 WHERE r.tenant = :tenant AND r.id < :before AND r.id >= :first
   AND r.id IN (SELECT q.id FROM runs q WHERE q.tenant = :tenant AND q.line_no IS NOT NULL
                UNION
                SELECT l.run_id FROM leases l WHERE l.tenant = :tenant AND l.holder IS NOT NULL)
   AND (:statuses::text[] IS NULL OR r.status = ANY(:statuses))
   AND (:agent::text IS NULL OR r.agent = :agent) AND (:session_id::text IS NULL OR r.session_id = :session_id)
   AND (:since::bigint IS NULL OR r.accepted_at >= :since) AND (:until::bigint IS NULL OR r.accepted_at < :until)
   AND (:user::text IS NULL OR r.user_id = :user
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
SELECT accepted_at / :width::bigint AS span, agent, COUNT(*) AS runs,
       COUNT(*) FILTER (WHERE status = 'completed') AS completed,
       COUNT(*) FILTER (WHERE status IN ('failed', 'timed_out', 'abandoned')) AS failed,
       COALESCE(SUM((account::jsonb ->> 'tokens')::float8), 0) AS tokens,
       COALESCE(SUM((account::jsonb ->> 'cost_cents')::float8), 0) AS cost_cents,
       COALESCE(SUM((account::jsonb ->> 'model_calls')::float8), 0) AS model_calls,
       COALESCE(SUM((account::jsonb ->> 'tool_calls')::float8), 0) AS tool_calls,
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

-- name: end_run
UPDATE runs SET status = :status, line_no = NULL, ended_at = :now, error = :error, result = :result,
                account = :account, carried_until = :carried_until, superseded_by = :by,
                input = CASE WHEN :status = 'completed' THEN NULL
                             WHEN custody = 'client'
                             THEN (SELECT json_object_agg(key, value)::text
                                     FROM json_each(regexp_replace(input, '(?<!\\)((?:\\\\)*)\\u0000', '\1\\ufffd', 'g')::json)
                                    WHERE key <> 'carried')
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
WITH gone AS (DELETE FROM requests WHERE tenant = :tenant AND at < :before RETURNING 1)
SELECT count(*) AS forgotten FROM gone;

-- name: tenants_with_requests
SELECT DISTINCT tenant FROM requests;

-- name: forget_carried
-- A NUL, which a state may hold, is more than this database can read out of JSON.
WITH gone AS (
    UPDATE runs
       SET result = (SELECT json_object_agg(key, value)::text
                         FROM json_each(regexp_replace(result, '(?<!\\)((?:\\\\)*)\\u0000', '\1\\ufffd', 'g')::json)
                        WHERE key <> 'carried'),
           carried_until = NULL
     WHERE tenant = :tenant AND carried_until <= :now
    RETURNING 1
)
SELECT count(*) AS forgotten FROM gone;

-- name: tenants_that_carry
SELECT DISTINCT tenant FROM runs WHERE carried_until <= :now;

-- name: append_audit
INSERT INTO audit (tenant, chain, no, body, hash)
VALUES (:audit_tenant, :audit_chain, :audit_no, :audit_body, :audit_hash)
RETURNING no;

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
INSERT INTO buckets (tenant, name, tokens, filled_at)
VALUES (:tenant, :name, :tokens, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
ON CONFLICT (tenant, name) DO NOTHING;

-- name: read_bucket
-- Locked: of two nodes that take at once, the second sees what the first has left.
SELECT tokens, filled_at, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now
  FROM buckets WHERE tenant = :tenant AND name = :name FOR UPDATE;

-- name: look_into_bucket
SELECT tokens, filled_at, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now
  FROM buckets WHERE tenant = :tenant AND name = :name;

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
SELECT * FROM layers
 WHERE tenant = :tenant
   AND (level = 'tenant' AND id = :tenant OR level = 'project' AND id = :project_id
        OR level = 'objective' AND id = :objective_id);

-- name: list_layers
SELECT * FROM layers
 WHERE tenant = :tenant AND level = :level AND id < :before AND (:project_id::text IS NULL OR project_id = :project_id)
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
SELECT id FROM users WHERE tenant = :tenant AND role = 'owner' AND status = 'active' FOR UPDATE;

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
 WHERE :version::bigint IS NULL OR agent_definitions.version = :version
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
 WHERE :version::bigint IS NULL OR model_profiles.version = :version
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
SELECT s.tenant, s.id, :data, :saved_at FROM sessions s WHERE s.tenant = :tenant AND s.id = :session_id FOR KEY SHARE
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
ON CONFLICT (tenant, owner, module, project_id) DO UPDATE SET session_id = current_sessions.session_id;

-- name: find_current
-- Wherever it was begun: of those that live, the one that was used last.
SELECT * FROM sessions
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
SELECT count(*) AS found FROM sessions
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
 WHERE tenant = :tenant AND (:owner::text IS NULL OR owner = :owner) AND (:status::text IS NULL OR status = :status)
   AND (:module::text IS NULL OR module = :module) AND (:project_id::text IS NULL OR project_id = :project_id)
   AND (:agent::text IS NULL OR agent = :agent)
   AND (:title::text IS NULL OR strpos(lower(title COLLATE "C"), :title) > 0)
   AND (:created_from::bigint IS NULL OR created_at >= :created_from)
   AND (:created_until::bigint IS NULL OR created_at < :created_until)
   AND (:active_from::bigint IS NULL OR last_active_at >= :active_from)
   AND (:active_until::bigint IS NULL OR last_active_at < :active_until)
   AND (:fork_of::text IS NULL OR fork_of = :fork_of);

-- name: count_runs_of_session
SELECT count(*) AS found FROM runs WHERE tenant = :tenant AND session_id = :session_id AND custody = 'engine';

-- name: lock_sessions
-- Whoever counts the living sessions of a tenant is alone with them until it has made its own.
SELECT pg_advisory_xact_lock(25, hashtext(:tenant));

-- name: insert_approval
INSERT INTO approvals (tenant, id, run_id, session_id, action, gate, required_role, data, status, requested_at, due_at)
VALUES (:tenant, :id, :run_id, :session_id, :action, :gate, :required_role, :data, :status, :requested_at, :due_at);

-- name: get_approval
SELECT * FROM approvals WHERE tenant = :tenant AND id = :id;

-- name: list_approvals
SELECT a.* FROM approvals a
 WHERE a.tenant = :tenant AND a.id < :before
   AND (:session_id::text IS NULL OR a.session_id = :session_id)
   AND (:status::text IS NULL OR a.status = :status)
   AND (:owner::text IS NULL
        OR EXISTS (SELECT 1 FROM sessions s WHERE s.tenant = a.tenant AND s.id = a.session_id AND s.owner = :owner))
 ORDER BY a.id DESC LIMIT :limit;

-- name: list_pending_approvals
SELECT a.* FROM approvals a
 WHERE a.tenant = :tenant AND a.status = 'pending' AND a.id < :before
   AND (:session_id::text IS NULL OR a.session_id = :session_id)
   AND (:owner::text IS NULL
        OR EXISTS (SELECT 1 FROM sessions s WHERE s.tenant = a.tenant AND s.id = a.session_id AND s.owner = :owner))
 ORDER BY a.id DESC LIMIT :limit;

-- name: decide_approval
UPDATE approvals SET status = :status, decided_at = :now, decided_by = :by, reason = :reason
 WHERE tenant = :tenant AND id = :id AND status = 'pending';

-- name: cancel_approvals
UPDATE approvals SET status = 'cancelled', decided_at = :now
 WHERE tenant = :tenant AND run_id = :run_id AND status = 'pending';

-- name: cancel_approvals_of_session
UPDATE approvals SET status = 'cancelled', decided_at = :now
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
SELECT * FROM blobs WHERE tenant = :tenant AND sha256 = :hash FOR SHARE;

-- name: get_blob
SELECT * FROM blobs WHERE tenant = :tenant AND sha256 = :hash;

-- name: insert_piece
INSERT INTO blob_pieces (tenant, content, no, sha256, data) VALUES (:tenant, :content, :no, :hash, :data)
RETURNING no;

-- name: pieces_of_blob
SELECT no, sha256, octet_length(data) AS size FROM blob_pieces WHERE tenant = :tenant AND content = :content ORDER BY no;

-- name: get_piece
SELECT data FROM blob_pieces WHERE tenant = :tenant AND content = :content AND no = :no;

-- name: hold_pieces
-- What is held here is not swept away before it has its blob.
SELECT no FROM blob_pieces WHERE tenant = :tenant AND content = :content FOR SHARE;

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
SELECT * FROM artifacts WHERE tenant = :tenant AND sha256 = :hash ORDER BY created_at, id;

-- name: kept_contents
SELECT DISTINCT sha256 FROM artifacts
 WHERE tenant = :tenant AND sha256 = ANY(:hashes::text[]);

-- name: content_in_a_manifest
SELECT 1 AS found FROM manifest_entries WHERE tenant = :tenant AND sha256 = :hash LIMIT 1;

-- name: hold_contents
-- What is held here is not collected before its manifest is there.
SELECT sha256, size FROM blobs WHERE tenant = :tenant AND sha256 = ANY(:hashes::text[]) ORDER BY sha256 FOR SHARE;

-- name: contents_open_to
-- What a user kept, and what is in a manifest already.
SELECT sha256 FROM artifacts WHERE tenant = :tenant AND sha256 = ANY(:hashes::text[]) AND created_by = :user_id
UNION
SELECT sha256 FROM manifest_entries WHERE tenant = :tenant AND sha256 = ANY(:hashes::text[]);

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
SELECT * FROM pointers WHERE tenant = :tenant AND id = :id AND deleted_at IS NULL FOR UPDATE;

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
   AND kind = COALESCE(:kind, kind) AND (:run_id::text IS NULL OR run_id = :run_id)
 ORDER BY no LIMIT :limit;

-- name: count_outputs
SELECT kind, COUNT(*) AS count FROM outputs
 WHERE tenant = :tenant AND session_id = :session_id AND (:run_id::text IS NULL OR run_id = :run_id)
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
       (SELECT COALESCE(SUM(octet_length(m.content) + COALESCE(octet_length(m.event), 0)), 0) FROM messages m
         WHERE m.tenant = s.tenant AND m.session_id = s.id) AS message_bytes,
       (SELECT COALESCE(SUM((o.data::jsonb ->> 'size')::bigint), 0) FROM outputs o
         WHERE o.tenant = s.tenant AND o.session_id = s.id AND o.kind = 'artifact') AS output_bytes
  FROM sessions s WHERE s.tenant = :tenant AND s.id >= :first AND s.id > :after ORDER BY s.id LIMIT :limit;

-- name: lock_storage
-- Whoever measures what a tenant keeps is alone with it until it has kept its own.
SELECT pg_advisory_xact_lock(26, hashtext(:tenant));

-- name: stored_bytes
SELECT COALESCE(SUM(size), 0) AS found FROM blobs WHERE tenant = :tenant;

-- name: storage_totals
SELECT (SELECT COUNT(*) FROM blobs WHERE tenant = :tenant) AS blobs,
       (SELECT COALESCE(SUM(size), 0) FROM blobs WHERE tenant = :tenant) AS blob_bytes,
       (SELECT COUNT(*) FROM artifacts WHERE tenant = :tenant) AS artifacts,
       (SELECT COUNT(*) FROM manifests WHERE tenant = :tenant) AS manifests;

-- What a session reaches through its pointers

-- name: living_pointers
SELECT id FROM pointers WHERE tenant = :tenant AND id = ANY(:ids::text[]) AND deleted_at IS NULL;

-- name: manifest_in_reach
-- Where one of these pointers stands or stood, what one is fixed to, or what came out of the session since its last reset.
SELECT 1 AS found FROM pointer_moves
 WHERE tenant = :tenant AND new = :hash AND pointer_id = ANY(:followed::text[])
UNION ALL
SELECT 1 FROM outputs WHERE tenant = :tenant AND ref = :hash AND session_id = :session_id AND kind = 'manifest'
   AND epoch = COALESCE((SELECT s.epoch FROM sessions s WHERE s.tenant = :tenant AND s.id = :session_id), 0)
LIMIT 1;

-- name: content_in_reach
-- In a manifest that is held, or brought out by the session itself since its last reset.
SELECT 1 AS found FROM outputs
 WHERE tenant = :tenant AND ref = :hash AND session_id = :session_id AND kind = 'artifact'
   AND epoch = COALESCE((SELECT s.epoch FROM sessions s WHERE s.tenant = :tenant AND s.id = :session_id), 0)
UNION ALL
SELECT 1 FROM manifest_entries e
 WHERE e.tenant = :tenant AND e.sha256 = :hash
   AND (e.manifest = ANY(:fixed::text[])
        OR EXISTS (SELECT 1 FROM pointer_moves p
                    WHERE p.tenant = :tenant AND p.new = e.manifest AND p.pointer_id = ANY(:followed::text[]))
        OR EXISTS (SELECT 1 FROM outputs o
                    WHERE o.tenant = :tenant AND o.ref = e.manifest AND o.session_id = :session_id
                      AND o.kind = 'manifest'
                      AND o.epoch = COALESCE((SELECT s.epoch FROM sessions s WHERE s.tenant = :tenant AND s.id = :session_id), 0)))
LIMIT 1;

-- What nobody refers to

-- name: open_collection
-- For this transaction alone; touches no row of a tenant.
SELECT set_config('turnkeeper.door', 'collection', true);


-- name: tenants_with_content
SELECT tenant FROM blobs UNION SELECT tenant FROM blob_pieces ORDER BY tenant;

-- name: loose_blobs
-- Content that is in no manifest and no output, and was last kept before a moment.
SELECT b.* FROM blobs b
 WHERE b.tenant = :tenant AND b.sha256 > :after
   AND NOT EXISTS (SELECT 1 FROM manifest_entries e WHERE e.tenant = b.tenant AND e.sha256 = b.sha256)
   AND NOT EXISTS (SELECT 1 FROM outputs o WHERE o.tenant = b.tenant AND o.ref = b.sha256)
   AND NOT EXISTS (SELECT 1 FROM artifacts a
                    WHERE a.tenant = b.tenant AND a.sha256 = b.sha256 AND a.created_at >= :before)
 ORDER BY b.sha256 LIMIT :limit;

-- name: is_loose
SELECT 1 AS found FROM blobs b
 WHERE b.tenant = :tenant AND b.sha256 = :hash
   AND NOT EXISTS (SELECT 1 FROM manifest_entries e WHERE e.tenant = b.tenant AND e.sha256 = b.sha256)
   AND NOT EXISTS (SELECT 1 FROM outputs o WHERE o.tenant = b.tenant AND o.ref = b.sha256)
   AND NOT EXISTS (SELECT 1 FROM artifacts a
                    WHERE a.tenant = b.tenant AND a.sha256 = b.sha256 AND a.created_at >= :before);

-- name: claim_blob
-- Whoever wants to refer to it waits for the end of this transaction, and then finds it gone or still there.
SELECT * FROM blobs WHERE tenant = :tenant AND sha256 = :hash AND content = :content FOR UPDATE;

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
SELECT mounts FROM sessions WHERE tenant = :tenant AND strpos(mounts, '"artifact"') > 0;

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
SELECT no FROM blob_pieces WHERE tenant = :tenant AND content = :content FOR UPDATE;

-- name: known_uploads
SELECT content FROM blobs WHERE tenant = :tenant AND content = ANY(:contents::text[]);

-- name: awaited_session
-- Whether a run of the session waits for an approval.
SELECT 1 AS is_awaited
  FROM approvals a JOIN runs r ON r.tenant = a.tenant AND r.id = a.run_id
 WHERE a.tenant = :tenant AND a.session_id = :session_id AND a.status = 'pending' AND r.status = 'waiting' LIMIT 1;

-- Exporting, erasing, archiving.

-- name: open_erasure
-- For this transaction alone; touches no row of a tenant.
SELECT set_config('turnkeeper.door', 'erasure', true);

-- name: erase_checkpoints
WITH gone AS (DELETE FROM checkpoints WHERE tenant = :tenant AND run_id IN (SELECT id FROM runs WHERE tenant = :tenant AND session_id = :session_id AND subject = :subject) RETURNING 1)
SELECT COUNT(*) AS found FROM gone;

-- name: erase_effects
WITH gone AS (DELETE FROM effects WHERE tenant = :tenant AND run_id IN (SELECT id FROM runs WHERE tenant = :tenant AND session_id = :session_id AND subject = :subject) RETURNING 1)
SELECT COUNT(*) AS found FROM gone;

-- name: erase_approvals
WITH gone AS (DELETE FROM approvals WHERE tenant = :tenant AND run_id IN (SELECT id FROM runs WHERE tenant = :tenant AND session_id = :session_id AND subject = :subject) RETURNING 1)
SELECT COUNT(*) AS found FROM gone;

-- name: erase_outbox
WITH gone AS (DELETE FROM outbox WHERE tenant = :tenant AND run_id IN (SELECT id FROM runs WHERE tenant = :tenant AND session_id = :session_id AND subject = :subject) RETURNING 1)
SELECT COUNT(*) AS found FROM gone;

-- name: erase_explanations
WITH gone AS (DELETE FROM explanations WHERE tenant = :tenant AND session_id = :session_id
   AND run_id IN (SELECT id FROM runs WHERE tenant = :tenant AND session_id = :session_id AND subject = :subject) RETURNING 1)
SELECT COUNT(*) AS found FROM gone;

-- name: erase_requests
-- A session that was begun without a message is kept with its request under its own id.
WITH gone AS (DELETE FROM requests WHERE tenant = :tenant AND (run_id = :session_id
   OR run_id IN (SELECT id FROM runs WHERE tenant = :tenant AND session_id = :session_id AND subject = :subject)) RETURNING 1)
SELECT COUNT(*) AS found FROM gone;

-- name: erase_chunks
WITH gone AS (DELETE FROM chunks WHERE tenant = :tenant AND subject = :subject RETURNING 1)
SELECT COUNT(*) AS found FROM gone;

-- name: erase_feed
WITH gone AS (DELETE FROM feed WHERE tenant = :tenant AND subject = :subject RETURNING 1)
SELECT COUNT(*) AS found FROM gone;

-- name: erase_runs
WITH gone AS (DELETE FROM runs WHERE tenant = :tenant AND session_id = :session_id AND subject = :subject RETURNING 1)
SELECT COUNT(*) AS found FROM gone;

-- name: erase_messages
WITH gone AS (DELETE FROM messages WHERE tenant = :tenant AND session_id = :session_id RETURNING 1)
SELECT COUNT(*) AS found FROM gone;

-- name: erase_turns
WITH gone AS (DELETE FROM turns WHERE tenant = :tenant AND session_id = :session_id RETURNING 1)
SELECT COUNT(*) AS found FROM gone;

-- name: erase_epochs
WITH gone AS (DELETE FROM epochs WHERE tenant = :tenant AND session_id = :session_id RETURNING 1)
SELECT COUNT(*) AS found FROM gone;

-- name: erase_outputs
WITH gone AS (DELETE FROM outputs WHERE tenant = :tenant AND session_id = :session_id RETURNING 1)
SELECT COUNT(*) AS found FROM gone;

-- name: erase_layouts
WITH gone AS (DELETE FROM layouts WHERE tenant = :tenant AND session_id = :session_id RETURNING 1)
SELECT COUNT(*) AS found FROM gone;

-- name: erase_current_sessions
WITH gone AS (DELETE FROM current_sessions WHERE tenant = :tenant AND session_id = :session_id RETURNING 1)
SELECT COUNT(*) AS found FROM gone;

-- name: erase_units
WITH gone AS (DELETE FROM units WHERE tenant = :tenant AND place = :session_id RETURNING 1)
SELECT COUNT(*) AS found FROM gone;

-- name: erase_sessions
WITH gone AS (DELETE FROM sessions WHERE tenant = :tenant AND id = :session_id RETURNING 1)
SELECT COUNT(*) AS found FROM gone;

-- name: erase_manifests
-- Changes no row while another session, a pointer that is not deleted or a later manifest names it.
WITH gone AS (DELETE FROM manifests WHERE tenant = :tenant AND sha256 = :hash
   AND NOT EXISTS (SELECT 1 FROM outputs o WHERE o.tenant = :tenant AND o.ref = :hash)
   AND NOT EXISTS (SELECT 1 FROM pointers p WHERE p.tenant = :tenant AND p.manifest = :hash AND p.deleted_at IS NULL)
   AND NOT EXISTS (SELECT 1 FROM pointer_moves w JOIN pointers p ON p.tenant = w.tenant AND p.id = w.pointer_id
                    WHERE w.tenant = :tenant AND w.new = :hash AND p.deleted_at IS NULL)
   AND NOT EXISTS (SELECT 1 FROM manifests c WHERE c.tenant = :tenant AND c.parent_sha256 = :hash) RETURNING 1)
SELECT COUNT(*) AS found FROM gone;

-- name: erase_manifest_entries
WITH gone AS (DELETE FROM manifest_entries WHERE tenant = :tenant AND manifest = :hash RETURNING 1)
SELECT COUNT(*) AS found FROM gone;

-- name: erase_artifacts
WITH gone AS (DELETE FROM artifacts WHERE tenant = :tenant AND id = :id RETURNING 1)
SELECT COUNT(*) AS found FROM gone;

-- name: erase_pointer_moves
-- They are put back without what the session said.
WITH gone AS (DELETE FROM pointer_moves WHERE tenant = :tenant AND session_id = :session_id RETURNING 1)
SELECT COUNT(*) AS found FROM gone;

-- name: erase_requests_of_user
WITH gone AS (DELETE FROM requests WHERE tenant = :tenant AND user_id = :user RETURNING 1)
SELECT COUNT(*) AS found FROM gone;

-- name: erase_contacts_of_user
WITH gone AS (DELETE FROM contacts WHERE tenant = :tenant AND user_id = :user RETURNING 1)
SELECT COUNT(*) AS found FROM gone;

-- name: erase_users
WITH gone AS (DELETE FROM users WHERE tenant = :tenant AND id = :user RETURNING 1)
SELECT COUNT(*) AS found FROM gone;

-- name: erase_contacts
-- The address stays; its next message begins a new session.
WITH changed AS (UPDATE contacts SET session_id = NULL WHERE tenant = :tenant AND session_id = :session_id RETURNING 1)
SELECT COUNT(*) AS found FROM changed;

-- name: erase_forks
-- What they shared is gone; they say so.
WITH changed AS (UPDATE sessions SET fork_of = '-', version = version + 1 WHERE tenant = :tenant AND fork_of = :session_id RETURNING 1)
SELECT COUNT(*) AS found FROM changed;

-- name: quiet_lease
-- Whoever runs has lost the right to write; nothing but the counters stays.
WITH changed AS (UPDATE leases SET holder = NULL, run_id = NULL, expires_at = 0, fence = fence + 1, queued = 0,
       stop_how = NULL, stop_by = NULL WHERE tenant = :tenant AND subject = :subject RETURNING 1)
SELECT COUNT(*) AS found FROM changed;

-- name: rename_in_runs
WITH changed AS (UPDATE runs SET user_id = :pseudonym WHERE tenant = :tenant AND user_id = :user RETURNING 1)
SELECT COUNT(*) AS found FROM changed;

-- name: rename_in_approvals
WITH changed AS (UPDATE approvals SET decided_by = :pseudonym, reason = NULL WHERE tenant = :tenant AND decided_by = :user RETURNING 1)
SELECT COUNT(*) AS found FROM changed;

-- name: rename_in_pack_overrides
WITH changed AS (UPDATE pack_overrides SET changed_by = :pseudonym WHERE tenant = :tenant AND changed_by = :user RETURNING 1)
SELECT COUNT(*) AS found FROM changed;

-- name: rename_in_knowledge_bases
WITH changed AS (UPDATE knowledge_bases SET created_by = :pseudonym WHERE tenant = :tenant AND created_by = :user RETURNING 1)
SELECT COUNT(*) AS found FROM changed;

-- name: rename_in_bindings
WITH changed AS (UPDATE bindings SET created_by = :pseudonym WHERE tenant = :tenant AND created_by = :user RETURNING 1)
SELECT COUNT(*) AS found FROM changed;

-- name: rename_in_layers
WITH changed AS (UPDATE layers SET created_by = :pseudonym WHERE tenant = :tenant AND created_by = :user RETURNING 1)
SELECT COUNT(*) AS found FROM changed;

-- name: rename_in_users
WITH changed AS (UPDATE users SET created_by = :pseudonym WHERE tenant = :tenant AND created_by = :user RETURNING 1)
SELECT COUNT(*) AS found FROM changed;

-- name: rename_in_agent_definitions
WITH changed AS (UPDATE agent_definitions SET created_by = :pseudonym WHERE tenant = :tenant AND created_by = :user RETURNING 1)
SELECT COUNT(*) AS found FROM changed;

-- name: rename_in_model_profiles
WITH changed AS (UPDATE model_profiles SET created_by = :pseudonym WHERE tenant = :tenant AND created_by = :user RETURNING 1)
SELECT COUNT(*) AS found FROM changed;

-- name: rename_in_pointers
WITH changed AS (UPDATE pointers SET created_by = :pseudonym WHERE tenant = :tenant AND created_by = :user RETURNING 1)
SELECT COUNT(*) AS found FROM changed;

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
   AND run_id IN (SELECT id FROM runs WHERE tenant = :tenant AND session_id = :session_id AND subject = :subject)
   AND run_id > :after ORDER BY run_id LIMIT :limit;

-- name: export_feed
SELECT * FROM feed
 WHERE tenant = :tenant AND subject = :subject AND no > :after ORDER BY no LIMIT :limit;

-- name: export_outputs
SELECT * FROM outputs
 WHERE tenant = :tenant AND session_id = :session_id AND no > :after ORDER BY no LIMIT :limit;

-- name: export_approvals
SELECT * FROM approvals
 WHERE tenant = :tenant AND run_id IN (SELECT id FROM runs WHERE tenant = :tenant AND session_id = :session_id AND subject = :subject)
   AND id > :after ORDER BY id LIMIT :limit;

-- name: export_deliveries
SELECT * FROM outbox
 WHERE tenant = :tenant AND run_id IN (SELECT id FROM runs WHERE tenant = :tenant AND session_id = :session_id AND subject = :subject)
   AND id > :after ORDER BY id LIMIT :limit;

-- name: export_checkpoints
SELECT * FROM checkpoints
 WHERE tenant = :tenant AND run_id = :session_id AND no > :after ORDER BY no LIMIT :limit;

-- name: export_effects
SELECT * FROM effects
 WHERE tenant = :tenant AND run_id = :session_id AND key > :after ORDER BY key LIMIT :limit;

-- name: export_contacts
SELECT * FROM contacts WHERE tenant = :tenant AND user_id = :user ORDER BY binding, address;

-- name: sweep_erased
-- Frees what was deleted; waits for nobody.
VACUUM (SKIP_LOCKED) sessions, runs, messages, turns, epochs, feed, chunks, checkpoints, explanations, requests, units,
       effects, outbox, outputs, layouts, approvals, blobs, blob_pieces, artifacts, manifests, manifest_entries,
       pointer_moves, contacts, current_sessions, users;

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
 WHERE device_sessions.version = :version
RETURNING tenant;

-- name: list_seal_keys
SELECT * FROM seal_keys WHERE tenant = :tenant ORDER BY created_at, id;

-- name: lock_seal_keys
-- Of two nodes that make the first key of a tenant at once, the second sees that of the first. 27 is ours.
SELECT pg_advisory_xact_lock(27, hashtext(:tenant));

-- name: make_first_seal_key
INSERT INTO seal_keys (tenant, id, key, created_at)
SELECT :tenant, :id, :key, :created_at
 WHERE NOT EXISTS (SELECT 1 FROM seal_keys WHERE tenant = :tenant AND retired_at IS NULL);

-- name: add_seal_key
INSERT INTO seal_keys (tenant, id, key, created_at) VALUES (:tenant, :id, :key, :created_at);

-- name: retire_seal_key
UPDATE seal_keys SET key = NULL, retired_at = COALESCE(retired_at, :now) WHERE tenant = :tenant AND id = :id
RETURNING tenant;

-- name: newest_revision
SELECT revision FROM carried_revisions WHERE tenant = :tenant AND user_id = :user AND session_id = :session_id;

-- name: remember_revision
-- Changes no row when the session has gone on from a newer state; the caller then raises CarriedStale.
INSERT INTO carried_revisions (tenant, user_id, session_id, revision, at)
VALUES (:tenant, :user, :session_id, :revision, :now)
ON CONFLICT (tenant, user_id, session_id) DO UPDATE SET revision = excluded.revision, at = excluded.at
 WHERE carried_revisions.revision <= :sent
RETURNING tenant;

-- name: revisions_of_user
SELECT session_id, revision FROM carried_revisions WHERE tenant = :tenant AND user_id = :user ORDER BY session_id;

-- name: erase_carried_revisions
WITH gone AS (DELETE FROM carried_revisions WHERE tenant = :tenant AND user_id = :user RETURNING 1)
SELECT count(*) AS found FROM gone;

-- name: erase_device_sessions
WITH gone AS (DELETE FROM device_sessions WHERE tenant = :tenant AND user_id = :user RETURNING 1)
SELECT count(*) AS found FROM gone;

-- name: lock_keys
-- Of two keys that are made for one user at once, the second counts the first. 28 is ours.
SELECT pg_advisory_xact_lock(28, hashtext(:tenant));

-- name: count_live_keys
SELECT COUNT(*) AS found FROM api_keys
 WHERE tenant = :tenant AND user_id = :user AND kind = :kind
   AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > :created_at);

-- name: add_key
INSERT INTO api_keys (tenant, id, kind, name, user_id, role, digest, grants, limited_to, session_id, is_operator, per_second,
                      burst, parent, created_by, created_at, expires_at)
VALUES (:tenant, :id, :kind, :name, :user, :role, :digest, :grants, :limited_to, :session_id, :is_operator, :per_second,
        :burst, :parent, :created_by, :created_at, :expires_at);

-- name: drop_old_logins
DELETE FROM api_keys
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
SELECT * FROM api_keys
 WHERE tenant = :tenant AND user_id = :user AND kind = :kind AND id < :before
 ORDER BY id DESC LIMIT :limit;

-- name: revoke_key
UPDATE api_keys SET revoked_at = COALESCE(revoked_at, :now) WHERE tenant = :tenant AND id = :id RETURNING *;

-- name: use_key
UPDATE api_keys SET used_at = :now WHERE tenant = :tenant AND id = :id RETURNING 1;

-- name: erase_api_keys
WITH gone AS (DELETE FROM api_keys WHERE tenant = :tenant AND session_id = :session_id RETURNING 1)
SELECT COUNT(*) AS found FROM gone;

-- name: erase_api_keys_of_user
WITH gone AS (DELETE FROM api_keys WHERE tenant = :tenant AND user_id = :user RETURNING 1)
SELECT COUNT(*) AS found FROM gone;

-- name: rename_in_api_keys
WITH changed AS (UPDATE api_keys SET created_by = :pseudonym WHERE tenant = :tenant AND created_by = :user RETURNING 1)
SELECT COUNT(*) AS found FROM changed;

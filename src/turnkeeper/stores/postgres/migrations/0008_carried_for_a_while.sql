-- What a client carries leaves the results of its runs after a while, and what it had sent leaves a run with its end.
-- Results from before tell it for as long as requests are remembered, seven days unless that was set otherwise.
ALTER TABLE runs ADD COLUMN carried_until BIGINT;
CREATE INDEX runs_that_carry ON runs (tenant, carried_until) WHERE carried_until IS NOT NULL;
UPDATE runs SET carried_until = ended_at + 604800000000
 WHERE custody = 'client' AND ended_at IS NOT NULL AND result IS NOT NULL;
UPDATE runs SET input = (SELECT json_object_agg(key, value)::text
                      FROM json_each(regexp_replace(input, '(?<!\\)((?:\\\\)*)\\u0000', '\1\\ufffd', 'g')::json)
                     WHERE key <> 'carried')
 WHERE custody = 'client' AND ended_at IS NOT NULL AND input IS NOT NULL;

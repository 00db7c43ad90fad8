-- Weights and thresholds of the scores, as the newest `agent-reach serve` or `clickhouse ddl` set them.
CREATE TABLE IF NOT EXISTS reach_settings$local $on_cluster (
    `set` DateTime64(3) DEFAULT now64(3),
    `tool` Float64, `knowledge` Float64, `task` Float64,
    `taken_penalty` Float64,
    `absent_full` Bool COMMENT 'an absent link counts as 1 instead of giving its weight away',
    `healthy` Float64, `degraded` Float64
) ENGINE = $merge_tree ORDER BY set;

$distributed reach_settings BY rand();

INSERT INTO reach_settings (set, tool, knowledge, task, taken_penalty, absent_full, healthy, degraded)
SELECT toDateTime64(0, 3), 0.4, 0.3, 0.3, 0.2, false, 0.9, 0.75 WHERE (SELECT count() FROM reach_settings) = 0;

-- What each event adds to every figure, by event: minute snapshots are made of it.
CREATE VIEW IF NOT EXISTS reach_counts $on_cluster AS
WITH (SELECT taken_penalty FROM reach_settings ORDER BY set DESC LIMIT 1) AS penalty,
    CAST(kind, 'String') AS k, CAST(status, 'String') AS st, CAST(rung, 'String') AS r
SELECT
    time, toStartOfMinute(time) AS minute, latency, kind, session, service, agent, intent, version, turn, stored,
    tool, steps, called, instructions, rung, status, first_status, fail_cause, error_type, attempts,
    source, retrieved, relevant, admitted, ideal, context_sources, context_groups, context_cited,
$counts
FROM reach_events FINAL;

-- Minute snapshots by agent, intent and route version; `agent-reach serve` refreshes those that changed every 30 seconds.
CREATE TABLE IF NOT EXISTS reach_minutes$local $on_cluster (
    `minute` DateTime('UTC'),
    `agent` LowCardinality(String),
    `intent` LowCardinality(String),
    `version` LowCardinality(String),
    `needs` UInt64, `reached` UInt64, `tool_sum` Float64, `first_sum` Float64, `taken` UInt64,
    `closed` UInt64, `guessed` UInt64, `abnormal` UInt64,
    `retrievals` UInt64, `knowledge_sum` Float64, `recall_sum` Float64, `hit_sum` Float64,
    `handoffs` UInt64, `complete` UInt64,
    `calls` UInt64, `ok` UInt64, `failed` UInt64, `empty` UInt64, `uncounted` UInt64,
    `retries` UInt64, `reroutes` UInt64, `snapshots` UInt64, `humans` UInt64,
    `turns` UInt64,
    `sessions` AggregateFunction(uniqCombined64(12), String),
    `broken` AggregateFunction(uniqCombined64(12), String) COMMENT 'sessions with a link that was not fully reached',
    `taken_at` DateTime64(3)
) ENGINE = $replacing_minutes
PARTITION BY toYYYYMM(minute)
ORDER BY (minute, agent, intent, version)
TTL minute + toIntervalDay($ttl_days);

$distributed reach_minutes BY cityHash64(agent);

-- Minute snapshots by tool.
CREATE TABLE IF NOT EXISTS reach_tool_minutes$local $on_cluster (
    `minute` DateTime('UTC'),
    `agent` LowCardinality(String),
    `intent` LowCardinality(String),
    `version` LowCardinality(String),
    `tool` LowCardinality(String),
    `rung` LowCardinality(String) COMMENT 'that decided the calls',
    `calls` UInt64, `ok` UInt64, `failed` UInt64, `empty` UInt64,
    `attempts` UInt64,
    `short` UInt64 COMMENT 'calls whose first attempt failed or was empty', `saved` UInt64 COMMENT 'those of them that ended ok',
    `first_failed` UInt64,
    `rate_limited` UInt64, `refused` UInt64 COMMENT 'by an open breaker',
    `latency` AggregateFunction(quantilesTDigest(0.5, 0.95), UInt64),
    `taken_at` DateTime64(3)
) ENGINE = $replacing_minutes
PARTITION BY toYYYYMM(minute)
ORDER BY (minute, agent, intent, version, tool, rung)
TTL minute + toIntervalDay($ttl_days);

$distributed reach_tool_minutes BY cityHash64(agent);

-- Minute snapshots of routing: steps of the units with a route that closed.
CREATE TABLE IF NOT EXISTS reach_step_minutes$local $on_cluster (
    `minute` DateTime('UTC'),
    `agent` LowCardinality(String),
    `intent` LowCardinality(String),
    `version` LowCardinality(String),
    `needed` LowCardinality(String) COMMENT 'the best tool of the step',
    `turns` LowCardinality(String) COMMENT '1–2, 3–4 or 5+',
    `n` UInt64 COMMENT 'pairs of a unit and this step',
    `candidate` UInt64, `precise` UInt64, `first` UInt64, `alternative` UInt64,
    `decided` UInt64, `decisions` UInt64,
    `taken_at` DateTime64(3)
) ENGINE = $replacing_minutes
PARTITION BY toYYYYMM(minute)
ORDER BY (minute, agent, intent, version, needed, turns)
TTL minute + toIntervalDay($ttl_days);

$distributed reach_step_minutes BY cityHash64(agent);

-- Minute snapshots of instructions: turns in which the condition of one was met.
CREATE TABLE IF NOT EXISTS reach_atom_minutes$local $on_cluster (
    `minute` DateTime('UTC'),
    `agent` LowCardinality(String),
    `intent` LowCardinality(String),
    `version` LowCardinality(String),
    `atom` LowCardinality(String) COMMENT 'id of the instruction',
    `triggered` UInt64, `obeyed` UInt64,
    `over` UInt64 COMMENT 'asked again for what was given: in neither of the two',
    `taken_at` DateTime64(3)
) ENGINE = $replacing_minutes
PARTITION BY toYYYYMM(minute)
ORDER BY (minute, agent, intent, version, atom)
TTL minute + toIntervalDay($ttl_days);

$distributed reach_atom_minutes BY cityHash64(agent);

-- Minute snapshots by knowledge source.
CREATE TABLE IF NOT EXISTS reach_source_minutes$local $on_cluster (
    `minute` DateTime('UTC'),
    `agent` LowCardinality(String),
    `intent` LowCardinality(String),
    `version` LowCardinality(String),
    `source` LowCardinality(String),
    `n` UInt64, `retrieved` UInt64, `relevant` UInt64, `admitted` UInt64, `ideal` UInt64,
    `counted` UInt64 COMMENT 'retrievals that should have brought something', `recall_sum` Float64, `hit_sum` Float64,
    `failed` UInt64, `empty` UInt64,
    `taken_at` DateTime64(3)
) ENGINE = $replacing_minutes
PARTITION BY toYYYYMM(minute)
ORDER BY (minute, agent, intent, version, source)
TTL minute + toIntervalDay($ttl_days);

$distributed reach_source_minutes BY cityHash64(agent);

-- Minute snapshots of context utilisation: fragments that stood in the context, and those of them that replies cite.
CREATE TABLE IF NOT EXISTS reach_context_minutes$local $on_cluster (
    `minute` DateTime('UTC'),
    `agent` LowCardinality(String),
    `intent` LowCardinality(String),
    `version` LowCardinality(String),
    `source` LowCardinality(String),
    `label` LowCardinality(String) COMMENT 'what kind of knowledge it is, as declared',
    `fifth` UInt8 COMMENT 'where it stood: 1 is the first 20 % of the fragments',
    `n` UInt64, `cited` UInt64,
    `taken_at` DateTime64(3)
) ENGINE = $replacing_minutes
PARTITION BY toYYYYMM(minute)
ORDER BY (minute, agent, intent, version, source, label, fifth)
TTL minute + toIntervalDay($ttl_days);

$distributed reach_context_minutes BY cityHash64(agent);

-- Scores of each session, closed units only.
CREATE VIEW IF NOT EXISTS reach_sessions $on_cluster AS
WITH
    (SELECT (tool, knowledge, task, absent_full, healthy, degraded) FROM reach_settings ORDER BY set DESC LIMIT 1) AS s,
    sum(needs_n) AS needs, sum(retrieval_n) AS retrievals, sum(handoff_n) AS handoffs
SELECT
    session, min(time) AS begun, max(time) AS seen, anyLast(agent) AS last_agent, anyLast(intent) AS last_intent,
    sum(call_n) AS calls, sum(ok_n) AS ok, sum(fail_n) AS failed, sum(empty_n) AS empty, sum(uncounted_n) AS uncounted,
    sum(turn_n) AS turns, max(guessed_n) AS guessed, max(abnormal_n) AS abnormal,
    if(needs > 0, sum(tool_sum) / needs, NULL) AS tool,
    if(retrievals > 0, sum(knowledge_sum) / retrievals, NULL) AS knowledge,
    if(handoffs > 0, sum(complete_n) / handoffs, NULL) AS task,
    s.1 AS w_tool,
    s.2 + if(isNull(task) AND isNotNull(knowledge) AND NOT s.4, s.3, 0) AS w_knowledge,
    s.3 AS w_task,
    isNotNull(tool) OR isNotNull(knowledge) OR isNotNull(task) AS any_link,
    if(NOT any_link, NULL, if(s.4,
        (ifNull(tool, 1) * s.1 + ifNull(knowledge, 1) * s.2 + ifNull(task, 1) * s.3) / (s.1 + s.2 + s.3),
        (ifNull(tool, 0) * w_tool + ifNull(knowledge, 0) * w_knowledge + ifNull(task, 0) * w_task)
        / nullIf(if(isNull(tool), 0, w_tool) + if(isNull(knowledge), 0, w_knowledge) + if(isNull(task), 0, w_task), 0))) AS total,
    multiIf(isNull(total), '', round(total, 9) >= s.5, 'healthy', round(total, 9) >= s.6, 'degraded', 'broken') AS band
FROM (
    WITH (SELECT taken_penalty FROM reach_settings ORDER BY set DESC LIMIT 1) AS penalty,
        CAST(kind, 'String') AS k, CAST(status, 'String') AS st, CAST(rung, 'String') AS r
    SELECT session, time, kind, agent, intent, status, rung, retrieved, relevant, admitted, ideal,
$counts
    FROM reach_session_events FINAL)
GROUP BY session;

-- Additive counters that applications send as OTLP metrics, such as faults of the observer itself.
CREATE TABLE IF NOT EXISTS reach_counters$local $on_cluster (
    `time` DateTime64(9),
    `service` LowCardinality(String),
    `instance` String,
    `name` LowCardinality(String),
    `attributes` Map(LowCardinality(String), String),
    `value` Float64
) ENGINE = $replacing
PARTITION BY toDate(time)
ORDER BY (name, service, instance, toString(attributes), time)
TTL toDateTime(time) + toIntervalDay($ttl_days);

$distributed reach_counters BY cityHash64(service);

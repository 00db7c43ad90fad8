-- One row an event of ours, typed, read out of the span attributes as they arrive; a resent span replaces itself.
CREATE TABLE IF NOT EXISTS reach_events$local $on_cluster (
    `time` DateTime64(9) COMMENT 'begin of the span, UTC',
    `latency` UInt64 COMMENT 'nanoseconds',
    `kind` LowCardinality(String) COMMENT 'tool_call, tool_attempt, retrieval, handoff, turn or unit',
    `service` LowCardinality(String),
    `session` String,
    `trace` String,
    `id` String,
    `parent` String,
    `turn` UInt32,
    `unit` UInt32,
    `agent` LowCardinality(String),
    `intent` LowCardinality(String),
    `version` LowCardinality(String) COMMENT 'of the route table',
    `status` LowCardinality(String),
    `tool` LowCardinality(String) COMMENT 'of a call or attempt',
    `call_id` String,
    `fail_cause` LowCardinality(String),
    `error_type` LowCardinality(String),
    `empty_kind` LowCardinality(String),
    `stage` LowCardinality(String) COMMENT 'before, during or after',
    `attempts` UInt32,
    `rung` LowCardinality(String) COMMENT 'of an attempt; of a call, the one that decided it',
    `first_status` LowCardinality(String),
    `served_by` LowCardinality(String),
    `expected` String COMMENT 'JSON array of tools, best first',
    `offered` String COMMENT 'JSON array of tools, as the model saw them',
    `verdict` LowCardinality(String),
    `precise` Bool,
    `source` LowCardinality(String) COMMENT 'of a retrieval',
    `retrieved` UInt32,
    `relevant` UInt32,
    `admitted` UInt32,
    `ideal` UInt32,
    `context_sources` String COMMENT 'of a turn: JSON array, the source of each fragment that stood in the context, in their order',
    `context_groups` String COMMENT 'the declared label of each of them, empty when none has one',
    `context_cited` String COMMENT 'for each of them 1 when the reply cites it, else 0',
    `sender` LowCardinality(String) COMMENT 'of a handoff',
    `receiver` LowCardinality(String),
    `missing` String COMMENT 'JSON array of what the receiver needs and did not get',
    `outcome` LowCardinality(String) COMMENT 'of a turn',
    `score` Float64 COMMENT 'of the session as the turn ended; -1 when there was none',
    `closes` Bool COMMENT 'a task unit closed here: the counts below are what it adds',
    `needs` UInt32,
    `reached` UInt32,
    `first_reached` UInt32,
    `taken` UInt32 COMMENT 'empty results taken as success',
    `answered` Bool,
    `guessed` Bool,
    `abnormal` Bool,
    `degraded` UInt32,
    `steps` String COMMENT 'JSON array, one text a step of the route, see agent_reach.scores.steps',
    `instructions` String COMMENT 'of a turn: JSON array, verdict and id of each instruction whose condition was met',
    `called` String COMMENT 'JSON array of the tools that a unit with a route called',
    `stored` DateTime64(3) COMMENT 'when this row arrived',
    INDEX idx_stored stored TYPE minmax GRANULARITY 1
) ENGINE = $replacing
PARTITION BY toDate(time)
ORDER BY (toStartOfMinute(time), kind, agent, time, id)
TTL toDateTime(time) + toIntervalDay($ttl_days)
SETTINGS index_granularity = 8192, ttl_only_drop_parts = 1$dedup;

CREATE MATERIALIZED VIEW IF NOT EXISTS reach_events_mv $on_cluster TO reach_events$local AS
WITH SpanAttributes AS a
SELECT
    Timestamp AS time,
    Duration AS latency,
    a['agent_reach.event'] AS kind,
    ServiceName AS service,
    a['gen_ai.conversation.id'] AS session,
    TraceId AS trace,
    SpanId AS id,
    ParentSpanId AS parent,
    toUInt32OrZero(a['agent_reach.turn']) AS turn,
    toUInt32OrZero(a['agent_reach.task_unit']) AS unit,
    if(a['agent_reach.unit.agent'] != '', a['agent_reach.unit.agent'], a['gen_ai.agent.name']) AS agent,
    a['agent_reach.intent'] AS intent,
    a['agent_reach.route.version'] AS version,
    a['agent_reach.status'] AS status,
    a['gen_ai.tool.name'] AS tool,
    a['gen_ai.tool.call.id'] AS call_id,
    a['agent_reach.fail.cause'] AS fail_cause,
    a['error.type'] AS error_type,
    a['agent_reach.empty.kind'] AS empty_kind,
    a['agent_reach.stage'] AS stage,
    toUInt32OrZero(a['agent_reach.attempts']) AS attempts,
    if(kind = 'tool_attempt', a['agent_reach.rung'], a['agent_reach.compensation']) AS rung,
    if(a['agent_reach.first_status'] = '', 'ok', a['agent_reach.first_status']) AS first_status,
    a['agent_reach.served_by'] AS served_by,
    a['agent_reach.tools.expected'] AS expected,
    a['agent_reach.tools.offered'] AS offered,
    a['agent_reach.verdict'] AS verdict,
    a['agent_reach.precise'] = 'true' AS precise,
    a['gen_ai.data_source.id'] AS source,
    toUInt32OrZero(a['agent_reach.knowledge.retrieved']) AS retrieved,
    toUInt32OrZero(a['agent_reach.knowledge.relevant']) AS relevant,
    toUInt32OrZero(a['agent_reach.knowledge.admitted']) AS admitted,
    toUInt32OrZero(a['agent_reach.knowledge.ideal']) AS ideal,
    a['agent_reach.context.sources'] AS context_sources,
    a['agent_reach.context.groups'] AS context_groups,
    a['agent_reach.context.cited'] AS context_cited,
    a['agent_reach.handoff.from'] AS sender,
    a['agent_reach.handoff.to'] AS receiver,
    a['agent_reach.handoff.missing'] AS missing,
    a['agent_reach.turn.outcome'] AS outcome,
    toFloat64OrDefault(a['agent_reach.score'], -1.) AS score,
    kind = 'unit' OR mapContains(a, 'agent_reach.unit.agent') AS closes,
    toUInt32OrZero(a['agent_reach.unit.needs']) AS needs,
    toUInt32OrZero(a['agent_reach.unit.reached']) AS reached,
    toUInt32OrZero(a['agent_reach.unit.first_reached']) AS first_reached,
    toUInt32OrZero(a['agent_reach.unit.taken']) AS taken,
    a['agent_reach.unit.answered'] = 'true' AS answered,
    a['agent_reach.guessed'] = 'true' AS guessed,
    a['agent_reach.abnormal'] = 'true' AS abnormal,
    toUInt32OrZero(a['agent_reach.unit.degraded']) AS degraded,
    a['agent_reach.unit.steps'] AS steps,
    a['agent_reach.instructions'] AS instructions,
    a['agent_reach.unit.called'] AS called,
    now64(3) AS stored
FROM otel_traces$local
WHERE SpanAttributes['agent_reach.event'] != '';

$distributed reach_events BY cityHash64(trace);

-- What scores of sessions are made of, in the order of sessions: there a session lies together, above it lies with its minute.
CREATE TABLE IF NOT EXISTS reach_session_events$local $on_cluster (
    `session` String,
    `time` DateTime64(9),
    `kind` LowCardinality(String),
    `id` String,
    `turn` UInt32,
    `unit` UInt32,
    `agent` LowCardinality(String),
    `intent` LowCardinality(String),
    `status` LowCardinality(String),
    `rung` LowCardinality(String),
    `retrieved` UInt32, `relevant` UInt32, `admitted` UInt32, `ideal` UInt32,
    `missing` String,
    `closes` Bool, `needs` UInt32, `reached` UInt32, `first_reached` UInt32, `taken` UInt32,
    `guessed` Bool, `abnormal` Bool
) ENGINE = $replacing
PARTITION BY toDate(time)
ORDER BY (session, time, kind, id)
TTL toDateTime(time) + toIntervalDay($ttl_days)
SETTINGS index_granularity = 512, ttl_only_drop_parts = 1$dedup;

CREATE MATERIALIZED VIEW IF NOT EXISTS reach_session_events_mv $on_cluster TO reach_session_events$local AS
SELECT session, time, kind, id, turn, unit, agent, intent, status, rung, retrieved, relevant, admitted, ideal, missing, closes, needs, reached,
    first_reached, taken, guessed, abnormal
FROM reach_events$local
WHERE kind != 'tool_attempt';

$distributed reach_session_events BY cityHash64(session);

-- Which spans came from other instrumentations: a narrow table, since traces are looked for in it every few seconds.
CREATE TABLE IF NOT EXISTS foreign_spans$local $on_cluster (
    `time` DateTime64(9),
    `trace` String,
    `root` Bool,
    `steps` String COMMENT 'JSON array, one text a step of the route, see agent_reach.scores.steps',
    `instructions` String COMMENT 'of a turn: JSON array, verdict and id of each instruction whose condition was met',
    `called` String COMMENT 'JSON array of the tools that a unit with a route called',
    `stored` DateTime64(3)
) ENGINE = $merge_tree
PARTITION BY toDate(time)
ORDER BY (toStartOfMinute(stored), trace)
TTL toDateTime(time) + toIntervalDay($ttl_days)
SETTINGS index_granularity = 8192, ttl_only_drop_parts = 1;

CREATE MATERIALIZED VIEW IF NOT EXISTS foreign_spans_mv $on_cluster TO foreign_spans$local AS
SELECT Timestamp AS time, TraceId AS trace, ParentSpanId = '' AS root, now64(3) AS stored
FROM otel_traces$local
WHERE ScopeName != 'agent_reach' AND (mapContains(SpanAttributes, 'openinference.span.kind')
    OR mapContains(SpanAttributes, 'traceloop.span.kind') OR mapContains(SpanAttributes, 'langsmith.span.kind')
    OR mapContains(SpanAttributes, 'gen_ai.operation.name'));

$distributed foreign_spans BY cityHash64(trace);

-- Traces of other instrumentations that were made events of.
CREATE TABLE IF NOT EXISTS converted_traces$local $on_cluster (
    `trace` String,
    `at` DateTime DEFAULT now()
) ENGINE = $replacing
ORDER BY trace
TTL at + toIntervalDay(2);

$distributed converted_traces BY cityHash64(trace);

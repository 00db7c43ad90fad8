-- Every query of the product. Parameters: {from: Float64} and {to: Float64} are seconds since 1970; {agent}, {intent} and
-- {version} are '' for all. Sums are additive; scores are made of them by `agent_reach.scores`, except where a view does it.

-- name: agents
-- One row an agent, from minute snapshots: what its events add up to in the range. One more row, `together`, holds all agents of
-- it, since distinct sessions do not add up.
SELECT agent, grouping(agent) AS together,
    sum(needs) AS needs, sum(reached) AS reached, sum(tool_sum) AS tool_sum, sum(first_sum) AS first_sum, sum(taken) AS taken,
    sum(closed) AS closed, sum(guessed) AS guessed, sum(abnormal) AS abnormal,
    sum(retrievals) AS retrievals, sum(knowledge_sum) AS knowledge_sum, sum(handoffs) AS handoffs, sum(complete) AS complete,
    sum(calls) AS calls, sum(ok) AS ok, sum(failed) AS failed, sum(empty) AS empty, sum(uncounted) AS uncounted,
    sum(retries) AS retries, sum(reroutes) AS reroutes, sum(snapshots) AS snapshots, sum(humans) AS humans,
    uniqCombined64Merge(12)(sessions) AS sessions, uniqCombined64Merge(12)(broken) AS broken,
    toUnixTimestamp64Milli(max(taken_at)) / 1000 AS taken_at
FROM agent_reach.reach_minutes FINAL
WHERE minute >= toDateTime({from: Float64}, 'UTC') AND minute < toDateTime({to: Float64}, 'UTC')
    AND ({agent: String} = '' OR agent = {agent: String}) AND ({intent: String} = '' OR intent = {intent: String})
    AND ({version: String} = '' OR version = {version: String})
GROUP BY ROLLUP(agent)
ORDER BY together, agent;

-- name: curves
-- One row an agent and bucket of {bucket: UInt32} seconds, with the route versions in it.
SELECT toUnixTimestamp(toStartOfInterval(minute, toIntervalSecond({bucket: UInt32}))) AS at, agent,
    sum(needs) AS needs, sum(tool_sum) AS tool_sum, sum(retrievals) AS retrievals, sum(knowledge_sum) AS knowledge_sum,
    sum(recall_sum) AS recall_sum, sum(hit_sum) AS hit_sum, sum(handoffs) AS handoffs, sum(complete) AS complete,
    sum(calls) AS calls, sum(empty) AS empty, sum(failed) AS failed, groupUniqArray(100)(version) AS versions
FROM agent_reach.reach_minutes FINAL
WHERE minute >= toDateTime({from: Float64}, 'UTC') AND minute < toDateTime({to: Float64}, 'UTC')
    AND ({agent: String} = '' OR agent = {agent: String}) AND ({intent: String} = '' OR intent = {intent: String})
    AND ({version: String} = '' OR version = {version: String})
GROUP BY at, agent
ORDER BY at, agent;

-- name: last_minute
-- The newest minute of the range that a snapshot knows, 0 when there is none.
SELECT toUnixTimestamp(max(minute)) AS last
FROM agent_reach.reach_minutes
WHERE minute >= toDateTime({from: Float64}, 'UTC') AND minute < toDateTime({to: Float64}, 'UTC');

-- name: choices
-- What the filters can be set to.
SELECT groupUniqArray(1000)(agent) AS agents, groupUniqArray(1000)(intent) AS intents, groupUniqArray(1000)(version) AS versions
FROM agent_reach.reach_minutes
WHERE minute >= toDateTime({from: Float64}, 'UTC') AND minute < toDateTime({to: Float64}, 'UTC');

-- name: failures
-- The newest events in which a link was not reached, or was only by compensation: at most {limit: UInt32}.
SELECT toUnixTimestamp64Nano(time) / 1e9 AS at, kind, session, trace, id, agent, intent, status, tool, source, receiver, fail_cause,
    empty_kind, stage, rung, first_status, served_by, verdict, missing, attempts, latency / 1e6 AS ms,
    retrieved, relevant, admitted, ideal
FROM (
    SELECT *
    FROM agent_reach.reach_events
    WHERE time >= fromUnixTimestamp64Nano(toInt64({from: Float64} * 1e9)) AND time < fromUnixTimestamp64Nano(toInt64({to: Float64} * 1e9))
        AND ({agent: String} = '' OR agent = {agent: String}) AND ({intent: String} = '' OR intent = {intent: String})
        AND ({version: String} = '' OR version = {version: String})
        AND ((kind = 'tool_call' AND (status IN ('fail', 'empty_alias') OR rung != ''))
            OR (kind = 'handoff' AND missing NOT IN ('', '[]'))
            OR (kind = 'retrieval' AND ideal > 0 AND relevant < ideal))
    ORDER BY time DESC
    LIMIT 200)
ORDER BY time DESC
LIMIT 1 BY id
LIMIT {limit: UInt32};

-- name: recent_sessions
-- The sessions seen last: at most {limit: UInt32}.
SELECT session
FROM (
    SELECT session, time FROM agent_reach.reach_events
    WHERE time >= fromUnixTimestamp64Nano(toInt64({from: Float64} * 1e9)) AND time < fromUnixTimestamp64Nano(toInt64({to: Float64} * 1e9))
        AND ({agent: String} = '' OR agent = {agent: String}) AND ({intent: String} = '' OR intent = {intent: String})
        AND ({version: String} = '' OR version = {version: String})
        AND kind IN ('turn', 'unit') AND (NOT {broken: Bool} OR abnormal)
        AND ({search: String} = '' OR positionCaseInsensitive(session, {search: String}) > 0)
    ORDER BY time DESC
    LIMIT 5000)
ORDER BY time DESC
LIMIT 1 BY session
LIMIT {limit: UInt32};

-- name: sessions
-- The scores of {sessions: Array(String)}, the newest first.
SELECT session, toUnixTimestamp64Nano(begun) / 1e9 AS begun, toUnixTimestamp64Nano(seen) / 1e9 AS seen, last_agent AS agent,
    last_intent AS intent, turns, calls, ok, failed, empty, uncounted, guessed, abnormal, tool, knowledge, task, total, band
FROM agent_reach.reach_sessions
WHERE session IN {sessions: Array(String)}
ORDER BY seen DESC;

-- name: session_span
-- When the events of a session began and ended, from the table in which they lie together.
SELECT toUnixTimestamp(min(time)) AS begun, toUnixTimestamp(max(time)) AS seen, count() AS n
FROM agent_reach.reach_session_events
WHERE session = {session: String};

-- name: session_events
-- The events of one session in their order, at most {limit: UInt32}; its span of time is known, which spares the rest.
SELECT toUnixTimestamp64Nano(time) / 1e9 AS at, latency / 1e9 AS seconds, *
EXCEPT (time, latency, stored)
FROM agent_reach.reach_events
WHERE session = {session: String} AND toStartOfMinute(time) >= toStartOfMinute(toDateTime({begun: Float64}, 'UTC'))
    AND toStartOfMinute(time) <= toDateTime({seen: Float64}, 'UTC')
ORDER BY time, id
LIMIT 1 BY id
LIMIT {limit: UInt32};

-- name: span
-- One span as it came, with its span events.
SELECT toUnixTimestamp64Nano(Timestamp) / 1e9 AS at, Duration / 1e6 AS ms, TraceId AS trace, SpanId AS id, ParentSpanId AS parent,
    SpanName AS name, ServiceName AS service, StatusCode AS status, StatusMessage AS message, ScopeName AS scope,
    SpanAttributes AS attributes, ResourceAttributes AS resource, Events.Name AS event_names, Events.Attributes AS event_attributes
FROM agent_reach.otel_traces
WHERE TraceId = {trace: String} AND SpanId = {id: String}
LIMIT 1;

-- name: heat
-- One row an intent, needed tool and turn bucket: steps of closed units, and how they were reached.
SELECT intent, needed, turns, sum(m.n) AS n, sum(m.candidate) AS candidate, sum(m.precise) AS precise, sum(m.first) AS first,
    sum(m.alternative) AS alternative, sum(m.decided) AS decided, sum(m.decisions) AS decisions
FROM agent_reach.reach_step_minutes AS m FINAL
WHERE minute >= toDateTime({from: Float64}, 'UTC') AND minute < toDateTime({to: Float64}, 'UTC')
    AND ({agent: String} = '' OR agent = {agent: String}) AND ({intent: String} = '' OR intent = {intent: String})
    AND ({version: String} = '' OR version = {version: String})
GROUP BY intent, needed, turns
ORDER BY intent, needed, turns;

-- name: atoms
-- One row an instruction: turns in which its condition was met, those that obeyed it, and those that over-obeyed it.
SELECT atom, sum(m.triggered) AS triggered, sum(m.obeyed) AS obeyed, sum(m.over) AS over
FROM agent_reach.reach_atom_minutes AS m FINAL
WHERE minute >= toDateTime({from: Float64}, 'UTC') AND minute < toDateTime({to: Float64}, 'UTC')
    AND ({agent: String} = '' OR agent = {agent: String}) AND ({intent: String} = '' OR intent = {intent: String})
    AND ({version: String} = '' OR version = {version: String})
GROUP BY atom
ORDER BY if(triggered > 0, obeyed / triggered, 1), atom
LIMIT 200;

-- name: misses
-- The newest steps whose best tool was not called, with what was called instead: at most {limit: UInt32}. Looked for in the newest
-- minutes that, by their snapshots, have any.
SELECT toUnixTimestamp64Nano(time) / 1e9 AS at, session, id, agent, intent, called,
    arrayJoin(JSONExtract(steps, 'Array(String)')) AS step, splitByChar(' ', step) AS parts,
    arrayStringConcat(arraySlice(parts, 10), ' ') AS needed, parts[9] AS reason, position(parts[2], 'c') > 0 AS candidate
FROM (
    SELECT *
    FROM agent_reach.reach_events
    WHERE time >= fromUnixTimestamp64Nano(toInt64({from: Float64} * 1e9)) AND time < fromUnixTimestamp64Nano(toInt64({to: Float64} * 1e9))
        AND ({agent: String} = '' OR agent = {agent: String}) AND ({intent: String} = '' OR intent = {intent: String})
        AND ({version: String} = '' OR version = {version: String})
        AND kind IN ('turn', 'unit') AND steps LIKE '% _-%'
        AND toStartOfMinute(time) IN (
            SELECT DISTINCT m.minute
            FROM agent_reach.reach_step_minutes AS m
            WHERE m.minute >= toDateTime({from: Float64}, 'UTC') AND m.minute < toDateTime({to: Float64}, 'UTC') AND m.precise < m.n
                AND ({agent: String} = '' OR agent = {agent: String}) AND ({intent: String} = '' OR intent = {intent: String})
                AND ({version: String} = '' OR version = {version: String})
            ORDER BY m.minute DESC
            LIMIT 60)
    ORDER BY time DESC
    LIMIT 200)
WHERE reason != '-'
ORDER BY time DESC
LIMIT {limit: UInt32};

-- name: tools
-- One row a tool: how often it was called, what came of it, and what compensation saved.
SELECT tool, sum(m.calls) AS calls, sum(m.ok) AS ok, sum(m.failed) AS failed, sum(m.empty) AS empty, sum(m.short) AS first_short,
    sum(m.saved) AS saved, sum(m.rate_limited) AS rate_limited, sum(m.refused) AS refused,
    quantilesTDigestMerge(0.5, 0.95)(m.latency) AS q, q[1] / 1e6 AS p50_ms, q[2] / 1e6 AS p95_ms
FROM agent_reach.reach_tool_minutes AS m FINAL
WHERE minute >= toDateTime({from: Float64}, 'UTC') AND minute < toDateTime({to: Float64}, 'UTC')
    AND ({agent: String} = '' OR agent = {agent: String}) AND ({intent: String} = '' OR intent = {intent: String})
    AND ({version: String} = '' OR version = {version: String})
GROUP BY tool
ORDER BY calls DESC
LIMIT 200;

-- name: minutes_of_hour
-- Failed calls by tool and minute of the hour: a rate limit that resets on the hour shows as a stripe.
SELECT tool, toMinute(minute, 'UTC') AS of_hour, sum(first_failed) AS failed
FROM agent_reach.reach_tool_minutes FINAL
WHERE minute >= toDateTime({from: Float64}, 'UTC') AND minute < toDateTime({to: Float64}, 'UTC')
    AND ({agent: String} = '' OR agent = {agent: String}) AND ({intent: String} = '' OR intent = {intent: String})
    AND ({version: String} = '' OR version = {version: String}) AND first_failed > 0
GROUP BY tool, of_hour
ORDER BY tool, of_hour;

-- name: refused
-- Calls that an open breaker refused, by agent.
SELECT agent, sum(m.refused) AS n
FROM agent_reach.reach_tool_minutes AS m FINAL
WHERE minute >= toDateTime({from: Float64}, 'UTC') AND minute < toDateTime({to: Float64}, 'UTC') AND refused > 0
GROUP BY agent;

-- name: rungs
-- One row a rung of the ladder: calls that fell short at first and that it decided, and those of them that ended well.
SELECT rung, sum(m.short) AS calls, sum(m.saved) AS saved, sum(m.attempts) AS attempts,
    quantilesTDigestMerge(0.5, 0.95)(m.latency)[1] / 1e6 AS p50_ms
FROM agent_reach.reach_tool_minutes AS m FINAL
WHERE minute >= toDateTime({from: Float64}, 'UTC') AND minute < toDateTime({to: Float64}, 'UTC')
    AND ({agent: String} = '' OR agent = {agent: String}) AND ({intent: String} = '' OR intent = {intent: String})
    AND ({version: String} = '' OR version = {version: String}) AND short > 0
GROUP BY rung
ORDER BY calls DESC;

-- name: sources
-- One row a knowledge source: what it returned, and what of it stood in the context of answered turns and was cited.
SELECT source, sum(n) AS n, sum(retrieved) AS retrieved, sum(relevant) AS relevant, sum(admitted) AS admitted, sum(ideal) AS ideal,
    if(sum(counted) > 0, sum(recall_sum) / sum(counted), NULL) AS recall,
    if(sum(counted) > 0, sum(hit_sum) / sum(counted), NULL) AS hit, sum(failed) AS failed, sum(empty) AS empty,
    sum(injected) AS injected, sum(cited) AS cited
FROM (
    SELECT source, n, retrieved, relevant, admitted, ideal, counted, recall_sum, hit_sum, failed, empty, 0 AS injected, 0 AS cited
    FROM agent_reach.reach_source_minutes FINAL
    WHERE minute >= toDateTime({from: Float64}, 'UTC') AND minute < toDateTime({to: Float64}, 'UTC')
        AND ({agent: String} = '' OR agent = {agent: String}) AND ({intent: String} = '' OR intent = {intent: String})
        AND ({version: String} = '' OR version = {version: String})
    UNION ALL
    SELECT source, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, m.n, m.cited
    FROM agent_reach.reach_context_minutes AS m FINAL
    WHERE minute >= toDateTime({from: Float64}, 'UTC') AND minute < toDateTime({to: Float64}, 'UTC')
        AND ({agent: String} = '' OR agent = {agent: String}) AND ({intent: String} = '' OR intent = {intent: String})
        AND ({version: String} = '' OR version = {version: String}))
GROUP BY source
ORDER BY injected - cited DESC, retrieved - admitted DESC
LIMIT 200;

-- name: utilisation
-- One row a bucket of {bucket: UInt32} seconds, declared label and fifth of the context: fragments there, and those of them that were cited.
SELECT toUnixTimestamp(toStartOfInterval(minute, toIntervalSecond({bucket: UInt32}))) AS at, label, fifth,
    sum(m.n) AS n, sum(m.cited) AS cited
FROM agent_reach.reach_context_minutes AS m FINAL
WHERE minute >= toDateTime({from: Float64}, 'UTC') AND minute < toDateTime({to: Float64}, 'UTC')
    AND ({agent: String} = '' OR agent = {agent: String}) AND ({intent: String} = '' OR intent = {intent: String})
    AND ({version: String} = '' OR version = {version: String})
GROUP BY at, label, fifth
ORDER BY at, label, fifth;

-- name: dirty
-- How many rows were stored since {since: Float64}, and when the newest of them was.
SELECT toUnixTimestamp64Milli(max(stored)) / 1000 AS newest, count() AS n
FROM agent_reach.reach_events
WHERE stored > fromUnixTimestamp64Milli(toInt64({since: Float64} * 1000));

-- name: snapshotted
-- When minute snapshots were last taken.
SELECT toUnixTimestamp64Milli(max(taken_at)) / 1000 AS at FROM agent_reach.reach_minutes;

-- name: refresh_agents
-- Take the snapshots of all minutes that rows stored since {since: Float64} belong to.
INSERT INTO agent_reach.reach_minutes
SELECT minute, agent, intent, version,
    sum(needs_n), sum(reached_n), sum(tool_sum), sum(first_sum), sum(taken_n), sum(closed), sum(guessed_n), sum(abnormal_n),
    sum(retrieval_n), sum(knowledge_sum), sum(recall_sum), sum(hit_sum), sum(handoff_n), sum(complete_n),
    sum(call_n), sum(ok_n), sum(fail_n), sum(empty_n), sum(uncounted_n),
    sum(retry_n), sum(reroute_n), sum(snapshot_n), sum(human_n), sum(turn_n),
    uniqCombined64State(12)(session), uniqCombined64StateIf(12)(session, abnormal_n), fromUnixTimestamp64Milli(toInt64({now: Float64} * 1000))
FROM agent_reach.reach_counts
WHERE minute IN (
        SELECT DISTINCT toStartOfMinute(time) FROM agent_reach.reach_events
        WHERE stored > fromUnixTimestamp64Milli(toInt64({since: Float64} * 1000)))
GROUP BY minute, agent, intent, version;

-- name: refresh_tools
-- The same by tool.
INSERT INTO agent_reach.reach_tool_minutes
SELECT minute, agent, intent, version, tool, rung,
    count(), sum(ok_n), sum(fail_n), sum(empty_n), sum(attempts),
    countIf(first_status IN ('fail', 'empty_alias')), countIf(first_status IN ('fail', 'empty_alias') AND ok_n),
    countIf(first_status = 'fail'), countIf(fail_cause = 'rate_limited'), countIf(error_type = 'BreakerOpen'),
    quantilesTDigestState(0.5, 0.95)(latency), fromUnixTimestamp64Milli(toInt64({now: Float64} * 1000))
FROM agent_reach.reach_counts
WHERE minute IN (
        SELECT DISTINCT toStartOfMinute(time) FROM agent_reach.reach_events
        WHERE stored > fromUnixTimestamp64Milli(toInt64({since: Float64} * 1000))) AND kind = 'tool_call'
GROUP BY minute, agent, intent, version, tool, rung;

-- name: refresh_steps
-- The same by step of a route.
INSERT INTO agent_reach.reach_step_minutes
SELECT minute, agent, intent, version, arrayStringConcat(arraySlice(parts, 10), ' ') AS needed, parts[1] AS turns, count(),
    countIf(position(parts[2], 'c') > 0), countIf(position(parts[2], 'p') > 0), countIf(position(parts[2], 'f') > 0),
    countIf(position(parts[2], 'a') > 0), sum(toUInt32OrZero(parts[3])), sum(toUInt32OrZero(parts[4])),
    fromUnixTimestamp64Milli(toInt64({now: Float64} * 1000))
FROM (
    SELECT minute, agent, intent, version, splitByChar(' ', arrayJoin(JSONExtract(steps, 'Array(String)'))) AS parts
    FROM agent_reach.reach_counts
    WHERE minute IN (
            SELECT DISTINCT toStartOfMinute(time) FROM agent_reach.reach_events
            WHERE stored > fromUnixTimestamp64Milli(toInt64({since: Float64} * 1000))) AND kind IN ('turn', 'unit') AND steps != '')
GROUP BY minute, agent, intent, version, needed, turns;

-- name: refresh_atoms
-- The same by instruction.
INSERT INTO agent_reach.reach_atom_minutes
SELECT minute, agent, intent, version, arrayStringConcat(arraySlice(parts, 2), ' ') AS atom, countIf(parts[1] != 'over_obeyed'),
    countIf(parts[1] = 'obeyed'), countIf(parts[1] = 'over_obeyed'), fromUnixTimestamp64Milli(toInt64({now: Float64} * 1000))
FROM (
    SELECT minute, agent, intent, version, splitByChar(' ', arrayJoin(JSONExtract(instructions, 'Array(String)'))) AS parts
    FROM agent_reach.reach_counts
    WHERE minute IN (
            SELECT DISTINCT toStartOfMinute(time) FROM agent_reach.reach_events
            WHERE stored > fromUnixTimestamp64Milli(toInt64({since: Float64} * 1000))) AND kind = 'turn' AND instructions != '')
GROUP BY minute, agent, intent, version, atom;

-- name: refresh_sources
-- The same by knowledge source.
INSERT INTO agent_reach.reach_source_minutes
SELECT minute, agent, intent, version, source,
    count(), sum(retrieved), sum(relevant), sum(admitted), sum(ideal), sum(retrieval_n), sum(recall_sum), sum(hit_sum),
    countIf(status = 'fail'), countIf(retrieved = 0 AND status != 'fail'), fromUnixTimestamp64Milli(toInt64({now: Float64} * 1000))
FROM agent_reach.reach_counts
WHERE minute IN (
        SELECT DISTINCT toStartOfMinute(time) FROM agent_reach.reach_events
        WHERE stored > fromUnixTimestamp64Milli(toInt64({since: Float64} * 1000))) AND kind = 'retrieval'
GROUP BY minute, agent, intent, version, source;

-- name: refresh_context
-- The same of context utilisation.
INSERT INTO agent_reach.reach_context_minutes
SELECT minute, agent, intent, version, item.1 AS source, item.2 AS label, item.3 AS fifth, count(), countIf(item.4 = '1'),
    fromUnixTimestamp64Milli(toInt64({now: Float64} * 1000))
FROM (
    SELECT minute, agent, intent, version, JSONExtract(context_cited, 'Array(String)') AS cited,
        JSONExtract(context_sources, 'Array(String)') AS sources, JSONExtract(context_groups, 'Array(String)') AS labels,
        arrayJoin(arrayMap(i -> (sources[i], labels[i], toUInt8(intDiv(5 * (i - 1), length(cited)) + 1), cited[i]), arrayEnumerate(cited)))
            AS item
    FROM agent_reach.reach_counts
    WHERE minute IN (
            SELECT DISTINCT toStartOfMinute(time) FROM agent_reach.reach_events
            WHERE stored > fromUnixTimestamp64Milli(toInt64({since: Float64} * 1000))) AND kind = 'turn' AND context_cited != '')
GROUP BY minute, agent, intent, version, source, label, fifth;

-- name: settings
-- Set the weights and thresholds from which views compute scores.
INSERT INTO agent_reach.reach_settings (tool, knowledge, task, taken_penalty, absent_full, healthy, degraded)
VALUES ({tool: Float64}, {knowledge: Float64}, {task: Float64}, {taken_penalty: Float64}, {absent_full: Bool}, {healthy: Float64},
    {degraded: Float64});

-- name: stored
-- How much there is.
SELECT (SELECT count() FROM agent_reach.otel_traces) AS spans, (SELECT count() FROM agent_reach.reach_events) AS events;

-- name: notes
-- Faults of the observers themselves, by kind: the newest count of each instance that said so in the range.
SELECT kind, sum(newest) AS n
FROM (
    SELECT instance, attributes['kind'] AS kind, argMax(value, time) AS newest
    FROM agent_reach.reach_counters
    WHERE name = 'agent_reach.notes'
        AND time >= fromUnixTimestamp64Nano(toInt64({from: Float64} * 1e9)) AND time < fromUnixTimestamp64Nano(toInt64({to: Float64} * 1e9))
    GROUP BY instance, kind)
GROUP BY kind
ORDER BY n DESC;

-- name: breakers
-- Circuit breakers by tool, as the processes that were heard from since {since: Float64} last said.
SELECT tool, countIf(newest > 0) AS open, count() AS processes
FROM (
    SELECT service, instance, attributes['gen_ai.tool.name'] AS tool, argMax(value, time) AS newest
    FROM agent_reach.reach_counters
    WHERE name = 'agent_reach.breaker.open' AND time >= fromUnixTimestamp64Nano(toInt64({since: Float64} * 1e9))
    GROUP BY service, instance, tool)
GROUP BY tool
ORDER BY open DESC, tool;

-- name: foreign_traces
-- Traces of other instrumentations, stored since {from: Float64}, that ended or fell silent and were not converted; oldest first.
SELECT trace
FROM agent_reach.foreign_spans
WHERE toStartOfMinute(stored) >= toDateTime({from: Float64}, 'UTC') AND trace NOT IN (SELECT trace FROM agent_reach.converted_traces)
GROUP BY trace
HAVING (max(root) AND max(stored) < fromUnixTimestamp64Milli(toInt64({settled: Float64} * 1000)))
    OR max(stored) < fromUnixTimestamp64Milli(toInt64({silent: Float64} * 1000))
ORDER BY min(time)
LIMIT {limit: UInt32};

-- name: numbers
-- The last turn and unit of a session.
SELECT max(turn) AS turn, max(unit) AS unit
FROM agent_reach.reach_session_events
WHERE session = {session: String};

-- name: trace_spans
-- The spans of one trace.
SELECT toUnixTimestamp64Nano(Timestamp) AS time, Duration AS duration, SpanId AS id, ParentSpanId AS parent, SpanName AS name,
    ScopeName AS scope, ServiceName AS service, StatusCode AS status, StatusMessage AS message, SpanAttributes AS attributes,
    Events.Name AS event_names, Events.Attributes AS event_attributes
FROM agent_reach.otel_traces
WHERE TraceId = {trace: String}
ORDER BY Timestamp
LIMIT 1 BY SpanId;

-- name: task_runs
-- Runs of evaluations in the range by task, its version and agent: how they ended and what they came to.
SELECT task, task_version, agent_version, count() AS runs, countIf(gate) AS passed, sum(composite) AS composite_sum, sum(depth) AS depth_sum,
    sumIf(purity, purity >= 0) AS purity_sum, countIf(purity >= 0) AS purities,
    sumIf(digestion, digestion >= 0) AS digestion_sum, countIf(digestion >= 0) AS digestions,
    sum(tokens) AS tokens, countIf(ended != 'finished') AS cut_off, max(at) AS last
FROM (
    SELECT SpanAttributes AS a, a['agent_reach.task'] AS task, a['agent_reach.task.version'] AS task_version,
        a['agent_reach.agent.version'] AS agent_version, a['agent_reach.task.ended'] AS ended, a['agent_reach.task.gate'] = 'true' AS gate,
        toFloat64OrZero(a['agent_reach.task.composite']) AS composite, toFloat64OrZero(a['agent_reach.task.depth']) AS depth,
        toFloat64OrDefault(a['agent_reach.task.purity'], -1.) AS purity, toFloat64OrDefault(a['agent_reach.task.digestion'], -1.) AS digestion,
        toUInt64OrZero(a['agent_reach.task.tokens']) AS tokens, toUnixTimestamp64Nano(Timestamp) / 1e9 AS at
    FROM agent_reach.otel_traces
    WHERE startsWith(SpanName, 'task_run ') AND SpanAttributes['agent_reach.event'] = 'task_run'
        AND Timestamp >= fromUnixTimestamp64Nano(toInt64({from: Float64} * 1e9)) AND Timestamp < fromUnixTimestamp64Nano(toInt64({to: Float64} * 1e9))
    LIMIT 1 BY SpanId)
GROUP BY task, task_version, agent_version
ORDER BY task, task_version, last DESC
LIMIT 200;

-- name: task_nodes
-- Of each task and agent, how many runs reached each node, and in how many a must-node was missed.
SELECT task, task_version, agent_version, node, countIf(done) AS reached, countIf(NOT done) AS missed, min(level) AS level
FROM (
    SELECT task, task_version, agent_version, each.1 AS node, each.2 AS done, each.3 AS level
    FROM (
        SELECT SpanAttributes AS a, a['agent_reach.task'] AS task, a['agent_reach.task.version'] AS task_version,
            a['agent_reach.agent.version'] AS agent_version,
            arrayJoin(arrayConcat(
                arrayMap(n -> (n['agent_reach.node'], true, toUInt32OrZero(n['agent_reach.node.level'])),
                    arrayFilter((n, name) -> name = 'agent_reach.node', Events.Attributes, Events.Name)),
                arrayMap(name -> (name, false, toUInt32(4294967295)), JSONExtract(a['agent_reach.task.missed'], 'Array(String)')))) AS each
        FROM (
            SELECT SpanAttributes, Events.Attributes, Events.Name
            FROM agent_reach.otel_traces
            WHERE startsWith(SpanName, 'task_run ') AND SpanAttributes['agent_reach.event'] = 'task_run'
                AND Timestamp >= fromUnixTimestamp64Nano(toInt64({from: Float64} * 1e9))
                AND Timestamp < fromUnixTimestamp64Nano(toInt64({to: Float64} * 1e9))
            LIMIT 1 BY SpanId)))
GROUP BY task, task_version, agent_version, node
ORDER BY task, task_version, level, node
LIMIT 5000;

-- name: newest_runs
-- The newest runs of evaluations, the failed ones first: at most {limit: UInt32}.
SELECT a['agent_reach.task'] AS task, a['agent_reach.agent.version'] AS agent_version, toUInt32OrZero(a['agent_reach.task.run']) AS run,
    a['agent_reach.task.ended'] AS ended, a['agent_reach.task.gate'] = 'true' AS gate, a['gen_ai.conversation.id'] AS session,
    toFloat64OrZero(a['agent_reach.task.composite']) AS composite, toUInt32OrZero(a['agent_reach.task.left_at']) AS left_at,
    JSONExtract(a['agent_reach.task.missed'], 'Array(String)') AS missed, toUnixTimestamp64Nano(Timestamp) / 1e9 AS at
FROM (SELECT *, SpanAttributes AS a FROM agent_reach.otel_traces
    WHERE startsWith(SpanName, 'task_run ') AND SpanAttributes['agent_reach.event'] = 'task_run'
        AND Timestamp >= fromUnixTimestamp64Nano(toInt64({from: Float64} * 1e9)) AND Timestamp < fromUnixTimestamp64Nano(toInt64({to: Float64} * 1e9))
    LIMIT 1 BY SpanId)
ORDER BY gate, Timestamp DESC
LIMIT {limit: UInt32};

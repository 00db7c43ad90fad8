-- What each event adds to every figure (definitions, section 2). All of it adds up, so that any GROUP BY gives a true figure.
-- `k`, `st` and `r` are the kind, status and rung as plain text: what is computed of a LowCardinality column is one itself.
    -- ToolReach: Σ needs × max(0, reached / needs − penalty × taken) over Σ needs
    closes AND k IN ('turn', 'unit') AS closed,
    if(closed, needs, 0) AS needs_n,
    if(closed, reached, 0) AS reached_n,
    if(closed AND needs > 0, needs * greatest(0., reached / needs - penalty * taken), 0.) AS tool_sum,
    if(closed AND needs > 0, needs * greatest(0., first_reached / needs - penalty * taken), 0.) AS first_sum,
    if(closed, taken, 0) AS taken_n,
    closed AND guessed AS guessed_n,
    closed AND abnormal AS abnormal_n,
    -- KnowledgeReach: mean of 0.5 × Recall + 0.5 × SemanticHit
    k = 'retrieval' AND st IN ('ok', 'empty_alias', 'fail') AND ideal > 0 AS retrieval_n,
    if(retrieval_n AND retrieved > 0,
       (least(relevant, ideal) * retrieved + admitted * ideal) / (2 * ideal * retrieved), 0.) AS knowledge_sum,
    if(retrieval_n, least(relevant, ideal) / ideal, 0.) AS recall_sum,
    if(retrieval_n AND retrieved > 0, admitted / retrieved, 0.) AS hit_sum,
    -- TaskReach: complete handoffs over handoffs
    k = 'handoff' AS handoff_n,
    handoff_n AND missing IN ('', '[]') AS complete_n,
    k = 'tool_call' AS call_n,
    call_n AND st = 'ok' AS ok_n,
    call_n AND st = 'fail' AS fail_n,
    call_n AND st = 'empty_alias' AS empty_n,
    call_n AND st NOT IN ('ok', 'fail', 'empty_alias', 'handoff') AS uncounted_n,
    call_n AND r = 'retry' AS retry_n,
    call_n AND r = 'reroute' AS reroute_n,
    call_n AND r = 'snapshot' AS snapshot_n,
    call_n AND r = 'human' AS human_n,
    k = 'turn' AS turn_n

"""Topologies: how they are read, what is refused, what is warned of, and how they are drawn."""

import json

import pytest

from agent_reach import ContractError
from agent_reach.contracts.topology import Topology

GOOD = """
name: refund
version: 1
nodes:
  - {id: find, tools: [orders_db]}
  - {id: pay, depends_on: [find], tools: [refund], effect: {order: A-1}}
  - {id: mail, type: optional, depends_on: [pay]}
"""


def test_files_of_yaml_and_json_are_read(tmp_path):
    path = tmp_path / "task.yaml"
    path.write_text(GOOD)
    topology = Topology.load(path)
    assert (topology.name, topology.version, topology.levels, topology.highest) == ("refund", "1", {"find": 1, "pay": 2}, 2)
    (tmp_path / "task.json").write_text(json.dumps({"nodes": [{"id": "a"}]}))
    assert Topology.load(tmp_path / "task.json").levels == {"a": 1}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "task.yaml:1: document: expected a mapping with `nodes`"),
        ("nodes:\n- {id: a, depends_on: [b]}", "task.yaml:2: nodes[0].depends_on: expected an id of the topology (a), found 'b'"),
        ("nodes:\n- {id: a, depends_on: [b]}\n- {id: b, depends_on: [a]}", "expected a graph without a circle, found 'a → b → a'"),
        ("nodes:\n- {id: a}\n- {id: a}", "task.yaml:3: nodes[1].id: expected each id once"),
        ("nodes:\n- {id: a, type: optional}", "at least one must-node"),
        ("nodes:\n- {id: a, type: maybe}", "task.yaml:2: nodes[0].type"),
        ("nodes:\n- {id: a, branch: card}", "task.yaml:2: nodes[0].branch"),
        ("nodes:\n- {id: a, colour: red}", "task.yaml:2: nodes[0].colour: expected a known key"),
        ("nodes:\n- {id: a, verify: {type: 7}}", "JSON Schema"),
    ],
)
def test_what_is_no_topology_is_told_with_its_line(tmp_path, text, said):
    path = tmp_path / "task.yaml"
    path.write_text(text)
    with pytest.raises(ContractError) as caught:
        Topology.load(path)
    assert said in str(caught.value)


def test_likely_mistakes_are_warned_of():
    nodes = [{"id": "a", "branch": "x/1"}, {"id": "b", "depends_on": ["a"]}]
    found = Topology(nodes=nodes).lint()
    assert "a: no verify" in found
    assert "b: a must-node below x/1, which not every run takes" in found
    assert any(line.startswith("must: 100% of the nodes") for line in found)
    assert "2 nodes, mostly 10 to 15" in found


def test_a_topology_of_the_usual_shape_has_no_warnings():
    kinds = ["must"] * 7 + ["optional"] * 2 + ["fallback"]
    nodes = [{"id": str(i), "type": kind, "verify": {"type": "object"}} for i, kind in enumerate(kinds)]
    assert Topology(nodes=nodes).lint() == []


def test_it_is_drawn_as_dot_with_what_was_done_filled():
    topology = Topology(nodes=[{"id": 'say "hi"'}, {"id": "b", "depends_on": ['say "hi"'], "type": "fallback"}])
    drawn = topology.to_dot(done=["b"])
    assert '  "say \\"hi\\"" [shape=box];' in drawn
    assert '  "b" [shape=diamond, style=filled, fillcolor=gray85];' in drawn
    assert '  "say \\"hi\\"" -> "b";' in drawn


def test_a_graph_of_nodes_and_edges_is_read():
    listed = Topology(
        nodes=[{"id": "a"}, {"id": "b"}, {"id": "c"}], edges=[["a", "b"], {"from": "b", "to": "c"}, {"source": "a", "target": "c"}]
    )
    assert listed.levels == {"a": 1, "b": 2, "c": 3}
    assert listed.by_id["c"].depends_on == ("b", "a")


@pytest.mark.parametrize(
    ("edges", "said"),
    [
        ("[[a]]", "[from, to] or an object with both, found ['a']"),
        ("[[a, z]]", "ids of the topology, found 'z'"),
        ("[[z, a]]", "expected an id of the topology (a, b), found 'z'"),
        ("[[a, b], [b, a]]", "a graph without a circle"),
    ],
)
def test_edges_that_make_no_graph_are_told(tmp_path, edges, said):
    (tmp_path / "t.yaml").write_text(f"nodes: [{{id: a}}, {{id: b}}]\nedges: {edges}\n")
    with pytest.raises(ContractError) as caught:
        Topology.load(tmp_path / "t.yaml")
    assert said in str(caught.value)


def test_a_long_chain_is_no_problem():
    chain = Topology(nodes=[{"id": str(n), "depends_on": [str(n - 1)] if n else []} for n in range(3_000)])
    assert chain.highest == 3_000


def test_a_node_that_nothing_can_make_done_is_warned_of():
    assert any(line.startswith("a: nothing can make it done") for line in Topology(nodes=[{"id": "a"}]).lint())


def test_conditions_in_a_file_are_checked_as_it_is_read(tmp_path):
    (tmp_path / "t.yaml").write_text("nodes:\n- {id: a, verify: 'results.find =='}\n")
    with pytest.raises(ContractError, match=r"t.yaml:2: nodes\[0\].verify: expected a JMESPath condition"):
        Topology.load(tmp_path / "t.yaml")


def test_findings_of_a_file_name_their_place(tmp_path):
    (tmp_path / "t.yaml").write_text("nodes:\n- {id: a, verify: results.a}\n- {id: b, tools: [x]}\n")
    found = Topology.load(tmp_path / "t.yaml").lint()
    assert f"{tmp_path / 't.yaml'}:3: b: no verify" in found
    assert f"{tmp_path / 't.yaml'}: 2 nodes, mostly 10 to 15" in found

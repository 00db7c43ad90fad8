import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qsl, urlsplit

import pytest

from agent_reach.contracts import Routes
from agent_reach.errors import ContractError
from agent_reach.server.alerts import Alerts, Rule, Rules
from agent_reach.server.panel.filters import Filters


def sums(tool=1.0, needs=100, calls=100, empty=0):
    return {"tool_sum": tool * needs, "needs": needs, "knowledge_sum": 0, "retrievals": 0, "complete": 0, "handoffs": 0,
            "calls": calls, "empty": empty}  # fmt: skip


def alerts(*rules, **options):
    return Alerts(Rules(rules=rules, **options), Routes())


def firing(watched, now, before=None, refused=None):
    watched.check({10: now}, {10: before or {}}, {10: refused or {}}, 0.0)
    return {(alert.when, alert.agent) for alert in watched.firing.values()}


@pytest.mark.parametrize(
    ("score", "below", "fires"),
    [(0.74, "degraded", True), (0.75, "degraded", False), (0.75, "healthy", True), (0.9, "healthy", False)],
)
def test_a_band_below_the_line_fires(score, below, fires):
    assert bool(firing(alerts(Rule(when="band", below=below)), {"a": sums(score)})) is fires


def test_empties_fire_over_their_share_of_calls():
    watched = alerts(Rule(when="empties", above=0.05))
    assert firing(watched, {"a": sums(empty=6), "b": sums(empty=5)}) == {("empties", "a")}


def test_an_open_breaker_fires():
    assert firing(alerts(Rule(when="breaker", above=0)), {}, refused={"a": 1, "b": 0}) == {("breaker", "a")}


def test_a_fall_against_the_span_before_is_drift():
    watched = alerts(Rule(when="drift", drop=0.1))
    assert firing(watched, {"a": sums(0.8), "b": sums(0.85)}, {"a": sums(0.95), "b": sums(0.9)}) == {("drift", "a")}


def test_few_events_say_nothing():
    assert firing(alerts(Rule(when="band"), Rule(when="empties", above=0)), {"a": sums(0, needs=9, calls=9, empty=9)}) == set()


def test_a_rule_for_one_agent_passes_over_the_others():
    assert firing(alerts(Rule(when="band", agent="b")), {"a": sums(0), "b": sums(0)}) == {("band", "b")}


def test_an_alert_is_told_once_and_once_more_when_it_is_over(tmp_path):
    log = tmp_path / "alerts.jsonl"
    watched = alerts(Rule(when="band"), log=log)
    for score in (0.1, 0.1, 1.0, 1.0):
        firing(watched, {"a": sums(score)})
    told = [json.loads(line) for line in log.read_text().splitlines()]
    assert [alert["state"] for alert in told] == ["firing", "over"]
    assert told[0]["text"] == "a: ReachScore 0.10 (broken) over 10 min"


def test_an_alert_links_to_the_page_of_its_agent_when_the_panel_has_an_address(tmp_path):
    log = tmp_path / "alerts.jsonl"
    watched = alerts(Rule(when="band"), log=log, panel="https://reach.example.com/")
    watched.check({10: {"a b": sums(0)}}, {10: {}}, {10: {}}, 1_800_000_000.5)
    told = json.loads(log.read_text())
    link = urlsplit(told["link"])
    filters = Filters.of(dict(parse_qsl(link.query)))
    assert (link.netloc, link.path, filters.agent) == ("reach.example.com", "/", "a b")
    assert told["at"] <= float(filters.until) < told["at"] + 1


def test_a_webhook_gets_the_alert_as_json():
    got, arrived = [], threading.Event()

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self):
            got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()
            arrived.set()

        def log_message(self, *args):
            return

    with HTTPServer(("127.0.0.1", 0), Hook) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        firing(alerts(Rule(when="band"), webhook=f"http://127.0.0.1:{server.server_port}/hook"), {"a": sums(0)})
        assert arrived.wait(10)
        server.shutdown()
    assert (got[0]["when"], got[0]["agent"], got[0]["state"]) == ("band", "a", "firing")


def test_a_webhook_that_is_down_and_a_log_that_cannot_be_written_are_logged(tmp_path, caplog):
    watched = alerts(Rule(when="band"), webhook="http://127.0.0.1:9/secret-path", log=tmp_path / "no" / "such" / "folder")
    firing(watched, {"a": sums(0)})
    assert "cannot append" in caplog.text
    assert "secret-path" not in caplog.text


def test_rules_are_read_from_yaml_with_the_place_of_an_error(tmp_path):
    file = tmp_path / "alerts.yaml"
    file.write_text("webhook: https://hooks.example/x\nrules:\n- when: empties\n  above: 0.1\n  minutes: 30\n")
    rules = Rules.load(file)
    assert (rules.rules[0].when, rules.rules[0].above, rules.rules[0].minutes) == ("empties", 0.1, 30)
    file.write_text("rules:\n- when: empties\n  minuts: 30\n")
    with pytest.raises(ContractError, match=r"alerts.yaml:3: rules\[0\].minuts: expected a known key"):
        Rules.load(file)
    file.write_text("rules:\n- when: band\n  above: 3\n")
    with pytest.raises(ContractError, match=r"alerts.yaml:2: rules\[0\]: expected keys that go with band, found above"):
        Rules.load(file)
    file.write_text("rules:\n- when: sometimes\n")
    with pytest.raises(ContractError, match=r"alerts.yaml:2"):
        Rules.load(file)

import pytest

from agent_reach import ContractError
from agent_reach.checks import fingerprint
from agent_reach.integrations.capture import Capture


@pytest.mark.parametrize(
    ("payload", "gone"),
    [
        ({"api_key": "abc-123"}, "abc-123"),
        ({"password": "hunter2", "user": "u"}, "hunter2"),
        ("Authorization: Bearer abcdef123456", "abcdef123456"),
        ("token=abc.def", "abc.def"),
        ("use sk-proj-abcdefghijklmnopqrstuvwx now", "abcdefghijklmnop"),
        ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "abcdefghijklmnop"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.sig", "eyJzdWIi"),
        ("card 4111 1111 1111 1111 please", "4111 1111"),
        ({"card": "4111-1111-1111-1111"}, "4111-1111"),
        ("write to a.b+c@mail.example.com", "a.b+c@mail"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", "MIIE"),
        ({"nested": [{"client_secret": "s3cr3t"}]}, "s3cr3t"),
        ('{"inner": "{\\"password\\": \\"deep1\\"}"}', "deep1"),
    ],
)
def test_secrets_tokens_cards_and_addresses_are_taken_out(payload, gone):
    text = Capture(True).text(payload)
    assert gone not in text
    assert "redacted" in text


@pytest.mark.parametrize("payload", ["order 1234567890123456 is fine", "tokens used: many", {"author": "x"}, "1.4111111111111111"])
def test_what_only_looks_alike_stays(payload):
    assert "redacted" not in Capture(True).text(payload)


def test_nothing_is_kept_unless_asked_for():
    assert Capture().text("x") == ""


def test_more_can_be_taken_out_by_expression_or_function():
    text = Capture(True, redact=[r"A-\d+", lambda t: t.replace("Bob", "?")]).text("A-12 for Bob")
    assert text == "[redacted] for ?"
    with pytest.raises(ContractError, match=r"redact\[0\]"):
        Capture(True, redact=["("])


def test_long_payloads_are_cut():
    assert len(Capture(True, limit=10).text("x" * 100)) == 11


class Hostile:
    def __str__(self):
        raise RuntimeError("no text")


def test_anything_can_be_captured():
    cyclic = {}
    cyclic["self"] = cyclic
    for value in (cyclic, Hostile(), {"h": Hostile()}, float("nan"), b"\xff", {1, 2}, "\ud800", {"\ud800": 1}, object()):
        Capture(True).text(value).encode("utf-8")
        assert len(fingerprint({"v": value})) == (0 if value is cyclic else 16)


def test_a_fingerprint_does_not_depend_on_the_order_of_keys():
    assert fingerprint({"a": 1, "b": [1]}) == fingerprint({"b": [1], "a": 1}) != fingerprint({"a": 2, "b": [1]})


@pytest.mark.parametrize(
    "unit", ["x", "a.", "1 ", "4-", "token=", '"', "\\", "secret", "a@", "-", "_", "eyJ", "sk-", "password: ", " ", "{", "é"]
)
def test_no_text_makes_redaction_slow(unit):
    """An expression that tries every start again takes minutes here, and would stop this run."""
    Capture(True, limit=100_000).text(unit * (200_000 // len(unit)))

import pytest

from agent_reach.errors import ReachError
from agent_reach.server.access import Access, access_for, is_loopback

TOKEN = "sixteen-letters-or-more"


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("::1", True),
        ("localhost", True),
        ("127.9.9.9", True),
        ("0.0.0.0", False),
        ("10.0.0.1", False),
        ("example.org", False),
        ("", False),
    ],
)
def test_only_addresses_of_this_machine_are_loopback(host, loopback):
    assert is_loopback(host) is loopback


def test_off_loopback_a_token_is_required():
    with pytest.raises(ReachError, match="AGENT_REACH_TOKEN"):
        access_for("0.0.0.0", "")
    assert access_for("0.0.0.0", TOKEN).required
    assert not access_for("127.0.0.1", "").required


def test_a_short_token_is_refused_without_being_shown():
    with pytest.raises(ReachError) as caught:
        access_for("127.0.0.1", "hunter2")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "Bearer wrong", f"Basic {TOKEN}", TOKEN, "Bearer \udcff"])
def test_what_is_not_the_token_does_not_come_in(header):
    assert not Access(TOKEN).allows(header)


def test_the_token_or_a_login_comes_in():
    access = Access(TOKEN)
    assert access.allows(f"bearer {TOKEN}")
    login = access.log_in()
    assert access.allows("", login)
    assert TOKEN not in login
    assert not access.allows("", login[:-1])


def test_old_logins_are_forgotten():
    access = Access(TOKEN)
    first = access.log_in()
    for _ in range(1_000):
        access.log_in()
    assert not access.allows("", first)

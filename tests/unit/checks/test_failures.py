import json
import socket

import pytest
from pydantic import BaseModel, ValidationError

from agent_reach.checks import finding_of_exception


class HttpError(Exception):
    def __init__(self, code):
        super().__init__("http")
        self.response = type("Response", (), {"status_code": code})()


class RateLimitError(Exception):
    pass


class AuthenticationError(Exception):
    pass


def chained(outer, inner):
    outer.__cause__ = inner
    return outer


class Loud(Exception):
    def __str__(self):
        raise RuntimeError("no text")

    @property
    def status_code(self):
        raise RuntimeError("no status")


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (TimeoutError(), "timeout"),
        (HttpError(408), "timeout"),
        (HttpError(504), "timeout"),
        (HttpError(429), "rate_limited"),
        (RateLimitError(), "rate_limited"),
        (HttpError(401), "auth"),
        (HttpError(403), "auth"),
        (AuthenticationError(), "auth"),
        (HttpError(500), "server_error"),
        (HttpError(503), "server_error"),
        (HttpError(400), "bad_arguments"),
        (HttpError(422), "bad_arguments"),
        (HttpError(404), "other"),
        (ConnectionRefusedError(), "network"),
        (socket.gaierror(), "network"),
        (json.JSONDecodeError("x", "", 0), "unparseable"),
        (ValueError("Read timed out"), "timeout"),
        (RuntimeError("HTTP 503 Service Unavailable"), "server_error"),
        (ValueError("boom"), "other"),
        (chained(TimeoutError(), HttpError(429)), "rate_limited"),
        (chained(RuntimeError("wrapped"), TimeoutError()), "timeout"),
        (ExceptionGroup("many", [ValueError(), ConnectionError()]), "network"),
        (Loud(), "other"),
    ],
)
def test_the_cause_is_read_from_the_exception_and_its_chain(error, cause):
    found = finding_of_exception(error)
    assert (found.status, found.fail_cause) == ("fail", cause)
    assert found.error_type == type(error).__name__


def test_a_cyclic_chain_ends():
    a, b = ValueError("a"), ValueError("b")
    a.__cause__, b.__cause__ = b, a
    assert finding_of_exception(a).fail_cause == "other"


def test_a_validation_error_is_about_arguments_before_the_body_and_about_data_inside():
    class Model(BaseModel):
        x: int

    with pytest.raises(ValidationError) as caught:
        Model(x="no")
    assert finding_of_exception(caught.value, in_body=False).fail_cause == "bad_arguments"
    assert finding_of_exception(caught.value, in_body=True).fail_cause == "unparseable"


@pytest.mark.parametrize(("error", "stage"), [(TimeoutError(), "during"), (json.JSONDecodeError("x", "", 0), "after")])
def test_the_stage_follows_from_the_cause(error, stage):
    assert finding_of_exception(error).stage == stage

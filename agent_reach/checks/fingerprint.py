"""A hash of arguments that tells equal calls apart from others without keeping what they say."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any


def fingerprint(arguments: Mapping[str, Any]) -> str:
    """Hash of the canonical JSON of the arguments, 16 hex digits; values that JSON cannot hold count by their type.

    `""` for arguments without a canonical form (cyclic, too deep, keys that do not sort): nothing may be taken for equal to them.
    """
    try:
        text = _canonical(arguments)
    except (TypeError, ValueError, RecursionError):
        return ""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _type_name(value: Any) -> str:
    return f"<{type(value).__name__}>"


_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=_type_name).encode

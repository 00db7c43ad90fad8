import json

import pytest

from agent_reach import FormatError
from agent_reach.importers.tools import read_tools


@pytest.mark.parametrize(
    "data",
    [
        {"find": "Finds.", "book": ""},
        {"find": {"description": "Finds."}, "book": {}},
        [{"name": "find", "description": "Finds.", "input_schema": {}}, {"name": "book"}],
        [{"type": "function", "function": {"name": "find", "description": "Finds."}}, {"function": {"name": "book"}}],
    ],
)
def test_descriptions_are_read_as_the_usual_formats_write_them(tmp_path, data):
    path = tmp_path / "tools.json"
    path.write_text(json.dumps(data))
    assert read_tools(path) == {"find": "Finds.", "book": ""}


@pytest.mark.parametrize("text", ["", "7", "[7]", '[{"description": "x"}]', '{"find": 7}'])
def test_what_is_no_list_of_tools_is_told(tmp_path, text):
    path = tmp_path / "tools.json"
    path.write_text(text)
    with pytest.raises(FormatError, match=r"tools\.json"):
        read_tools(path)


def test_the_real_descriptions_are_read(data):
    assert len(read_tools(data / "metatool" / "tools.json")) == 199

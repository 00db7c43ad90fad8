"""Context utilisation: rates by place, and what to change."""

from agent_reach.events import Turn
from agent_reach.scores.utilisation import Place, Utilisation, advice


def turn(cited, labels=()):
    return Turn(session="s", context_sources=("s",) * len(cited), context_groups=labels, context_cited=tuple(cited))


def test_fragments_count_by_fifth_label_and_source():
    counts = Utilisation()
    counts.observe(turn("1000000000"))
    counts.observe(turn("10", ("stock", "tier")))
    counts.observe(turn(""))
    assert (counts.turns, counts.overall.hits, counts.overall.n) == (2, 2, 12)
    assert {fifth: (r.hits, r.n) for fifth, r in counts.by("fifth").items()} == {
        1: (2, 3),
        2: (0, 2),
        3: (0, 3),
        4: (0, 2),
        5: (0, 2),
    }
    assert {label: r.hits for label, r in counts.by("label").items()} == {"": 1, "stock": 1, "tier": 0}
    assert (counts + counts).overall == (4, 24, 1 / 6, (counts + counts).overall.interval)


def test_advice_needs_numbers_that_bear_it_out():
    few, many = Utilisation(), Utilisation()
    few.observe(turn("1000000000", ("tier",) * 10))
    for _ in range(30):
        many.observe(turn("1100000000", ("rule",) * 2 + ("tier",) * 8))
    assert advice(few) == []
    assert [line.split(":")[0] for line in advice(many)] == [
        "inject at most 5 fragments a turn",
        "put the key rules first",
        "give fragments labelled 'tier' a summary line of their own, or leave them out",
    ]
    assert "10.0 now" in advice(many)[0]


def test_counts_go_to_rows_and_back():
    counts, again = Utilisation(), Utilisation()
    counts.observe(turn("10", ("stock", "tier")))
    again.add_rows(counts.to_rows(), counts.turns)
    assert again.to_record() == counts.to_record()


def test_counts_can_be_added_by_place():
    counts = Utilisation()
    counts.add(Place("faq", "", 1), 10, 4)
    assert counts.to_record()["sources"]["faq"]["value"] == 0.4

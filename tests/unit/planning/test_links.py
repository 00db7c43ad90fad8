"""Links: which tool's output fills which parameter."""

from agent_reach.planning import plan
from agent_reach.planning.links import Field, Signature, derive_links

SEARCH = Signature(
    "Search_Location", "Find a place.", (Field("query", "string"),), (Field("data.geoId", "string"), Field("name", "string"))
)
ARTIST = Signature("Get_Artist_ID", "", (Field("name", "string"),), (Field("id", "string"),))
CLOCK = Signature("Clock", "", (), (Field("now", "string"),))
HOTELS = Signature("Hotels", "", (Field("geoId", "string"), Field("artistId", "string"), Field("day", "string")))


def producers(*needed, tools=(SEARCH, ARTIST, CLOCK, HOTELS), seen=None):
    return [(link.producer, link.guess) for link in derive_links(tools, needed, seen)]


def test_an_output_of_the_same_name_is_taken():
    assert producers(("Hotels", "geoId")) == [("Search_Location", False)]


def test_a_name_may_be_spread_over_the_tool_and_its_output():
    assert producers(("Hotels", "artistId")) == [("Get_Artist_ID", False)]


def test_a_link_that_only_types_speak_for_is_a_guess_and_so_is_the_way_over_it():
    [link] = derive_links((CLOCK, HOTELS), [("Hotels", "day")])
    assert (link.producer, link.guess) == ("Clock", True)
    assert plan({"out:Clock"}, {"Hotels.day"}, [link.operator()]).verdict == "weak"


def test_what_other_plans_did_counts_more_than_types():
    assert producers(("Hotels", "day"), seen={("Search_Location", "Hotels", "day"): 1}) == [("Search_Location", False)]


def test_what_the_description_names_is_taken():
    hotels = Signature("Hotels", "", (Field("place", "object", "Comes from Search Location."),))
    assert producers(("Hotels", "place"), tools=(CLOCK, SEARCH, hotels)) == [("Search_Location", False)]


def test_a_parameter_that_nothing_fits_has_no_link():
    assert producers(("Hotels", "geoId"), tools=(Signature("Other"), HOTELS)) == []
    assert producers(("Hotels", "geoId"), tools=(HOTELS,)) == []

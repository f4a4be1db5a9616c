"""Tests the criterion that all subcommands find the same main loop."""

from others_tool.loops import MainLoop
from strangers_lines import loops


def test_differences_all_ways_alike_none() -> None:
    assert loops.differences({way: MainLoop("main:54", way, 6) for way in loops.WAYS}) == []


def test_differences_other_loop_or_count_or_none_named_by_way() -> None:
    found = {way: MainLoop("main:54", "", 6) for way in loops.WAYS}
    found["record --every 1"] = MainLoop("along:27", "", 751)
    found["simulate"] = MainLoop("main:54", "", 7)
    found[loops.REAL] = loops.NONE
    assert loops.differences(found) == [
        "main:54, 6 iterations",
        "record --every 1: along:27, 751 iterations",
        "simulate: main:54, 7 iterations",
        "run --profile: none",
    ]

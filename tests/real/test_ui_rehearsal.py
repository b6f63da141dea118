"""The live page of a rehearsal: made of a live cluster, which it does not write to."""

from poolkeeper.cli.commands.ui import rehearsal_page
from poolkeeper.cli.commands.ui.live_pages import DeclaredInFolder
from poolkeeper.cli.input.options import ClusterSelection
from poolkeeper.report.html import page
from real.bare import AS_IT_IS, GROWING, Bare


def look(bare: Bare) -> rehearsal_page.RehearsalSeen:
    declared = DeclaredInFolder(ClusterSelection((bare.folder,), "main"))
    return rehearsal_page.look(declared.target(), declared.words)


def test_the_page_tells_what_the_plan_would_do_and_nothing_is_written(bare: Bare) -> None:
    bare.declare(GROWING)
    bare.settle()
    made = rehearsal_page.report(look(bare))
    assert (made.title, made.lead) == ("Rehearsal of main", "3 moves on Kafka 0.10.1.")
    shown = page.content(made)
    assert "Traffic of each broker" in shown
    assert 'type="range"' in shown
    assert bare.written() == ()


def test_there_is_none_without_a_plan_nor_during_a_run(bare: Bare, monkeypatch) -> None:
    bare.declare(AS_IT_IS)
    assert rehearsal_page.report(look(bare)).lead == "There is nothing to move."
    monkeypatch.setattr(rehearsal_page, "PARTITIONS_MAX", 2)
    assert "rehearse it by hand, `poolkeeper rehearse -f " in look(bare).why_not
    bare.put("/poolkeeper/run", {"version": 1})  # a damaged one is under way as well
    assert look(bare).why_not.startswith("A run is under way")

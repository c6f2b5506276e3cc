"""kill -9 in the middle of a graph: its thread is as the last commit left it."""

from tests.faults.process import a_worker


async def test_nyqst_77_a_graph_that_was_killed_in_mid_run_remembers_what_was_committed(address: str) -> None:
    async with a_worker(address) as first:
        await first.line("ready")
        await first.ask("graph")
        hello = await first.ask("chat", text="hello", agent="graph")
        first.tell("chat", text="wait", session_id=hello["session_id"])
        await first.line("began")
        await first.kill()

    async with a_worker(address) as second:
        await second.line("ready")
        await second.ask("graph")
        after = await second.ask("chat", text="again", session_id=hello["session_id"])

    assert (hello["text"], after["text"], after["turn"]) == ("heard 1", "heard 2", 2)

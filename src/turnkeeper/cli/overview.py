"""Looking at a running house from the terminal."""

from collections.abc import Callable, Mapping
from urllib.parse import urlencode

from turnkeeper.cli.say import counting
from turnkeeper.cli.showing import show_one, shown_facts, shown_rows
from turnkeeper.cli.tables import moment
from turnkeeper.cli.talk import HttpTalk, Told


def show_nodes(*, as_json: bool, url: str | None, token: str | None) -> int:
    return _shown("/nodes", _nodes, as_json=as_json, url=url, token=token)


def show_traffic(*, as_json: bool, url: str | None, token: str | None) -> int:
    return _shown("/traffic", _traffic, as_json=as_json, url=url, token=token)


def show_usage(asked: Mapping[str, str | None], *, as_json: bool, url: str | None, token: str | None) -> int:
    query = urlencode({name: value for name, value in asked.items() if value is not None})
    return _shown(f"/usage?{query}", _usage, as_json=as_json, url=url, token=token)


def show_limits(*, as_json: bool, url: str | None, token: str | None) -> int:
    return _shown("/limits", _limits, as_json=as_json, url=url, token=token)


def _shown(path: str, lines: Callable[[Told], str], *, as_json: bool, url: str | None, token: str | None) -> int:
    def read(talk: HttpTalk) -> Told:
        return talk.asked("GET", path)

    return show_one(read, lines, as_json=as_json, url=url, token=token)


def _nodes(told: Told) -> str:
    nodes = [
        [
            node["id"],
            "alive" if node["is_alive"] else "gone",
            f"began {moment(node['started_at'])}" if node["started_at"] else "",
            f"seen {moment(node['seen_at'])}" if node["seen_at"] else "",
            counting(node["lease_count"], "lease", "leases"),
            "answers this" if node["is_here"] else "",
        ]
        for node in told["items"]
    ]
    leases = [
        [lease["session_id"], lease["run_id"], lease["agent"], f"on {node['id']}", f"since {moment(lease['taken_at'])}"]
        for node in told["items"]
        for lease in node["leases"]
    ]
    return shown_rows(nodes) + ("\n" + shown_rows(leases) if leases else "")


def _traffic(told: Told) -> str:
    took, process = told["acceptance"], told["process"]
    head = shown_facts(
        {
            "node": told["node"],
            "counts since": moment(told["since"]),
            "accepted": took["count"],
            "half within": _ms(took["p50_ms"]),
            "99 of 100 within": _ms(took["p99_ms"]),
            "frames dropped": process["dropped_frames"],
            "checkpoints": process["checkpoints"]["count"],
            "bus": ", ".join(f"{name} {count}" for name, count in (process["bus"] or {}).items()),
        }
    )
    envelopes = [
        [str(each["count"]), each["outcome"], each["reason"], each["channel"], each["mode"]]
        for each in told["envelopes"]
    ]
    return head + ("\n" + shown_rows(envelopes) if envelopes else "")


def _usage(told: Told) -> str:
    rows = [[moment(each["at"]), each["agent"], *_spent(each["spent"])] for each in told["items"]]
    rows.append([f"since {moment(told['since'])}", "all", *_spent(told["total"])])
    return shown_rows(rows)


def _spent(spent: Told) -> list[str]:
    return [
        counting(spent["runs"], "run", "runs"),
        f"{spent['failed']} failed" if spent["failed"] else "",
        f"{spent['tokens']:g} tokens",
        f"{spent['cost_cents']:g} cents",
        counting(spent["tool_calls"], "tool call", "tool calls"),
    ]


def _limits(told: Told) -> str:
    rates = [
        [
            each["name"],
            f"{each['left']:.0f} of {each['burst']} left",
            f"{each['per_second']:g} a second",
            f"full at {moment(each['full_at'])}",
        ]
        for each in told["rates"]
    ]
    rates += [[each["name"], f"{each['left']} of {each['limit']} left"] for each in told["allowances"]]
    width = max(map(len, rates))
    padded = [row + [""] * (width - len(row)) for row in rates]
    return shown_rows(padded) + "\n" + shown_facts({name: f"{size:g}" for name, size in told["sizes"].items()})


def _ms(value: float | None) -> str:
    return "" if value is None else f"{value:.1f} ms"

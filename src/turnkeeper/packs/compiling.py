"""The compiler that is there when no other is plugged in: the pack's words, then what was said, newest first."""

from collections.abc import Iterator
from dataclasses import dataclass

from turnkeeper.model.compiled import Bucket, CompiledContext, ContextBlock
from turnkeeper.model.message import Message
from turnkeeper.model.pack import Pack
from turnkeeper.model.run_context import RunContext
from turnkeeper.model.session_state import SessionState
from turnkeeper.ports.tokenizer import Tokenizer

INSTRUCTIONS = ("system", "developer")
OF_OUR_OWN = (*INSTRUCTIONS, "resolve", "extract")
"""Prompts that have a use of their own; all others are told to the agent as what the business wants."""


@dataclass(frozen=True, slots=True)
class PlainCompiler:
    tokenizer: Tokenizer

    def compile(self, state: SessionState, context: RunContext, packs: tuple[Pack, ...]) -> CompiledContext:
        """What the packs instruct and what is asked now come first; the rest is left out from its least end.

        Raises ValueError when not even the instructions fit.
        """
        count, most = self.tokenizer.count, context.prompt_tokens
        system, developer = ("\n\n".join(_prompts(packs, name)) for name in INSTRUCTIONS)
        taken = count(system) + count(developer)
        whole = "\n".join(event.as_text for event in state.live)
        task = self._cut(whole, most - taken)
        taken += count(task)
        blocks, dropped = [], []
        for block in (*_business(packs), *_evidence(state)):
            if taken + (tokens := count(block.content)) > most:
                dropped.append(block.id)
                continue
            taken += tokens
            blocks.append(block)
        said, tokens = self._newest(context.history, most - taken)
        return CompiledContext(
            trace_id=context.trace_id,
            system=system,
            developer=developer,
            task=task,
            blocks=tuple(blocks),
            said=said,
            tools=tuple(dict.fromkeys(tool for pack in packs for tool in pack.tools)),
            controls={"safety_mode": context.safety_mode.value},
            tokens=taken + tokens,
            most_tokens=most,
            dropped=(*dropped, *(each.id for each in context.history[: len(context.history) - len(said)])),
            is_task_cut=len(task) < len(whole),
        )

    def _newest(self, history: tuple[Message, ...], left: int) -> tuple[tuple[Message, ...], int]:
        """The newest messages that fit without a gap, and the tokens that they take."""
        taken = 0
        for place in range(len(history) - 1, -1, -1):
            tokens = self.tokenizer.count(history[place].content)
            if taken + tokens > left:
                return history[place + 1 :], taken
            taken += tokens
        return history, taken

    def _cut(self, text: str, left: int) -> str:
        """As much of the beginning as fits."""
        if self.tokenizer.count(text) <= left:
            return text
        fits, too_long = 0, len(text)
        while too_long - fits > 1:
            middle = (fits + too_long) // 2
            if self.tokenizer.count(text[:middle]) <= left:
                fits = middle
            else:
                too_long = middle
        return text[:fits]


def _prompts(packs: tuple[Pack, ...], name: str) -> Iterator[str]:
    return (text for pack in packs if (text := pack.prompts.get(name)))


def _business(packs: tuple[Pack, ...]) -> Iterator[ContextBlock]:
    for pack in packs:
        for name, text in pack.prompts.items():
            if name not in OF_OUR_OWN:
                id = f"{pack.ref}/{name}"
                yield ContextBlock(id=id, bucket=Bucket.BUSINESS, content=text, priority=1, provenance=(pack.ref,))


def _evidence(state: SessionState) -> Iterator[ContextBlock]:
    for event in state.live:
        for each in event.attachments:
            text = f"{each.media_type} {each.uri} sha256:{each.sha256}"
            id = each.artifact_id
            yield ContextBlock(id=id, bucket=Bucket.EVIDENCE, content=text, priority=1, provenance=(id,))

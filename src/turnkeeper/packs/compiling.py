"""The compiler that is there when no other is plugged in: the pack's words, then what was said, newest first."""

from collections.abc import Iterator
from dataclasses import dataclass

from turnkeeper.model.compiled import Bucket, CompiledContext, ContextBlock
from turnkeeper.model.event import Event
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
        """What the packs instruct and what is asked now come first; the rest is left out from its least end."""
        count = self.tokenizer.count
        system, developer = ("\n\n".join(_prompts(packs, name)) for name in INSTRUCTIONS)
        task = "\n".join(_told(event) for event in state.live)
        most = context.prompt_tokens
        taken = count(system) + count(developer) + count(task)
        if taken > most:
            task = task[: max(0, len(task) - (taken - most) * 4 - 4)]
            taken = count(system) + count(developer) + count(task)
        blocks, dropped = [], []
        for block in (*self._business(packs), *self._evidence(state), *self._said(context)):
            if taken + block.tokens > most:
                dropped.append(block.id)
                continue
            taken += block.tokens
            blocks.append(block)
        said = [block for block in blocks if block.bucket is Bucket.SESSION]
        return CompiledContext(
            trace_id=context.trace_id,
            system=system,
            developer=developer,
            task=task,
            # What was said is told in its order, though the newest was the first to get room.
            blocks=(*(block for block in blocks if block.bucket is not Bucket.SESSION), *reversed(said)),
            tools=tuple(dict.fromkeys(tool for pack in packs for tool in pack.tools)),
            controls={"safety_mode": context.safety_mode.value},
            tokens=taken,
            most_tokens=max(most, taken),
            dropped=tuple(dropped),
        )

    def _business(self, packs: tuple[Pack, ...]) -> Iterator[ContextBlock]:
        for pack in packs:
            for name, text in pack.prompts.items():
                if name not in OF_OUR_OWN:
                    yield self._block(f"{pack.ref}/{name}", Bucket.BUSINESS, text, 1, pack.ref)

    def _evidence(self, state: SessionState) -> Iterator[ContextBlock]:
        for event in state.live:
            for each in event.attachments:
                text = f"{each.media_type} {each.uri} sha256:{each.sha256}"
                yield self._block(each.artifact_id, Bucket.EVIDENCE, text, 1, each.artifact_id)

    def _said(self, context: RunContext) -> Iterator[ContextBlock]:
        for message in reversed(context.history):
            yield self._block(message.id, Bucket.SESSION, message.content, 2, message.role.value)

    def _block(self, id: str, bucket: Bucket, content: str, priority: int, source: str) -> ContextBlock:
        tokens = self.tokenizer.count(content)
        return ContextBlock(
            id=id, bucket=bucket, content=content, tokens=tokens, priority=priority, provenance=(source,)
        )


def _prompts(packs: tuple[Pack, ...], name: str) -> Iterator[str]:
    return (text for pack in packs if (text := pack.prompts.get(name)))


def _told(event: Event) -> str:
    return event.as_text

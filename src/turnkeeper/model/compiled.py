"""What an agent works from: the pack's words, what was said before and what is asked now, within a bound."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from turnkeeper.model.ids import TraceId
from turnkeeper.model.message import Message


class Bucket(StrEnum):
    """Where a piece of context comes from."""

    BUSINESS = "business"
    EVIDENCE = "evidence"
    SESSION = "session"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextBlock:
    """Data, never an instruction. `priority` 0 is the last to go when there is no room."""

    id: str
    bucket: Bucket
    content: str
    priority: int = 0
    provenance: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledContext:
    """`said` are the messages of earlier turns that fit, oldest first, and `blocks` what else is told.

    `tokens` are how many it takes of the `most_tokens` it may take; what did not fit is named in `dropped`.
    """

    trace_id: TraceId
    system: str = ""
    developer: str = ""
    task: str = ""
    blocks: tuple[ContextBlock, ...] = ()
    said: tuple[Message, ...] = ()
    tools: tuple[str, ...] = ()
    controls: Mapping[str, Any] = field(default_factory=dict)
    tokens: int = 0
    most_tokens: int = 0
    dropped: tuple[str, ...] = ()
    is_task_cut: bool = False

    def __post_init__(self) -> None:
        if self.tokens > self.most_tokens:
            raise ValueError(f"a compiled context takes at most {self.most_tokens} tokens, not {self.tokens}")

    @property
    def messages(self) -> tuple[Mapping[str, str], ...]:
        """As chat models take them. Only what the packs instruct is a system text; all else is data."""
        instructions = "\n\n".join(text for text in (self.system, self.developer) if text)
        told = "\n".join(f"<{each.bucket.value}>\n{each.content}\n</{each.bucket.value}>" for each in self.blocks)
        return (
            *([{"role": "system", "content": instructions}] if instructions else ()),
            *([{"role": "user", "content": told}] if told else ()),
            *({"role": each.role.value, "content": each.content} for each in self.said),
            {"role": "user", "content": self.task},
        )

    @property
    def context_blocks(self) -> tuple[ContextBlock, ...]:
        """Everything but the instructions and the task, what was said among it."""
        said = (
            ContextBlock(
                id=each.id,
                bucket=Bucket.SESSION,
                content=each.content,
                priority=2,
                provenance=(each.role.value,),
            )
            for each in self.said
        )
        return (*self.blocks, *said)

    @property
    def hash(self) -> str:
        """The same for the same content, whatever the trace."""
        content = {name: value for name, value in self.document().items() if name != "context_ledger"}
        return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()

    def document(self) -> dict[str, Any]:
        return {
            "compiled_prompt": {
                "system": self.system,
                "developer": self.developer,
                "task": self.task,
                "context_blocks": [
                    {
                        "block_id": block.id,
                        "bucket": block.bucket.value,
                        "content": block.content,
                        "priority": block.priority,
                        "provenance_refs": list(block.provenance),
                    }
                    for block in self.context_blocks
                ],
            },
            "manifests": {"tools": list(self.tools)},
            "runtime_controls": dict(self.controls),
            "budget_report": {
                "most_tokens": self.most_tokens,
                "used_at_compile": self.tokens,
                "dropped_block_ids": list(self.dropped),
                "is_task_cut": self.is_task_cut,
            },
            "context_ledger": {"trace_id": self.trace_id},
        }

"""What an agent works from: the pack's words, what was said before and what is asked now, within a bound."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from turnkeeper.model.ids import TraceId


class Bucket(StrEnum):
    """Where a piece of context comes from."""

    BUSINESS = "business"
    POLICY = "policy"
    TOOL = "tool"
    EVIDENCE = "evidence"
    MEMORY = "memory"
    SESSION = "session"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextBlock:
    """Data, never an instruction. `priority` 0 is the last to go when there is no room."""

    id: str
    bucket: Bucket
    content: str
    tokens: int
    priority: int = 0
    provenance: tuple[str, ...] = ()
    truncated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledContext:
    """`tokens` are how many it takes of the `most_tokens` it may take; what did not fit is named in `dropped`."""

    trace_id: TraceId
    system: str = ""
    developer: str = ""
    task: str = ""
    blocks: tuple[ContextBlock, ...] = ()
    tools: tuple[str, ...] = ()
    controls: Mapping[str, Any] = field(default_factory=dict)
    tokens: int = 0
    most_tokens: int = 0
    dropped: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.tokens > self.most_tokens:
            raise ValueError(f"a compiled context takes at most {self.most_tokens} tokens, not {self.tokens}")

    @property
    def messages(self) -> tuple[Mapping[str, str], ...]:
        """As chat models take them: one system text, and the rest as it was said."""
        texts = [text for text in (self.system, self.developer) if text]
        told = [block for block in self.blocks if block.bucket is not Bucket.SESSION]
        texts += [f"<{block.bucket.value}>\n{block.content}\n</{block.bucket.value}>" for block in told]
        said = [
            {"role": block.provenance[0] if block.provenance else "user", "content": block.content}
            for block in self.blocks
            if block.bucket is Bucket.SESSION
        ]
        system = [{"role": "system", "content": "\n\n".join(texts)}] if texts else []
        return (*system, *said, {"role": "user", "content": self.task})

    @property
    def hash(self) -> str:
        """The same for the same content, whatever the trace."""
        content = {name: value for name, value in self.document().items() if name != "context_ledger"}
        return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()

    def document(self) -> dict[str, Any]:
        used: dict[str, int] = {}
        for block in self.blocks:
            used[block.bucket.value] = used.get(block.bucket.value, 0) + block.tokens
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
                        "truncated": block.truncated,
                    }
                    for block in self.blocks
                ],
            },
            "manifests": {"tools": list(self.tools)},
            "runtime_controls": dict(self.controls),
            "budget_report": {
                "most_tokens": self.most_tokens,
                "used_at_compile": self.tokens,
                "used_by_bucket": used,
                "dropped_block_ids": list(self.dropped),
            },
            "context_ledger": {"trace_id": self.trace_id},
        }

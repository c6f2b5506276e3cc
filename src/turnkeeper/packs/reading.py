"""From the files of a pack to the pack, or to everything that is wrong with it."""

import contextlib
from collections.abc import Callable, Mapping

from turnkeeper.model.pack import Pack
from turnkeeper.packs.documents import Document, DocumentFault
from turnkeeper.packs.faults import START, PackFault, PackFaultCode, fault_at, in_order
from turnkeeper.packs.intents import read_intents
from turnkeeper.packs.json_documents import read_json
from turnkeeper.packs.knowledge import read_source
from turnkeeper.packs.layout import MANIFEST, Section, is_readable, layout_faults, section_of
from turnkeeper.packs.manifest import Manifest, read_manifest
from turnkeeper.packs.parts import EnoughFaults, Part
from turnkeeper.packs.patterns import check_patterns
from turnkeeper.packs.references import check_certainty, check_references
from turnkeeper.packs.repeats import check_repeats
from turnkeeper.packs.resets import check_resets, check_resolvable
from turnkeeper.packs.responses import read_responses
from turnkeeper.packs.schemas import read_schema
from turnkeeper.packs.written import WrittenPack
from turnkeeper.packs.yaml_documents import read_yaml


def read_pack(files: Mapping[str, str]) -> tuple[Pack | None, tuple[PackFault, ...]]:
    """The pack and its warnings, or None and all of its faults, in the order of file and line."""
    faults = [*layout_faults(files)]
    written = WrittenPack()
    # All that is no warning is looked for before what is one, so that an early end hides none where there is none.
    with contextlib.suppress(EnoughFaults):
        written = _Reading(files, faults).all()
        check_references(written)
        check_patterns(written)
        check_repeats(written)
        check_resets(written)
        check_resolvable(written)
        check_certainty(written)
    is_usable = all(fault.is_warning for fault in faults)
    return _pack_of(written) if is_usable else None, in_order(faults)


class _Reading:
    """Every file by itself. One that cannot be read does not keep the faults of the others from being told."""

    def __init__(self, files: Mapping[str, str], faults: list[PackFault]) -> None:
        self._files = files
        self._faults = faults
        self._by_section: dict[Section, list[str]] = {section: [] for section in Section}
        for path in sorted(files):
            section = section_of(path)
            if section:
                self._by_section[section].append(path)

    def all(self) -> WrittenPack:
        pack = WrittenPack(manifest=self._manifest())
        for path in self._by_section[Section.INTENTS]:
            part = self._part(path, read_yaml)
            found = [*read_intents(part)] if part else []
            pack.intents.extend(found)
            pack.lacks_intents |= not found
        for path in self._by_section[Section.SCHEMAS]:
            part = self._part(path, read_json)
            schema = read_schema(part) if part else None
            pack.schemas.extend([schema] if schema else [])
            pack.lacks_schemas |= schema is None
        for path in self._by_section[Section.RESPONSES]:
            part = self._part(path, read_yaml)
            pack.responses.extend(read_responses(part) if part else ())
        for path in self._by_section[Section.KNOWLEDGE]:
            if is_readable(self._files[path]):
                pack.sources.append(read_source(path, self._files[path], self._faults))
        return pack

    def _manifest(self) -> Manifest:
        prompts = {path: self._files[path] for path in self._by_section[Section.PROMPTS]}
        part = self._part(MANIFEST, read_yaml) if MANIFEST in self._files else None
        if part is None:
            return Manifest()
        manifest = read_manifest(part, prompts)
        for path in prompts.keys() - manifest.prompt_files:
            message = "No prompt in pack.yaml is taken from this file. Name it there with `file:`, or take it away."
            self._faults.append(fault_at(path, START, PackFaultCode.UNUSED_FILE, message, is_warning=True))
        return manifest

    def _part(self, path: str, read: Callable[[str], Document]) -> Part | None:
        """None for a file that cannot be read; why is told, here or by its layout."""
        text = self._files[path].removeprefix("\ufeff")
        if not is_readable(text):
            return None
        try:
            document = read(text)
        except DocumentFault as fault:
            self._faults.append(fault_at(path, fault.place, fault.code, fault.message))
            return None
        return Part(file=path, document=document, faults=self._faults, value=document.value)


def _pack_of(written: WrittenPack) -> Pack:
    return Pack(
        **written.manifest.facts,
        intents=tuple(intent for _, intent in written.read_intents()),
        schemas={each.name: each.schema for each in written.schemas if each.schema is not None},
        responses=tuple(each.response for each in written.responses),
        knowledge=tuple(written.sources),
    )

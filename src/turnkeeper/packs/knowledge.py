"""Texts that the agent of a pack may answer from, in the folder `knowledge`."""

from pathlib import PurePosixPath

from turnkeeper.errors import UnitTextInvalid
from turnkeeper.knowledge.text_form.read import parse_units
from turnkeeper.model.knowledge_base import SourceKind
from turnkeeper.model.pack import PackSource
from turnkeeper.packs.faults import PackFault, PackFaultCode, Place, fault_at

_KINDS = {".md": SourceKind.MARKDOWN, ".txt": SourceKind.TEXT, ".units": SourceKind.UNITS}


def read_source(path: str, text: str, faults: list[PackFault]) -> PackSource:
    file = PurePosixPath(path)
    kind = _KINDS[file.suffix]
    if kind is SourceKind.UNITS:
        faults.extend(_unit_faults(path, text))
    return PackSource(name=file.name, kind=kind, content=text)


def _unit_faults(path: str, text: str) -> list[PackFault]:
    try:
        parse_units(text)
    except UnitTextInvalid as refused:
        return [_fault_of(path, detail) for detail in refused.details]
    return []


def _fault_of(path: str, detail: object) -> PackFault:
    assert isinstance(detail, dict)
    message = f"{detail['code']}: {detail['message']} Correct it; `turnkeeper units check` tells the same."
    place = Place(line=max(1, detail["line"]), column=max(1, detail["column"]))
    return fault_at(path, place, PackFaultCode.UNFIT_UNITS, message)

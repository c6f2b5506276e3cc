"""What a manifest is known by, and what changes from one to another."""

import hashlib

import pytest

from turnkeeper.model.manifest import ManifestEntry, difference, is_path, manifest_sha256

HELLO = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"


def an_entry(path: str, sha256: str = HELLO, **metadata: str) -> ManifestEntry:
    return ManifestEntry(path=path, sha256=sha256, metadata=metadata)


@pytest.mark.parametrize(
    ("entries", "sha256"),
    [
        ([], "5afa86ab9b056416284b3e1555aef1d3afcbb4667e14588f5219b3f5360c21c9"),
        ([an_entry("doc.txt")], "cb428f216ff1c1b05e78b6f15aa427cb36137004a0c0525fa93cbe8e6a1ed4fc"),
        ([an_entry("\u00e9.txt")], "f44d6a4f6f4a434f236ffaf957fa9aebb52244321393ee8884869e11a9c5fbdf"),
    ],
)
def test_nyqst_62_the_hash_vectors_of_the_source_are_reproduced(entries: list[ManifestEntry], sha256: str) -> None:
    assert hashlib.sha256(b"hello").hexdigest() == HELLO
    assert manifest_sha256(entries, {}) == sha256


def test_the_order_of_entries_and_all_metadata_are_part_of_the_hash() -> None:
    one, two = an_entry("a"), an_entry("b")

    hashes = {
        manifest_sha256([one, two], {}),
        manifest_sha256([two, one], {}),
        manifest_sha256([one, two], {"made": "today"}),
        manifest_sha256([one, an_entry("b", made="today")], {}),
    }

    assert len(hashes) == 4


def test_a_difference_is_told_by_path_and_ignores_metadata() -> None:
    other = "0" * 64
    before = [an_entry("same", kind="old"), an_entry("changed"), an_entry("gone")]
    after = [an_entry("same", kind="new"), an_entry("changed", other), an_entry("new")]

    diff = difference(before, after)

    assert [each.path for each in diff.added] == ["new"]
    assert [each.path for each in diff.removed] == ["gone"]
    assert diff.modified == (("changed", HELLO, other),)


@pytest.mark.parametrize("path", ["", "/etc/passwd", "a//b", "../up", "a/../../up", "./a", "a\\b", "a\nb", "x" * 1025])
def test_a_path_never_leads_out_of_its_tree(path: str) -> None:
    assert not is_path(path)
    with pytest.raises(ValueError, match="path"):
        an_entry(path)

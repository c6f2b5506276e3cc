"""The files of a pack come safely out of folders and archives, whoever made them."""

import gzip
import hashlib
import io
import os
import stat
import tarfile
import tracemalloc
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.archives import archive_of
from turnkeeper.packs.demos import demo_packs
from turnkeeper.packs.files import read_files

BOOKING = demo_packs()["table-booking"]


def test_a_folder_and_each_kind_of_archive_give_the_same_files(tmp_path: Path) -> None:
    folder = written(tmp_path / "pack", BOOKING)
    (tmp_path / "pack.zip").write_bytes(archive_of(BOOKING))
    (tmp_path / "pack.tar.gz").write_bytes(
        a_tar({f"table-booking-1.0.0/{name}": text for name, text in BOOKING.items()})
    )

    found = [read_files(path) for path in (folder, tmp_path / "pack.zip", tmp_path / "pack.tar.gz")]

    assert found == [(BOOKING, ())] * 3


def test_the_bytes_of_an_archive_are_read_like_its_file() -> None:
    assert read_files(archive_of(BOOKING)) == (BOOKING, ())


@given(files=st.dictionaries(st.from_regex(r"[a-z]{1,8}(/[a-z]{1,8}){0,2}", fullmatch=True), st.text(), max_size=6))
def test_the_same_files_give_the_same_archive_in_whatever_order(files: dict[str, str]) -> None:
    turned = dict(reversed(files.items()))

    assert archive_of(files) == archive_of(turned)


def test_the_same_files_give_the_same_archive_on_every_day() -> None:
    found = hashlib.sha256(archive_of({"pack.yaml": "id: x\n"})).hexdigest()

    assert found == "693be0d271736a7f520abc6fdcbe407e423dc18b83f7c5d85c6b70d2a7493bf9"


def test_texts_that_are_sent_by_name_are_held_to_the_same_limits() -> None:
    sent = {"pack.yaml": "id: x", "../x.md": "x", ".DS_Store": "x", "a.md": "x" * 101, "b.md": "\ud800"}

    files, faults = read_files(sent, most_file_bytes=100)

    assert files == {"pack.yaml": "id: x"}
    assert [(fault.file, fault.code) for fault in faults] == [
        ("../x.md", "unsafe_name"),
        ("a.md", "too_large"),
        ("b.md", "not_text"),
    ]


def test_one_folder_around_everything_is_taken_off_and_two_are_not() -> None:
    one = a_zip({"top/pack.yaml": b"a", "top/intents/x.yaml": b"b"})
    two = a_zip({"top/pack.yaml": b"a", "other/x.yaml": b"b"})

    assert set(read_files(one)[0]) == {"pack.yaml", "intents/x.yaml"}
    assert set(read_files(two)[0]) == {"top/pack.yaml", "other/x.yaml"}


def test_hidden_files_and_leftovers_of_editors_are_left_alone(tmp_path: Path) -> None:
    names = (".git/config", ".DS_Store", "pack.yaml~", "#pack.yaml#", "a.swp", "__MACOSX/x", "b.bak", "Thumbs.db")
    folder = written(tmp_path / "pack", {"pack.yaml": "id: x", **dict.fromkeys(names, "junk")})

    assert read_files(folder) == ({"pack.yaml": "id: x"}, ())


def test_a_byte_order_mark_is_no_part_of_a_text(tmp_path: Path) -> None:
    folder = written(tmp_path / "pack", {})
    (folder / "pack.yaml").write_bytes(b"\xef\xbb\xbfid: x")

    assert read_files(folder) == ({"pack.yaml": "id: x"}, ())


@pytest.mark.parametrize(
    "name", ["../x.md", "/etc/x.md", "a/../../x.md", "C:/x.md", "a\\..\\x.md", "a//x.md", "x\0.md"]
)
def test_a_name_that_leads_out_of_the_archive_is_refused(name: str) -> None:
    files, faults = read_files(a_zip({name: b"x", "pack.yaml": b"id: x"}))

    assert files == {"pack.yaml": "id: x"}
    assert [fault.code for fault in faults] == ["unsafe_name"]
    assert "relative" in faults[0].message


def test_links_are_not_followed_wherever_they_stand(tmp_path: Path) -> None:
    folder = written(tmp_path / "pack", {"pack.yaml": "id: x"})
    (folder / "secret.md").symlink_to("/etc/passwd")
    (folder / "knowledge").symlink_to("/etc")
    entry = zipfile.ZipInfo("secret.md")
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    zipped = a_zip({"pack.yaml": b"id: x"}, (entry, b"/etc/passwd"))
    link = tarfile.TarInfo("secret.md")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    tarred = a_tar({"pack.yaml": "id: x"}, link)

    for source, count in ((folder, 2), (zipped, 1), (tarred, 1)):
        files, faults = read_files(source)
        assert files == {"pack.yaml": "id: x"}
        assert [fault.code for fault in faults] == ["link"] * count


def test_a_pipe_in_a_folder_is_told_and_not_waited_for(tmp_path: Path) -> None:
    folder = written(tmp_path / "pack", {"pack.yaml": "id: x"})
    os.mkfifo(folder / "waiting")

    files, faults = read_files(folder)

    assert files == {"pack.yaml": "id: x"}
    assert [(fault.file, fault.code) for fault in faults] == [("waiting", "cannot_read")]


def test_too_many_files_end_the_reading(tmp_path: Path) -> None:
    names = [f"knowledge/{number}.md" for number in range(12)]
    folder = written(tmp_path / "pack", dict.fromkeys(names, "x"))

    for source in (folder, archive_of(dict.fromkeys(names, "x")), a_tar(dict.fromkeys(names, "x"))):
        files, faults = read_files(source, most_files=10)
        assert len(files) <= 10
        assert [fault.code for fault in faults] == ["too_many_files"]
        assert "at most 10 files" in faults[0].message


def test_a_folder_of_nothing_but_folders_has_an_end_too(tmp_path: Path) -> None:
    deep = tmp_path.joinpath("pack", *["a"] * 60)
    deep.mkdir(parents=True)

    _, faults = read_files(tmp_path / "pack", most_files=20)

    assert [fault.code for fault in faults] == ["too_many_files"]


def test_sizes_are_counted_by_what_is_read_and_not_by_what_a_header_says() -> None:
    bomb = a_zip({"pack.yaml": b"\n" * 3_000_000}, compression=zipfile.ZIP_DEFLATED)
    lying = bomb.replace((3_000_000).to_bytes(4, "little"), (10).to_bytes(4, "little"))
    tarred = a_tar({"pack.yaml": "\n" * 5_000_000})

    for archive in (bomb, lying, tarred):
        files, faults = read_files(archive)
        assert sum(map(len, files.values())) <= 1024 * 1024
        assert [fault.code for fault in faults] in (["too_large"], ["broken_archive"])


def test_a_bomb_is_not_unpacked_to_find_out_that_it_is_one() -> None:
    bombs = (
        a_zip({"pack.yaml": b"\n" * 60_000_000}, compression=zipfile.ZIP_DEFLATED),
        gzip.compress(b"\0" * 60_000_000),
    )

    for bomb in bombs:
        tracemalloc.start()
        _, faults = read_files(bomb)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert faults
        assert most < 20_000_000


def test_one_file_and_all_of_them_have_a_limit(tmp_path: Path) -> None:
    folder = written(tmp_path / "pack", {"a.md": "x" * 100, "b.md": "x" * 101, "c.md": "x" * 60, "d.md": "x" * 60})

    files, faults = read_files(folder, most_file_bytes=100, most_bytes=200)

    assert set(files) == {"a.md", "c.md"}
    assert [(fault.file, fault.code) for fault in faults] == [("b.md", "too_large"), ("d.md", "too_large")]


def test_a_file_twice_in_an_archive_is_told() -> None:
    with pytest.warns(UserWarning, match="Duplicate name"):
        archive = a_zip({"pack.yaml": b"id: x"}, (zipfile.ZipInfo("pack.yaml"), b"id: y"))

    files, faults = read_files(archive)

    assert files == {"pack.yaml": "id: x"}
    assert [fault.code for fault in faults] == ["repeated_file"]


def test_what_is_no_text_is_told_at_the_first_byte_that_is_none() -> None:
    _, faults = read_files(a_zip({"knowledge/x.md": b"fine\nab\xff", "pack.yaml": b"id: x"}))

    assert [(fault.code, fault.line, fault.column) for fault in faults] == [("not_text", 2, 3)]


@pytest.mark.parametrize(
    "data", [b"", b"id: x", b"PK\x03\x04nothing", b"\x1f\x8bnothing", gzip.compress(b"no tar", mtime=0)]
)
def test_what_is_no_archive_or_a_damaged_one_is_told(data: bytes) -> None:
    files, faults = read_files(data)

    assert files == {}
    assert [fault.code for fault in faults] in (["not_an_archive"], ["broken_archive"])


def test_a_rare_compression_is_refused_before_it_is_unpacked() -> None:
    _, faults = read_files(a_zip({"pack.yaml": b"x" * 10_000}, compression=zipfile.ZIP_LZMA))

    assert [fault.code for fault in faults] == ["cannot_read"]


def test_a_path_that_is_not_there_is_told(tmp_path: Path) -> None:
    _, faults = read_files(tmp_path / "nothing")

    assert [(fault.file, fault.code) for fault in faults] == [("nothing", "cannot_read")]


@given(data=st.binary(max_size=2_000), start=st.sampled_from([b"", b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b\x08"]))
def test_any_bytes_are_read_or_their_fault_is_told(start: bytes, data: bytes) -> None:
    files, faults = read_files(start + data)

    assert files or faults or start.startswith(b"PK")
    assert all(fault.line >= 1 and fault.file for fault in faults)


@given(changes=st.lists(st.tuples(st.integers(0), st.integers(0, 255)), max_size=8), cut=st.integers(0, 400))
def test_a_damaged_archive_is_read_or_its_fault_is_told(changes: list[tuple[int, int]], cut: int) -> None:
    for whole in SMALL_ARCHIVES:
        damaged = bytearray(whole[: len(whole) - cut % len(whole)])
        for at, value in changes:
            damaged[at % len(damaged)] = value
        files, faults = read_files(bytes(damaged))
        assert all(fault.line >= 1 and fault.file for fault in faults)
        assert all(".." not in name.split("/") and not name.startswith("/") for name in files)


@given(changes=st.lists(st.tuples(st.integers(0), st.integers(0, 255)), max_size=8))
def test_a_damaged_tar_has_an_end(changes: list[tuple[int, int]]) -> None:
    """The header of a tar can point backwards, and names that are too long are kept in headers of their own."""
    tar = bytearray(gzip.decompress(a_tar({"pack.yaml": "id: x", f"knowledge/{'x' * 120}.md": "y"})))
    for at, value in changes:
        tar[at % 2048] = value

    _, faults = read_files(gzip.compress(bytes(tar)))

    assert all(fault.line >= 1 and fault.file for fault in faults)


def written(folder: Path, files: dict[str, str]) -> Path:
    folder.mkdir()
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def a_zip(
    files: dict[str, bytes], *more: tuple[zipfile.ZipInfo, bytes], compression: int = zipfile.ZIP_STORED
) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", compression) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo("x")
            entry.compress_type = compression
            # Past the constructor, which would make the name harmless.
            entry.filename = name
            archive.writestr(entry, content)
        for entry, content in more:
            archive.writestr(entry, content)
    return target.getvalue()


def a_tar(files: dict[str, str], *more: tarfile.TarInfo) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
        for entry in more:
            archive.addfile(entry)
    return target.getvalue()


SMALL_ARCHIVES = (
    a_zip({"pack.yaml": b"id: x", "knowledge/a.md": b"text" * 50}, compression=zipfile.ZIP_DEFLATED),
    archive_of({"pack.yaml": "id: x", "knowledge/a.md": "text"}),
    a_tar({"pack.yaml": "id: x", "knowledge/a.md": "text"}),
)

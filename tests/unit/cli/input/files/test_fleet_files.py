"""Which files of a fleet's reports are served, and which are not."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from poolkeeper.cli.input.files import fleet_files
from poolkeeper.errors import Refused
from poolkeeper.fleet.lake import objects

HTML = "text/html; charset=utf-8"
LATEST = "report-2026-03-02.html"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    reports = tmp_path / "fleet"
    for name in ("report-2026-03-01.html", LATEST, "notes.html", "report-2026-03-02/main.html"):
        (reports / name).parent.mkdir(parents=True, exist_ok=True)
        (reports / name).write_text(name)
    (reports / "report-2026-03-02" / "main.json").write_text("{}")
    (tmp_path / "secret.html").write_text("secret")
    (reports / "report-2026-03-02" / "out.html").symlink_to(tmp_path / "secret.html")
    return reports


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param(LATEST, (LATEST.encode(), HTML), id="a-report"),
        pytest.param(
            "report-2026-03-02/main.html", (b"report-2026-03-02/main.html", HTML), id="a-plan-s"
        ),
        pytest.param("report-2026-03-02/main.json", (b"{}", "application/json"), id="the-plan"),
        pytest.param("report-2026-03-03.html", None, id="of-another-day"),
        pytest.param("notes.html", None, id="no-page-of-ours"),
        pytest.param("../secret.html", None, id="above"),
        pytest.param("report-2026-03-02/../../secret.html", None, id="above-from-below"),
        pytest.param("report-2026-03-02/..html", None, id="two-dots"),
        pytest.param("report-2026-03-02/out.html", None, id="a-link-that-leads-out"),
        pytest.param("/etc/passwd", None, id="absolute"),
        pytest.param("report-2026-03-02/main.html\n", None, id="a-line-end"),
        pytest.param("", None, id="nothing"),
    ],
)
def test_a_folder(folder: Path, name: str, expected: tuple[bytes, str] | None) -> None:
    found = fleet_files.fleet_files(str(folder))
    assert found.latest() == LATEST
    assert found.read(name) == expected


def test_one_file_has_its_pages_beside_it(folder: Path) -> None:
    found = fleet_files.fleet_files(str(folder / "notes.html"))
    assert found.latest() == "notes.html"
    assert found.read("notes.html") == (b"notes.html", HTML)
    assert found.read("report-2026-03-02/main.html") is not None
    assert found.read("../secret.html") is None


def test_a_store_is_read_through_arrow(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its objects are those of `fleet.lake`; here, of a folder."""
    opened: list[str] = []

    def of_folder(uri: str) -> object:
        opened.append(uri)
        return objects.ArrowObjects(f"file://{folder}")

    parts = {
        "lake.objects": SimpleNamespace(ArrowObjects=of_folder),
        "lake.filesystems": SimpleNamespace(root_of=str),
    }
    monkeypatch.setattr(fleet_files.snapshot_files, "fleet", parts.__getitem__)
    found = fleet_files.fleet_files("s3a://bucket/fleet")
    assert opened == ["s3a://bucket/fleet"]
    assert found.latest() == LATEST
    assert found.read(LATEST) == (LATEST.encode(), HTML)
    assert found.read("report-2026-03-03.html") is None
    assert found.read("notes.html") is None


def test_a_page_whose_links_lead_in_a_circle_is_not_there(folder: Path) -> None:
    (folder / "report-2026-03-03.html").symlink_to("report-2026-03-03.html")
    assert fleet_files.fleet_files(str(folder)).read("report-2026-03-03.html") is None


def test_what_was_read_is_kept_for_a_while(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = fleet_files.fleet_files(str(folder))
    assert found.read(LATEST) is not None
    (folder / LATEST).write_text("newer")
    assert found.read(LATEST) == (LATEST.encode(), HTML)
    monkeypatch.setattr(fleet_files, "KEEP_S", 0)
    assert found.read(LATEST) == (b"newer", HTML)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        pytest.param("nowhere", "there is no such file or folder", id="nothing-there"),
        pytest.param("x" * 300, "there is no such file or folder", id="no-name-of-a-file"),
        pytest.param("fleet/plain.txt", "is no page", id="another-kind"),
    ],
)
def test_what_is_no_report_is_refused(folder: Path, name: str, reason: str) -> None:
    (folder / "plain.txt").write_text("")
    with pytest.raises(Refused, match=reason):
        fleet_files.fleet_files(str(folder.parent / name))

"""What is wrong with PEM files is told by file, and nobody is asked for the password of a key."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import pem_texts
from poolkeeper.errors import Forbidden
from poolkeeper.model.specs import Tls
from poolkeeper.tls_files import dates_remark, problems, require_usable

NO_CERTIFICATE = "holds no certificate (expected PEM)"
NO_KEY = "holds no private key (expected PEM)"
ENCRYPTED = "holds a key that is encrypted (expected one without a password)"
ABSENT = "cannot be read: No such file or directory"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    texts = {
        "me.pem": pem_texts.CERTIFICATE,
        "me.key": pem_texts.KEY,
        "other.key": pem_texts.OTHER_KEY,
        "locked.key": pem_texts.ENCRYPTED_KEY,
        "empty": "",
        "words": "no PEM at all",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def of(folder: Path, **names: str) -> Tls:
    return Tls(**{field: str(folder / name) for field, name in names.items()})


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        pytest.param({}, {}, id="the-authorities-of-the-system"),
        pytest.param({"ca": "me.pem", "certificate": "me.pem", "key": "me.key"}, {}, id="all-well"),
        pytest.param({"ca": "empty"}, {"ca": NO_CERTIFICATE}, id="empty"),
        pytest.param({"ca": "words"}, {"ca": NO_CERTIFICATE}, id="no-pem"),
        pytest.param({"ca": "me.key"}, {"ca": NO_CERTIFICATE}, id="a-key-for-an-authority"),
        pytest.param({"ca": "absent"}, {"ca": ABSENT}, id="absent"),
        pytest.param({"ca": "."}, {"ca": "cannot be read: Is a directory"}, id="a-folder"),
        pytest.param(
            {"certificate": "me.pem", "key": "other.key"},
            {"key": "holds a key that does not belong to the certificate"},
            id="a-key-of-another-certificate",
        ),
        pytest.param(
            {"certificate": "me.pem", "key": "locked.key"}, {"key": ENCRYPTED}, id="encrypted"
        ),
        pytest.param({"certificate": "me.pem", "key": "me.pem"}, {"key": NO_KEY}, id="no-key"),
        pytest.param({"certificate": "me.pem", "key": "absent"}, {"key": ABSENT}, id="key-absent"),
        pytest.param(
            {"ca": "words", "certificate": "me.key", "key": "me.key"},
            {"ca": NO_CERTIFICATE, "certificate": NO_CERTIFICATE},
            id="two-at-once",
        ),
    ],
)
def test_what_is_wrong_is_told_by_field(
    folder: Path,
    names: dict[str, str],
    expected: dict[str, str],
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert problems(of(folder, **names)) == expected
    assert capfd.readouterr() == ("", "")


def test_the_file_that_cannot_be_used_is_named(folder: Path) -> None:
    require_usable(None)
    require_usable(of(folder, certificate="me.pem", key="me.key"))
    with pytest.raises(Forbidden) as forbidden:
        require_usable(of(folder, certificate="me.pem", key="locked.key"))
    assert str(forbidden.value) == f"tls.key: {folder / 'locked.key'} {ENCRYPTED}"


SINCE = datetime(2026, 11, 26, 15, 45, 5, tzinfo=UTC)
UNTIL = datetime(2126, 11, 2, 15, 45, 5, tzinfo=UTC)
"""Of `pem_texts.CERTIFICATE`: a short date, and a long one as those after 2049 are."""
SECOND = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("now", "told"),
    [
        (
            SINCE - SECOND,
            "; the client's certificate is valid only from 2026-11-26 15:45:05 UTC on",
        ),
        (SINCE, ""),
        (UNTIL, ""),
        (UNTIL + SECOND, "; the client's certificate expired at 2126-11-02 15:45:05 UTC: renew it"),
    ],
    ids=["too-early", "first-second", "last-second", "expired"],
)
def test_a_certificate_out_of_its_dates_is_told(folder: Path, now: datetime, told: str) -> None:
    assert dates_remark(str(folder / "me.pem"), now) == told


def test_a_certificate_whose_both_dates_are_short_is_read(folder: Path) -> None:
    chain = pem_texts.EXPIRED_CERTIFICATE + pem_texts.CERTIFICATE
    (folder / "old.pem").write_text(f"of t:\n{chain}")
    told = "; the client's certificate expired at 2026-01-01 00:00:00 UTC: renew it"
    assert dates_remark(str(folder / "old.pem")) == told


@pytest.mark.parametrize("name", ["me.key", "empty", "words", "absent", "cut", "other"])
def test_of_what_is_no_certificate_no_dates_are_told(folder: Path, name: str) -> None:
    begin, end = "-----BEGIN CERTIFICATE-----\n", "-----END CERTIFICATE-----\n"
    (folder / "cut").write_text(pem_texts.CERTIFICATE[:200] + "\n" + end)
    (folder / "other").write_text(f"{begin}MAUCAwEAAQ==\n{end}")
    assert dates_remark(str(folder / name), UNTIL + SECOND) == ""
    assert dates_remark(None) == ""

"""What is wrong with PEM files is told by file, and nobody is asked for the password of a key."""

from pathlib import Path

import pytest

import pem_texts
from poolkeeper.errors import Forbidden
from poolkeeper.model.specs import Tls
from poolkeeper.tls_files import problems, require_usable

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

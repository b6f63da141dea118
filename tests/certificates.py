"""Keys and certificates for tests of TLS, made by Java's keytool."""

import subprocess
from pathlib import Path

from poolkeeper.sandbox.servers import artifacts

DEADLINE_S = 60


def of_a_server(folder: Path, password: str, owner: str = "test") -> tuple[Path, Path]:
    """Return a key store of a server at 127.0.0.1, and its certificate for clients to trust."""
    store, pem = folder / f"{owner}.p12", folder / f"{owner}.pem"
    common = ("-keystore", str(store), "-storepass", password, "-alias", "server")
    name = ("-dname", f"CN={owner}", "-ext", "san=ip:127.0.0.1")
    _keytool("-genkeypair", "-keyalg", "RSA", *name, *common)
    _keytool("-exportcert", "-rfc", "-file", str(pem), *common)
    return store, pem


def _keytool(*arguments: str) -> None:
    tool = Path(artifacts.find_tools().java).resolve().with_name("keytool")
    command = [str(tool), "-noprompt", *arguments]
    subprocess.run(command, check=True, capture_output=True, timeout=DEADLINE_S)

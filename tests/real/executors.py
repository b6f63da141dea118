"""A process of `poolkeeper` beside the test: started, frozen, killed, waited for."""

import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from conditions import until
from frozen import freeze
from real.support import Ran


@dataclass
class Executor:
    """A process of `poolkeeper`; its standard output and error are in one file."""

    process: subprocess.Popen[bytes]
    output: Path

    @classmethod
    def start(cls, words: Sequence[str], output: Path) -> "Executor":
        """Start a command, to be killed at the end of a `with` block, which tells what it said."""
        with output.open("wb") as file:
            return cls(subprocess.Popen(words, stdout=file, stderr=subprocess.STDOUT), output)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, failed: BaseException | None, trace: object) -> None:
        if failed is not None:
            failed.add_note(self.said()[-6000:])
        self.kill()

    @property
    def pid(self) -> int:
        return self.process.pid

    def said(self) -> str:
        return self.output.read_text()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(60)

    def stop(self) -> None:
        """Ask it to end, and wait until it has."""
        self.process.terminate()
        self.process.wait(60)

    def freeze(self) -> None:
        freeze(self.process.pid)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def end(self, timeout_s: float = 300) -> Ran:
        """Wait until it ends by itself."""
        try:
            code = self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it does not end: {self.said()[-4000:]}") from None
        return Ran(code, self.said(), "")

    def await_said(self, words: str, timeout_s: float = 90) -> None:
        def come() -> bool:
            said = words in self.said()
            assert said or self.process.poll() is None, f"ended without {words!r}: {self.said()}"
            return said

        until(come, f"it says {words!r}", timeout_s)

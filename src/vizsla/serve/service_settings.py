"""Settings of the service: limits, tokens and where they come from."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from vizsla.errors import InputError, check_positive, check_range

READ_TOKEN, WRITE_TOKEN = "VIZSLA_READ_TOKEN", "VIZSLA_WRITE_TOKEN"
MIN_TOKEN_CHARS = 16
LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1", "testserver")


@dataclass(frozen=True)
class ServiceSettings:
    """Limits and secrets of a service; the defaults suit one machine behind a reverse proxy.

    Parameters
    ----------
    threads : int
        How many searches run at a time; the number of cores unless given.
    max_waiting : int
        How many accepted requests may wait for a thread. Further ones are answered with 429.
    max_body_bytes : int
        The largest request body.
    max_k : int
        The largest page, and the largest `offset + k`.
    max_query_chars : int
        The longest query.
    max_queries : int
        How many queries, documents or items one request may carry.
    body_timeout_s : float
        A body that takes longer to come is answered with 408.
    timeout_s : float
        A search that takes longer is answered with 504; it keeps its thread until it ends.
    slow_ms : float
        Searches that take longer are logged with their query.
    read_token, write_token : str
        What clients send as `Authorization: Bearer …`. An empty one is not asked for.
    allowed_hosts : tuple of str
        Values of the Host header that are answered, besides those of the local machine; "*" allows any.
    """

    threads: int = field(default_factory=lambda: os.cpu_count() or 1)
    max_waiting: int = 64
    max_body_bytes: int = 16_000_000
    max_k: int = 1000
    max_query_chars: int = 2000
    max_queries: int = 1000
    body_timeout_s: float = 30.0
    timeout_s: float = 10.0
    slow_ms: float = 500.0
    read_token: str = field(default="", repr=False)
    write_token: str = field(default="", repr=False)
    allowed_hosts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("threads", "max_waiting", "max_body_bytes", "max_k", "max_query_chars", "max_queries"):
            check_positive(name, getattr(self, name))
        for name in ("body_timeout_s", "timeout_s", "slow_ms"):
            check_range(name, getattr(self, name), 0.001, 1e9)
        for name in ("read_token", "write_token"):
            token = getattr(self, name)
            if token and (len(token) < MIN_TOKEN_CHARS or not token.isascii() or not token.isprintable()):
                raise InputError(
                    f"`{name}` must have at least {MIN_TOKEN_CHARS} printable ASCII characters. "
                    f"Got {len(token)} characters: make one with `openssl rand -hex 16`."
                )

    @classmethod
    def from_environment(cls, **given: Any) -> ServiceSettings:
        """Return settings with tokens from VIZSLA_READ_TOKEN and VIZSLA_WRITE_TOKEN, or the files that *_FILE name."""
        tokens = {"read_token": token_from_environment(READ_TOKEN), "write_token": token_from_environment(WRITE_TOKEN)}
        return cls(**{**tokens, **given})

    def limits(self) -> dict[str, Any]:
        """Return what clients may know: everything but the tokens."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.repr}


def token_from_environment(name: str) -> str:
    """Return a token from an environment variable, or from the file that the variable with `_FILE` names."""
    file = os.environ.get(f"{name}_FILE")
    if file is None:
        return os.environ.get(name, "")
    try:
        return Path(file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"`{name}_FILE` must name a readable text file. Got {file!r}: {error}.") from None

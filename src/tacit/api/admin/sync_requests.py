"""The requests that the endpoints about sync accept; see `tacit.api.requests`."""

from __future__ import annotations

from pydantic import Field

from tacit.api.requests import Request


class LogIn(Request):
    """A server's account to join."""

    url: str = Field(min_length=1, max_length=500, description="address of the server")
    code: str = Field(default="", max_length=200, description="of an invitation")
    phrase: str = Field(
        default="",
        max_length=200,
        description="recovery phrase of the account; left out for its first device",
    )
    name: str = Field(default="", max_length=60, description="of this device; left out = the machine's")
    dry_run: bool = Field(default=False, description="only say how many memories would leave")


class BeginSignIn(Request):
    """A server at which the user begins a single sign-on."""

    url: str = Field(min_length=1, max_length=500, description="address of the server")
    name: str = Field(default="", max_length=60, description="of this device; left out = the machine's")


class FinishSignIn(Request):
    """A single sign-on that was begun."""

    url: str = Field(min_length=1, max_length=500, description="address of the server")
    login: str = Field(min_length=1, max_length=100, description="its id")
    secret: str = Field(
        min_length=1, max_length=100, description="the secret from the answer of `POST /v1/sync/sign-in`"
    )


class Revoke(Request):
    """A device to refuse."""

    device: str = Field(min_length=1, max_length=64, description="its name, or the beginning of its key")

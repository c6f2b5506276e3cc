"""Which addresses only this machine can reach."""

import ipaddress
import socket


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach it. Raises OSError for a name that does not resolve."""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return all(ipaddress.ip_address(address[0]).is_loopback for *_, address in found)

"""`python stock.py [nodelay]`, by a Python that has ovos-messagebus: its handler, as shipped or patched."""

import asyncio
import importlib
import sys
from typing import Any


def handler(*, has_nodelay: bool) -> Any:
    stock = importlib.import_module("ovos_messagebus.event_handler").MessageBusEventHandler
    if not has_nodelay:
        return stock

    class Patched(stock):  # type: ignore[misc, valid-type]
        def open(self) -> None:
            self.set_nodelay(True)
            super().open()

    return Patched


async def main(*, has_nodelay: bool) -> None:
    web, http = importlib.import_module("tornado.web"), importlib.import_module("tornado.httpserver")
    netutil = importlib.import_module("tornado.netutil")
    server = http.HTTPServer(web.Application([("/core", handler(has_nodelay=has_nodelay))]))
    sockets = netutil.bind_sockets(0, "127.0.0.1")
    server.add_sockets(sockets)
    print(f"Listening on {sockets[0].getsockname()[1]}", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(has_nodelay="nodelay" in sys.argv))

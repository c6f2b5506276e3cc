"""`python -m bench.bus.bare`: the least that a relay of this shape can be, in a few lines of websockets."""

import asyncio

from websockets.asyncio.server import ServerConnection, broadcast, serve


async def main() -> None:
    connections: set[ServerConnection] = set()

    async def relay(connection: ServerConnection) -> None:
        await connection.send('{"type":"connected","data":{},"context":{}}')
        connections.add(connection)
        try:
            async for frame in connection:
                broadcast(connections, frame)
        finally:
            connections.discard(connection)

    async with serve(relay, "127.0.0.1", 0, compression=None, max_size=None, ping_interval=None) as server:
        print(f"Listening on {next(iter(server.sockets)).getsockname()[1]}", flush=True)
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())

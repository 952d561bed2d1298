"""A server made of openpi's own packer; run with the Python of its environment. Prints its port, serves one client."""

import asyncio

import numpy as np
import websockets.asyncio.server
from openpi_client import msgpack_numpy


async def handle(connection):
    packer = msgpack_numpy.Packer()
    await connection.send(packer.pack({"model": "toy"}))
    while True:
        seen = msgpack_numpy.unpackb(await connection.recv())
        state = np.asarray(seen["observation/state"])
        actions = np.zeros((10, 7))
        actions[:, :3] = state[:3]  # what came over the wire comes back
        await connection.send(packer.pack({"actions": actions, "server_timing": {"infer_ms": np.float32(1.0)}}))


async def main():
    async with websockets.asyncio.server.serve(handle, "127.0.0.1", 0, compression=None, max_size=None) as server:
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()


asyncio.run(main())

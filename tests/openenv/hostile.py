"""A WebSocket server that breaks the protocol in the way that its path names: `python hostile.py PORT`."""

import asyncio
import http
import json
import sys

from websockets.asyncio.server import serve

SCHEMA = {"action": {"properties": {"message": {"type": "string"}}, "required": ["message"]}}


def observation(done=False, reward=1.0, prompt="say hot"):
    data = {"observation": {"prompt": prompt}, "reward": reward, "done": done}
    return json.dumps({"type": "observation", "data": data})


STATE = json.dumps({"type": "state", "data": {}})
ANSWERS = {
    "prose": "I am fine",
    "list": "[]",
    "other": STATE,
    "no-done": json.dumps({"type": "observation", "data": {"observation": {}, "reward": 1}}),
    "text-reward": json.dumps({"type": "observation", "data": {"observation": {}, "reward": "1", "done": True}}),
    "infinite": observation(done=True).replace("1.0", "1e999"),
    "deep": observation(done=True).replace('"say hot"', "[" * 5000 + "]" * 5000),
    "bytes": b"\x00\x01",
    "long": observation(done=True, prompt="x" * 2_000_000),
}


async def talk(socket):
    trouble = socket.request.path.split("/")[1]
    await socket.recv()
    if trouble == "silent":
        await asyncio.sleep(60)
    await socket.send(observation())
    if trouble == "twice":
        await socket.send(observation())
    await socket.recv()
    if trouble == "leave":
        return
    if trouble in ("told", "wrote"):
        secret = socket.request.headers["Authorization"]
        error = json.dumps({"type": "error", "data": {"message": secret}})
        return await socket.send(error if trouble == "told" else secret)
    if trouble == "twice":
        await socket.send(observation(done=True, reward=0.0))
        await socket.recv()
        await socket.send(observation(done=True, reward=0.0))
    await socket.send(ANSWERS.get(trouble, STATE))
    await socket.wait_closed()


def plain(connection, request):
    if not request.path.endswith("/schema"):
        return None
    return connection.respond(http.HTTPStatus.OK, json.dumps(SCHEMA))


async def main():
    async with serve(talk, "127.0.0.1", int(sys.argv[1]), process_request=plain, max_size=2**24):
        await asyncio.Future()


asyncio.run(main())

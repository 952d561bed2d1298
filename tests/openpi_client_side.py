"""What openpi's own client does with our server; run with the Python of its environment: ADDRESS SHAPES."""

import json
import sys

import numpy as np
from openpi_client.websocket_client_policy import WebsocketClientPolicy

host, port = sys.argv[1].removeprefix("ws://").rsplit(":", 1)
client = WebsocketClientPolicy(host, int(port))
about = client.get_server_metadata()["foretell"]
seen = {name: np.full(shape, 0.1) for name, shape in json.loads(sys.argv[2]).items()}
answer = client.infer({**seen, "prompt": "lift the cube"})
said = {"shape": list(answer["actions"].shape), "first": answer["actions"][0].tolist(), "chunk": about["chunk"]}
try:
    client.infer({"prompt": "nothing else"})
except RuntimeError as error:
    said["error"] = str(error)
print(json.dumps(said))

"""Serve a policy to other programs, in openpi's protocol.

Examples:
    foretell serve-policy zoo:bc --task lift
    foretell serve-policy onnx:model.onnx --task can --port 8001
"""

from __future__ import annotations

import json
from typing import Annotated

import tyro

from foretell.cli._flags import Json, World, named

__all__ = ["main"]


def main(
    *,
    policy: Annotated[str, tyro.conf.Positional, named("POLICY")],
    task: Annotated[str, named("TASK")],
    world: World,
    controller: Annotated[str | None, named("NAME")],
    host: Annotated[str, named("HOST")],
    port: Annotated[int, named("PORT")],
    json_: Json = False,
) -> None:
    """Serve a policy until Ctrl-C. Studies use it as ws://HOST:PORT, and so do openpi's clients.

    Args:
        policy: A policy, as a study names it: expert, onnx:model.onnx or file.py:Class.
        task: The task that the policy runs.
        world: The world whose robot and streams it is made for.
        controller: The controller whose actions it returns. The default is the controller of the task.
        host: The address to serve at. Whoever can reach it can ask the policy.
        port: The port to serve at; 0 takes a free port.
    """
    from foretell.serving import ServedPolicy, serve_policy

    def notify(served: ServedPolicy) -> None:
        print(json.dumps(served.to_dict()) if json_ else served.text(), flush=True)

    serve_policy(policy, task, world=world, controller=controller, host=host, port=port, notify=notify)

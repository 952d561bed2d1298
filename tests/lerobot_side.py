"""What LeRobot's own package reads of a dataset of ours; run with the Python of its environment: FOLDER.

Its video decoders need FFmpeg libraries that few machines have, so PyAV decodes in their place.
"""

import json
import sys

import av
import numpy as np
import torch
from lerobot.datasets import lerobot_dataset


def decode(path, timestamps, tolerance_s, backend=None):
    with av.open(str(path)) as file:
        frames = [(frame.time, frame.to_ndarray(format="rgb24")) for frame in file.decode(video=0)]
    times = np.array([time for time, _ in frames])
    near = [int(np.argmin(abs(times - t))) for t in timestamps]
    assert all(abs(times[i] - t) < tolerance_s for i, t in zip(near, timestamps, strict=True))
    return torch.stack([torch.from_numpy(frames[i][1]).permute(2, 0, 1).float() / 255 for i in near])


lerobot_dataset.decode_video_frames = decode
root = sys.argv[1]
data = lerobot_dataset.LeRobotDataset("local/ours", root=root)
first, last = data[0], data[len(data) - 1]
chunks = {"action": [i / data.fps for i in range(4)]}
chunked = lerobot_dataset.LeRobotDataset("local/ours", root=root, delta_timestamps=chunks)
batch = next(iter(torch.utils.data.DataLoader(chunked, batch_size=4)))
said = {
    "version": data.meta.info["codebase_version"],
    "episodes": data.num_episodes,
    "frames": data.num_frames,
    "fps": data.fps,
    "task": first["task"],
    "success": bool(last["next.success"]),
    "state": first["observation.state"].tolist(),
    "action": first["action"].tolist(),
    "chunk": list(batch["action"].shape),
    "image": list(first["observation.images.front"].shape),
    "brightness": float(first["observation.images.front"].mean()),
    "stats": sorted(data.meta.stats["action"]),
    "one": len(lerobot_dataset.LeRobotDataset("local/ours", root=root, episodes=[1])),
}
print(json.dumps(said))

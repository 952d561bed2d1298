"""A detector judges films of a run, a person confirms a random share, and the bound holds whatever the detector misses.

The detector below sees whether the red cube ended higher in the picture than it began. The "person" of this example
reads the task's own verdict; yours runs `foretell judge RUN --by NAME`.
"""

import time
from pathlib import Path

import numpy as np

import foretell
from foretell.verdict_lines import append_verdict


class Lifted:
    """The red cube has risen by more than 1.2 % of the picture's height from the first picture to the last."""

    name = "lifted"

    def judge(self, frames, instruction):
        first, last = self.height(frames[0]), self.height(frames[-1])
        return first is not None and last is not None and first - last > 0.012

    def height(self, frame):
        """Of the cube in the picture, from the top, as a share; None where hardly a pixel is red."""
        red, green, blue = np.moveaxis(frame.astype(float), -1, 0)
        rows, _ = np.nonzero((red > 90) & (red > 2 * green) & (red > 2 * blue))
        return np.median(rows) / len(frame) if len(rows) >= 30 else None


STUDY = {
    "name": "filmed",
    "tasks": [{"use": "lift", "time_limit": 5}],
    "policies": {"shaky": {"use": "noisy-expert", "noise": 0.3}},
    "scenarios": {"count": 30},
    "record": {"video": "all"},
}

if __name__ == "__main__":
    run = foretell.run(STUDY).path
    print(foretell.judge(run, detector=f"{Path(__file__).resolve()}:Lifted", confirm=0.4).text())

    truth = {row["episode"]: row["success"] for row in foretell.read(run).to_pylist()}
    for episode in foretell.judge(run, detector=Lifted(), confirm=0.4).missing:
        line = {"episode": episode, "judge": "me", "kind": "person", "success": truth[episode], "score": None}
        append_verdict(run, "me", {**line, "wall_time": time.time(), "note": None})
    print(foretell.bound(run, detector="lifted").text())

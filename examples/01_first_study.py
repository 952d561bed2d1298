"""A first study: two policies, one task, twenty scenarios; every episode is a row of a table."""

import foretell
from foretell.answers.show import table

study = {
    "name": "first",
    "tasks": ["lift"],
    "policies": {"expert": "expert", "shaky": {"use": "noisy-expert", "noise": 0.4}},
    "scenarios": {"count": 20},
}
run = foretell.run(study)  # a second time, nothing is left to run
table(foretell.show(run.path))

episodes = foretell.read(run.path)  # an Arrow table; .to_pandas() if you like
slowest = max(episodes.to_pylist(), key=lambda row: row["sim_s"])
print(f"{len(episodes)} episodes in {run.path}, {run.ran} of them run now")
print(f"longest: {slowest['policy']}, {slowest['sim_s']:.1f} s, ended by {slowest['end']}, stages {slowest['stages']}")

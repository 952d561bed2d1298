"""Simulate a policy, try it on the same scenarios in a stand-in reality, and bound its success there."""

import foretell
from foretell.stats import clopper_pearson

policies = {"shaky": {"use": "noisy-expert", "noise": 0.25}}
study = {"tasks": ["lift"], "policies": policies}
simulated = foretell.run({**study, "name": "simulated", "scenarios": {"count": 40}}).path
same = {"like": simulated, "count": 20}  # exactly the scenarios of that run, the first 20 of them
real = foretell.run({**study, "name": "standin", "world": "standin", "scenarios": same}).path

won = {}
for path in (simulated, real):
    rows = foretell.read(path).to_pylist()
    won[path] = {row["scenario"]: row["success"] for row in rows}
    bound = clopper_pearson(sum(won[path].values()), len(rows))
    print(
        f"{path.name}: {sum(won[path].values())} of {len(rows)} solved; with {1 - bound.alpha:.0%} confidence the rate "
        f"there is between {bound.low:.0%} and {bound.high:.0%} ({bound.method}, {bound.guarantee})"
    )
paired = won[real].keys() & won[simulated].keys()
agree = sum(won[real][scenario] == won[simulated][scenario] for scenario in paired)
print(f"of {len(paired)} scenarios run in both worlds, {agree} came out alike")
print("The stand-in shows the mechanism; it is no evidence about robots.")

"""Every example, and the code on the pages about adding things, runs as a user would run it, in a folder of its own."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy_world
import pytest
import yaml
from PIL import Image

import foretell
from foretell.cli import main

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
SAYS = {
    "01_first_study": [r"lift  expert +100%  20", r"40 episodes in runs/first, 40 of them run now", r"longest: shaky"],
    "02_your_policy": [r"patient +100%  30", r"hasty +0%  30", r"by name in workers: the same rows"],
    "03_your_task": [r"stack  expert +100%  20", r"expert reached grasp 20, lift 20, above 20, stack 20 of 20"],
    "04_gymnasium": [r"foretell/Square-v3", r"the can stands at \[ *0\.155", r"\d+ of 16 solved within 6 s"],
    "05_standin": [
        r"simulated: \d+ of 40 solved; .* \(clopper_pearson, finite-sample\)",
        r"standin: \d+ of 20 solved; with 95% confidence .* between \d+% and \d+%",
        r"of 20 scenarios run in both worlds, \d+ came out alike",
    ],
    "06_watch": [r"expert on lift, success: \d\d+ frames in runs/watch/videos/lift-expert-\w+\.mp4", r"wrist\.png"],
    "08_depth": [r"lift  seek +100%  8"],
    "09_drawer": [
        r"drawer  expert  none +100%  20",
        r"drawer  expert  MO_Size +(100|9\d)%  20",
        r"cabinet: set drawer to \+0\.\d{3} m",
        r"cabinet from the base of panda",
    ],
    "10_two_arms": [r"hand-over  expert +(100|90)%  10", r"handed over after [5-8]\.\d s on average"],
    "11_head": [r"lift-seen  watch +100%  10"],
    "12_training_loop": [r"release: 100%", r"checkpoint 0: 0% .* fail", r"checkpoint 3: 100% \(94% to 100%\), pass"],
    "13_detector": [r"Detector lifted has judged 30 episodes: \d+ successes", r"\d+ that only the detector judged"],
    "07_torch_policy": [r"trained on 6000 actions", r"lift  network +(100|[6-9]\d)%  20"],
}


def play(folder, *arguments):
    here = Path(foretell.__file__).parents[1]  # the foretell under test, installed or not
    command = [sys.executable, *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(here), str(folder)])}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


OFTEN = {"01_first_study", "04_gymnasium"}
"""Those of every run; all others once a day."""


def marks(name):
    drawn = [pytest.mark.gl] if name in ("06_watch", "08_depth", "13_detector") else []
    return [*drawn, pytest.mark.slow if name in OFTEN else pytest.mark.daily]


@pytest.mark.parametrize("name", [pytest.param(n, marks=marks(n)) for n in SAYS])
def test_example(name, tmp_path):
    if name == "07_torch_policy":
        pytest.importorskip("torch", reason="the example of a PyTorch policy needs torch")
    said = play(tmp_path, EXAMPLES / f"{name}.py")
    for wanted in SAYS[name]:
        assert re.search(wanted, said), f"{wanted!r} is not in:\n{said}"


def test_every_example_is_tried():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(SAYS)


def test_the_study_file(tmp_path):
    """All of it planned; two tasks of it would say no more."""
    said = play(tmp_path, "-m", "foretell", "run", EXAMPLES / "study.yaml", "--dry-run")
    assert said.startswith("240 episodes, at most ")


def test_the_torch_example_says_what_it_needs(tmp_path):
    """Where there is no PyTorch."""
    (tmp_path / "torch.py").write_text("raise ImportError('not here')")
    with pytest.raises(AssertionError, match="this example needs PyTorch: pip install torch"):
        play(tmp_path, EXAMPLES / "07_torch_policy.py")


@pytest.mark.daily
@pytest.mark.slow
def test_the_own_task_and_policy_keep_their_contracts():
    for what, name in (
        ("task", "03_your_task.py:Stack"),
        ("task", "09_drawer.py:Drawer"),
        ("task", "10_two_arms.py:HandOver"),
        ("policy", "02_your_policy.py:Pick"),
    ):
        report = foretell.check(what, str(EXAMPLES / name))
        assert report.ok, report.to_dict()


def blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / "docs" / page).read_text(), re.S)


def test_the_page_on_robots_is_true(tmp_path):
    robot, task = blocks("add_a_robot.md", "python")
    (tmp_path / "elbow.py").write_text(robot)
    (tmp_path / "lift_elbow.py").write_text(task)
    said = play(tmp_path, "-m", "foretell", "check", "task", "lift_elbow.py:LiftElbow")
    assert "all 12 passed" in said
    for line in blocks("add_a_robot.md", "text")[0].splitlines():
        assert line.strip() in said


def test_the_page_on_worlds_is_true(tmp_path):
    numpy_world.write(tmp_path)
    check, table = blocks("add_a_world.md", "text")
    said = play(tmp_path, "-m", "foretell", "check", "world", "puck.py:Puck", "--task", "puck.py:Reach")
    assert said.strip() == check.strip()
    said = play(tmp_path, "-m", "foretell", "run", "study.yaml", "--workers", "0")
    for line in table.splitlines():
        assert line.strip() in said
    code = re.search(r"`(gymnasium\.make\(.*?\))`", (ROOT / "docs" / "add_a_world.md").read_text())
    play(tmp_path, "-c", f"import gymnasium, foretell; env = {code[1]}; env.reset(seed=0); env.close()")


def advertise(folder, page):
    """As `pip install` leaves a package: a folder that says what its modules offer."""
    project = tomllib.loads(blocks(page, "toml")[0])["project"]
    about = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Name: {project['name']}\nVersion: {project['version']}\n")
    groups = project["entry-points"].items()
    lines = [f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in names.items()) for group, names in groups]
    (about / "entry_points.txt").write_text("\n".join(lines))


def test_the_page_on_tasks_is_true():
    for block in blocks("add_a_task.md", "python"):
        exec(compile(block, "docs/add_a_task.md", "exec"), {})


@pytest.mark.daily
def test_packages_are_found_by_their_entry_points(tmp_path):
    (tmp_path / "elbow.py").write_text(blocks("add_a_robot.md", "python")[0])
    (tmp_path / "lift_elbow.py").write_text(blocks("add_a_robot.md", "python")[1].replace("elbow.py:Elbow", "elbow"))
    (tmp_path / "follow.py").write_text(blocks("policies.md", "python")[0])
    (tmp_path / "foretell_stack.py").write_text((EXAMPLES / "03_your_task.py").read_text())
    for page in ("add_a_robot.md", "add_a_task.md", "policies.md"):
        advertise(tmp_path, page)
    assert re.search("elbow +Five axes and a two-finger hand.", play(tmp_path, "-m", "foretell", "list", "robots"))
    assert re.search("stack +Put the red cube on the green one.", play(tmp_path, "-m", "foretell", "list", "tasks"))
    study = {"tasks": ["lift-elbow"], "policies": ["expert", "follow"], "scenarios": {"count": 2}}
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(study))
    said = play(tmp_path, "-m", "foretell", "run", "study.yaml")
    assert re.search(r"lift-elbow  expert +100%", said) and re.search(r"lift-elbow  follow +0%", said)


def test_a_world_is_found_by_its_entry_point(tmp_path):
    numpy_world.write(tmp_path)
    advertise(tmp_path, "add_a_world.md")
    assert re.search(
        "puck +A puck that slides on a table to a mark.", play(tmp_path, "-m", "foretell", "list", "worlds")
    )
    study = {"world": "puck", "tasks": ["puck.py:Reach"], "policies": ["expert"], "scenarios": 1}
    (tmp_path / "slide.yaml").write_text(yaml.safe_dump(study))
    assert re.search(r"reach  expert +100%", play(tmp_path, "-m", "foretell", "run", "slide.yaml", "--workers", "0"))


def test_the_readme_imports_what_registers_the_environments(tmp_path):
    page = (ROOT / "README.md").read_text()
    said = re.search(r"`(import gymnasium, foretell)`, then\s+`(gymnasium\.make\(.*?\))`", page)
    assert said, "the line on Gymnasium needs its import"
    play(tmp_path, "-c", f"{said[1]}; {said[2]}.close()")


def test_the_readmes_study_and_its_commands_run_as_they_stand(tmp_path, monkeypatch, capsys):
    """In a folder with nothing else in it, with few scenarios and no films."""
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "README.md").read_text()
    (study,) = re.findall(r"```yaml\n# study.yaml\n(.*?)```", page, re.S)
    few = study.replace("count: 100", "count: 4").replace("video: 2", "video: none")
    assert few != study
    Path("study.yaml").write_text(few)
    lines = re.findall(r"^foretell (.*?)(?: +#.*)?$", page, re.M)
    commands = lines[lines.index("run study.yaml") :][:6]
    assert [command.split()[0] for command in commands] == ["run", "show", "report", "cards", "import", "bound"]
    for command in commands:
        if command.startswith("import"):
            sheet = Path("trials.csv").read_text()
            Path("trials.csv").write_text(re.sub(r"(?m)^,(.*),,,", r"mine,\1,yes,,", sheet))
        main(command.split())
    assert "Success of policy mine, task lift, world real: between" in capsys.readouterr().out


def test_the_readme_leads_to_pages_that_are_there():
    links = re.findall(r"\]\(((?!http)[^)#]+)\)", (ROOT / "README.md").read_text())
    assert {"docs/add_a_task.md", "docs/add_a_robot.md", "examples/07_torch_policy.py"} <= set(links)
    assert not [link for link in links if not (ROOT / link).exists()]


def test_the_citation_names_this_version():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert cited["cff-version"] == "1.2.0" and str(cited["version"]) == foretell.__version__
    assert cited["license"] == "Apache-2.0" and len(cited["references"]) == 5


@pytest.mark.gl
def test_the_page_on_cameras_is_true(tmp_path):
    legend, lenses, own = blocks("cameras.md", "python")
    (file,) = blocks("cameras.md", "yaml")
    (tmp_path / "page.py").write_text(legend + lenses)
    said = play(tmp_path, "page.py")
    assert said.strip() == re.search(r"print\(world.legend\)  # (.*)", legend)[1]
    Image.new("RGB", (64, 48), (9, 99, 199)).save(tmp_path / "lab.png")
    (tmp_path / "mine.py").write_text(own)
    (tmp_path / "lab.yaml").write_text(f'{file}  - {{use: "mine.py:Warm", strength: 0.2}}\n')
    seen = """
from foretell.sim.bench import Bench
from foretell.spec import Stream
world = Bench("lift", world="lab.yaml").world
print(*world.draw(0, "front/rgb", Stream((48, 64, 3)))[47, 5])
"""
    (tmp_path / "see.py").write_text(seen)
    assert play(tmp_path, "see.py").strip() == "9 99 159"  # the photograph, a fifth less blue

"""The person in the loop: who sets the scene, watches the robot, can stop it, and judges the trial."""

from foretell.person.judgement import Judgement
from foretell.person.person import Person, SceneCard, SceneSkipped, TrialCard
from foretell.person.terminal import make_person

__all__ = ["Judgement", "Person", "SceneCard", "SceneSkipped", "TrialCard", "make_person"]

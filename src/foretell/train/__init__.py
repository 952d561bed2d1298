"""How the zoo was made: demonstrations of scripted experts, networks, training and export. Needs the extra `train`.

`python -m foretell.train bc --task can` makes one policy, `python -m foretell.train all` every one. See docs/zoo.md.
Torch is imported here and nowhere else.
"""

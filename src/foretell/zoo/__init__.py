"""Learned policies that come with foretell: `zoo:bc`, `zoo:dp` and others, each with a card. See docs/zoo.md."""

from foretell.zoo.card import Card, about, cards, read_card
from foretell.zoo.policy import Zoo

__all__ = ["Card", "Zoo", "about", "cards", "read_card"]

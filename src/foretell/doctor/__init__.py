"""What of foretell works on this machine, and what is missing."""

from foretell.doctor.doctor import Diagnosis, doctor

__all__ = ["Diagnosis", "doctor"]

"""What of foretell works on this machine, and what is missing."""

from foretell.doctor.doctor import MachineDiagnosis, doctor

__all__ = ["MachineDiagnosis", "doctor"]

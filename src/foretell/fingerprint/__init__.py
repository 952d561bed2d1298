"""What a policy or task is made of, as one hash: its source, its options and the files that it loads."""

from foretell.fingerprint.fingerprint import Fingerprint, fingerprint_of

__all__ = ["Fingerprint", "fingerprint_of"]

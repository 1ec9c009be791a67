"""The Rng seam: the operating system's randomness."""

import secrets
from uuid import UUID, uuid4


class SystemRng:
    def below(self, limit: int) -> int:
        return secrets.randbelow(limit)

    def uuid(self) -> UUID:
        return uuid4()

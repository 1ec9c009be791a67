"""A Journal that remembers what it was told."""


class ToldJournal:
    def __init__(self) -> None:
        self.told: list[tuple[str, dict[str, object]]] = []

    def info(self, event: str, **facts: object) -> None:
        self.told.append((event, facts))

    warning = error = info

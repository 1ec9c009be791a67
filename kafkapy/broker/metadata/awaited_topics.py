"""Who waits until this broker knows topics that another node has created."""

from collections.abc import Callable, Iterable
from uuid import UUID

from kafkapy.core.seams import Callback
from kafkapy.kraft.image.image import MetadataImage

WhenServing = Callable[[Iterable[UUID], Callback], None]


class AwaitedTopics:
    """`look` is to be called whenever the image has changed."""

    def __init__(self, image: Callable[[], MetadataImage], when_serving: WhenServing) -> None:
        self._image = image
        self._when_serving = when_serving
        self._waiting: list[tuple[tuple[str, ...], Callback]] = []

    def __len__(self) -> int:
        return len(self._waiting)

    def wait(self, names: Iterable[str], then: Callback) -> None:
        """`then` once the metadata here has them all, and what of them lives here is served."""
        self._waiting.append((tuple(names), then))
        self.look()

    def forget(self, then: Callback) -> None:
        self._waiting = [one for one in self._waiting if one[1] is not then]

    def look(self) -> None:
        if not self._waiting:
            return
        topics = self._image().topics_by_name
        known = [one for one in self._waiting if all(name in topics for name in one[0])]
        self._waiting = [one for one in self._waiting if one not in known]
        for names, then in known:
            self._when_serving([topics[name].id for name in names], then)

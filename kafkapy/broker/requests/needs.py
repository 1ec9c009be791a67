"""What handlers may ask of the role that serves them, in small pieces.

A handler names those it uses, alone or together (`class Needs(HasImage, HasGroups, Protocol)`),
and gets no more; what it alone needs stands in it, or here if its module is compiled (mypyc
takes no class in `if TYPE_CHECKING`). Nothing here is imported when kafkapy runs:
these are for mypy, and for whoever wants to know what a handler can reach. That BrokerRole and
ControllerRole have it all is held in tests/broker/handlers/test_needs.py.
"""

from collections.abc import Callable
from typing import Any, Protocol

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.fetch.sessions import FetchSessions
from kafkapy.broker.groups.streams import StreamsWiring
from kafkapy.broker.hooks.wiring import HookWiring
from kafkapy.broker.metadata.cluster_view import ClusterView
from kafkapy.broker.partitions.partitions import Partitions
from kafkapy.broker.quotas.client_quotas import ClientQuotas
from kafkapy.broker.replication.serving import ReplicaSessions
from kafkapy.broker.security.authorizer.authorizer import Authorizer
from kafkapy.broker.share.wiring import ShareWiring
from kafkapy.broker.transactions.coordinator import TransactionCoordinator
from kafkapy.broker.transactions.verifier import Verifier
from kafkapy.broker.views.views import Views
from kafkapy.coordinator.shards import Shards
from kafkapy.core.errors import DiskFailed, ErrorCode
from kafkapy.core.seams import Clock, Journal, Rng
from kafkapy.core.turn import Turn
from kafkapy.kraft.controller.machine import Event
from kafkapy.kraft.image.image import MetadataImage
from kafkapy.log.directories.all_logs import AllLogs

# Of every role


class HasClock(Protocol):
    @property
    def clock(self) -> Clock: ...


class HasJournal(Protocol):
    @property
    def journal(self) -> Journal: ...


class HasRng(Protocol):
    @property
    def rng(self) -> Rng: ...


class HasConfig(Protocol):
    @property
    def config(self) -> BrokerConfig: ...


class HasImage(Protocol):
    @property
    def image(self) -> MetadataImage:
        """What is committed, as far as it is known here."""


class HasAuthorizer(Protocol):
    @property
    def authorizer(self) -> Authorizer | None:
        """None: nobody is asked for anything (security/authorizer/asking.py)."""


class HasQuotas(Protocol):
    @property
    def quotas(self) -> ClientQuotas | None:
        """None: the metadata has no quota of any client."""


class HasNodeId(Protocol):
    @property
    def node_id(self) -> int: ...


class HasCluster(Protocol):
    """The cluster as clients of a listener are told about it."""

    @property
    def cluster_id(self) -> str: ...

    @property
    def cluster(self) -> ClusterView: ...


# Of a controller


class Decides(Protocol):
    """The controller of this process, which is the active one or refuses."""

    @property
    def is_active(self) -> bool: ...

    @property
    def image(self) -> MetadataImage:
        """What is decided, committed or not."""

    def submit(self, event: Event, then: Callable[[Any], None]) -> None:
        """`then` gets the reply of the machine that decides on `event`, or Refused."""


class HasController(Protocol):
    @property
    def controller(self) -> Decides: ...


# Of a broker


class HasPartitions(Protocol):
    @property
    def partitions(self) -> Partitions: ...


class HasLogs(Protocol):
    @property
    def logs(self) -> AllLogs: ...


class HearsOfDisks(Protocol):
    """Whoever reads or writes a log and fails says so here."""

    def directory_failed(self, failed: DiskFailed) -> None: ...


class HasGroups(Protocol):
    @property
    def groups(self) -> Shards[Any, Any]: ...


class ServesStreams(HasAuthorizer, HasGroups, Protocol):
    """What members of streams groups ask for."""

    @property
    def streams(self) -> StreamsWiring: ...


class HasTransactions(Protocol):
    @property
    def transactions(self) -> TransactionCoordinator: ...


class HasVerification(Protocol):
    @property
    def verification(self) -> Verifier: ...


class CreatesTopics(Protocol):
    def auto_create_topic(self, name: str) -> ErrorCode:
        """Ask for it; what to tell the client, which comes back."""


class HasShares(Protocol):
    @property
    def shares(self) -> ShareWiring: ...


class Shares(
    HasPartitions,
    HasShares,
    HasGroups,
    HearsOfDisks,
    HasAuthorizer,
    HasClock,
    HasCluster,
    HasConfig,
    HasImage,
    HasQuotas,
    Protocol,
):
    """What share groups' members ask for."""

    @property
    def turn(self) -> Turn: ...


class MakesMembers(HasAuthorizer, HasGroups, HasRng, Protocol):
    """Groups, and ids for members that bring none."""


class Reads(HasPartitions, HearsOfDisks, Protocol):
    """Partitions and views of them, and where to say that one could not be read."""

    @property
    def views(self) -> Views: ...


class Fetches(Reads, HasAuthorizer, HasClock, HasCluster, HasConfig, HasImage, HasQuotas, Protocol):
    @property
    def fetch_sessions(self) -> FetchSessions: ...

    @property
    def replica_sessions(self) -> ReplicaSessions: ...

    @property
    def turn(self) -> Turn: ...


class Appends(Reads, HasAuthorizer, HasClock, HasCluster, HasImage, Protocol):
    """Partitions to append to, the time, who may write where, and who else there is."""

    @property
    def hooks(self) -> HookWiring: ...


class Produces(Appends, HasVerification, Protocol):
    """What has to be asked before a transaction's records go in."""

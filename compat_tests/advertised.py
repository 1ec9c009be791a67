"""What Apache Kafka 4.3.1 answers to ApiVersions in its default configuration."""


def _table(text: str) -> dict[int, tuple[int, int]]:
    rows: dict[int, tuple[int, int]] = {}
    for word in text.split():
        key, versions = word.split(":")
        lowest, _, highest = versions.partition("-")
        rows[int(key)] = (int(lowest), int(highest or lowest))
    return rows


# key:lowest-highest on the broker's listener. Telemetry (71, 72) is there only with a
# metrics plugin; Produce 0 to 2 are listed for old clients that look for them.
BROKER_VERSIONS = _table(
    """
    0:0-13 1:4-18 2:1-11 3:0-13 8:2-10 9:1-10 10:0-6 11:0-9 12:0-4 13:0-5 14:0-5 15:0-6
    16:0-5 17:0-1 18:0-4 19:2-7 20:1-6 21:0-2 22:0-5 23:2-4 24:0-5 25:0-4 26:0-5 27:1-2
    28:0-5 29:1-3 30:1-3 31:1-3 32:1-4 33:0-2 34:1-2 35:1-5 36:0-2 37:0-3 38:1-3 39:1-2
    40:1-2 41:1-3 42:0-2 43:0-2 44:0-1 45:0-1 46:0 47:0 48:0-1 49:0-1 50:0 51:0 55:0-2
    57:0-2 60:0-2 61:0 64:0 65:0 66:0-2 68:0-1 69:0-1 74:0-1 75:0 76:1 77:1 78:1-2 79:1-2
    80:0-1 81:0 83:0 84:0 85:0-1 86:0 87:0-1 88:0 89:0 90:0-1 91:0 92:0
    """
)

# name: lowest and highest supported version; all but kraft.version are finalized at the
# highest (metadata.version 30 is 4.3-IV0). Without share.version: 1 in 4.3.1, 2 in 4.4.
FEATURES = {
    "group.version": (0, 1),
    "kraft.version": (0, 1),
    "metadata.version": (7, 30),
    "streams.version": (0, 1),
    "transaction.version": (0, 2),
    "eligible.leader.replicas.version": (0, 1),
}

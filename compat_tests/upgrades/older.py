"""A kafkapy that knows less: `python -m compat_tests.upgrades.older serve --config FILE`.

It stands for the release before where that is not at hand: this version's code, which registers
as one that knows no metadata.version above that of 4.2 and no share.version 2. So a cluster in
which it is may finalize neither.
"""

import sys
from types import MappingProxyType
from typing import Final

from kafkapy.kraft import features

KNOWN: Final = {features.METADATA_VERSION: (7, 29), features.SHARE_VERSION: (0, 1)}


def main() -> int:
    # Before anybody else has taken the table from its module.
    less = MappingProxyType({**features.SUPPORTED_FEATURES, **KNOWN})
    setattr(features, "SUPPORTED_FEATURES", less)  # noqa: B010  (a Final, otherwise)
    from kafkapy.cli.main import main as kafkapy

    return kafkapy(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())

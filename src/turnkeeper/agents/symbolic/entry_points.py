"""Plugins of others: a distribution that is installed brings them, nothing here names it."""

import logging
from importlib.metadata import entry_points

from turnkeeper.ports.plugins import Plugins

GROUP = "turnkeeper.plugins"

log = logging.getLogger(__name__)


def add_installed(plugins: Plugins) -> None:
    """Call every function that stands in the group, by name. One that fails is named in a warning and passed over."""
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: (entry.name, entry.value)):
        try:
            entry.load()(plugins)
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            distribution = entry.dist.name if entry.dist else "unknown"
            log.warning(
                "plugins of %s could not be loaded",
                distribution,
                extra={"entry_point": entry.name, "kind": type(error).__name__, "reason": str(error)},
            )

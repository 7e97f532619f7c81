"""Finds the groups of plugins and the user's own; Hydra finds its plugins in this package and nowhere else."""

from __future__ import annotations

from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.config_store import ConfigStore
from hydra.plugins.search_path_plugin import SearchPathPlugin


class Groups(SearchPathPlugin):
    """Adds folders of groups after the kernel's, for ragsweep only: other programs use Hydra, too."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Add the folders of plugins and the project's `conf`, none of whose options may hide another one."""
        from ragsweep.config.ignored_input import refuse_hidden
        from ragsweep.core.plugins import plugins
        from ragsweep.core.project import CONF, conf_folders

        if not any(
            place.provider == "main" and place.path.removeprefix("file://") == str(CONF)
            for place in search_path.get_path()
        ):
            return
        refuse_hidden(conf_folders())
        for folder in conf_folders()[1:]:
            search_path.append("project", f"file://{folder}")
        defaults = [{f"/{name}": option} for plugin in plugins().values() for name, option in plugin.defaults.items()]
        ConfigStore.instance().store("installed", {"defaults": defaults}, group="plugins", package="_global_")

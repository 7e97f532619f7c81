"""Finds the groups of plugins and the user's own; Hydra finds its plugins in this package and nowhere else."""

from __future__ import annotations

from hydra.core.config_search_path import ConfigSearchPath
from hydra.plugins.search_path_plugin import SearchPathPlugin


class Groups(SearchPathPlugin):
    """Adds folders of groups after the kernel's, for ragsweep only: other programs use Hydra, too."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Add the folders of plugins and the project's `conf`, none of whose options may hide another one."""
        from ragsweep.core.errors import ConfigError
        from ragsweep.core.hydra_versions import store_config
        from ragsweep.core.plugins import plugins
        from ragsweep.core.project import CONF, conf_folders

        if not any(
            each.provider == "main" and each.path.removeprefix("file://") == str(CONF)
            for each in search_path.get_path()
        ):
            return
        known = {file.relative_to(CONF): file for file in CONF.glob("*/**/*.yaml")}
        for folder in conf_folders()[1:]:
            for file in sorted(folder.glob("*/**/*.yaml")):
                there = known.setdefault(file.relative_to(folder), file)
                if there != file and there.read_bytes() != file.read_bytes():
                    raise ConfigError(f"{file}: {there} is an option of this name; rename the file")
            search_path.append("project", f"file://{folder}")
        defaults = [{f"/{name}": option} for each in plugins().values() for name, option in each.defaults.items()]
        store_config("installed", {"defaults": defaults}, group="plugins", package="_global_")

"""Finds the user's own configuration groups in `./conf`; Hydra finds its plugins in this package and nowhere else."""

from __future__ import annotations

from hydra.core.config_search_path import ConfigSearchPath
from hydra.plugins.search_path_plugin import SearchPathPlugin


class OwnConf(SearchPathPlugin):
    """Adds the project's folder `conf` after ours, for ragsweep only: other programs use Hydra, too."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Add the folder, where its options do not hide behind ours."""
        from ragsweep.core.errors import ConfigError
        from ragsweep.core.project import CONF, own_conf

        own = own_conf()
        ours = any(
            each.provider == "main" and each.path.removeprefix("file://") == str(CONF)
            for each in search_path.get_path()
        )
        if own is None or not ours:
            return
        for file in sorted(own.glob("*/**/*.yaml")):
            shipped = CONF / file.relative_to(own)
            if shipped.is_file() and shipped.read_bytes() != file.read_bytes():
                raise ConfigError(f"{file}: ragsweep has an option of this name; rename the file")
        search_path.append("project", f"file://{own}")

"""What is wrong with a dataset, and judging what nobody has judged."""

from pathlib import Path

from ragsweep.core.plugins import Command, Plugin

PLUGIN = Plugin(
    about="what is wrong with a dataset, and judging what nobody has judged",
    conf=Path(__file__).parent / "conf",
    defaults={"audit": "default"},
    commands={
        "audit": Command(
            "say what is wrong with a dataset before a sweep is wasted on it", "ragsweep_audit.commands.audit:main"
        ),
        "judge": Command(
            "judge only what can change the decision between configurations, and stop when it is decided",
            "ragsweep_audit.commands.judge:main",
        ),
    },
    checks={"audit": "ragsweep_audit.audit_check:DatasetAudit"},
)

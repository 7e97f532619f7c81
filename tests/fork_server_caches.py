"""What every run would compute again for itself. The fork server of `warm.py` loads this module, and computes it once.

It belongs to the code of ragsweep and to the packages that are installed while the fork server starts, so that it is
the same for every run of a test. Digests of modules that a test writes, and of packages that it installs, are computed
by the run itself.
"""

import gc
import sys

import loaded_yaml
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf

from ragsweep.core.project import conf_folders
from ragsweep.store.code import digest_of_code, digest_of_module
from ragsweep.tracking.recorded_environment import requirements

for name in sorted(sys.modules):
    if name.startswith("ragsweep"):
        digest_of_module(name)
digest_of_module("letters")  # of a user's classes: reads which package brings which module, which takes half a second
digest_of_code()
requirements()

for folder in conf_folders():
    for file in folder.rglob("*.yaml"):
        loaded_yaml.load(file)
OmegaConf.load = loaded_yaml.load

# antlr makes the tables of a grammar while it reads the first text of each form.
FORMS = ["a=b", "a.b=0.5", "a=1,2", "a='b c'", "a=[1,b]", "a={b:c}", "+a=/b/c.d", "~a"]
OverridesParser.create().parse_overrides(FORMS)

gc.collect()
gc.freeze()  # a run neither walks through what is loaded here nor gets copies of its pages

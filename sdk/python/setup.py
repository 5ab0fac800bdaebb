"""Installs the module as a package with the marker `py.typed`, without which type checkers ignore its types (PEP 561)."""

import os
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildPackage(build_py):
    """Builds `assay.py` as `assay/__init__.py`, because a single module cannot have a marker."""

    def get_module_outfile(self, build_dir, package, module):
        return os.path.join(build_dir, module, "__init__.py")

    def get_outputs(self, include_bytecode=True):
        return [*super().get_outputs(include_bytecode), os.path.join(self.build_lib, "assay", "py.typed")]

    def run(self):
        super().run()
        # An editable installation uses the module where it is.
        if not getattr(self, "editable_mode", False):
            Path(self.build_lib, "assay", "py.typed").touch()


setup(cmdclass={"build_py": BuildPackage})

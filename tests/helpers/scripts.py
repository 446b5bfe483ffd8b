"""Scripts of the repository as modules."""

import importlib.util


def module_at(path):
    """The module of a file, run once; it stands in no list of modules."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

"""How Sphinx builds the site: `sphinx-build -W docs site` (`pip install -e ".[docs]"`)."""

import os
import sys
from pathlib import Path

from sphinx.util.inspect import TypeAliasForwardRef

import dynenvs

sys.path.insert(0, str(Path(__file__).parent / "_ext"))
sys.path.append(str(Path(__file__).parents[1]))  # where `studies` is
# Notebooks run in this Python, whatever else the machine offers, and so do the commands they call.
os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])

project = "dynenvs"
author = "The dynenvs developers"
project_copyright = "2026, the dynenvs developers"
version = release = dynenvs.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "core_pages",
    "environment_pages",
    "fields",
    "links_outside",
    "mathml",
    "properties",
]
exclude_patterns = ["_ext", "_static", "_templates", "jupyter_execute"]
templates_path = ["_templates"]
nitpicky = True  # what a docstring refers to must be on the site; other packages' types are not
nitpick_ignore_regex = [
    ("py:class", r"(numpy|gymnasium|stable_baselines3|os|collections|pathlib|nn)\..*|[^.]*")
]
myst_enable_extensions = ["colon_fence", "dollarmath"]  # the latter for notebooks
myst_heading_anchors = 4
nb_execution_mode = "force"
nb_execution_timeout = 3600  # of a cell; the first one compiles the core, on a busy machine slowly
nb_execution_raise_on_error = True
nb_merge_streams = True

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
# By their names, not as the unions that they stand for
autodoc_type_aliases = {
    "ArrayLike": "array_like",
    "Floats": "numpy.ndarray",
    "Ints": "numpy.ndarray",
}
TypeAliasForwardRef.__repr__ = lambda self: self.name  # type: ignore[method-assign]  # in unions
autosummary_generate = True
autosummary_imported_members = True
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True

html_theme = "furo"
html_title = f"dynenvs {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1f5fa8", "color-brand-content": "#1f5fa8"},
    "dark_css_variables": {"color-brand-primary": "#7db3ee", "color-brand-content": "#7db3ee"},
}
copybutton_prompt_text = r">>> |\$ "
copybutton_prompt_is_regexp = True

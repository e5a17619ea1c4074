"""How Sphinx builds the site: `sphinx-build -W docs site` (`pip install -e ".[docs]"`)."""

import sys
from pathlib import Path

import dynenvs

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

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
    "environment_pages",
    "links_outside",
]
exclude_patterns = ["_ext", "jupyter_execute"]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 4
nb_execution_mode = "force"
nb_execution_timeout = 600
nb_execution_raise_on_error = True
nb_merge_streams = True

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autosummary_generate = True
autosummary_imported_members = True
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True

html_theme = "furo"
html_title = f"dynenvs {version}"
html_static_path = ["_static"]
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1f5fa8", "color-brand-content": "#1f5fa8"},
    "dark_css_variables": {"color-brand-primary": "#7db3ee", "color-brand-content": "#7db3ee"},
}
copybutton_prompt_text = r">>> |\$ "
copybutton_prompt_is_regexp = True

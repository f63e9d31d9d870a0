"""How the pages are built: `make docs`, without a network, every warning an error."""

import os
import sys
import warnings
from pathlib import Path
from typing import Any

from docutils import nodes

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
os.environ.setdefault("MPLBACKEND", "Agg")
warnings.simplefilter("ignore")  # pages show warnings where they speak of them

import mercer  # noqa: E402

project = "mercer"
author = "the authors of mercer"
project_copyright = f"2026, {author}"
version = release = mercer.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinxcontrib.bibtex",
    "building.mathml",
    "building.pictures",
    "building.names",
    "building.notebooks",
    "building.gallery",
]
exclude_patterns = ["_build", "building"]
suppress_warnings = ["myst.xref_missing"] if os.environ.get("MERCER_DOCS_DRAFT") else []

myst_enable_extensions = ["deflist", "dollarmath", "colon_fence", "attrs_block"]
myst_heading_anchors = 3
bibtex_bibfiles = ["references.bib"]
bibtex_default_style = "plain"
bibtex_reference_style = "author_year"

default_role = "py:obj"
add_module_names = False
autodoc_typehints = "none"
autodoc_member_order = "groupwise"
autodoc_default_options = {
    "exclude-members": ", ".join(
        f"set_{method}_request"
        for method in ("fit", "partial_fit", "transform", "predict", "score", "inverse_transform")
    )
}
autosummary_generate = False
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

html_theme = "furo"
pygments_dark_style = "github-dark"  # the other one underlines modules, as if they were links
html_title = "mercer"
html_static_path = ["_static"]
html_css_files = ["mercer.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#005a96",
        "color-brand-content": "#005a96",
        "font-stack": "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif",
    },
    "dark_css_variables": {
        "color-brand-primary": "#7cc0f2",
        "color-brand-content": "#7cc0f2",
    },
}
html_math_renderer = "mathml"


def end_blocks(_: Any, page: Any) -> None:
    """Leave out the empty line by which doctest ends an example."""
    for block in page.findall(nodes.literal_block):
        if block.rawsource == block.astext():
            block.rawsource = block.astext().rstrip("\n")
            block[:] = [nodes.Text(block.rawsource)]


def setup(app: Any) -> None:
    """Mend what was read, before it is written."""
    app.connect("doctree-read", end_blocks)

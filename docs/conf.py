"""Sphinx configuration: pages, docstrings and gallery in one site. Nothing is downloaded."""

import sys
from importlib.metadata import version as installed_version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "herder"
author = "The herder developers"
project_copyright = "the herder developers"
release = version = installed_version("herder")
language = "en_GB"

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
    "sphinxcontrib.bibtex",
    # ours, in _ext
    "docstring_citations",
    "mathml",
]
exclude_patterns = ["_build", "gallery/**/*.ipynb", "gallery/**/*.py", "gallery/**/*.md5"]
templates_path = ["_templates"]
default_role = "py:obj"  # `sample` in a docstring links to our object, or is plain code

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # numpydoc shows the types of the docstring
numpydoc_show_class_members = False  # the class template lists them

bibtex_bibfiles = ["refs.bib"]
bibtex_default_style = "plain"
bibtex_reference_style = "author_year"

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    # some figures are made without pyplot, which the default scraper relies on
    "image_scrapers": ("gallery_figures.scrape",),
    "capture_repr": (),  # print only what a script prints, no <Legend object at 0x...>
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1_000_000,
    "write_computation_times": False,
    "within_subsection_order": "ExampleTitleSortKey",
}

html_theme = "pydata_sphinx_theme"
html_title = "herder"
html_logo = "_static/logo.svg"
html_favicon = "_static/favicon.svg"
html_static_path = ["_static"]
html_css_files = ["herder.css"]
html_math_renderer = "mathml"
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"*": [], "*/**": ["sidebar-nav-bs"]}  # only for nested pages
html_theme_options = {
    "logo": {"text": "herder"},
    "header_links_before_dropdown": 8,
    "navbar_align": "left",
    "navigation_with_keys": False,
    "show_prev_next": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}

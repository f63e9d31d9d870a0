"""The self-contained page: what a model found, in one HTML file that asks the network nothing.

A study adds to a page, or makes one of its own, by `Section`: sentences, pictures as ``describe``
returns them, and tables; ``report(model, path, sections=[...])`` and `document` take them, and
nothing needs to be registered. Studies of mercer have theirs: ``stability_section``,
``jackknife_section``, ``path_section``, ``importance_section`` and ``preimage_section``.

The pictures that a model has by itself are listed in ``panels.py``. All pictures are described by
`mercer.pictures` and drawn twice, in one look: on the screen by the scripts in ``assets``, for
readers without scripts as SVG that needs no library.
"""

from mercer.page.reproduce import Reading as Reading
from mercer.page.sections import Section as Section
from mercer.page.study_sections import importance_section as importance_section
from mercer.page.study_sections import jackknife_section as jackknife_section
from mercer.page.study_sections import path_section as path_section
from mercer.page.study_sections import preimage_section as preimage_section
from mercer.page.study_sections import stability_section as stability_section
from mercer.page.write import document as document
from mercer.page.write import report as report

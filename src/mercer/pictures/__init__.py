"""Values in, figures out: each picture is described once as data and drawn by any renderer.

``pictures.scree(...)`` draws with matplotlib and returns Axes, ``pictures.scree.plotly(...)``
returns the same content as a plotly Figure, and ``pictures.scree.describe(...)`` that content as
data. So with every picture here. `sheet` puts described pictures side by side, `draw` and `plotly`
draw what was described. Neither library is imported before it draws; ``pip install "mercer[plot]"``
brings both.

A new picture is a function from values to a `Panel` or a `Sheet` of marks (``pictures/scene.py``)
in a module of its own, decorated with `Drawing` (``pictures/scene.py``), and one line below; a
script of ``examples/gallery`` shows it. What a picture describes can be saved (`Panel.save`) and it
can stand on a page (`mercer.page.Section`), where scripts draw it on the screen and link the marks
that carry the `Ids` of the same individuals or variables.
"""

from typing import TYPE_CHECKING

from mercer.pictures.categories import categories as categories
from mercer.pictures.circle import biplot as biplot
from mercer.pictures.circle import contributions as contributions
from mercer.pictures.circle import variables as variables
from mercer.pictures.curves import against_observed as against_observed
from mercer.pictures.curves import curves as curves
from mercer.pictures.curves import penalty_path as penalty_path
from mercer.pictures.curves import residuals as residuals
from mercer.pictures.curves import shepard as shepard
from mercer.pictures.heat_maps import agreement as agreement
from mercer.pictures.heat_maps import chance as chance
from mercer.pictures.heat_maps import heat_map as heat_map
from mercer.pictures.heat_maps import images as images
from mercer.pictures.heat_maps import kernel_map as kernel_map
from mercer.pictures.heat_maps import weights as weights
from mercer.pictures.importance import axis_points as axis_points
from mercer.pictures.importance import importance as importance
from mercer.pictures.importance import rebuilt as rebuilt
from mercer.pictures.importance import slopes as slopes
from mercer.pictures.models import first_picture as first_picture
from mercer.pictures.planes import individuals as individuals
from mercer.pictures.planes import outliers as outliers
from mercer.pictures.replicates import replicate_curve as replicate_curve
from mercer.pictures.replicates import replicate_map as replicate_map
from mercer.pictures.replicates import replicate_networks as replicate_networks
from mercer.pictures.replicates import replicate_pairs as replicate_pairs
from mercer.pictures.scene import Panel as Panel
from mercer.pictures.scene import Sheet as Sheet
from mercer.pictures.scene import draw as draw
from mercer.pictures.scene import plotly as plotly
from mercer.pictures.scene import sheet as sheet
from mercer.pictures.spectra import bandwidth_path as bandwidth_path
from mercer.pictures.spectra import eigenvalues as eigenvalues
from mercer.pictures.spectra import parameter_path as parameter_path
from mercer.pictures.spectra import scree as scree
from mercer.pictures.stability import bootstrap as bootstrap
from mercer.pictures.stability import jackknife as jackknife
from mercer.pictures.surfaces import contours as contours
from mercer.pictures.surfaces import eigenfunctions as eigenfunctions
from mercer.pictures.surfaces import four_panels as four_panels
from mercer.pictures.surfaces import space as space
from mercer.pictures.surfaces import surface as surface
from mercer.settings import hints_in

if not TYPE_CHECKING:  # a checker of types would take every name to exist
    __getattr__ = hints_in(__name__)

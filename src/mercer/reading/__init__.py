"""How a statistician reads axes: individuals, variables, supplementary elements and outliers."""

from mercer.data.frames import Tidy as Tidy
from mercer.reading.contributions_and_v_tests import Categories as Categories
from mercer.reading.contributions_and_v_tests import Individuals as Individuals
from mercer.reading.contributions_and_v_tests import Supplementary as Supplementary
from mercer.reading.contributions_and_v_tests import Variables as Variables
from mercer.reading.model import Readable as Readable
from mercer.reading.outliers import Outliers as Outliers

"""What users bring: tables with names and roles, matrices of pairs, graphs, arrays and files."""

from typing import TYPE_CHECKING

from mercer.data.annotated import annotate as annotate
from mercer.data.annotated import from_anndata as from_anndata
from mercer.data.files import read as read
from mercer.data.frames import rows as rows
from mercer.data.graphs import Edges as Edges
from mercer.data.imputation import impute as impute
from mercer.data.matrices import SquareMatrix as SquareMatrix
from mercer.data.missing import settled as settled
from mercer.data.ondisk import OnDisk as OnDisk
from mercer.data.ondisk import open_points as open_points
from mercer.data.raw_files import Limits as Limits
from mercer.data.sequences import Sequences as Sequences
from mercer.data.table import Column as Column
from mercer.data.table import Role as Role
from mercer.data.table import Table as Table
from mercer.points import Paired as Paired
from mercer.points import Rows as Rows
from mercer.settings import hints_in

if not TYPE_CHECKING:  # a checker of types would take every name to exist
    __getattr__ = hints_in(__name__)

"""Files made to harm those who read them, and a sweep that opens them all within limits."""

from tests.files.annotated import annotated
from tests.files.arrays import arrays
from tests.files.columns import columns
from tests.files.documents import documents
from tests.files.graphs import graphs
from tests.files.models import models
from tests.files.options import options
from tests.files.texts import texts
from tests.files.whole import Case as Case
from tests.files.whole import damaged

SOURCES = (damaged, texts, arrays, columns, annotated, documents, graphs, models, options)

"""Plain state on disk: JSON, raw arrays and checksums, no pickle."""

from mercer.store.file import written as written
from mercer.store.models import about as about
from mercer.store.models import load as load
from mercer.store.models import save as save

"""Plain state on disk: JSON, raw arrays and checksums, no pickle."""

from mercer.store.file import about as about
from mercer.store.file import load as load
from mercer.store.file import save as save
from mercer.store.file import write_whole as write_whole

"""Plain state on disk: JSON, raw arrays and checksums, no pickle."""

from mercer.store.checkpoint import CheckpointFile as CheckpointFile
from mercer.store.checkpoint import fingerprint as fingerprint
from mercer.store.checkpoint import kernel_identity as kernel_identity
from mercer.store.checkpoint import read_run as read_run
from mercer.store.file import about as about
from mercer.store.file import load as load
from mercer.store.file import save as save
from mercer.store.file import write_whole as write_whole

"""``python -m mercer.cli``, where the ``mercer`` command is not on the path."""

import sys

from mercer.cli import main

if __name__ == "__main__":
    sys.exit(main())

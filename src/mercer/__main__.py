"""``python -m mercer``: the ``mercer`` command, where it is not on the path."""

import sys

from mercer.cli import main

if __name__ == "__main__":
    sys.exit(main())

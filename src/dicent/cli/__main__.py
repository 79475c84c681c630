"""Run the commands as `python -m dicent.cli`, without installing the console script."""

import sys

from dicent.cli import main

sys.exit(main())

"""`python -m dicent.cli`, for those who have not installed the command."""

import sys

from dicent.cli import main

sys.exit(main())

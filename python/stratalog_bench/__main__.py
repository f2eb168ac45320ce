# SPDX-License-Identifier: Apache-2.0
"""Entry of `stratalog bench`; the command starts it as `python -m stratalog_bench WORDS`."""

from __future__ import annotations

import sys

from stratalog_bench.checkpoint_bench import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

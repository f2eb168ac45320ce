# SPDX-License-Identifier: Apache-2.0
"""What the pages of goals have in common."""

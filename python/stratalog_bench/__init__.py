# SPDX-License-Identifier: Apache-2.0
"""`stratalog bench`: measures checkpoint strategies side by side and draws the figures."""

# SPDX-License-Identifier: Apache-2.0
"""Readers of Stratalog's file formats that share no code with it: they prove docs/formats."""

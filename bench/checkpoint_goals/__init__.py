# SPDX-License-Identifier: Apache-2.0
"""The goals of checkpoint I/O: measured one after another, judged, and put into one table."""

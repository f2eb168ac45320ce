# SPDX-License-Identifier: Apache-2.0
"""Measurements and verdicts of bench/goals_engine.py."""

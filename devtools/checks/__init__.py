# SPDX-License-Identifier: Apache-2.0
"""The checks behind devtools/check: one module each, every one with tests in tests/devtools."""

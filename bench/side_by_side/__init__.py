"""Allocators measured side by side: what is run, how it is measured, what is made of it.

SPDX-License-Identifier: MIT
"""

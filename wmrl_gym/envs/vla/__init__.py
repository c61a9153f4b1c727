"""Manipulation on MuJoCo: an arm over a table, and tasks that are named in words.

Everything is built from primitives: no meshes and no foreign assets.
"""

"""Backends: what carries out the controller's instructions.

``local`` runs on the JAX devices of this process, real or emulated.
"""

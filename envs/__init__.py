"""Gymnasium environments with hard, frictional, certified contact."""

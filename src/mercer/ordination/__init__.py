"""Tests on maps and distances: groups, their spread, variables on a map, one map on another."""

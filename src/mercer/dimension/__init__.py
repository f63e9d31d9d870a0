"""How many axes to keep: a share of the inertia, Kaiser's mean, Cattell's scree, Horn's null."""

"""What the pages need of Sphinx beyond what it has: formulas, pictures and lists of names."""

"""One claim per file, each a script; tests borrow the adversary of certificates."""

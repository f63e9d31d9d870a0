"""Where a tile of a Gram matrix is computed: threads here, other machines behind one protocol."""

"""Import of the public SNAP release (github.com/ykotseruba/SNAP), whole or in part."""

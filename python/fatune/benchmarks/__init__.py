"""__init__.py: Imports tasks of other benchmarks and exports kernels to them."""

"""broken_function.py: Cannot be imported."""
import no_such_module

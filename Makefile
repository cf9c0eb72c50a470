# Short names for the presets of CMakePresets.json; `make` builds, `make check` builds and tests.
.PHONY: all check asan tidy nightly format readme lint gpu-check approve schemas demo clean

all:
	cmake --preset dev
	cmake --build --preset dev

check: all
	ctest --preset dev
	tests/slowest_tests.py build/dev/junit.xml

asan:
	cmake --workflow --preset asan

tidy:
	cmake --workflow --preset tidy

# The checks that are too slow for each change; writes build/nightly/nightly.md.
nightly:
	tools/nightly.py

format:
	tools/format.sh

# Renews the measured blocks of README.md, docs/ and kernels/*/notes.md from results/.
readme:
	tools/update_readme.py

lint:
	tools/check_layers.py
	tools/check_tree.py
	tools/format.sh --check || test $$? -eq 77

gpu-check: all
	ctest --preset gpu

# Renews the approved outputs in tests/; read the difference before you commit it.
approve: all
	FATUNE_APPROVE=1 ctest --preset dev -R approved
	tests/cli/run_golden.py --fatune build/dev/fatune --approve

# Renews the JSON Schemas that are made of the lists of fields.
schemas: all
	tools/renew_schemas.sh build/dev/fatune

# Renews the recorded terminal picture of the README.
demo: all
	tools/pictures.py build/dev/fatune demo

clean:
	rm -rf build

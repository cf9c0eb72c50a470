# Short names for the presets of CMakePresets.json; `make` builds, `make check` builds and tests.
.PHONY: all check asan tidy format lint gpu-check approve demo clean

all:
	cmake --preset dev
	cmake --build --preset dev

check: all
	ctest --preset dev

asan:
	cmake --workflow --preset asan

tidy:
	cmake --workflow --preset tidy

format:
	tools/format.sh

lint:
	tools/check_layers.py
	tools/check_paths.py
	tools/format.sh --check || test $$? -eq 77

gpu-check: all
	ctest --preset gpu

# Renews the golden files of tests/cli; read the difference before you commit it.
approve: all
	tests/cli/run_golden.py --fatune build/dev/fatune --approve

# Renews the recorded terminal picture of the README.
demo: all
	python3 tools/make_demo.py build/dev/fatune docs/demo.svg

clean:
	rm -rf build

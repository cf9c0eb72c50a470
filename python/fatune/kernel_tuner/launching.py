"""launching.py: Launches one config once, and returns the arguments as the launch leaves them."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable, List, Mapping, Optional, Sequence

from ..errors import USAGE, FatuneError
from ..program import output_of
from .arrays import Store, read_like
from .calls import Call, parts_of
from .declaring import Declared, declare

Launch = Callable[..., List[Any]]


def launched(declared: Declared, config: Mapping[str, Any], device: Optional[str]) -> List[Any]:
    """Returns the arguments after a launch: new arrays for those that the kernel may write."""
    file, outputs = declared.folder / "launched.json", declared.folder / "outputs"
    chosen = {name: config[name] if isinstance(config[name], str) else int(config[name])
              for name in declared.call.parameters}
    file.write_text(json.dumps({"kernel": declared.call.name, "config": chosen}) + "\n",
                    encoding="utf-8")
    output_of(["verify", *declared.words, "--config", str(file), "--outputs", str(outputs),
               *(["--device", device] if device else [])])
    return [value if name is None else read_like(value, outputs / f"{name}.bin")
            for value, name in zip(declared.call.arguments, declared.outputs)]


def launch_of(call: Call, config: Mapping[str, Any], folder: Path, device: Optional[str],
              store: Store) -> List[Any]:
    """Returns the arguments after a launch of a call with this config alone."""
    part = parts_of(call._replace(parameters={name: [value] for name, value in config.items()}))
    return launched(declare(part[0], folder, store), config, device)


class PythonKernel:
    """A kernel as a function of its arguments, which returns the outputs. `launch` is run_kernel."""

    def __init__(self, launch: Launch, kernel_name: str, kernel_string: Any, problem_size: Any,
                 arguments: Sequence[Any], params: Optional[Mapping[str, Any]] = None,
                 inputs: Optional[Sequence[bool]] = None,
                 outputs: Optional[Sequence[bool]] = None, results_file: Any = None,
                 **options: Any) -> None:
        if results_file is not None:
            raise FatuneError("results_file: fatune reads no results of Kernel Tuner; pass the "
                              "config as params", USAGE)
        self.params = dict(params or {})
        self._launch = launch
        self._call = (kernel_name, kernel_string, problem_size)
        self._options = options
        self._held = list(arguments)
        self._inputs = list(inputs or [True] * len(self._held))
        self._outputs = list(outputs or [True] * len(self._held))

    def __call__(self, *arguments: Any) -> List[Any]:
        return self.run_kernel(arguments)

    def run_kernel(self, args: Sequence[Any]) -> List[Any]:
        """Launches with the arguments that are inputs; the others keep what they hold."""
        given = [new if is_input or not getattr(new, "shape", ()) else old
                 for new, old, is_input in zip(args, self._held, self._inputs)]
        self._held = self._launch(*self._call, given, self.params, **self._options)
        return [each for each, is_output in zip(self._held, self._outputs)
                if is_output and getattr(each, "shape", ())]

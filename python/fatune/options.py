"""options.py: Parses the commands that run a script, without PyTorch."""
from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, Dict, Sequence

from .documents import note

LIMIT_S = 120.0  # of timing; chosen
BASELINES = "torch:flash,torch:cudnn"  # of a new run: what the saving is predicted from
_ABOUT = {"capture": "List the attention calls of a script and write them as a suite",
          "optimize": "Tune a script's attention and prove it faster"}
_FLAG: Dict[str, Any] = {"action": "store_true"}
_OPTIONS: Dict[str, Dict[str, Dict[str, Any]]] = {
    "capture": {
        "--out": {"type": Path, "help": "the suite's file [SCRIPT.suite.json, in this folder]"},
        "--runs": {"type": int, "default": 1, "help": "runs of the script, to be compared [1]"},
        "--graph": {**_FLAG, "help": "the calls of a step that is captured in a CUDA graph"},
        "--step": {"help": "with --graph: as of fatune optimize"},
        "--json": {**_FLAG, "help": "print the suite on stdout"}},
    "optimize": {
        "--step": {"help": "the function to optimize [step, or the module with most attention]"},
        "--out": {"type": Path, "help": "folder of the run [runs/SCRIPT-HASH]"},
        "--report": {"type": Path, "help": "the page [report.html in the run's folder]"},
        "--budget": {"help": "for each problem, as of fatune sweep"},
        "--graph": {**_FLAG, "help": "the program replays the step as a CUDA graph"},
        "--baselines": {"help": f"as of fatune sweep [{BASELINES}]"},
        "--device": {"help": "as of fatune sweep [PyTorch's current GPU]"},
        "--assume-masks": {"choices": ["captured"], "help": "trust captured masks, unread"},
        "--allow-equal": {**_FLAG, "help": "no loss is enough"},
        "--unverified": {**_FLAG, "help": "also kernels that no gate has checked"},
        "--limit-s": {"type": float, "default": LIMIT_S, "help": f"of timing [{LIMIT_S:g}]"},
        "--json": {**_FLAG, "help": "print the proof as one document"}}}


def parse(command: str, argv: Sequence[str]) -> argparse.Namespace:
    """Returns the options of capture or optimize; ends the process as argparse does. Warns of
    options behind the script, which are the script's."""
    parser = argparse.ArgumentParser(
        prog=f"python -m fatune {command}", description=_ABOUT[command],
        usage="%(prog)s [OPTIONS] SCRIPT [ARGUMENTS OF THE SCRIPT]")
    names = {name: ["-o", name] if name == "--out" else [name] for name in _OPTIONS[command]}
    for name, flags in names.items():
        parser.add_argument(*flags, **_OPTIONS[command][name])
    parser.add_argument("script", type=Path, metavar="SCRIPT")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGUMENTS",
                        help="of the script").required = False
    args = parser.parse_args(argv)
    if command == "capture" and args.step and not args.graph:
        parser.error("--step is for --graph; without it the whole script is recorded")
    for word in args.arguments:
        if any(word.partition("=")[0] in flags for flags in names.values()):
            note(f"warning: {word} stands behind {args.script}, so the script gets it; options of "
                 f"{command} stand before the script")
    return args

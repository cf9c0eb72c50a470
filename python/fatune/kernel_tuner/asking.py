"""asking.py: Asks verify functions and observers of a script about outputs of the fastest configs."""
from __future__ import annotations

from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Set

from ..documents import note
from ..errors import DEVICE, FatuneError

Result = Dict[str, Any]
_ASKED = 5  # the fastest configs; chosen


class Judges(NamedTuple):
    """The script's own functions that look at outputs."""

    verify: Optional[Callable[..., Any]]
    observers: Sequence[Any]  # with process_output
    answer: Optional[Sequence[Any]]
    atol: Optional[float]

    def __bool__(self) -> bool:
        return self.verify is not None or bool(self.observers)

    def ask(self, results: List[Result],
            outputs_of: Callable[[Result], List[Any]]) -> List[Result]:
        """Returns the results without those that `verify` refuses.

        The five fastest are asked, and then one after the other until `verify` accepts one.
        `verified` says which results `verify` accepted. What observers see is added to results.
        """
        ranked = sorted(results, key=lambda each: float(each["time"])) if self else []
        asked = 0
        wrong: Set[int] = set()
        for result in ranked:
            if asked >= _ASKED and (self.verify is None or asked > len(wrong)):
                break
            asked += 1
            if not self._accepts(result, outputs_of):
                wrong.add(id(result))
        if self.verify is not None:
            for result in ranked[asked:]:
                result["verified"] = False
            for result in ranked:
                del result["agrees"]  # that is of outputs that fatune compares
            note(f"verify was asked about the {asked} fastest of {len(ranked)} configs: "
                 f"{asked - len(wrong)} are right, {len(wrong)} are wrong_result")
        return [result for result in results if id(result) not in wrong]

    def _accepts(self, result: Result, outputs_of: Callable[[Result], List[Any]]) -> bool:
        try:
            outputs = outputs_of(result)
        except FatuneError as error:
            if error.exit_code != DEVICE:
                raise
            note(f"warning: {error}")
            return False
        wanted = self.answer if self.answer is not None else [
            each if getattr(each, "shape", ()) else None for each in outputs]
        seen = [each if mark is not None else None for each, mark in zip(outputs, wanted)]
        for observer in self.observers:
            observer.process_output(self.answer, seen)
            result.update(observer.get_results())
        if self.verify is None:
            return True
        result["verified"] = bool(self.verify(self.answer, seen, atol=self.atol))
        return result["verified"]

"""flex_serving.py: Serves calls of flex_attention whose rule a kernel was tuned for."""
from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch

from . import block_masks, flex_compiled, masks, named_tensors, real
from .calls import FLEX
from .capturing import Suite
from .expressions import Refused
from .flex_rules import UNCHANGED, Asked, Rule

_UNCAPTURED = "no flex_attention with its mask_mod and score_mod was captured for these sizes and tuned"
_GRADIENTS = "gradients are wanted, which no kernel computes"
_AUTOCAST = "it is inside of torch.autocast, which flex_attention does itself"
_LARGEST = "it returns the largest scores, too"



class Flex:
    """The rules of captured calls, and the words that an exported file has for the kernels tuned
    for them."""

    def __init__(self, exported: ModuleType, suite: Optional[Suite],
                 problems: List[Dict[str, Any]]) -> None:
        self.exported = exported
        self.words: Dict[Asked, Optional[str]] = {}
        tuned = {row.get("name"): row["problem"] for row in problems if row.get("best")}
        for row in suite.calls if suite else ():
            problem = tuned.get(row["problem"]) if row["function"] == FLEX else None
            # A mask that is known by its values alone is known for none of the later calls.
            if problem and row["mask"].get("rule") is not None:
                asked = Asked(row["mask"]["rule"], row["score"], row["softcap"],
                              bool(row["mask"]["bias"]), row["query"]["shape"][2],
                              row["key"]["shape"][2], tuple(row["tensors"]))
                self.words[asked] = self._word(problem)
        # The name is empty while the kernels are not in place; compiled code checks that.
        self.state = {"name": ""}
        self._compiled: Optional[flex_compiled.Serving] = None

    def put(self, in_place: bool) -> None:
        """Tells compiled code whether the kernels are in place."""
        self.state["name"] = self._compiled.name if in_place and self._compiled else ""

    def _word(self, problem: Dict[str, Any]) -> Optional[str]:
        mask = None if problem["mask"] == masks.NONE else problem["mask"]
        if mask and problem.get("bias"):
            mask = self.exported._BESIDE + mask
        forms = sorted(text.partition(":")[0] for text in problem.get("tensors", ()))
        word: Optional[str] = self.exported._word_of(mask, forms, problem.get("softcap"),
                                                     problem.get("score"))
        return word

    def stand_ins(self) -> Dict[Callable[..., Any], Callable[..., Any]]:
        """Returns what stands in for each function that programs call: flex_attention, what
        torch.compile() made of it, and create_block_mask(), whose masks are marked."""
        if not self.words:
            return {}
        own = importlib.import_module(block_masks.HOME)
        shown = [own.flex_attention, *block_masks.beside(own.flex_attention)]
        self._compiled = flex_compiled.begin(self.exported, self.words, own.flex_attention_hop)
        found = {each: self._attention(each) for each in map(block_masks.original_of, shown)}
        create = block_masks.original_of(own.create_block_mask)
        return {**found, create: block_masks.marking(create, block_masks.compiling_once(create))}

    def _attention(self, original: Callable[..., Any]) -> Callable[..., Any]:
        serve, is_compiling, state = self._serve, torch.compiler.is_compiling, self.state

        def flex_attention(query: Any, key: Any, value: Any, score_mod: Any = None,
                           block_mask: Any = None, scale: Optional[float] = None,
                           enable_gqa: bool = False, return_lse: bool = False,
                           kernel_options: Any = None, *, return_aux: Any = None,
                           **theirs: Any) -> Any:
            if not is_compiling():
                out = serve(query, key, value, score_mod, block_mask, scale, enable_gqa,
                            return_lse, return_aux)
                if out is not None:
                    return out
            elif state["name"]:
                lse = bool(return_lse or return_aux is not None and return_aux.lse)
                checked = block_masks.UNMASKED if block_mask is None else getattr(
                    block_mask, block_masks.MARK, None)
                kernel_options = flex_compiled.option(kernel_options, state["name"], lse, checked)
            if return_aux is not None:  # which PyTorch 2.5 does not know
                theirs["return_aux"] = return_aux
            if return_lse:
                theirs["return_lse"] = return_lse
            return original(query, key, value, score_mod=score_mod, block_mask=block_mask,
                            scale=scale, enable_gqa=enable_gqa, kernel_options=kernel_options,
                            **theirs)

        block_masks.hide(flex_attention, original)
        return flex_attention

    def _serve(self, query: Any, key: Any, value: Any, score_mod: Any, block_mask: Any,
               scale: Optional[float], gqa: bool, return_lse: bool, return_aux: Any) -> Any:
        """Returns the result of a kernel, or None where PyTorch shall compute; counts the call."""
        exported = self.exported
        lse = bool(return_lse or getattr(return_aux, "lse", False))
        reason, rule, word = real.why_not((query, key, value)), UNCHANGED, None
        named: List[torch.Tensor] = []
        if reason:
            return None  # what is traced shows no call
        if getattr(return_aux, "max_scores", False):
            reason = _LARGEST
        elif torch.is_autocast_enabled(query.device.type):
            reason = _AUTOCAST
        elif query.dim() != 4 or key.dim() != 4:
            reason = _UNCAPTURED
        else:
            rule, word, reason = self._asked(query, key, score_mod, block_mask)
        read = [each.tensor for each in rule.tensors]
        if not reason and exported._needs_gradients(query, key, value, rule.bias, *read):
            reason = _GRADIENTS
        if not reason:
            try:
                named = [named_tensors.ready(each, query.device) for each in read]
            except Refused as why:
                reason = str(why)
        if reason:
            exported._count(f"flex_attention: {reason}", query, key, value, rule.mask or None, scale)
            return None
        kind = exported._WITH_LSE if lse else exported._FLEX
        out = exported._attend(query, key, value, word, scale, gqa, rule.bias, kind, named)
        if out is None or not lse:
            return out
        return out if return_aux is None else (out[0], _auxiliary(out[1]))

    def _asked(self, query: torch.Tensor, key: torch.Tensor, score_mod: Any,
               block_mask: Any) -> Tuple[Rule, Optional[str], str]:
        """Returns the rule of a call, the word of its kernels, and why there are none."""
        try:
            rule, mask = block_masks.told(query, key, score_mod, block_mask)
            asked = rule.asked(query, key)
            if asked not in self.words:
                return rule, None, _UNCAPTURED
            block_masks.prove(query, key, block_mask, mask)
        except Refused as why:
            return UNCHANGED, None, str(why)
        return rule, self.words[asked], ""


def _auxiliary(lse: torch.Tensor) -> Any:
    """Returns the log-sum-exp as return_aux asks for it."""
    return sys.modules[block_masks.HOME].AuxOutput(lse=lse, max_scores=None)

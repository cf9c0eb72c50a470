#!/usr/bin/env python3
"""A proposer for `fatune evolve` that asks a model behind any OpenAI-compatible server.

    OPENAI_BASE_URL=http://127.0.0.1:8000/v1 OPENAI_MODEL=NAME [OPENAI_API_KEY=...] \\
        fatune evolve --proposer examples/evolve/openai.py --kernel fa_rows --shape 4,8,512,64

OPENAI_PRICE_IN and OPENAI_PRICE_OUT, per million tokens, make a cost of what the server says of its use.
What goes wrong is told on stderr and ends the program with 1: the trial is charged, the run goes on.
"""
import json
import os
import re
import sys
import urllib.error
import urllib.request

RULES = """Answer with one complete CUDA C++ source in a fenced block marked cuda, and, only where it must change, its whole manifest in a fenced block marked json.
Before them write three lines: `lever:` one word for the one thing that you change, `thought:` a sentence why it should be faster, `insight:` a sentence that later attempts can use.
The entry's name and arguments stay as the manifest has them. Device code only; #include common/ headers alone. Every gate must pass for every problem."""


def told(kernel):
    times = ", ".join(f"{shape['problem']}: {shape['time_us']:.2f} us" for shape in kernel.get("shapes", []) if "time_us" in shape)
    return (f"id {kernel['id']}, {kernel.get('speedup', 1):.2f}x over the start ({times or 'not timed'}); {kernel.get('profile', '')}\n"
            f"{kernel.get('thought', '')}\n```cuda\n{kernel['source']}```\n```json\n{json.dumps(kernel['manifest'])}\n```\n")


def prompt_of(request):
    """I1 in every mode; I3 from insight on; I2, the elites, in full."""
    task = request["task"]
    parts = [f"# Task\n{task['statement']}\nTarget: {task['target']}\nCompared with {task['reference']}.\nMacros: "
             + ", ".join(f"{each['name']}={each['value']}" for each in task.get("macros", []))]
    parts.append("# Gates\n" + "\n".join(f"- {each['name']}: {each['statement']}" for each in task.get("gates", []) + task.get("rules", [])))
    parts.append("# To improve\n" + "\n".join(told(kernel) for kernel in request["parents"]))
    known = {kernel["id"] for kernel in request["parents"]}
    others = [kernel for kernel in request.get("elites", []) if kernel["id"] not in known]
    if others:
        parts.append("# Other good kernels\n" + "\n".join(map(told, others)))
    if request.get("insights"):
        parts.append("# Insights (measured)\n" + "\n".join(
            f"- {each['text']} [{'failed' if 'gain' not in each else format(each['gain'], '.2f') + 'x'}]" for each in request["insights"]))
    if request.get("failures"):
        parts.append("# What failed\n" + "\n".join(f"- {each.get('lever', '')} at {each['step']}: {each['reason']}" for each in request["failures"]))
    combine = " Combine what is good in both parents." if request.get("operation") == "crossover" else ""
    return "\n\n".join([*parts, f"# Answer\n{RULES}{combine}"])


def ask(prompt, seconds):
    """The server's answer as JSON."""
    headers = {"Content-Type": "application/json"}
    if os.environ.get("OPENAI_API_KEY"):
        headers["Authorization"] = f"Bearer {os.environ['OPENAI_API_KEY']}"
    body = {"model": os.environ.get("OPENAI_MODEL", "default"), "messages": [{"role": "user", "content": prompt}]}
    url = os.environ["OPENAI_BASE_URL"].rstrip("/") + "/chat/completions"
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers), timeout=seconds) as answer:
        return json.load(answer)


def block(text, mark):
    found = re.search(rf"```(?:{mark})[^\n]*\n(.*?)```", text, re.DOTALL)
    return found.group(1) if found else None


def line(text, word):
    found = re.search(rf"^\W*{word}\W*:\s*(.+)$", text, re.MULTILINE | re.IGNORECASE)
    return found.group(1).strip()[:1000] if found else ""


def candidate_of(text, request):
    source = block(text, "cuda|cpp|c\\+\\+|cu") or block(text, "")
    if not source:
        raise ValueError("the model's answer has no fenced source")
    candidate = {"source": source, "thought": line(text, "thought"), "parents": [kernel["id"] for kernel in request["parents"]]}
    lever = re.sub(r"[^A-Za-z0-9_.+-]+", "_", line(text, "lever"))[:40].strip("_")
    if lever:
        candidate["lever"] = lever
    manifest = block(text, "json")
    if manifest:
        candidate["manifest"] = json.loads(manifest)
    return candidate


def main():
    request = json.loads(sys.stdin.readline())
    if not os.environ.get("OPENAI_BASE_URL"):
        sys.exit("openai.py: OPENAI_BASE_URL names no server")
    usage = {"prompt_tokens": 0, "completion_tokens": 0, "cost": 0.0}
    candidates, insight = [], ""
    for _ in range(request["wanted"]):
        try:
            answer = ask(prompt_of(request), request["budget"].get("answer_seconds", 300))
            for name in ("prompt_tokens", "completion_tokens"):
                usage[name] += int(answer.get("usage", {}).get(name, 0))
            text = answer["choices"][0]["message"]["content"]
            candidates.append(candidate_of(text, request))
            insight = line(text, "insight") or insight
        except (urllib.error.URLError, TimeoutError, KeyError, IndexError, TypeError, ValueError) as reason:
            print(f"openai.py: {reason}", file=sys.stderr)
    if not candidates:
        sys.exit(1)
    usage["cost"] = (usage["prompt_tokens"] * float(os.environ.get("OPENAI_PRICE_IN", 0)) + usage["completion_tokens"] * float(os.environ.get("OPENAI_PRICE_OUT", 0))) / 1e6
    print(json.dumps({"candidates": candidates, "insight": insight, "usage": usage}))


if __name__ == "__main__":
    main()

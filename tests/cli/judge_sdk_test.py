#!/usr/bin/env python3
"""Runs `fatune judge` with the official Python SDK of the Model Context Protocol, in each revision.

    judge_sdk_test.py --fatune PATH --venv FOLDER [--approve]
    judge_sdk_test.py --fatune PATH --venv FOLDER --device cuda:0 --transcript FILE

It goes through every tool, resource and prompt. The answers of the recorded device are compared with an approved transcript;
those of a GPU are written to FILE, one a line.

FOLDER is the Python environment that `tools/bootstrap.sh test` makes. Without it the test is skipped (exit 77); under CI=true
that is a failure. The SDK itself checks each answer against the schemas of its revision and of the tool.
"""
import argparse
import asyncio
import hashlib
import itertools
import json
import os
import pathlib
import sys
import tempfile

VERSION = "2.3.0"
SKIPPED = 77
STATELESS = "2026-07-28"
TESTS = pathlib.Path(__file__).resolve().parents[1]
KERNELS = TESTS.parent / "kernels"
TRANSCRIPT = TESTS / "data" / "judge" / "sdk_transcript.txt"
SHOWN = 100  # characters of an answer that stand in the transcript
PROBLEM = "mission/mission"
RECORDING = "recorded:" + str(TESTS / "data/recording/lineage.jsonl.gz")  # whole spaces of fa_rows and fa_tiled, with final rounds
BEST = {"THREADS": 128, "BLOCK_N": 8, "KV_SOURCE": "shared_f32", "Q_FORMAT": "float", "EXP2": True}
BEST_TILED = {"BLOCK_M": 128, "BLOCK_N": 64, "ROWS_PER_THREAD": 8, "VEC_WIDTH": 8, "REDUCE": "warp", "SMEM_STAGE": 2,
              "PAD": 8}
TOOLS = ["list_problems", "get_problem", "submit_kernel", "tune_kernel", "sweep_problem", "export_winner", "compare",
         "profile_kernel", "explain_failure", "history", "leaderboard", "read_text"]


def enter_environment(folder):
    """Restarts in an interpreter that has the SDK, or skips the test."""
    if not (folder / f"mcp-{VERSION}").exists():
        fails = bool(os.environ.get("CI"))
        print(f"{'FAILED' if fails else 'skipped'}: no mcp {VERSION} of Python here (tools/bootstrap.sh test installs it)")
        sys.exit(1 if fails else SKIPPED)
    if pathlib.Path(sys.prefix).resolve() != folder.resolve():
        python = folder / "bin" / "python"
        os.execv(python, [str(python), *sys.argv])


def transcript_line(name, answer):
    """One line of the transcript for an answer, without times of this run."""
    return json.dumps({name: answer}, sort_keys=True)


async def call(client, transcript, tool, arguments, **more):
    """Calls a tool, and writes the answer to the transcript."""
    answer = await client.call_tool(tool, arguments, **more)
    assert not answer.is_error, (tool, answer.content[0].text)
    transcript.append(transcript_line(tool, answer.structured_content))
    return answer.structured_content


def recorded_kernel(name="fa_rows", **more):
    """A kernel that the recording holds, at the problem that it holds."""
    folder = KERNELS / name
    return {"problem": PROBLEM, "source": (folder / f"{name}.cu").read_text(),
            "manifest": json.loads((folder / f"{name}.json").read_text()), **more}


async def judge_kernels(client, transcript, recorded):
    """Calls every tool. Returns the id of a kernel that passed."""
    phases = []

    async def note(progress, total, message):
        phases.append(message)

    listed = await call(client, transcript, "list_problems", {"filter": "causal"})
    assert len(listed["problems"]) == 6, listed
    stated = await call(client, transcript, "get_problem", {"id": PROBLEM})
    assert [tensor["name"] for tensor in stated["tensors"]] == ["q", "k", "v", "out"], stated
    checked = await call(client, transcript, "submit_kernel", recorded_kernel(thought="the defaults"), progress_callback=note)
    assert checked["passed"] and "hot" not in checked, checked
    assert phases[0] == "compiling", phases
    ranked = await call(client, transcript, "submit_kernel", recorded_kernel(mode="rank", config=BEST, parents=[checked["id"]]))
    assert ranked["hot"]["median_us"] > 0 and ranked["baselines"][0]["ratio"], ranked
    final = await call(client, transcript, "submit_kernel", recorded_kernel(mode="final", config=BEST, thought="rows in f32"))
    assert final["mode"] == "final" and final["sol"]["score"] > 0, final
    narrow = recorded_kernel()
    narrow["manifest"]["constraints"].append({"require": "THREADS >= 128", "why": "fewer threads were slower"})
    refused = await call(client, transcript, "submit_kernel", narrow)
    assert refused["gate"] == "constraints", refused
    tuned = await call(client, transcript, "tune_kernel", recorded_kernel(evaluations=40), progress_callback=note)
    assert tuned["best"]["passed"] and tuned["evaluations"] == 40, tuned
    assert not recorded or {**tuned["best"]["config"], "Q_FORMAT": "float"} == BEST, tuned  # q's format makes no difference
    other = await call(client, transcript, "submit_kernel", recorded_kernel("fa_tiled", mode="final", config=BEST_TILED))
    duel = await call(client, transcript, "compare", {"ids": [final["id"], other["id"]]})
    assert duel["kernels"][1]["to_first"]["ratio"] > 0, duel
    profile = await call(client, transcript, "profile_kernel", {"id": final["id"]})
    assert not recorded or profile["profile"]["reason"] == "a recorded device has no counters to read", profile
    explained = await call(client, transcript, "explain_failure", {"id": refused["id"]})
    assert explained["gate"] == "constraints" and explained["usual"], explained
    swept = await call(client, transcript, "sweep_problem", {"problem": PROBLEM, "evaluations": 20, "kernels": ["fa_rows"]})
    assert swept["best"]["passed"] and swept["run"] == "runs/2", swept
    winner = await client.call_tool("export_winner", {"run": swept["run"], "format": "json", "unverified": recorded})
    assert json.loads(winner.structured_content["files"][0]["text"])["kernel"] == swept["best"]["kernel"], winner
    header = await client.call_tool("read_text", {"uri": "fatune://common/prelude.cuh"})
    assert "prelude.cuh" in header.structured_content["text"], header
    history = await call(client, transcript, "history", {"last": 3})
    assert len(history["judgements"]) == 3, history
    board = await call(client, transcript, "leaderboard", {"problem": PROBLEM})
    assert board["rows"][0]["place"] == 1, board
    return final["id"]


async def read_texts(client, transcript, judged):
    """Reads every listed resource, and each prompt."""
    resources = (await client.list_resources()).resources
    addresses = [str(each.uri) for each in resources]
    assert f"fatune://kernel/{judged}/source" in addresses and "fatune://runs/1/journal" in addresses, addresses
    for address in addresses:
        read = (await client.read_resource(address)).contents[0]
        assert read.text, address
    transcript.append(transcript_line("resources", addresses))
    templates = (await client.list_resource_templates()).resource_templates
    transcript.append(transcript_line("templates", [each.uri_template for each in templates]))
    prompts = (await client.list_prompts()).prompts
    assert [each.name for each in prompts] == ["free", "insight", "full"], prompts
    for prompt in prompts:
        filled = await client.get_prompt(prompt.name, {"problem": PROBLEM})
        transcript.append(transcript_line(prompt.name, filled.messages[0].content.text))


async def meet_errors(client):
    from mcp.shared.exceptions import MCPError

    wrong = await client.call_tool("get_problem", {"id": "mission/wyde"})
    assert wrong.is_error and "did you mean mission/wide?" in wrong.content[0].text, wrong
    for request in (client.call_tool("solve_problem", {}), client.get_prompt("free", {}),
                    client.read_resource("fatune://kernel/nothing/source")):
        try:
            await request
        except MCPError:
            continue
        raise AssertionError("what there is not was answered")


async def session(fatune, mode, out, device):
    """Runs a session through every tool, resource and prompt. Returns its transcript."""
    from mcp.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    server = StdioServerParameters(command=str(fatune), args=["judge", "--suite", "mission", "--device", device,
                                                              "--out", str(out), "--quiet"])
    transcript = []
    async with Client(stdio_client(server), mode=mode) as client:
        if mode != STATELESS:  # then nothing is asked before the first request
            assert client.server_info.name == "fatune", client.server_info
        expected = "2025-11-25" if mode == "legacy" else STATELESS
        assert client.protocol_version == expected, client.protocol_version
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == TOOLS, tools
        for tool in tools:
            assert tool.description and tool.input_schema["type"] == "object" and tool.output_schema, tool
        judged = await judge_kernels(client, transcript, device == RECORDING)
        await read_texts(client, transcript, judged)
        await meet_errors(client)
    return transcript


def check_transcript(transcript, approve):
    """Compares the answers with the approved ones: a line each, with hash and beginning."""
    lines = [f"{hashlib.sha256(line.encode()).hexdigest()[:16]} {len(line):>6} {line[:SHOWN]}" for line in transcript]
    text = "\n".join(lines) + "\n"
    if approve:
        TRANSCRIPT.write_text(text)
    if TRANSCRIPT.read_text() != text:
        changed = [new for old, new in itertools.zip_longest(TRANSCRIPT.read_text().splitlines(), lines) if old != new]
        print("FAILED: the transcript has changed (--approve renews it):", *changed, sep="\n")
        sys.exit(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fatune", required=True, type=pathlib.Path)
    parser.add_argument("--venv", required=True, type=pathlib.Path)
    parser.add_argument("--device", default=RECORDING)
    parser.add_argument("--transcript", type=pathlib.Path, help="write the answers to this file")
    parser.add_argument("--approve", action="store_true", help="renew the transcript")
    args = parser.parse_args()
    enter_environment(args.venv)
    for mode in ("auto", STATELESS, "legacy"):
        with tempfile.TemporaryDirectory() as scratch:
            out = pathlib.Path(scratch) / "out"
            talk = session(args.fatune.resolve(), mode, out, args.device)
            transcript = asyncio.run(asyncio.wait_for(talk, timeout=90 if args.device == RECORDING else 600))
        if args.transcript:
            args.transcript.write_text("\n".join(transcript) + "\n")
        if args.device == RECORDING:
            check_transcript(transcript, args.approve)
        print(f"mode {mode}: passed")


if __name__ == "__main__":
    main()

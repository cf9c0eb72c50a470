#!/usr/bin/env python3
"""The official Python SDK of the Model Context Protocol is a client of `fatune judge`, in each revision.

    judge_sdk_test.py --fatune PATH --venv FOLDER

FOLDER is the Python environment that `tools/bootstrap.sh test` makes. Without it the test is skipped (exit 77); under CI=true
that is a failure. The SDK itself checks each answer against the schemas of its revision and of the tool.
"""
import argparse
import asyncio
import json
import os
import pathlib
import sys

VERSION = "2.3.0"
SKIPPED = 77
STATELESS = "2026-07-28"
SUBMISSIONS = pathlib.Path(__file__).resolve().parents[1] / "data" / "judge" / "submissions.jsonl"


def enter_environment(folder):
    """Goes on in an interpreter that has the SDK, or skips the test."""
    if not (folder / f"mcp-{VERSION}").exists():
        fails = bool(os.environ.get("CI"))
        print(f"{'FAILED' if fails else 'skipped'}: no mcp {VERSION} of Python here (tools/bootstrap.sh test installs it)")
        sys.exit(1 if fails else SKIPPED)
    if pathlib.Path(sys.prefix).resolve() != folder.resolve():
        python = folder / "bin" / "python"
        os.execv(python, [str(python), *sys.argv])


async def session(fatune, mode):
    """One session through every tool, with the answers that are looked at."""
    from mcp.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client
    from mcp.shared.exceptions import MCPError

    server = StdioServerParameters(command=str(fatune), args=["judge", "--suite", "mission", "--device", "none", "--quiet"])
    async with Client(stdio_client(server), mode=mode) as client:
        if mode != STATELESS:  # then nothing is asked before the first request
            assert client.server_info.name == "fatune", client.server_info
        expected = "2025-11-25" if mode == "legacy" else STATELESS
        assert client.protocol_version == expected, client.protocol_version
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == ["list_problems", "get_problem", "submit_kernel", "history"], tools
        for tool in tools:
            assert tool.description and tool.input_schema["type"] == "object" and tool.output_schema, tool

        listed = await client.call_tool("list_problems", {"filter": "causal"})
        problems = listed.structured_content["problems"]
        assert len(problems) == 6 and problems[0]["id"] == "mission/mission-causal", problems
        stated = await client.call_tool("get_problem", {"id": "mission/wide"})
        assert [tensor["name"] for tensor in stated.structured_content["tensors"]] == ["q", "k", "v", "out"], stated

        phases = []

        async def note(progress, total, message):
            phases.append(message)

        submission = json.loads(SUBMISSIONS.read_text().splitlines()[0])["arguments"]
        judged = (await client.call_tool("submit_kernel", submission, progress_callback=note)).structured_content
        assert judged["schema"] == "fatune.judgement/1" and judged["outcome"] == "unavailable", judged
        assert phases == ["compiling"], phases
        history = (await client.call_tool("history", {})).structured_content["judgements"]
        assert [each["id"] for each in history] == [judged["id"]], history

        wrong = await client.call_tool("get_problem", {"id": "mission/wyde"})
        assert wrong.is_error and "did you mean mission/wide?" in wrong.content[0].text, wrong
        try:
            await client.call_tool("solve_problem", {})
        except MCPError as error:
            assert "there is no tool 'solve_problem'" in str(error), error
        else:
            raise AssertionError("a tool that there is not was called")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fatune", required=True, type=pathlib.Path)
    parser.add_argument("--venv", required=True, type=pathlib.Path)
    args = parser.parse_args()
    enter_environment(args.venv)
    for mode in ("auto", STATELESS, "legacy"):
        asyncio.run(asyncio.wait_for(session(args.fatune.resolve(), mode), timeout=60))
        print(f"mode {mode}: passed")


if __name__ == "__main__":
    main()

"""readme.py: Runs the README's commands with an installed program."""
import pathlib
import shlex

ROOT = pathlib.Path(__file__).resolve().parents[2]
MORE = {"sweep": ["--device", "recorded"], "export": ["--unverified"]}  # Without a GPU nothing is measured or verified.


def follow(case, fatune, folder):
    """Calls `fatune(*words)`, which runs in the empty folder, with each command of the README."""
    lines = [line for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("$ ./fatune ")]
    case.assertGreaterEqual(len(lines), 3)
    for line in lines:
        words = shlex.split(line)[2:]
        done = fatune(*words, *MORE.get(words[0], []))
        case.assertEqual(done.returncode, 0, (line, done.stderr))
    case.assertTrue((folder / "runs/mission/best.json").is_file())
    case.assertIn("<html", (folder / "report.html").read_text())
    case.assertEqual(len(list((folder / "out").glob("*.h"))), 1)

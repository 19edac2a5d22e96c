"""Runs modules of Hermes Agent on $HERMES_HOME. Reads a request [name, arguments] a line, and answers each with a line of JSON."""

import json
import os
import sys
from pathlib import Path

from agent.prompt_builder import build_skills_system_prompt
from tools import memory_tool, skill_manager_tool, skills_guard, skills_hub, skills_tool

home = Path(os.environ["HERMES_HOME"])


def entries(target):
    store = memory_tool.load_on_disk_store()
    return store.memory_entries if target == "memory" else store.user_entries


def memory(arguments):
    return json.loads(memory_tool.memory_tool(store=memory_tool.load_on_disk_store(), **arguments))


def add_many(count):
    store = memory_tool.load_on_disk_store()
    return [store.add("memory", f"Hermes wrote {i}").get("success") for i in range(count)]


held = []


def hold(entry):
    """Takes the lock of MEMORY.md and adds an entry. Release writes it."""
    path = home / "memories" / "MEMORY.md"
    lock = memory_tool.MemoryStore._file_lock(path)
    lock.__enter__()
    held.append((lock, path, entry))
    return True


def release():
    lock, path, entry = held.pop()
    path.write_text(path.read_text() + memory_tool.ENTRY_DELIMITER + entry)
    lock.__exit__(None, None, None)
    return True


def install(name, files):
    bundle = skills_hub.SkillBundle(name, files, "github", "owner/repo/" + name, "community", {"extra": {"kept": [1]}})
    folder = skills_hub.quarantine_bundle(bundle)
    return str(skills_hub.install_from_quarantine(folder, name, "", bundle, skills_guard.scan_skill(folder)))


requests = {
    "entries": entries,
    "prompt": lambda: memory_tool.load_on_disk_store().format_for_system_prompt("memory"),
    "memory": memory,
    "add_many": add_many,
    "hold": hold,
    "release": release,
    "index": lambda: build_skills_system_prompt(),
    "skills": lambda: json.loads(skills_tool.skills_list()),
    "view": lambda *a: json.loads(skills_tool.skill_view(*a)),
    "manage": lambda arguments: json.loads(skill_manager_tool.skill_manage(**arguments)),
    "install": install,
    "installed": lambda: {e["name"]: e for e in skills_hub.HubLockFile().list_installed()},
    "hash": lambda name: skills_guard.content_hash(home / "skills" / name),
    "uninstall": lambda name: skills_hub.uninstall_skill(name),
}

for line in sys.stdin:
    name, arguments = json.loads(line)
    answer = json.dumps(requests[name](*arguments))
    print(answer, flush=True)

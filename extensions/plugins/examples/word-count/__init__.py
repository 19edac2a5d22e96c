"""Counts the words of documents: as a tool, and after each edit of one."""

import json
from pathlib import Path

DOCUMENTS = (".md", ".rst", ".txt")


def words(path, cwd):
    return len(Path(cwd, path).read_text(errors="replace").split())


def register(ctx):
    limit = ctx.get_config("limit", 2000)

    def word_count(args, cwd=".", **_):
        if args.get("open_buffer"):  # the tool sees the unsaved buffer, not the file
            page = json.loads(ctx.dispatch_tool("read_file", {"path": args["path"]}))
            return {"words": len(page.get("content", "").split())}
        return {"words": words(args["path"], cwd)}

    def after(tool_name, args, cwd=".", **_):
        path = args.get("path", "")
        if tool_name != "write_file" or not path.endswith(DOCUMENTS):
            return None
        count = words(path, cwd)
        if count > limit:
            return "%s has %d words now; the user wants at most %d." % (path, count, limit)
        return None

    ctx.register_tool(
        name="word_count",
        toolset="documents",
        description="Count the words of a document.",
        schema={
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "relative to the workspace"},
                "open_buffer": {"type": "boolean", "description": "count the unsaved buffer of the editor (default false)"},
            },
            "required": ["path"],
        },
        handler=word_count,
        read_only=True,
    )
    ctx.register_hook("post_tool_call", after)

"""A conversation of Anthropic's official Python SDK with the stand-in for its API: thinking,
parallel calls, an image in a result, prompt caching, and errors."""

import json
import os

import anthropic

MODEL = "claude-opus-5-5"
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
client = anthropic.Anthropic(base_url=os.environ["STANDIN_URL"], api_key="k", max_retries=0)
report = {"stops": [], "blocks": [], "cached": [], "errors": {}, "events": []}
request = {
    "model": MODEL,
    "max_tokens": 4000,
    "thinking": {"type": "adaptive", "display": "summarized"},
    "output_config": {"effort": "high"},
    "system": [{"type": "text", "text": "Be brief. " * 300, "cache_control": {"type": "ephemeral", "ttl": "1h"}}],
    "tools": [
        {"name": "read", "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}}, "eager_input_streaming": True},
        {"name": "list", "input_schema": {"type": "object", "properties": {}}},
    ],
}
messages = [{"role": "user", "content": [{"type": "text", "text": "Go.", "cache_control": {"type": "ephemeral"}}]}]


def take(message):
    report["stops"].append(message.stop_reason)
    report["blocks"].append([block.type for block in message.content])
    report["cached"].append(message.usage.cache_read_input_tokens)
    messages.append({"role": "assistant", "content": [block.to_dict() for block in message.content]})
    return message


with client.messages.stream(**request, messages=messages) as stream:
    for event in stream:
        if event.type not in report["events"]:
            report["events"].append(event.type)
    first = take(stream.get_final_message())
report["inputs"] = [block.input for block in first.content if block.type == "tool_use"]
report["thinking"] = first.content[0].thinking
results = [
    {"type": "tool_result", "tool_use_id": block.id, "content": [
        {"type": "text", "text": "found"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}},
    ]}
    for block in first.content if block.type == "tool_use"
]
messages.append({"role": "user", "content": results + [{"type": "text", "text": "Go on.", "cache_control": {"type": "ephemeral"}}]})
take(client.messages.create(**request, messages=messages))
messages.append({"role": "user", "content": "Bye."})
with client.messages.stream(**request, messages=messages) as stream:
    last = take(stream.get_final_message())
report["refusal"] = last.stop_details.explanation
messages.append({"role": "user", "content": "Again."})


def fails(name, changed, key="k"):
    try:
        other = client.with_options(api_key=key)
        with other.messages.stream(**{**request, "messages": messages, **changed}) as stream:
            stream.get_final_message()
    except anthropic.APIStatusError as error:
        report["errors"][name] = f"{type(error).__name__}: {error.body['error']['type']}"
    else:
        report["errors"][name] = ""


fails("key", {}, key="wrong")
fails("system", {"system": "other"})
fails("budget", {"thinking": {"type": "enabled", "budget_tokens": 2000}})
fails("rate limit", {})
fails("overloaded", {})
with open(os.environ["HERMES_REPORT"], "w", encoding="utf-8") as out:
    json.dump(report, out, indent=1)

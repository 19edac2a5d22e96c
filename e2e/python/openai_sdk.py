"""A conversation of OpenAI's official Python SDK with the stand-in for the Responses API:
reasoning, parallel calls, an image in a result, a refusal, and errors."""

import json
import os

import openai

URL = os.environ["STANDIN_URL"]
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
client = openai.OpenAI(base_url=URL + "/v1", api_key="k", max_retries=0)
report = {"types": [], "texts": [], "summaries": [], "phases": [], "arguments": [], "cached": [], "errors": {}, "events": []}
schema = {"type": "object", "properties": {"path": {"type": "string"}}}
request = {
    "model": "gpt-5",
    "store": False,
    "instructions": "Be brief. " * 600,
    "include": ["reasoning.encrypted_content"],
    "reasoning": {"effort": "low", "summary": "auto"},
    "prompt_cache_key": "session",
    "tools": [{"type": "function", "name": "read", "description": "Reads.", "parameters": schema, "strict": False}],
}
items = [{"role": "user", "content": [{"type": "input_text", "text": "Go."}]}]


def ask():
    with client.responses.stream(**request, input=items) as stream:
        for event in stream:
            if event.type not in report["events"]:
                report["events"].append(event.type)
        response = stream.get_final_response()
    report["types"].append([item.type for item in response.output])
    report["texts"].append(response.output_text)
    report["cached"].append(response.usage.input_tokens_details.cached_tokens)
    for item in response.output:
        data = item.to_dict(exclude_unset=True, mode="json")
        data.pop("parsed_arguments", None)
        if item.type == "reasoning":
            report["summaries"].append([part.text for part in item.summary])
        if item.type == "message":
            report["phases"].append(item.phase)
            for part in data["content"]:
                part.pop("parsed", None)
        items.append(data)
    return response


first = ask()
calls = [item for item in first.output if item.type == "function_call"]
report["arguments"] = [call.arguments for call in calls]
items.append({"type": "function_call_output", "call_id": calls[0].call_id, "output": "text"})
image = {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64," + PIXEL}
items.append({"type": "function_call_output", "call_id": calls[1].call_id, "output": [image]})
ask()
items.append({"role": "user", "content": "More."})
refused = ask()
report["refusal"] = refused.output[0].content[0].refusal
report["incomplete"] = client.responses.create(**request, input="x", stream=True)
report["incomplete"] = [e.response.incomplete_details.reason for e in report["incomplete"] if e.type == "response.incomplete"][0]


def fails(name, call):
    try:
        for event in call():
            if event.type == "error":
                report["errors"][name] = f"event: {event.code}"
    except openai.APIError as e:
        report["errors"][name] = f"{type(e).__name__}: {e.code}"


def create(**changes):
    return lambda: client.responses.create(**{**request, "input": "x", "stream": True, **changes})


fails("rate limit", create())
fails("event", create())
fails("store", create(store=True))
fails("effort", create(reasoning={"effort": "max"}))
fails("result", create(input=[{"type": "function_call_output", "call_id": "x", "output": "x"}]))
fails("reasoning", create(input=[{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}, {"role": "user", "content": "x"}]))
wrong = openai.OpenAI(base_url=URL + "/v1", api_key="wrong", max_retries=0)
fails("key", lambda: wrong.responses.create(**request, input="x", stream=True))

with open(os.environ["HERMES_REPORT"], "w") as f:
    json.dump(report, f)

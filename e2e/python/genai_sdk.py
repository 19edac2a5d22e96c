"""A conversation of Google's official Python SDK with the stand-in for the Gemini API:
thoughts, signatures, parallel calls, a paused and a blocked response, and errors."""

import base64
import json
import os

from google import genai
from google.genai import errors, types

URL = os.environ["STANDIN_URL"]
PIXEL = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC")
MODEL = "gemini-3-flash-preview"


def client_with(key):
    options = types.HttpOptions(base_url=URL, retry_options=types.HttpRetryOptions(attempts=1))
    return genai.Client(api_key=key, vertexai=False, http_options=options)


client = client_with("k")
schema = {"type": "object", "properties": {"path": {"type": "string"}}, "additionalProperties": False}
config = types.GenerateContentConfig(
    system_instruction="Be brief.",
    max_output_tokens=1000,
    tools=[types.Tool(function_declarations=[types.FunctionDeclaration(name="read", description="Reads.", parameters_json_schema=schema)])],
    thinking_config=types.ThinkingConfig(include_thoughts=True, thinking_level="low"),
    automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
)
report = {"texts": [], "thoughts": [], "args": [], "signatures": 0, "finish": [], "usage": [], "errors": {}}
chat = client.chats.create(model=MODEL, config=config)


def ask(message):
    text, thoughts, calls, finish = "", "", [], None
    for chunk in chat.send_message_stream(message):
        usage = chunk.usage_metadata
        for candidate in chunk.candidates or []:
            finish = candidate.finish_reason or finish
            for part in candidate.content.parts if candidate.content and candidate.content.parts else []:
                if part.thought_signature:
                    report["signatures"] += 1
                if part.function_call:
                    calls.append(part.function_call)
                elif part.thought:
                    thoughts += part.text
                else:
                    text += part.text or ""
    report["texts"].append(text)
    report["thoughts"].append(thoughts)
    report["finish"].append(finish.value if finish else None)
    report["usage"].append([usage.cached_content_token_count > 0, usage.thoughts_token_count])
    return calls


calls = ask("Go.")
report["args"] = [call.args for call in calls]
image = types.FunctionResponsePart(inline_data=types.FunctionResponseBlob(mime_type="image/png", data=PIXEL))
results = [
    types.Part(function_response=types.FunctionResponse(id=calls[0].id, name="read", response={"output": "text"})),
    types.Part(function_response=types.FunctionResponse(id=calls[1].id, name="read", response={"output": ""}, parts=[image])),
]
ask(results)
ask("More.")


def fails(name, **changes):
    try:
        asked = client_with(changes.pop("key", "k"))
        for _ in asked.models.generate_content_stream(**{"model": MODEL, "contents": "x", "config": config, **changes}):
            pass
    except errors.APIError as e:
        report["errors"][name] = f"{e.code} {e.status}"


blocked = list(client.models.generate_content_stream(model=MODEL, contents="x", config=config))
report["blocked"] = blocked[0].prompt_feedback.block_reason.value
fails("overloaded")
fails("key", key="wrong")
fails("level", config=types.GenerateContentConfig(thinking_config=types.ThinkingConfig(thinking_level="xhigh")))
call = types.Part(function_call=types.FunctionCall(name="read", args={}))
prompt = types.Content(role="user", parts=[types.Part(text="x")])
result = types.Content(role="user", parts=[results[0]])
fails("no result", contents=[prompt, types.Content(role="model", parts=[call]), prompt])
fails("no signature", contents=[prompt, types.Content(role="model", parts=[call]), result])

with open(os.environ["HERMES_REPORT"], "w") as f:
    json.dump(report, f)

package api

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

// TestOverflow checks endpoints' messages about overlong requests, and the windows in them.
func TestOverflow(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		status int
		text   string // a message, or a body
		window int
	}{
		{400, "This model's maximum context length is 8192 tokens. However, your messages resulted in 8545 tokens. Please reduce the length of the messages.", 8192},
		{400, `{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","code":"context_length_exceeded"}}`, 0},
		{400, "Your input exceeds this model's context window.", 0},
		{400, "prompt is too long: 213462 tokens > 200000 maximum", 200000},
		{400, "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again", 200000},
		{413, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, 0},
		{400, "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).", 1048575},
		{400, `{"message":"Input is too long for requested model."}`, 0},
		{400, "ValidationException: Input exceeds the max input token limit", 0},
		{400, "This model's maximum prompt length is 131072 but the request contains 537812 tokens.", 131072},
		{400, "Prompt contains 140000 tokens, too large for model with 131072 maximum context length", 131072},
		{400, "Please reduce the length of the messages or completion. Current length is 68490 while limit is 65536", 65536},
		{400, "The input (516368 tokens) is longer than the model's context length (262144 tokens).", 262144},
		{422, `{"error":"Input validation error: ` + "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 100 `max_new_tokens`" + `","error_type":"validation"}`, 4096},
		{422, `{"error":"Input validation error: ` + "`inputs` must have less than 4096 tokens. Given: 5021" + `"}`, 4096},
		{400, "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5012.", 4081},
		{400, "Invalid request: Your request exceeded model token limit: 262144 (requested: 300000)", 262144},
		{400, "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 98304]", 98304},
		{400, "Input length 131393 exceeds the maximum allowed input length of 131040 tokens.", 131040},
		{400, "invalid params, context window exceeds limit (2013)", 0}, // the code of the error
		{400, `{"error":{"code":"1261","message":"Prompt exceeds max length"}}`, 0},
		{400, `{"error":{"code":"1261","message":"Prompt 超长"}}`, 0},
		{400, "the model's context length is only 8192 tokens, resulting in a maximum input length of 7000", 8192},
		{400, "The decoder prompt (length 8357) is longer than the maximum model length of 8192. Make sure that `max_model_len` is no smaller than the number of text tokens.", 8192},
		{503, "litellm.ServiceUnavailableError: OpenAIException - Requested token count exceeds the model's maximum context length of 131072 tokens.", 131072},
		{400, "litellm.ContextWindowExceededError: ContextWindowExceededError: bad", 0},
		{400, `{"error":{"code":400,"message":"request (9034 tokens) exceeds the available context size (8192 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9034,"n_ctx":8192}}`, 8192},
		{400, `{"error":{"code":400,"message":"too big","type":"exceed_context_size_error","n_prompt_tokens":9034,"n_ctx":8192}}`, 8192},
		{500, "input (9000 tokens) is larger than the max context size (8192 tokens). skipping", 8192},
		{500, "Context size has been exceeded.", 0},
		{400, "prompt too long; exceeded max context length by 1841 tokens", 0},
		{500, "the input length exceeds the context length", 0},
		{400, `{"error":"The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 8443>= n_ctx: 4096). Try to load the model with a larger context length"}`, 4096},
		{400, "Trying to keep the first 8443 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough.", 4096},
		{400, "Request length 71599 + 2048 is greater than max_seq_len 65536", 65536},
		{500, "Requested tokens (590) exceed context window of 512", 512},
		{500, "Number of tokens (757) exceeded maximum context length (512).", 512},
		{400, "Prompt has 256,468 tokens, but the configured context size is 256,000 tokens", 256000},
		{400, `{"error":{"message":"prompt token count of 391491 exceeds the limit of 128000","code":"model_max_prompt_tokens_exceeded"}}`, 128000},
		{413, `{"error":{"code":"tokens_limit_reached","message":"Request body too large for gpt-4o model. Max size: 8000 tokens."}}`, 8000},
		{429, "Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Requested 132819. The input or output tokens must be reduced in order to run successfully.", 30000},
		{413, "Request too large for model `llama` in organization `o` service tier `on_demand` on tokens per minute (TPM): Limit 6000, Requested 62142, please reduce your message size and try again.", 6000},
		{400, "The estimated number of input and maximum output tokens (41000) exceeded this model context window limit (32000).", 32000},
		{400, "This endpoint's maximum context length is 65536 tokens. However, you requested about 80000 tokens (78000 of text input, 2000 in the output). Please reduce the length of either one.", 65536},
		{413, "", 0},
		{400, `{"errors":[{"code":"invalid_request_entity","message":"the number of input tokens 9000 cannot exceed the total tokens limit 8192 for this model"}],"trace":"x","status_code":400}`, 8192},
		{400, `{"success":false,"errors":[{"code":7003,"message":"Prompt is too long"}],"result":null}`, 0},
		{400, `{"error_code":336007,"error_msg":"the max input characters is 20000"}`, 0},
		{0, `{"base_resp":{"status_code":1039,"status_msg":"tokens in request more than max tokens allowed"}}`, 0},
		{400, `{"Message":"Input is too long for requested model."}`, 0},
		{400, `{"detail":[{"loc":["body","messages"],"msg":"prompt is too long for this model","type":"value_error"}]}`, 0},
		{400, "Malformed input request: expected maxLength: 1000000, actual: 1200000, please reformat your input and try again.", 0},
		{400, "Invalid 'messages': array too long. Expected an array with maximum length 2048, but got an array with length 2049 instead.", 0},
		{400, "Invalid 'messages[1].content': string too long. Expected a string with maximum length 1048576, but got a string with length 1200000 instead.", 0},
		{400, "Invalid 'messages[7].tool_calls[0].function.arguments': string too long. Expected a string with maximum length 1048576, but got a string with length 1200000 instead.", 0},
		{400, "Invalid 'input[3].output': string too long. Expected a string with maximum length 10485760, but got a string with length 12000000 instead.", 0},
		{400, "Total tokens of image and text exceed max message tokens", 0},
		{400, "length of prompt_tokens (9000) must be less than max_seq_len (8192).", 8192},
		{400, "token数量超过上限。对话历史+问题的字数太多，需要精简输入", 0},
		{400, "请求的 token 数超过了模型的最大长度", 0},
		{500, "failed to decode the batch, n_batch = 0, ret = 1: the KV cache is full - try increasing it via the context size", 0},
		// Words in no list.
		{400, "Your input is 12000 tokens, but this model supports at most 8192.", 8192},
		{400, "Prompt has 9000 tokens, only 8192 are supported", 8192},
		{400, "Request too large. The request has 250000 tokens but the limit is 200000.", 200000},
		{400, "the combined length of prompt and completion must be at most 8192 tokens; got 9001", 8192},
		{400, "Model context limit of 8192 tokens reached", 8192},
		{400, "n_past exceeds n_ctx", 0},
		{400, "The conversation does not fit into 16k tokens of window", 16000},
		{422, "Sequence of 9001 tokens is more than the allowed 8192", 8192},
		{400, "Sorry, your chat history is too long.", 0},
		{400, "This request would use more than the context can hold: limit exceeded for context", 0},
	} {
		body := tc.text
		if !strings.HasPrefix(body, "{") && body != "" {
			encoded, err := json.Marshal(map[string]any{"error": map[string]string{"message": tc.text}})
			if err != nil {
				t.Fatal(err)
			}
			body = string(encoded)
		}
		got := Classify(tc.status, nil, []byte(body))
		if got.Kind != model.ErrOverflow || got.Window != tc.window {
			t.Errorf("%d %s: %s, window %d", tc.status, tc.text, got.Kind, got.Window)
		}
	}
	for text, status := range map[string]int{
		"Too many tokens, please wait before trying again.":                                               400,
		"Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000.": 429,
		"context deadline exceeded": 500,
		"max_tokens: 128000 > 64000, which is the maximum allowed number of output tokens for claude-haiku-4-5":                                            400,
		"Invalid max_tokens value, the valid range of max_tokens is [1, 8192]":                                                                             400,
		"Invalid 'tools[0].function.name': string too long. Expected a string with maximum length 64":                                                      400,
		"Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 150 instead.":                            400,
		"Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 60 instead.":      400,
		"Invalid 'messages[2].tool_call_id': string too long. Expected a string with maximum length 40, but got a string with length 60 instead.":          400,
		"Invalid 'tools[3].function.description': string too long. Expected a string with maximum length 1024, but got a string with length 1500 instead.": 400,
		"Throttled: too many tokens, please wait before trying again.":                                                                                     400,
		"The model is overloaded. Too many input tokens queued.":                                                                                           503,
		"messages.5.content: at most 100 images per request, but 300 were sent":                                                                            400,
		"Maximum concurrent requests exceeded":                                                                                                             400,
		"image exceeds 5 MB maximum":                                                                                                                       400,
		"messages: roles must alternate between user and assistant":                                                                                        400,
		"the model does not exist": 404,
	} {
		if got := Classify(status, nil, []byte(`{"error":{"message":`+string(must(json.Marshal(text)))+`}}`)); got.Kind == model.ErrOverflow {
			t.Errorf("%q is called an overflow", text)
		}
	}
}

func must(data []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return data
}

// TestOverflowTable checks each wording of the table: it matches without the general rules, and
// names a source.
func TestOverflowTable(t *testing.T) {
	t.Parallel()
	n := 0
	for line := range strings.Lines(overflowTable) {
		if line = strings.TrimRight(line, "\n"); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		n++
		words, source, ok := strings.Cut(line, "\t")
		if !ok || source == "" || strings.ToLower(words) != words {
			t.Errorf("%q: a wording in lower case, a tab and its source", line)
		}
		if !overflows(strings.ReplaceAll(words, "*", " x ")) {
			t.Errorf("%q is not found", words)
		}
	}
	if n != len(wordings()) || n < 60 {
		t.Errorf("%d lines, %d wordings", n, len(wordings()))
	}
}

// TestOverlong checks refusals explained only by the size of the request.
func TestOverlong(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		status, estimate, window int
		text                     string
		want                     bool
	}{
		{400, 9000, 8192, "9120 tokens is above our cap", true},
		{400, 9000, 128000, "You may send 8,192 tokens", true},
		{400, 9000, 128000, "You may send 512 tokens", false},
		{400, 9000, 8192, "Bad Request", true},
		{400, 900, 8192, "Bad Request", false},
		{400, 9000, 8192, "messages.3.content: invalid", false},
		{400, 9000, 8192, "max_tokens must be at most 16384 tokens", false},
		{429, 9000, 8192, "9120 tokens per minute", false},
		{404, 9000, 8192, "", false},
	} {
		kind := model.ErrRequest
		if got := Overlong(&model.Error{Kind: kind, Status: tc.status, Message: tc.text}, tc.estimate, tc.window); got != tc.want {
			t.Errorf("%d %q with %d of %d: %v", tc.status, tc.text, tc.estimate, tc.window, got)
		}
	}
}

// TestOutputLimit checks the limits in messages about too large a response limit.
func TestOutputLimit(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		sent, limit int
		whole       bool
		text        string
	}{
		{6000, 4096, true, "max_tokens is too large: 6000. This model supports at most 4096 completion tokens, whereas you provided 6000."},
		{128000, 64000, true, "max_tokens: 128000 > 64000, which is the maximum allowed number of output tokens for claude-haiku-4-5-20251001"},
		{32000, 8192, true, "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]"},
		{32000, 8192, true, "<400> InternalError.Algo.InvalidParameter: Range of max_tokens should be [1, 8192]"},
		{32000, 12288, true, "The parameter `max_completion_tokens` specified in the request are not valid: integer above maximum value, expected a value <= 12288, but got 32000 instead. Request id: 0217752964393142fa50af54af66c5cfb922304bfd59ea286af93"},
		{32000, 16384, true, "Invalid 'max_output_tokens': integer above maximum value. Expected a value <= 16384, but got 32000 instead."},
		{32000, 8192, true, "`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the `context_window` for this model"},
		{65536, 8192, true, "Unable to submit request because it has a maxOutputTokens value of 65536 but the supported range is from 1 (inclusive) to 8193 (exclusive)."},
		{16384, 1056, true, "This request requires more credits, or fewer max_tokens. You requested up to 16384 tokens, but can only afford 1056."},
		{4096, 3192, false, "'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's maximum context length is 8192 tokens and your request has 5000 input tokens (4096 > 8192 - 5000)."},
		{21333, 11760, false, "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again"},
		{4000, 3960, false, "This model's maximum context length is 4097 tokens. However, you requested 4137 tokens (137 in the messages, 4000 in the completion). Please reduce the length of the messages or completion."},
		{64000, 26768, false, "Requested token count exceeds the model's maximum context length of 32768 tokens. You requested a total of 70000 tokens: 6000 tokens from the input messages and 64000 tokens for the completion."},
		{16000, 15999, false, "This model's maximum context length is 131072 tokens. However, you requested 16000 output tokens and your prompt contains at least 115073 input tokens, for a total of at least 131073 tokens. Please reduce the length of the input prompt or reduce max_tokens."},
		{2000, 1096, false, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 3000 `inputs` tokens and 2000 `max_new_tokens`"},
		{32000, 16000, true, "max_tokens is too large"},
		{0, 0, false, "max_tokens is too large: 6000. This model supports at most 4096 completion tokens"},
		{4000, 0, false, "This model's maximum context length is 4097 tokens. However, you requested 8100 tokens (4100 in the messages, 4000 in the completion)."},
		{4000, 0, false, "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."},
		{4000, 0, false, "This model's maximum context length is 8192 tokens. However, your messages resulted in 8545 tokens."},
	} {
		if limit, whole := OutputLimit(tc.text, tc.sent); limit != tc.limit || limit > 0 && whole != tc.whole {
			t.Errorf("%s: %d, %v", tc.text, limit, whole)
		}
	}
}

// TestTemplateErrors checks that the errors of chat templates in public reports are refusals of the
// messages, with status 500 or as an event, and that other failures of a server are not.
func TestTemplateErrors(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"\n------------\nWhile executing CallExpression at line 19, column 27 in source:\n...% 2 == 0) -%}\n        {{ raise_exception(\"Conversation roles must alternate user...\n   ^\nError: Jinja Exception: Conversation roles must alternate user/assistant/user/assistant/...",
		"\n------------\nWhile executing FilterExpression at line 120, column 73 in source:\n..._name, args_value in tool_call.arguments|items %}\nError: Unknown (built-in) filter 'items' for type String",
		"Value is not callable: null at row 49, column 79:\n                {%- set content = (m_content.split('</think>')|last) %}",
		"Invalid tool call arguments passed: {\"query\": at row 76, column 80:\n{% if _args is not mapping %}",
		"Failed to parse tool call arguments as JSON: [json.exception.parse_error.101] parse error at line 1, column 2",
		"Cannot have 2 or more assistant messages at the end of the list.",
		"Assistant message must contain either 'content' or 'tool_calls'!",
		"Error rendering prompt with jinja template: \"Cannot pass both content and thinking in an assistant message with tool calls! Put the analysis message in one or the other, but not both.\".",
		"Error rendering prompt with jinja template: \"Unknown test: sequence\".",
		"No user query found in messages.",
		"template: :6:10: executing \"\" at <.Tools>: can't evaluate field Tools in type api.Tools",
		"template: :108:130: executing \"\" at <index $prop.Type 0>: error calling index: reflect: slice index out of range",
		"jinja2.exceptions.UndefinedError: 'dict object' has no attribute 'content'",
		"can only concatenate str (not \"NoneType\") to str",
		"Object of type Undefined is not JSON serializable",
		"Template error: invalid operation: tried to use + operator on unsupported types string and undefined (in <string>:4)",
		"Message has tool role, but there was no previous assistant message with a tool call!",
		"This model only supports single tool-calls at once!",
		"Unexpected role 'tool' after role 'system'",
		"Not the same number of function calls and responses",
		"Cannot set `add_generation_prompt` to True when the last message is from the assistant.",
	} {
		for _, status := range []int{0, 500, 502} {
			got := Classify(status, nil, must(json.Marshal(map[string]any{"error": map[string]any{"message": text, "type": "server_error"}})))
			if got.Kind != model.ErrRequest {
				t.Errorf("%d %q is %q", status, text, got.Kind)
			}
		}
	}
	for text, unsure := range map[string]bool{
		"KeyError: 'choices'": true, "TypeError: 'NoneType' object is not subscriptable": true, "'Request' object has no attribute 'user'": true,
		"jinja2.exceptions.UndefinedError: 'dict object' has no attribute 'content'": false, "Value is not callable: null at row 49, column 79": false,
	} {
		if got := Classify(500, nil, must(json.Marshal(map[string]any{"detail": text}))); got.Kind != model.ErrRequest || got.Unsure != unsure {
			t.Errorf("%q: %q, unsure: %v", text, got.Kind, got.Unsure)
		}
	}
	for _, text := range []string{"oops", "Internal server error", "upstream connect error", "model runner has unexpectedly stopped", "CUDA out of memory", "llama runner process has terminated: exit status 2", "timed out waiting for the message queue"} {
		if got := Classify(500, nil, must(json.Marshal(map[string]any{"error": map[string]any{"message": text}}))); got.Kind == model.ErrRequest {
			t.Errorf("%q is a refusal", text)
		}
	}
}

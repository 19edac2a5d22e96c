package standin

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// post sends a body to a server and returns the status and the response.
func post(t *testing.T, s *Server, body string) (int, string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/v1/messages", strings.NewReader(body))
	r.Header.Set("X-Api-Key", "k")
	r.Header.Set("Anthropic-Version", "2023-06-01")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	text, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Code, string(text)
}

// TestRejections compares rejected requests with similar accepted requests.
func TestRejections(t *testing.T) {
	t.Parallel()
	request := func(messages, more string) string {
		return `{"model":"claude-opus-5-5","max_tokens":2000,"messages":[` + messages + `]` + more + `}`
	}
	const (
		hi     = `{"role":"user","content":"hi"}`
		call   = `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"read","input":{}}]}`
		two    = `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"read","input":{}},{"type":"tool_use","id":"b","name":"read","input":{}}]}`
		result = `{"type":"tool_result","tool_use_id":"a","content":"x"}`
		marked = `{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}`
		long   = `{"type":"text","text":"x","cache_control":{"type":"ephemeral","ttl":"1h"}}`
	)
	user := func(blocks string) string { return `{"role":"user","content":[` + blocks + `]}` }
	assistant := func(blocks string) string { return `{"role":"assistant","content":[` + blocks + `]}` }
	old := func(body string) string { return strings.Replace(body, "claude-opus-5-5", "claude-sonnet-4-5", 1) }
	for name, tc := range map[string]struct{ good, bad, want string }{
		"alternation":         {request(hi+","+assistant(`{"type":"text","text":"x"}`)+","+hi, ""), request(hi+","+hi, ""), "must alternate"},
		"first role":          {request(hi, ""), request(assistant(`{"type":"text","text":"x"}`), ""), "must alternate"},
		"prefill":             {old(request(hi+","+assistant(`{"type":"text","text":"x"}`), "")), request(hi+","+assistant(`{"type":"text","text":"x"}`), ""), "prefill"},
		"trailing whitespace": {old(request(hi+","+assistant(`{"type":"text","text":"x"}`), "")), old(request(hi+","+assistant(`{"type":"text","text":"x "}`), "")), "trailing whitespace"},
		"missing result":      {request(hi+","+two+","+user(result+`,{"type":"tool_result","tool_use_id":"b"}`), ""), request(hi+","+two+","+user(result), ""), "without `tool_result` blocks immediately after: b"},
		"late result":         {request(hi+","+call+","+user(result), ""), request(hi+","+call+","+user(`{"type":"text","text":"x"}`), ""), "without `tool_result`"},
		"result after text":   {request(hi+","+call+","+user(result+`,{"type":"text","text":"x"}`), ""), request(hi+","+call+","+user(`{"type":"text","text":"x"},`+result), ""), "must come before"},
		"result of no call":   {request(hi, ""), request(user(result), ""), "unexpected `tool_use_id`"},
		"empty text":          {request(user(`{"type":"text","text":"x"}`), ""), request(user(`{"type":"text","text":""}`), ""), "non-empty"},
		"blank text":          {request(hi, ""), request(user(`{"type":"text","text":" \n"}`), ""), "non-whitespace"},
		"no content":          {request(hi, ""), request(user(""), ""), "non-empty content"},
		"five marks":          {request(user(strings.Repeat(marked+",", 3)+marked), ""), request(user(strings.Repeat(marked+",", 4)+marked), ""), "maximum of 4 blocks"},
		"long after short":    {request(user(long+","+marked), ""), request(user(marked+","+long), ""), "must not come after"},
		"budget":              {old(request(hi, `,"thinking":{"type":"enabled","budget_tokens":1024}`)), old(request(hi, `,"thinking":{"type":"enabled","budget_tokens":2000}`)), "must be greater than"},
		"small budget":        {old(request(hi, "")), old(request(hi, `,"thinking":{"type":"enabled","budget_tokens":1000}`)), "greater than or equal to 1024"},
		"budget of a new one": {request(hi, `,"thinking":{"type":"adaptive"}`), request(hi, `,"thinking":{"type":"enabled","budget_tokens":1024}`), "is not supported for this model"},
		"adaptive of an old":  {old(request(hi, "")), old(request(hi, `,"thinking":{"type":"adaptive"}`)), "adaptive thinking is not supported"},
		"effort of an old":    {request(hi, `,"output_config":{"effort":"low"}`), old(request(hi, `,"output_config":{"effort":"low"}`)), "effort"},
		"effort level":        {request(hi, `,"output_config":{"effort":"max"}`), request(hi, `,"output_config":{"effort":"minimal"}`), "effort"},
		"forged signature":    {request(hi, ""), request(hi+","+assistant(`{"type":"thinking","thinking":"x","signature":"EqQB"},{"type":"text","text":"x"}`)+","+hi, ""), "Invalid `signature`"},
		"no signature":        {request(hi, ""), request(hi+","+assistant(`{"type":"thinking","thinking":"x"},{"type":"text","text":"x"}`)+","+hi, ""), "signature: Field required"},
		"forged data":         {request(hi, ""), request(hi+","+assistant(`{"type":"redacted_thinking","data":"EqQB"},{"type":"text","text":"x"}`)+","+hi, ""), "Invalid `data`"},
		"thinking at the end": {request(hi, ""), request(hi+","+assistant(`{"type":"text","text":"x"},{"type":"thinking","thinking":"x","signature":"x"}`)+","+hi, ""), "final block"},
		"no thinking":         {old(request(hi+","+call+","+user(result), "")), old(request(hi+","+call+","+user(result), `,"thinking":{"type":"enabled","budget_tokens":1024}`)), "Expected `thinking`"},
		"id":                  {request(hi, ""), request(hi+","+strings.Replace(call, `"a"`, `"a:0"`, 1)+","+user(strings.Replace(result, `"a"`, `"a:0"`, 1)), ""), "should match pattern"},
		"same id":             {request(hi, ""), request(hi+","+strings.Replace(two, `"b"`, `"a"`, 1)+","+user(result), ""), "unique"},
		"input":               {request(hi, ""), request(hi+","+strings.Replace(call, `{}`, `"{}"`, 1)+","+user(result), ""), "valid dictionary"},
		"schema":              {request(hi, `,"tools":[{"name":"a","input_schema":{"type":"object"}}]`), request(hi, `,"tools":[{"name":"a","input_schema":{}}]`), "should be 'object'"},
		"schema alternatives": {request(hi, ""), request(hi, `,"tools":[{"name":"a","input_schema":{"type":"object","anyOf":[]}}]`), "does not support oneOf"},
		"no schema":           {request(hi, ""), request(hi, `,"tools":[{"name":"a"}]`), "input_schema: Field required"},
		"tool name":           {request(hi, ""), request(hi, `,"tools":[{"name":"a b","input_schema":{"type":"object"}}]`), "should match pattern"},
		"two tools":           {request(hi, ""), request(hi, `,"tools":[{"name":"a","input_schema":{"type":"object"}},{"name":"a","input_schema":{"type":"object"}}]`), "unique"},
		"choice":              {request(hi, ""), request(hi, `,"tool_choice":{"type":"none"}`), "while providing tools"},
		"no limit":            {request(hi, ""), `{"model":"m","messages":[` + hi + `]}`, "max_tokens: Field required"},
		"unknown field":       {request(hi, `,"service_tier":"auto"`), request(hi, `,"effort":"low"`), "Extra inputs"},
		"image":               {request(user(`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"QQ=="}}`), ""), request(user(`{"type":"image","source":{"type":"base64","media_type":"image/bmp","data":"QQ=="}}`), ""), "media_type"},
		"image data":          {request(hi, ""), request(user(`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"?"}}`), ""), "base64"},
		"system":              {request(hi, `,"system":"x"`), request(hi, `,"system":[{"type":"text","text":""}]`), "system"},
		"empty result":        {request(hi+","+call+","+user(strings.Replace(result, `"x"`, `[]`, 1)), ""), request(hi+","+call+","+user(strings.Replace(result, `"x"`, `[{"type":"text","text":""}]`, 1)), ""), "non-empty"},
	} {
		s := &Server{Next: func(*Request) Reply { return Reply{Blocks: []Block{Text("ok")}} }}
		if status, got := post(t, s, tc.good); status != 200 {
			t.Errorf("%s: the good request: %d %s", name, status, got)
		}
		if status, got := post(t, s, tc.bad); status != 400 || !strings.Contains(got, tc.want) {
			t.Errorf("%s: the bad request: %d %s", name, status, got)
		}
		if r := s.Requests(); len(r) != 2 || r[0].Rejected != "" || r[1].Rejected == "" {
			t.Errorf("%s: %d requests", name, len(r))
		}
	}
}

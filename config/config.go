// Package config reads what the user has decided: $HERMES_HOME/config.yaml, .env,
// the environment, and what the editor passes, in that rising order of precedence.
//
// Two sources belong to a repository, not to the user: .hermes/config.yaml in a
// workspace and the editor's workspace/configuration. From them only keys marked
// harmless count (struct tag repo:"yes"); the rest is ignored and reported.
//
// Loading never fails as a whole: an unknown key, a wrong type or a broken file is
// a [Problem] with file and line, and the rest still counts.
package config

// Config is everything that can be set. The struct tags are the one source of the
// key names, the JSON Schema, the defaults' words and the trust rules:
// doc describes a key, enum lists its values, repo:"yes" lets a repository set it, and
// repo:"name" lets a repository set it to a plain name (see plainName).
// guard says what happens while the value is wrong: then the value safe counts, or, if
// there is none, the wrong value, which whoever uses it rejects. A typing error never
// means less protection.
type Config struct {
	Model            Model                `json:"model" doc:"The language model and where it is reached."`
	Agent            Agent                `json:"agent" doc:"How turns run."`
	CodeExecution    CodeExecution        `json:"code_execution" doc:"Scripts that call the tools."`
	Terminal         Terminal             `json:"terminal" doc:"Shell commands."`
	Web              Web                  `json:"web" doc:"Web search and extraction."`
	Approvals        Approvals            `json:"approvals" doc:"What runs without asking. A courtesy that catches mistakes, not a boundary."`
	CommandAllowlist []string             `json:"command_allowlist" doc:"Commands that were answered with always."`
	Delegation       Delegation           `json:"delegation" doc:"Subagents."`
	Checkpoints      Checkpoints          `json:"checkpoints" doc:"Snapshots before changes."`
	Compaction       Compaction           `json:"compaction" doc:"What happens when the context window fills."`
	Store            Store                `json:"store" doc:"Where conversations are kept."`
	Sandbox          Sandbox              `json:"sandbox" doc:"What child processes may reach."`
	MCPServers       map[string]MCPServer `json:"mcp_servers" doc:"Model Context Protocol servers, by name."`
	Hooks            map[string]any       `json:"hooks" doc:"Programs that look at tool calls."`
}

// Model says which model answers, and where.
type Model struct {
	Default       string   `json:"default" repo:"name" doc:"Model id sent to the endpoint."`
	Provider      string   `json:"provider" enum:"auto,openai,openrouter,ollama,lmstudio,custom,embedded" guard:"no request is sent" doc:"Who serves the model; auto: the first of openai and openrouter that has a key."`
	BaseURL       string   `json:"base_url" doc:"Any OpenAI-compatible /v1; empty: the provider's own."`
	APIKey        Keys     `json:"api_key" doc:"A key, or a list that is rotated on 401, 402 and 429; empty: the provider's environment variable."`
	ContextWindow int      `json:"context_window" doc:"Tokens; 0: from the endpoint's metadata, else a table, else 128000."`
	Fallback      []string `json:"fallback" doc:"Models tried when the first fails for good."`
	TextCalls     string   `json:"text_calls" enum:"auto,never,always" guard:"text is never a call" safe:"never" doc:"Whether tool calls that a model writes as text count; auto: until it has made a native one."`
}

// Agent says how turns run.
type Agent struct {
	MaxIterations int               `json:"max_iterations" repo:"yes" doc:"Model requests in one turn at most."`
	OnNewPrompt   string            `json:"on_new_prompt" enum:"interrupt,queue" repo:"yes" doc:"What a prompt does to the turn that runs in its session."`
	Tools         Tools             `json:"tools" doc:"Toolsets offered."`
	Personality   string            `json:"personality" doc:"Name of one of agent.personalities: the manner of new sessions."`
	Personalities map[string]string `json:"personalities" doc:"Name to words about the manner in which it speaks."`
}

// Tools selects toolsets by name.
type Tools struct {
	Enabled  []string `json:"enabled" guard:"its texts count" doc:"Replaces the host's default when not empty."`
	Disabled []string `json:"disabled" guard:"its texts count" doc:"Taken away afterwards."`
}

// CodeExecution bounds execute_code.
type CodeExecution struct {
	Mode           string `json:"mode" enum:"project,strict" repo:"yes" doc:"project runs in the workspace with its interpreter, strict in a folder of its own."`
	Timeout        int    `json:"timeout" doc:"Seconds."`
	MaxToolCalls   int    `json:"max_tool_calls" doc:"Calls that one script may make."`
	MaxStdoutBytes int    `json:"max_stdout_bytes" doc:"Bytes of output kept."`
	MaxStderrBytes int    `json:"max_stderr_bytes" doc:"Bytes of error output kept."`
	Python         string `json:"python" repo:"yes" doc:"Explicit interpreter."`
	Persist        bool   `json:"persist" doc:"Keep variables between calls of a session."`
	MaxMemoryMB    int    `json:"max_memory_mb" doc:"Mebibytes."`
	MaxProcesses   int    `json:"max_processes" doc:"Processes of one script."`
}

// Terminal says where and how long commands run.
type Terminal struct {
	Backend          string   `json:"backend" enum:"local,ssh,docker,singularity" guard:"commands are rejected" doc:"Where commands run; docker may be podman."`
	Cwd              string   `json:"cwd" doc:"Where a session begins on a backend; empty: the home folder over ssh, else the workspace."`
	Shell            string   `json:"shell" doc:"What runs commands here; empty: your bash or zsh, else what there is."`
	SSHHost          string   `json:"ssh_host" doc:"The machine of backend ssh; names of ~/.ssh/config, too."`
	SSHUser          string   `json:"ssh_user" doc:"User there; empty: as ssh has it."`
	SSHPort          int      `json:"ssh_port" doc:"Port there; 0: as ssh has it."`
	SSHKey           string   `json:"ssh_key" doc:"File with a private key; empty: as ssh has it."`
	SSHOptions       []string `json:"ssh_options" doc:"Further options of ssh, as -o takes them."`
	DockerImage      string   `json:"docker_image" doc:"Image of backend docker."`
	DockerProgram    string   `json:"docker_program" doc:"docker or podman; empty: whichever answers."`
	SingularityImage string   `json:"singularity_image" doc:"Image of backend singularity."`
	Timeout          int      `json:"timeout" repo:"yes" doc:"Seconds."`
	EnvPassthrough   []string `json:"env_passthrough" doc:"Names that scripts and commands may see although they look secret."`
}

// Web configures web_search and web_extract.
type Web struct {
	Search       WebSearch `json:"search" doc:"Where web_search asks; without a backend it is not offered."`
	AllowPrivate bool      `json:"allow_private" doc:"Let web_extract reach loopback and private addresses, and use the environment's proxy."`
}

// WebSearch says where web_search asks.
type WebSearch struct {
	Backend string         `json:"backend" enum:",searxng,brave,tavily,firecrawl,json" doc:"json: any engine that answers in JSON, described by the keys below."`
	URL     string         `json:"url" doc:"The endpoint; empty: the backend's own. For json a template with {searchTerms} and {count}."`
	APIKey  string         `json:"api_key" doc:"Empty: the backend's environment variable."`
	Headers map[string]any `json:"headers" doc:"json: header to value, in which {key} is the key."`
	Body    string         `json:"body" doc:"json: what is posted, a template; empty: nothing, and GET."`
	Results string         `json:"results" doc:"json: path of the list of results, such as web.results."`
	Fields  SearchFields   `json:"fields" doc:"json: paths within a result."`
}

// SearchFields say what is where in a result of an engine.
type SearchFields struct {
	URL         string `json:"url" doc:"Its address."`
	Title       string `json:"title" doc:"Its title."`
	Description string `json:"description" doc:"What it says."`
}

// Approvals says what asks, and for how long.
type Approvals struct {
	Mode    string   `json:"mode" enum:"ask,manual,smart,off" guard:"actions ask as in mode ask" safe:"ask" doc:"manual is another word for ask."`
	Timeout int      `json:"timeout" doc:"Seconds until no answer is a no."`
	Deny    []string `json:"deny" guard:"its texts count, and for what is no text, every command is rejected" safe:"*" doc:"Globs that are always refused."`
}

// Delegation bounds subagents.
type Delegation struct {
	MaxConcurrentChildren int              `json:"max_concurrent_children" doc:"Children at once."`
	MaxSpawnDepth         int              `json:"max_spawn_depth" doc:"1: children, no grandchildren."`
	MaxIterations         int              `json:"max_iterations" repo:"yes" doc:"Model requests of a child at most."`
	DefaultToolsets       []string         `json:"default_toolsets" doc:"Toolsets of a child that asks for none."`
	InactivityTimeout     int              `json:"inactivity_timeout" doc:"Seconds without a sign of life after which a child is stopped; 0: never."`
	MaxBatchTokens        int              `json:"max_batch_tokens" doc:"Tokens that the children of one call may use together; 0: no limit."`
	Model                 string           `json:"model" repo:"name" doc:"Model of the children; empty: the parent's."`
	Provider              string           `json:"provider" enum:",openai,openrouter,ollama,lmstudio,custom,embedded" guard:"no subagent uses it" doc:"Empty: the parent's."`
	BaseURL               string           `json:"base_url" doc:"Empty: the parent's."`
	APIKey                Keys             `json:"api_key" doc:"Empty: the parent's, at the parent's endpoint only."`
	Routes                map[string]Route `json:"routes" doc:"Name to {model, provider, base_url, api_key}, asked for by a task."`
}

// Checkpoints bounds snapshots.
type Checkpoints struct {
	Enabled   bool `json:"enabled" doc:"Keep what a turn is about to change."`
	MaxMB     int  `json:"max_mb" doc:"Mebibytes in all."`
	MaxFileMB int  `json:"max_file_mb" doc:"Mebibytes of one file."`
}

// Compaction says when a conversation is shortened.
type Compaction struct {
	At float64 `json:"at" repo:"yes" doc:"Share of the context window at which the older part is summed up; 0: only on request, or when a request was too long."`
}

// Store says how durable a write is.
type Store struct {
	Synchronous string `json:"synchronous" enum:"normal,full" doc:"normal survives kill -9, full also power loss."`
}

// Sandbox bounds child processes.
type Sandbox struct {
	Mode    string   `json:"mode" enum:"off,workspace-write,read-only" guard:"commands and scripts are rejected" doc:"What child processes may write."`
	Network bool     `json:"network" guard:"child processes have no network" safe:"false" doc:"Let child processes use the network."`
	Caches  string   `json:"caches" enum:"own,shared" guard:"tools have caches of their own" safe:"own" doc:"own: what child processes write to the caches of tools is the agent's, and your programs never run it; shared: they write your caches."`
	Read    []string `json:"read" doc:"Files and folders of your home that child processes can read, besides tools, caches and settings; may begin with ~."`
}

// Default is the configuration of a user who has set nothing.
func Default() *Config {
	return &Config{
		Model: Model{Default: "gpt-5", Provider: "openai", Fallback: []string{}, TextCalls: "auto"},
		Agent: Agent{
			MaxIterations: 90, OnNewPrompt: "interrupt", Personalities: map[string]string{},
			Tools: Tools{Enabled: []string{}, Disabled: []string{}},
		},
		CodeExecution: CodeExecution{
			Mode: "project", Timeout: 300, MaxToolCalls: 50, MaxStdoutBytes: 50000,
			MaxStderrBytes: 10000, MaxMemoryMB: 2048, MaxProcesses: 256,
		},
		Terminal: Terminal{Backend: "local", Timeout: 180, SSHOptions: []string{}, EnvPassthrough: []string{}},
		Web: Web{Search: WebSearch{
			Headers: map[string]any{}, Results: "results",
			Fields: SearchFields{URL: "url", Title: "title", Description: "description"},
		}},
		Approvals:        Approvals{Mode: "ask", Timeout: 300, Deny: []string{}},
		CommandAllowlist: []string{},
		Delegation: Delegation{
			MaxConcurrentChildren: 3, MaxSpawnDepth: 1, MaxIterations: 50,
			DefaultToolsets: []string{"terminal", "file", "web"}, Routes: map[string]Route{},
		},
		Checkpoints: Checkpoints{Enabled: true, MaxMB: 500, MaxFileMB: 10},
		Compaction:  Compaction{At: 0.8},
		Store:       Store{Synchronous: "normal"},
		Sandbox:     Sandbox{Mode: "workspace-write", Network: true, Caches: "own", Read: []string{}},
		MCPServers:  map[string]MCPServer{},
		Hooks:       map[string]any{},
	}
}

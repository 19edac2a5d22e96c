// Package config reads the user's settings: $HERMES_HOME/config.yaml, .env, the environment, and
// the editor's initializationOptions, in that rising order of precedence.
//
// A [Schema] holds all keys: the keys of [Config], and a [Section] for each feature with settings.
//
// A repository controls two further sources: .hermes/config.yaml in a workspace folder and the
// editor's workspace/configuration. From them, only keys marked as harmless (struct tag repo:"yes")
// apply. All others are ignored and reported.
//
// Loading never fails as a whole. An unknown key, a wrong type or a broken file is a [Problem] with
// file and line. All other keys still apply.
package config

// Config holds the settings outside the features' sections. The struct tags are the only source of
// the key names, the JSON Schema, the descriptions and the trust rules:
//   - doc describes a key.
//   - enum lists its values.
//   - repo:"yes" lets a repository set it, repo:"name" lets a repository set it to a plain name.
//   - guard describes the effect of a wrong value. Then the value of the tag safe applies. If there
//     is none, the wrong value applies, and the code that reads it rejects it. A typing error never
//     means less protection.
//   - provider:"yes" marks the name of a provider: a known one, or a key of providers.
//   - secret:"yes" marks a text to redact in all output, secret:"names" a mapping whose secrets are
//     recognized by name.
type Config struct {
	Model            Model                `json:"model" doc:"The language model and its endpoint."`
	Providers        map[string]Provider  `json:"providers" doc:"Providers, by name: changes to known ones, or new ones."`
	Auxiliary        map[string]TaskModel `json:"auxiliary" doc:"Models of single tasks, in place of model.small: compression (the notes of a compaction), approval (the automatic review of actions), goal_judge (whether a goal is reached), title_generation (/title auto) and vision (descriptions of pictures for models that do not see them)."`
	Images           Images               `json:"images" doc:"Pictures that models get."`
	Agent            Agent                `json:"agent" doc:"How turns run."`
	Terminal         Terminal             `json:"terminal" doc:"Shell commands."`
	Approvals        Approvals            `json:"approvals" doc:"Which actions require approval. Approvals are advisory: they catch mistakes and are no boundary."`
	CommandAllowlist []string             `json:"command_allowlist" doc:"Commands for which the user chose “Always allow”."`
	Compaction       Compaction           `json:"compaction" doc:"When older messages are replaced by a summary."`
	Store            Store                `json:"store" doc:"The session store."`
	Sandbox          Sandbox              `json:"sandbox" doc:"What commands and scripts can reach."`
	Files            Files                `json:"files" doc:"Edits of documents that are open in the editor."`
	Limits           Limits               `json:"limits" doc:"Limits of what is spent. Before a request that could pass one, you are asked. 0: no limit."`
}

// Model selects the model and its endpoint.
type Model struct {
	Default        string `json:"default" repo:"name" doc:"Model id, or PROVIDER/MODEL."`
	Provider       string `json:"provider" provider:"yes" guard:"no request is sent" doc:"Service that runs the model: a known provider (docs/models.md), a name under providers, custom or embedded. auto: the first known provider that has a key."`
	API            string `json:"api" enum:"auto,chat,responses,messages,gemini" guard:"no request is sent" doc:"API of the provider custom. Elsewhere providers.NAME.api selects it."`
	BaseURL        string `json:"base_url" doc:"Address of the provider custom, such as any OpenAI-compatible /v1. Empty: the provider's own."`
	APIKey         Keys   `json:"api_key" doc:"A key, or a list that is rotated on 401, 402 and 429. Empty: the provider's environment variable."`
	Effort         string `json:"effort" enum:"default,none,minimal,low,medium,high,xhigh,max" repo:"yes" doc:"How much the model reasons. default: as the provider decides. A level that the model lacks becomes the nearest lower one."`
	MaxTokens      int    `json:"max_tokens" doc:"Most tokens of one response. 0: the model's own limit, at most 32000."`
	ContextWindow  int    `json:"context_window" doc:"Context window in tokens. 0: from the endpoint's metadata, else from a table, else 128000."`
	Cache          Cache  `json:"cache" doc:"The provider's prompt cache."`
	ServiceTier    string `json:"service_tier" doc:"Service tier that is sent to the provider. Empty: none."`
	StallTimeout   int    `json:"stall_timeout" doc:"Seconds without an event after which a response is given up. The first event can take three times as long."`
	Fallback       Models `json:"fallback" doc:"Models that are tried in order if a model fails for good: MODEL, PROVIDER/MODEL, or {provider, model}."`
	Small          string `json:"small" doc:"PROVIDER/MODEL for compaction, the automatic review of actions, the judgment of goals and descriptions of pictures. Empty: the session's model."`
	SupportsVision *bool  `json:"supports_vision" doc:"Whether the model sees pictures. null: as its endpoint says, else whether it rejected one, else by its id."`
	Pool           Pool   `json:"pool" doc:"How one of several keys is chosen."`
	Profile        string `json:"profile" enum:"auto,full,small" guard:"the window decides" safe:"auto" doc:"How much a session sends. small: for context windows of local models: five tools with short descriptions, short texts, short results. auto: small if the window is below 24000 tokens."`
	TextCalls      string `json:"text_calls" enum:"auto,never,always" guard:"text is never a call" safe:"never" doc:"Whether tool calls that a model writes as text run. auto: until the model has made a native call."`
}

// Cache configures the provider's prompt cache.
type Cache struct {
	Mode string `json:"mode" enum:"auto,off" doc:"auto: requests mark what the provider caches, where it needs marks."`
	TTL  string `json:"ttl" enum:"short,long" doc:"How long the provider keeps a prefix. short: 5 to 30 minutes. long: 1 to 12 hours, at a higher price."`
}

// TaskModel is the model of a task.
type TaskModel struct {
	Provider string `json:"provider" doc:"Provider of the model. Empty, auto or main: the session's."`
	Model    string `json:"model" doc:"Model id, or PROVIDER/MODEL. Empty: model.small."`
	BaseURL  string `json:"base_url" doc:"Address of another endpoint, with the API of the provider, else of Chat Completions. No key of the session is sent there."`
	APIKey   Keys   `json:"api_key" doc:"Key of the endpoint. Empty: that of the provider."`
	Timeout  int    `json:"timeout" doc:"Seconds for one request. 0: 120."`
}

// Pool selects among several keys.
type Pool struct {
	Strategy string `json:"strategy" enum:"fill_first,round_robin,least_used" doc:"Which key a new session gets."`
	Cooldown int    `json:"cooldown" doc:"Seconds for which a limited key rests if the response names no time."`
}

// Provider is a service that runs models.
type Provider struct {
	BaseURL       string                `json:"base_url" doc:"Address. A provider that is not known needs it."`
	API           string                `json:"api" enum:"auto,chat,responses,messages,gemini" guard:"no request is sent" doc:"API that the provider speaks. auto: of a known provider its own, of an address that ends in /anthropic messages, else chat."`
	APIKey        Keys                  `json:"api_key" doc:"A key, or a list of keys (a pool)."`
	KeyEnv        string                `json:"key_env" doc:"Environment variable with the key."`
	KeyCommand    string                `json:"key_command" doc:"Command that prints the key. It runs again after 401 and every 30 minutes."`
	Headers       map[string]string     `json:"headers" secret:"names" doc:"Headers of each request. Values can contain ${VARIABLE}."`
	Proxy         string                `json:"proxy" doc:"Proxy. Empty: HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY apply."`
	CAFile        string                `json:"ca_file" doc:"File with PEM certificates that are trusted besides the system's."`
	MaxConcurrent int                   `json:"max_concurrent" doc:"Most requests at once for each key. 0: 8."`
	ExtraBody     map[string]any        `json:"extra_body" doc:"Fields that are added to the top level of each request."`
	Models        map[string]ModelFacts `json:"models" doc:"Facts about models, by id."`
}

// ModelFacts are facts about a model of a provider. Empty fields come from the tables.
type ModelFacts struct {
	ContextWindow int      `json:"context_window" doc:"Context window in tokens."`
	MaxOutput     int      `json:"max_output" doc:"Most tokens of one response."`
	Images        *bool    `json:"images" doc:"Whether the model accepts images."`
	Effort        []string `json:"effort" doc:"Levels of effort that the model has."`
	Cost          Price    `json:"cost" doc:"Price in US dollars per million tokens."`
}

// Price is in US dollars per million tokens.
type Price struct {
	Input      float64 `json:"input" doc:"Input tokens."`
	Output     float64 `json:"output" doc:"Output tokens."`
	CacheRead  float64 `json:"cache_read" doc:"Input tokens that come from the prompt cache."`
	CacheWrite float64 `json:"cache_write" doc:"Input tokens that the prompt cache stores."`
}

// Images limits the pictures sent to models.
type Images struct {
	MaxSide   int `json:"max_side" doc:"Pixels of the longest side. A larger picture is scaled down."`
	MaxBytes  int `json:"max_bytes" doc:"Most bytes of a picture. A larger one becomes a JPEG."`
	MaxPixels int `json:"max_pixels" doc:"Most pixels of a picture before it is scaled down. A larger one is rejected."`
}

// Agent configures turns.
type Agent struct {
	MaxIterations  int               `json:"max_iterations" repo:"yes" doc:"Most model requests in one turn."`
	OnNewPrompt    string            `json:"on_new_prompt" enum:"interrupt,queue" repo:"yes" doc:"What a new prompt does to the running turn of its session."`
	ImageInputMode string            `json:"image_input_mode" enum:"auto,native,text" guard:"pictures are sent as text" safe:"text" doc:"How models get pictures. auto: as pictures if the model sees them. native: every model gets pictures. text: no model does."`
	Tools          Tools             `json:"tools" doc:"Toolsets that are offered."`
	Personality    string            `json:"personality" doc:"A name in agent.personalities: the persona of new sessions."`
	Personalities  map[string]string `json:"personalities" doc:"Persona texts, by name."`
}

// Tools selects toolsets by name.
type Tools struct {
	Enabled  []string `json:"enabled" guard:"its texts apply" doc:"Toolsets that replace the host's default. Empty: the default."`
	Disabled []string `json:"disabled" guard:"its texts apply" doc:"Toolsets that are then removed."`
	Deferred []string `json:"deferred" doc:"Built-in tools that requests leave out. The model finds them with tool_search."`
}

// Terminal configures where and for how long commands run.
type Terminal struct {
	Backend          string   `json:"backend" enum:"local,ssh,docker,singularity" guard:"commands are rejected" doc:"Where commands run."`
	Cwd              string   `json:"cwd" doc:"First directory on a backend. Empty: the home directory over ssh, else the workspace folder."`
	Shell            string   `json:"shell" doc:"Shell for local commands. Empty: your bash or zsh, else the first that exists."`
	SSHHost          string   `json:"ssh_host" doc:"Machine of the backend ssh. A name of ~/.ssh/config works, too."`
	SSHUser          string   `json:"ssh_user" doc:"User on that machine. Empty: as ssh is configured."`
	SSHPort          int      `json:"ssh_port" doc:"Port of that machine. 0: as ssh is configured."`
	SSHKey           string   `json:"ssh_key" doc:"File with a private key. Empty: as ssh is configured."`
	SSHOptions       []string `json:"ssh_options" doc:"Further options of ssh, in the form that -o takes."`
	DockerImage      string   `json:"docker_image" doc:"Image of the backend docker."`
	DockerProgram    string   `json:"docker_program" doc:"docker or podman. Empty: the first that answers."`
	SingularityImage string   `json:"singularity_image" doc:"Image of the backend singularity."`
	Timeout          int      `json:"timeout" repo:"yes" doc:"Timeout of a command in seconds."`
	LoginPath        bool     `json:"login_path" doc:"Ask your login shell once for the folders that your profile adds to PATH, before the first command."`
	EnvPassthrough   []string `json:"env_passthrough" doc:"Environment variables that scripts and commands can see although their names look secret."`
}

// Approvals configures which actions require approval, and the timeout of requests.
type Approvals struct {
	Mode    string   `json:"mode" enum:"ask,manual,careful,smart,off" guard:"actions require approval as in mode ask" safe:"ask" doc:"Which actions require approval. manual is an alias of ask. careful: also each edit of a file."`
	Timeout int      `json:"timeout" doc:"Seconds after which an approval request without an answer is denied."`
	Deny    []string `json:"deny" guard:"its texts apply, and for a value that is no text, every command is rejected" safe:"*" doc:"Globs of actions that are always denied. “write GLOB” matches absolute paths."`
}

// Compaction configures when a summary replaces older messages.
type Compaction struct {
	At float64 `json:"at" repo:"yes" doc:"Share of the context window at which the session is compacted. 0: only on request, or if a request was too long."`
}

// Store configures the durability of writes.
type Store struct {
	Synchronous string `json:"synchronous" enum:"normal,full" doc:"normal survives kill -9, full also survives power loss."`
}

// Sandbox bounds commands and scripts.
type Sandbox struct {
	Mode    string   `json:"mode" enum:"off,workspace-write,read-only" guard:"commands and scripts are rejected" doc:"What commands and scripts can write."`
	Network bool     `json:"network" guard:"commands and scripts have no network" safe:"false" doc:"Let commands and scripts use the network."`
	Caches  string   `json:"caches" enum:"own,shared" guard:"tools have caches of their own" safe:"own" doc:"own: the caches that commands write belong to the agent, and your programs never use them. shared: commands write your caches."`
	Read    []string `json:"read" doc:"Paths below your home directory that commands can read besides tools, caches and settings. A path can start with ~."`
}

// Files configures how edits of open documents reach the disk.
type Files struct {
	Open string `json:"open" enum:"buffer,disk" doc:"Where documents without unsaved changes are edited by an editor that has no plugin of ours. buffer: in the editor, and you save them. disk: on disk, and the editor reloads them."`
	Save bool   `json:"save" doc:"Save a document after an edit, if it had no unsaved changes. Only our plugins can; hermes.saveEdits (VS Code) and save_edits (Neovim) turn it off, too."`
}

// Limits limits what model requests may cost. 0 means no limit.
type Limits struct {
	SessionUSD    float64 `json:"session_usd" doc:"US dollars of a session with its subagents. Only models with a known price count."`
	DayUSD        float64 `json:"day_usd" doc:"US dollars of all sessions in a day. Only models with a known price count."`
	SessionTokens int     `json:"session_tokens" doc:"Tokens of a session with its subagents, input and output."`
}

// Default returns the default settings.
func Default() *Config {
	return &Config{
		Model: Model{
			Default: "gpt-5", Provider: "auto", API: "auto", Effort: "default", Cache: Cache{Mode: "auto", TTL: "short"}, StallTimeout: 90,
			Fallback: Models{}, Pool: Pool{Strategy: "fill_first", Cooldown: 60}, TextCalls: "auto", Profile: "auto",
		},
		Providers: map[string]Provider{},
		Auxiliary: map[string]TaskModel{},
		Images:    Images{MaxSide: 1568, MaxBytes: 3000000, MaxPixels: 50000000},
		Agent: Agent{
			MaxIterations: 90, OnNewPrompt: "interrupt", ImageInputMode: "auto", Personalities: map[string]string{},
			Tools: Tools{Enabled: []string{}, Disabled: []string{}},
		},
		Terminal:         Terminal{Backend: "local", Timeout: 180, LoginPath: true, SSHOptions: []string{}, EnvPassthrough: []string{}},
		Approvals:        Approvals{Mode: "ask", Timeout: 300, Deny: []string{}},
		CommandAllowlist: []string{},
		Compaction:       Compaction{At: 0.8},
		Store:            Store{Synchronous: "normal"},
		Sandbox:          Sandbox{Mode: "workspace-write", Network: true, Caches: "own", Read: []string{}},
		Files:            Files{Open: "buffer", Save: true},
	}
}

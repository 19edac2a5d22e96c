package config

import (
	"slices"
	"strings"
	"sync"
)

// config.yaml is shared with Hermes Agent. This file translates the keys of Hermes Agent 0.19 with
// a meaning here. It lists the others, which are ignored without a notice.

// hermesKeys returns the names of Hermes Agent's keys unknown to hermes-ls, by the prefix of their
// section.
var hermesKeys = sync.OnceValue(func() map[string][]string {
	return map[string][]string{
		"": strings.Fields(`
		_config_version acp attachments bedrock browser compression computer_use context context_file_max_chars
		credential_pool_strategies cron curator custom_providers dashboard database desktop discord display fallback_model
		fallback_providers file_read_max_chars gateway goals honcho hooks_auto_accept human_delay kanban logging lsp
		matrix mattermost max_concurrent_sessions max_live_sessions mcp mcp_discovery_timeout moa model_catalog
		network onboarding openrouter paste_collapse_char_threshold paste_collapse_threshold
		paste_collapse_threshold_fallback personalities platform_hints prefill_messages_file privacy prompt_caching
		quick_commands runtime secrets security session sessions skills skin slack smart_model_routing streaming stt telegram timezone
		tool_loop_guardrails tool_output tools toolsets tts updates vertex voice whatsapp x_search`),
		"agent.": strings.Fields(`
		api_max_retries clarify_timeout coding_context coding_instructions disabled_toolsets environment_hint
		environment_probe gateway_auto_continue_freshness gateway_notify_interval gateway_timeout
		gateway_timeout_warning intent_ack_continuation local_stream_stale_timeout max_turns
		max_verify_nudges parallel_tool_call_guidance reasoning_overrides restart_drain_timeout service_tier
		task_completion_guidance tool_use_enforcement verify_guidance verify_on_stop`),
		"approvals.": strings.Fields(`
		cron_mode deny destructive_slash_confirm mcp_reload_confirm mode timeout`),
		"checkpoints.": strings.Fields(`
		auto_prune delete_orphans enabled max_file_size_mb max_snapshots max_total_size_mb min_interval_hours
		retention_days`),
		"code_execution.": strings.Fields(`
		mode`),
		"delegation.": strings.Fields(`
		api_key api_mode base_url child_timeout_seconds inherit_mcp_toolsets max_concurrent_children max_iterations
		max_spawn_depth max_summary_chars model orchestrator_enabled provider reasoning_effort subagent_auto_approve`),
		"memory.": strings.Fields(`
		nudge_interval provider`),
		"terminal.": strings.Fields(`
		auto_source_bashrc backend container_cpu container_disk container_memory container_persistent cwd
		daemon_term_grace_seconds daytona_image docker_env docker_extra_args docker_forward_env docker_image
		docker_mount_cwd_to_workspace docker_network docker_run_as_host_user docker_volumes env_passthrough home_mode
		modal_image modal_mode persistent_shell shell_init_files singularity_image timeout`),
		"web.": strings.Fields(`
		backend extract_backend extract_char_limit search_backend`),
		"auxiliary.": strings.Fields(`transient_retries`),
		"lsp.":       strings.Fields(`enabled install_strategy wait_mode wait_timeout`),
		"mcp.":       strings.Fields(`auto_reload_on_config_change`),
		"plugins.":   strings.Fields(`clone_timeout_seconds entries hook_callback_timeout`),
		"skills.": strings.Fields(`
		creation_nudge_interval guard_agent_created inline_shell inline_shell_timeout platform_disabled template_vars`),
		"model.": strings.Fields(`
		api_mode auth_mode context_length default_headers entra extra_headers ollama_num_ctx openai_runtime streaming`),
	}
})

// hermesVersion is the version key in each of Hermes Agent's files.
const hermesVersion = "_config_version"

// ofHermes reports whether a key belongs to Hermes Agent alone. prefix is empty, or a section with a dot.
func ofHermes(prefix, name string) bool {
	return slices.Contains(hermesKeys()[prefix], name) || strings.HasPrefix(prefix, "auxiliary.")
}

// hermesAPIs are the APIs by Hermes Agent's names.
var hermesAPIs = map[string]string{"chat_completions": "chat", "anthropic_messages": "messages", "codex_responses": "responses"}

// translate renames Hermes Agent's keys for models and providers. A key set under its hermes-ls
// name stays.
func translate(tree map[string]any) {
	if id, ok := tree["model"].(string); ok {
		tree["model"] = map[string]any{"default": id}
	}
	model := map[string]any{}
	if section, ok := tree["model"].(map[string]any); ok {
		model = section
	}
	move(model, "context_length", model, "context_window", nil)
	move(model, "api_mode", model, "api", hermesAPIs)
	if name, ok := model["provider"].(string); ok {
		if name == "openai-api" {
			name = "openai"
		}
		model["provider"] = strings.TrimPrefix(name, "custom:")
	}
	for _, item := range listOf(tree["custom_providers"]) {
		if name := textOf(item, "name"); name != "" {
			addProvider(tree, name, item)
		}
	}
	var fallbacks []any
	for _, item := range append(listOf(tree["fallback_providers"]), listOf([]any{tree["fallback_model"]})...) {
		name, id := strings.TrimPrefix(textOf(item, "provider"), "custom:"), textOf(item, "model")
		if id == "" {
			continue
		}
		if textOf(item, "base_url") != "" {
			addProvider(tree, name, item)
		}
		fallbacks = append(fallbacks, map[string]any{"provider": name, "model": id})
	}
	if len(fallbacks) > 0 && model["fallback"] == nil {
		model["fallback"] = fallbacks
		tree["model"] = model
	}
}

// addProvider adds a provider as Hermes Agent describes it.
func addProvider(tree map[string]any, name string, from map[string]any) {
	providers, ok := tree["providers"].(map[string]any)
	if !ok {
		providers = map[string]any{}
		tree["providers"] = providers
	}
	if providers[name] != nil {
		return
	}
	to := map[string]any{}
	for _, key := range []string{"base_url", "api_key", "key_env", "extra_body"} {
		move(from, key, to, key, nil)
	}
	move(from, "extra_headers", to, "headers", nil)
	move(from, "api_mode", to, "api", hermesAPIs)
	providers[name] = to
}

// move copies a value under another name, if it is set and the other is not. names translates texts.
func move(from map[string]any, name string, to map[string]any, other string, names map[string]string) {
	value := from[name]
	if names != nil {
		text, _ := value.(string)
		if value = nil; names[text] != "" {
			value = names[text]
		}
	}
	if value != nil && to[other] == nil {
		to[other] = value
	}
}

// listOf returns the mappings in a list.
func listOf(value any) (items []map[string]any) {
	list, _ := value.([]any)
	for _, item := range list {
		if m, ok := item.(map[string]any); ok {
			items = append(items, m)
		}
	}
	return items
}

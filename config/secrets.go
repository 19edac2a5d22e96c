package config

import "fmt"

// Secrets are the values that nobody should see: the configured keys, and the
// variables of the environment and of .env whose names secret says so of. The
// names are for people to tell them apart by.
func (l *Loaded) Secrets(secret func(name string) bool) map[string]string {
	out := map[string]string{}
	for name, value := range l.environ {
		if secret(name) {
			out[name] = value
		}
	}
	keys := func(name string, list Keys) {
		for i, key := range list {
			if i > 0 {
				out[fmt.Sprintf("%s %d", name, i+1)] = key
			} else {
				out[name] = key
			}
		}
	}
	keys("model.api_key", l.Model.APIKey)
	keys("delegation.api_key", l.Delegation.APIKey)
	keys("api_key of an unused endpoint", l.parted)
	keys("web.search.api_key", Keys{l.Web.Search.APIKey})
	for server, s := range l.MCPServers {
		for name, value := range s.Env {
			if secret(name) {
				out["mcp_servers."+server+".env."+name] = value
			}
		}
		for name, value := range s.Headers {
			if secret(name) {
				out["mcp_servers."+server+".headers."+name] = value
			}
		}
	}
	for name, route := range l.Delegation.Routes {
		keys("delegation.routes."+name+".api_key", route.APIKey)
	}
	return out
}

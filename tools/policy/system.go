package policy

import (
	"path"
	"slices"
	"strings"
)

func cleanPath(name string) string { return path.Clean(slashes(name)) }

// kill judges the ending of processes.
func (j *analyzer) kill(c *call) {
	pids := killed(c.args)
	if len(pids) == 0 && len(c.args) == 1 && c.args[0].text == "-1" {
		j.refuse(c, "ends every process")
	}
	for _, p := range pids {
		switch {
		case p.text == "-1" || strings.Trim(p.text, "-0") == "1" && strings.HasPrefix(p.text, "-"):
			j.refuse(c, "ends every process")
		case p.text == "1" || p.text == "0":
			j.ask(c, "ends many processes")
		case strings.HasPrefix(p.text, "-"):
			j.ask(c, "ends a whole group of processes")
		case strings.Contains(p.text, unknown):
			j.ask(c, "ends processes that cannot be seen")
		}
	}
	if len(pids) > 2 {
		j.ask(c, "ends many processes")
	}
}

// killed returns the processes that kill is given.
func killed(args []field) []field {
	for i := 0; i < len(args); i++ {
		switch t := args[i].text; {
		case t == "-l" || t == "-L" || t == "--list" || t == "--table":
			return nil
		case t == "-s" || t == "-n" || t == "--signal" || t == "-q":
			i++
		case t == "--":
			return args[i+1:]
		case i == 0 && len(t) > 1 && t[0] == '-' && t[1] != '-': // the signal
		case strings.HasPrefix(t, "--"), len(t) > 1 && t[0] == '-' && (t[1] < '0' || t[1] > '9'):
		default:
			return args[i:]
		}
	}
	return nil
}

// ourselves keeps the model from our own configuration.
func (j *analyzer) ourselves(c *call) {
	var verbs []string
	for _, a := range c.args {
		if !a.option() {
			verbs = append(verbs, a.text)
		}
		if a.open() {
			j.ask(c, "has an argument that cannot be seen")
		}
	}
	if len(verbs) > 1 && verbs[0] == "config" && verbs[1] == "set" {
		j.refuse(c, "changes the configuration of hermes-ls")
	}
	if v, ok := parse(c.args, "", "approve").get("approve"); ok && v.value.text != "never" && v.value.text != "ask" {
		j.ask(c, "starts an agent that asks for no approval")
	}
}

// inCluster judges a command that runs in a container of a cluster.
func (j *analyzer) inCluster(c *call) {
	if i := slices.IndexFunc(c.args, func(a field) bool { return a.text == "--" }); i >= 0 && (hasWord(c.args, "exec") || hasWord(c.args, "debug")) {
		j.within(c, c.args[i+1:])
	}
}

// within judges a command that runs on another machine or in a container. Its destructive
// effects require approval and are never blocked.
func (j *analyzer) within(c *call, args []field) {
	if len(args) == 0 {
		return
	}
	was := j.elsewhere
	j.elsewhere = true
	inner := c.with(args)
	inner.st = &state{cwds: []string{unknown}}
	place := j.scope
	j.scope = Scope{Home: place.Home, HermesHome: "", Roots: []string{"/"}} // nothing there is ours
	before := len(j.findings)
	j.call(inner)
	j.scope, j.elsewhere = place, was
	for i := before; i < len(j.findings); i++ {
		if j.rememberAs == "" {
			j.findings[i].key = j.key(c)
		}
	}
}

func (j *analyzer) docker(c *call) {
	args := c.args
	for len(args) > 0 && args[0].option() {
		next := takesNext(args[0].text, "HclfpP", "host context config log-level file project-name profile env-file project-directory")
		args = args[1:]
		if next && len(args) > 0 {
			args = args[1:]
		}
	}
	if len(args) == 0 {
		return
	}
	if args[0].open() {
		j.ask(c, "has an argument that cannot be seen")
		return
	}
	verb := args[0].text
	args = args[1:]
	if c.name == "docker-compose" || c.name == "podman-compose" {
		verb = "compose"
	}
	switch verb {
	case "container", "image", "volume", "network", "system", "builder", "buildx", "compose", "pod":
		for len(args) > 0 && args[0].option() {
			next := takesNext(args[0].text, "fp", "file project-name profile env-file project-directory")
			if args = args[1:]; next && len(args) > 0 {
				args = args[1:]
			}
		}
		if len(args) == 0 {
			return
		}
		j.dockerGroup(c, verb, args)
	case "run", "create", "exec":
		j.dockerRun(c, verb, args)
	case "rm", "rmi", "kill":
		if o := parse(args, "s", "signal"); verb == "kill" && len(o.rest) > 2 || o.has("f", "force", "v", "volumes") {
			j.ask(c, "deletes containers or images by force")
		}
	}
}

func (j *analyzer) dockerGroup(c *call, group string, args []field) {
	verb := args[0].text
	o := parse(args[1:], "st", "signal timeout")
	switch {
	case verb == "run" || verb == "exec" || verb == "create" && group == "container":
		j.dockerRun(c, verb, args[1:])
	case verb == "prune", group == "volume" && (verb == "rm" || verb == "remove"):
		j.ask(c, "deletes containers, images or volumes")
	case verb == "rm" && o.has("f", "force", "v", "volumes"), verb == "down" && o.has("v", "volumes", "rmi"):
		j.ask(c, "deletes containers, images or volumes")
	}
}

// dockerRun judges a container by its mounts and its command.
func (j *analyzer) dockerRun(c *call, verb string, args []field) {
	for len(args) > 0 && (args[0].option() || args[0].open()) {
		a := args[0]
		if a.open() {
			j.ask(c, "has an argument that cannot be seen, which may be a mount")
		}
		name, val, has := strings.Cut(a.text, "=")
		args = args[1:]
		flag := dockerFlag(a.text)
		if !has && !flag {
			if strings.HasPrefix(a.text, "--") || len(a.text) == 2 || takesNext(a.text, "veupwhlcam", "") {
				if len(args) == 0 {
					return
				}
				val, args = args[0].text, args[1:]
			} else if i := strings.IndexAny(a.text, "v"); i > 0 {
				name, val = "-v", a.text[i+1:]
			}
			if !strings.HasPrefix(name, "--") && strings.HasSuffix(name, "v") {
				name = "-v"
			}
		}
		if why := dockerOption(name, val); why != "" {
			j.ask(c, why)
		}
	}
	if len(args) > 1 {
		j.within(c, args[1:])
	}
}

// dockerFlag tells whether an option of docker run takes no value.
func dockerFlag(text string) bool {
	return in("docker-flag", text) || !strings.HasPrefix(text, "--") && strings.Trim(text[1:], "itdPqT") == ""
}

// dockerOption says why an option of a container asks.
func dockerOption(name, val string) string {
	const mounts = "starts a container with a folder of this machine mounted"
	switch from, _, bound := strings.Cut(val, ":"); {
	case (name == "-v" || name == "--volume") && bound && (strings.ContainsAny(from, "/.~\\"+unknown+fresh) || len(from) == 1):
		return mounts
	case name == "--mount" && (containsOf("docker-bind", val) || strings.Contains(val, unknown)):
		return mounts
	case in("docker-power", name):
		return "starts a container with power over this machine (" + name + ")"
	case in("docker-namespace", name) && val == "host":
		return "starts a container with power over this machine (" + name + "=host)"
	}
	return ""
}

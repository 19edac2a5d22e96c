package approval

import (
	"path"
	"slices"
	"strings"
)

func cleanPath(name string) string { return path.Clean(slashes(name)) }

// power refuses the end of the machine.
func (j *judge) power(c *call) {
	if c.name == "init" || c.name == "telinit" {
		if len(c.args) == 0 || strings.Trim(c.args[0].text, "0123456sS") != "" {
			if len(c.args) > 0 && c.args[0].open() {
				j.ask(c, "has an argument that cannot be seen")
			}
			return
		}
	}
	j.refuse(c, "shuts down or restarts the machine")
}

const startsAlone = "changes what starts by itself on this machine"

// service judges what manages services.
func (j *judge) service(c *call) {
	o := parse(c.args, "HMtps", "host machine type property state signal root kill-whom job-mode")
	for i, a := range o.rest {
		switch a.text {
		case "poweroff", "reboot", "halt", "kexec", "soft-reboot", "emergency", "rescue":
			if i == 0 && (c.name == "systemctl" || c.name == "loginctl" || c.name == "launchctl" || c.name == "initctl") {
				j.refuse(c, "shuts down or restarts the machine")
				return
			}
		case "stop", "restart", "disable", "mask", "kill", "isolate", "try-restart", "reload-or-restart", "force-stop", "shutdown", "suspend", "hibernate",
			"hybrid-sleep", "unload", "bootout", "remove", "terminate-user", "terminate-session", "kill-user", "kill-session", "off", "delete", "del",
			"preset-all", "set-default", "revert", "down", "exit", "kickstart":
			j.ask(c, "stops or disables services")
			return
		case "enable", "reenable", "preset", "link", "edit", "set-property", "unmask", "load", "bootstrap", "submit", "enable-linger", "disable-linger", "add", "defaults", "on":
			if i == 0 || c.name != "systemctl" && c.name != "launchctl" && c.name != "loginctl" {
				j.ask(c, startsAlone)
				return
			}
		case "start", "run":
			if c.name == "brew" {
				j.ask(c, startsAlone)
				return
			}
		}
		if a.open() && i < 2 {
			j.ask(c, "does something to services that cannot be seen")
			return
		}
	}
}

// machineReads are the first arguments with which programs that change the kernel, the
// firewall or the settings of this machine only show them.
var machineReads = map[string]string{
	"iptables": "-L -S -nL -vL -vnL -nvL --list --list-rules -V", "ip6tables": "-L -S -nL -vL -vnL -nvL --list --list-rules -V",
	"nft": "list -l", "ufw": "status version", "firewall-cmd": "--state --list-all --get-zones --get-default-zone",
	"modprobe": "-n -c -D --show-depends --dry-run --show --showconfig", "csrutil": "status", "spctl": "--status -a", "pmset": "-g",
	"sysctl": "-a -n -A --all -b", "defaults": "read read-type domains find export help", "scutil": "--get --dns --proxy --nwi",
	"networksetup": "-listallhardwareports -listallnetworkservices", "mount": "-l", "auditctl": "-l -s",
}

// machine judges what changes the kernel, the firewall or settings of this machine.
func (j *judge) machine(c *call) {
	switch {
	case len(c.args) == 0, contains(machineReads[c.name], c.args[0].text), strings.HasPrefix(c.args[0].text, "-get"), strings.HasPrefix(c.args[0].text, "-t") && c.name == "iptables" && hasWord(c.args, "-L"):
		return
	case c.name == "sysctl" && !hasWord(c.args, "-w") && !hasWord(c.args, "-p") && !slices.ContainsFunc(c.args, func(a field) bool { return strings.Contains(a.text, "=") || a.open() }):
		return // the name of a setting
	}
	j.ask(c, "changes the kernel, the firewall or the settings of this machine")
}

// kill judges the ending of processes.
func (j *judge) kill(c *call) {
	switch c.name {
	case "kill":
	case "fuser":
		if parse(c.args, "ns", "namespace signal").has("k", "kill") {
			j.ask(c, "ends every process that uses a file")
		}
		return
	default:
		if len(c.args) == 1 && contains("-l -L --list -V", c.args[0].text) && c.name != "pkill" {
			return
		}
		if c.name == "killall5" {
			j.refuse(c, "ends every process")
			return
		}
		j.ask(c, "ends every process of a name")
		return
	}
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
func (j *judge) ourselves(c *call) {
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
		j.ask(c, "starts an agent that asks nobody")
	}
}

func (j *judge) apt(c *call) {
	o := parse(c.args, "octat", "option config-file")
	if o.has("o", "option", "c", "config-file") {
		j.ask(c, "has a setting that can run programs")
	}
	for _, a := range o.rest {
		if a.text == "purge" || a.text == "autoremove" || a.text == "remove" {
			j.ask(c, "removes packages of this machine")
		}
	}
	if c.name == "dpkg" && o.has("r", "remove", "P", "purge") {
		j.ask(c, "removes packages of this machine")
	}
}

// container judges what runs containers and what manages things elsewhere.
func (j *judge) container(c *call) {
	switch c.name {
	case "docker", "podman", "nerdctl", "docker-compose", "podman-compose", "finch":
		j.docker(c)
		return
	case "singularity", "apptainer":
		if hasWord(c.args, "exec") || hasWord(c.args, "run") || hasWord(c.args, "shell") {
			j.ask(c, "runs a container, which sees this machine's files")
		}
		return
	}
	verb := func(words ...string) bool {
		for _, w := range words {
			if hasWord(c.args, w) {
				return true
			}
		}
		return false
	}
	switch c.name {
	case "kubectl", "oc", "k3s":
		if verb("delete", "drain", "--force") {
			j.ask(c, "deletes things in a cluster")
		}
		if verb("exec", "debug") {
			j.within(c, afterDashes(c.args))
		}
	case "helm":
		if verb("uninstall", "delete", "del", "un") {
			j.ask(c, "deletes things in a cluster")
		}
	case "terraform", "tofu", "pulumi":
		if verb("destroy", "-destroy", "-auto-approve", "--auto-approve", "--yes", "-y") {
			j.ask(c, "changes or destroys infrastructure without a plan being looked at")
		}
	case "aws", "gsutil", "gcloud", "az", "gh", "heroku", "flyctl", "fly", "vagrant", "lxc":
		if verb("rm", "rb", "delete", "destroy", "terminate-instances", "purge", "apps:destroy", "delete-bucket", "--delete") {
			j.ask(c, "deletes things elsewhere")
		}
	}
}

func afterDashes(args []field) []field {
	for i, a := range args {
		if a.text == "--" {
			return args[i+1:]
		}
	}
	return nil
}

// within judges a command that runs on another machine or in a container: what
// it would destroy there asks, and is never refused.
func (j *judge) within(c *call, args []field) {
	if len(args) == 0 {
		return
	}
	was := j.elsewhere
	j.elsewhere = true
	inner := c.with(args)
	inner.st = &state{cwds: []string{unknown}}
	place := j.place
	j.place = Place{Home: place.Home, HermesHome: "", Roots: []string{"/"}} // nothing there is ours
	before := len(j.findings)
	j.call(inner)
	j.place, j.elsewhere = place, was
	for i := before; i < len(j.findings); i++ {
		if j.keyAs == "" {
			j.findings[i].key = j.key(c)
		}
	}
}

func (j *judge) docker(c *call) {
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

func (j *judge) dockerGroup(c *call, group string, args []field) {
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

// dockerRun judges a container by its mounts and by what runs in it.
func (j *judge) dockerRun(c *call, verb string, args []field) {
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
	if !strings.HasPrefix(text, "--") {
		return strings.Trim(text[1:], "itdPqT") == ""
	}
	switch text {
	case "--rm", "--interactive", "--tty", "--detach", "--privileged", "--init", "--read-only", "--publish-all", "--no-healthcheck", "--oom-kill-disable",
		"--quiet", "--no-deps", "--service-ports", "--build", "--no-TTY", "--use-aliases", "--remove-orphans", "--replace":
		return true
	}
	return false
}

func dockerOption(name, val string) string {
	switch name {
	case "-v", "--volume":
		from, _, ok := strings.Cut(val, ":")
		if ok && (strings.ContainsAny(from, "/.~\\"+unknown+fresh) || len(from) == 1) {
			return "starts a container with a folder of this machine mounted"
		}
	case "--mount":
		if strings.Contains(val, "type=bind") || strings.Contains(val, unknown) || strings.Contains(val, "src=/") || strings.Contains(val, "source=/") {
			return "starts a container with a folder of this machine mounted"
		}
	case "--privileged", "--device", "--cap-add", "--security-opt", "--volumes-from", "--gpus":
		if name != "--gpus" && name != "--volumes-from" {
			return "starts a container with power over this machine (" + name + ")"
		}
	case "--pid", "--ipc", "--userns", "--uts", "--cgroupns":
		if val == "host" {
			return "starts a container with power over this machine (" + name + "=host)"
		}
	}
	return ""
}

// goTool judges the go command by the programs it is told to run things with.
func (j *judge) goTool(c *call) {
	for i, a := range c.args {
		name, val, has := strings.Cut(strings.TrimPrefix(a.text, "-"), "=")
		switch name {
		case "-exec", "-toolexec", "-vettool", "exec", "toolexec", "vettool":
			if !has && i+1 < len(c.args) {
				val = c.args[i+1].text
			}
			if strings.HasPrefix(a.text, "-") {
				j.code(c, field{text: val})
			}
		}
	}
}

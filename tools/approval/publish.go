package approval

import "strings"

// What a command changes for others: packages, releases, clusters, accounts.
const (
	publishes = "publishes, so that others can see or use it"
	removes   = "removes or replaces what others use"
	cluster   = "changes what runs in a cluster"
	infra     = "changes infrastructure"
	deploys   = "deploys, which changes what runs elsewhere"
	remotely  = "changes things elsewhere"
)

// remoteChange names the commands of a program that change something for others.
type remoteChange struct {
	reason string
	// verbs are the first words of the command without its options, separated by |. In a
	// word, * stands for any text, so that "* create-*" is any service's create operation.
	verbs string
	// option is one that does it with any verb.
	option string
	// uploads is set if these verbs copy: what they copy to an address changes something.
	uploads bool
}

// remoteChanges lists these commands by program. A program with the verb "" always does it.
var remoteChanges = map[string][]remoteChange{
	// packages
	"npm":              {{reason: publishes, verbs: "publish|pub"}, {reason: removes, verbs: "unpublish|deprecate|undeprecate|dist-tag add|dist-tag rm|owner add|owner rm|access set|access grant|access revoke|stage approve"}},
	"pnpm":             {{reason: publishes, verbs: "publish"}, {reason: removes, verbs: "unpublish|deprecate|dist-tag add|dist-tag rm|owner add|owner rm"}},
	"yarn":             {{reason: publishes, verbs: "publish|npm publish"}, {reason: removes, verbs: "tag add|tag remove|owner add|owner remove|npm tag add|npm tag remove"}},
	"bun":              {{reason: publishes, verbs: "publish"}},
	"lerna":            {{reason: publishes, verbs: "publish"}},
	"changeset":        {{reason: publishes, verbs: "publish"}},
	"np":               {{reason: publishes, verbs: ""}},
	"release-it":       {{reason: publishes, verbs: ""}},
	"semantic-release": {{reason: publishes, verbs: ""}},
	"jsr":              {{reason: publishes, verbs: "publish"}},
	"deno":             {{reason: publishes, verbs: "publish"}, {reason: deploys, verbs: "deploy"}},
	"cargo":            {{reason: publishes, verbs: "publish|release"}, {reason: removes, verbs: "yank|owner"}},
	"twine":            {{reason: publishes, verbs: "upload|register"}},
	"uv":               {{reason: publishes, verbs: "publish"}},
	"poetry":           {{reason: publishes, verbs: "publish"}},
	"hatch":            {{reason: publishes, verbs: "publish"}},
	"flit":             {{reason: publishes, verbs: "publish"}},
	"pdm":              {{reason: publishes, verbs: "publish"}},
	"rye":              {{reason: publishes, verbs: "publish"}},
	"maturin":          {{reason: publishes, verbs: "publish|upload"}},
	"gem":              {{reason: publishes, verbs: "push"}, {reason: removes, verbs: "yank|owner"}},
	"pod":              {{reason: publishes, verbs: "trunk push|repo push"}},
	"mix":              {{reason: publishes, verbs: "hex.publish"}},
	"dart":             {{reason: publishes, verbs: "pub publish"}},
	"flutter":          {{reason: publishes, verbs: "pub publish"}},
	"cabal":            {{reason: publishes, verbs: "upload"}},
	"stack":            {{reason: publishes, verbs: "upload"}},
	"luarocks":         {{reason: publishes, verbs: "upload"}},
	"conan":            {{reason: publishes, verbs: "upload"}},
	"nuget":            {{reason: publishes, verbs: "push"}, {reason: removes, verbs: "delete"}},
	"dotnet":           {{reason: publishes, verbs: "nuget push"}, {reason: removes, verbs: "nuget delete"}},
	"choco":            {{reason: publishes, verbs: "push"}},
	"snapcraft":        {{reason: publishes, verbs: "upload|push|release"}},
	"vsce":             {{reason: publishes, verbs: "publish"}, {reason: removes, verbs: "unpublish"}},
	"ovsx":             {{reason: publishes, verbs: "publish"}},
	"goreleaser":       {{reason: publishes, verbs: "release|publish|continue"}},
	"hf":               {{reason: publishes, verbs: "upload"}},
	"huggingface-cli":  {{reason: publishes, verbs: "upload"}},
	// images and charts
	"docker":  {{reason: publishes, option: "--push", verbs: "push|image push|manifest push|compose push"}},
	"podman":  {{reason: publishes, verbs: "push|image push|manifest push"}},
	"nerdctl": {{reason: publishes, option: "--push", verbs: "push|image push|compose push"}},
	"buildah": {{reason: publishes, verbs: "push"}},
	"skopeo":  {{reason: publishes, verbs: "copy|sync", uploads: true}, {reason: removes, verbs: "delete"}},
	"crane":   {{reason: publishes, verbs: "push|copy|cp|append"}, {reason: removes, verbs: "delete"}},
	"oras":    {{reason: publishes, verbs: "push|copy|cp|attach"}},
	"helm":    {{reason: publishes, verbs: "push"}, {reason: cluster, verbs: "install|upgrade|rollback"}},
	// version control and its hosts
	"svn": {{reason: publishes, verbs: "commit|ci|import|copy|mkdir"}, {reason: removes, verbs: "delete|move"}},
	"hg":  {{reason: publishes, verbs: "push"}},
	"jj":  {{reason: publishes, verbs: "git push"}},
	"arc": {{reason: publishes, verbs: "diff|land"}},
	"gh": {
		{reason: publishes, verbs: "pr create|pr new|pr merge|pr comment|pr review|pr edit|pr ready|pr close|pr reopen|pr lock|pr unlock|pr revert|pr update-branch|" +
			"issue create|issue new|issue comment|issue edit|issue close|issue reopen|issue delete|issue transfer|issue pin|issue unpin|issue lock|issue unlock|" +
			"release create|release new|release upload|release edit|gist create|gist new|gist edit|repo create|repo new|repo fork|repo sync|discussion create"},
		{reason: removes, verbs: "release delete|release delete-asset|gist delete|gist rename|repo delete|repo rename|repo edit|repo archive|repo unarchive|repo deploy-key *"},
		{reason: remotely, verbs: "workflow run|workflow enable|workflow disable|run cancel|run rerun|run delete|secret set|secret delete|secret remove|variable set|variable delete|variable remove|" +
			"label create|label edit|label delete|label clone|ssh-key add|ssh-key delete|gpg-key add|gpg-key delete|cache delete|codespace create|codespace delete|project *-*|project create|project edit|project close|project delete|project copy"},
	},
	"glab": {
		{reason: publishes, verbs: "mr create|mr new|mr merge|mr note|mr update|mr close|mr reopen|mr approve|mr revoke|mr rebase|mr accept|issue create|issue new|issue note|issue update|issue close|issue reopen|" +
			"release create|release upload|snippet create|repo create|repo new|repo fork"},
		{reason: removes, verbs: "mr delete|issue delete|release delete|repo delete|repo archive|repo transfer"},
		{reason: remotely, verbs: "ci run|ci cancel|ci retry|ci trigger|ci delete|variable set|variable update|variable delete|label create|ssh-key add|ssh-key delete|schedule *"},
	},
	// what runs elsewhere
	"kubectl":          {{reason: cluster, verbs: "apply|create|replace|patch|edit|scale|autoscale|set|annotate|label|taint|cordon|uncordon|run|expose|rollout restart|rollout undo|rollout pause|rollout resume|certificate *"}},
	"oc":               {{reason: cluster, verbs: "apply|create|replace|patch|edit|scale|autoscale|set|annotate|label|run|expose|new-app|new-project|start-build|rollout latest|rollout restart|rollout undo|adm *"}},
	"terraform":        {{reason: infra, verbs: "apply|destroy|import|taint|untaint|force-unlock|state rm|state mv|state push|state replace-provider|workspace delete"}},
	"tofu":             {{reason: infra, verbs: "apply|destroy|import|taint|untaint|force-unlock|state rm|state mv|state push|state replace-provider|workspace delete"}},
	"pulumi":           {{reason: infra, verbs: "up|update|destroy|refresh|cancel|import|state *|stack rm"}},
	"terragrunt":       {{reason: infra, verbs: "apply|destroy|run-all apply|run-all destroy|import|state rm|state mv|state push"}},
	"cdk":              {{reason: infra, verbs: "deploy|destroy|bootstrap|import|rollback"}},
	"ansible-playbook": {{reason: remotely, verbs: ""}},
	"argocd":           {{reason: cluster, verbs: "app create|app sync|app delete|app set|app rollback"}},
	"skaffold":         {{reason: deploys, verbs: "run|deploy|dev|delete"}},
	"vercel":           {{reason: deploys, option: "--prod", verbs: "deploy|rm|remove|rollback|promote|env add|env rm|alias"}},
	"netlify":          {{reason: deploys, verbs: "deploy|env:set|env:unset|sites:delete|sites:create"}},
	"firebase":         {{reason: deploys, verbs: "deploy|hosting:disable|functions:delete|database:set|database:remove|firestore:delete"}},
	"wrangler":         {{reason: deploys, verbs: "deploy|publish|delete|rollback|secret put|secret delete|pages deploy|pages publish|versions upload|versions deploy"}},
	"serverless":       {{reason: deploys, verbs: "deploy|remove|rollback"}},
	"sls":              {{reason: deploys, verbs: "deploy|remove|rollback"}},
	"sam":              {{reason: deploys, verbs: "deploy|delete|sync"}},
	"eb":               {{reason: deploys, verbs: "deploy|create|terminate|setenv"}},
	"fly":              {{reason: deploys, verbs: "deploy|launch|scale|secrets set|secrets unset|apps create|apps destroy"}},
	"flyctl":           {{reason: deploys, verbs: "deploy|launch|scale|secrets set|secrets unset|apps create|apps destroy"}},
	"heroku":           {{reason: deploys, verbs: "create|config:set|config:unset|ps:scale|ps:restart|releases:rollback|container:push|container:release|addons:create"}},
	"railway":          {{reason: deploys, verbs: "up|deploy|redeploy|down"}},
	"supabase":         {{reason: deploys, verbs: "db push|functions deploy|secrets set|projects create|projects delete"}},
	"eas":              {{reason: publishes, verbs: "submit|update|deploy"}},
	"surge":            {{reason: deploys, verbs: ""}},
	"gh-pages":         {{reason: publishes, verbs: ""}},
	"aws": {
		{reason: remotely, verbs: "s3 cp|s3 sync", uploads: true},
		{reason: remotely, verbs: "s3 mv|s3 mb|s3 website"},
		{reason: remotely, verbs: "* create-*|* put-*|* update-*|* modify-*|* start-*|* stop-*|* reboot-*|* run-*|* attach-*|* detach-*|* associate-*|* disassociate-*|" +
			"* register-*|* publish|* publish-*|* send-*|* invoke|* copy-*|* restore-*|* enable-*|* disable-*|* set-*|* tag-*|* untag-*|* add-*|* cancel-*|" +
			"* import-*|* reset-*|* revoke-*|* authorize-*|* deploy"},
		{reason: removes, verbs: "* delete-*|* remove-*|* terminate-*|* deregister-*|* purge-*"},
	},
	"gsutil": {{reason: remotely, verbs: "cp|rsync", uploads: true}, {reason: remotely, verbs: "mv|mb|setmeta|acl|iam|rewrite"}},
	"gcloud": {{reason: remotely, verbs: "storage cp|storage rsync", uploads: true}, {reason: remotely, verbs: "storage mv|builds submit|app deploy|* deploy|* * deploy|* * create|* * update|* * * create|* * * update|* * add-iam-policy-binding|* add-iam-policy-binding|* set-iam-policy"}},
	"az":     {{reason: remotely, verbs: "* create|* update|* start|* stop|* restart|* * create|* * update|* * upload|* * set|* * * create|* * * set|* up|* deploy"}},
}

// Build tools run their tasks in one go, at any place among the arguments.
var remoteTasks = map[string]string{
	"mvn": "deploy deploy:deploy nexus-staging:release release:perform jib:build", "mvnw": "deploy deploy:deploy nexus-staging:release release:perform jib:build",
	"gradle": "publish uploadArchives publishPlugins jib bintrayUpload", "gradlew": "publish uploadArchives publishPlugins jib bintrayUpload",
	"sbt": "publish publishSigned", "rebar3": "publish",
}

// showsOnly are options with which these programs do nothing, but show what they would do.
const showsOnly = "--dry-run --help -h --noop --no-op --snapshot --check --syntax-check --list-hosts --list-tasks --check-only"

// remote judges a command by what it changes for others.
func (j *judge) remote(c *call) {
	name := strings.TrimSuffix(c.name, ".cmd")
	if tasks := remoteTasks[name]; tasks != "" && !onlyShows(c.args, "-m") {
		for _, a := range c.args {
			task := a.text[strings.LastIndexByte(a.text, ':')+1:] // of a part of the project
			if contains(tasks, a.text) || !a.option() && (contains(tasks, task) || strings.HasPrefix(task, "publish") && strings.HasSuffix(task, "Repository")) {
				j.ask(c, publishes)
				return
			}
		}
	}
	changes := remoteChanges[name]
	if changes == nil || onlyShows(c.args, map[string]string{"cargo": "-n", "helm": "--debug=", "git": "-n"}[name]) {
		return
	}
	words := verbsOf(c.args)
	for _, change := range changes {
		if change.option != "" && hasWord(c.args, change.option) || change.made(words) {
			j.ask(c, change.reason)
			return
		}
	}
	if name == "gh" || name == "glab" {
		j.hostAPI(c, words)
	}
}

// made tells whether words are one of the verbs of a change.
func (r remoteChange) made(words []verb) bool {
	for pattern := range strings.SplitSeq(r.verbs, "|") {
		if parts := strings.Fields(pattern); begins(words, parts) && !(r.uploads && fetches(words[len(parts):])) {
			return true
		}
	}
	return false
}

// fetches tells whether the operands of a copy are an address and a file here.
func fetches(operands []verb) bool {
	return len(operands) > 1 && strings.Contains(operands[0].text, "://") && !strings.Contains(operands[1].text, ":") && !strings.Contains(operands[1].text, unknown)
}

// onlyShows tells whether a command is asked for help, or only for what it would do. If
// another option takes that back, it returns false.
func onlyShows(args []field, also string) bool {
	shows := false
	for i, a := range args {
		name, val, has := strings.Cut(a.text, "=")
		if !has && i+1 < len(args) {
			val = args[i+1].text // npm takes "--dry-run false", too
		}
		opposite, negated := strings.CutPrefix(name, "--no-")
		switch {
		case a.text == "--":
			return shows
		case negated && contains(showsOnly, "--"+opposite):
			return false
		case contains(showsOnly, name) && a.option() && contains("none false", val):
			return false
		case contains(showsOnly, name) && a.option(), also != "" && a.text == also:
			shows = true
		}
	}
	return shows
}

// verb is one word of a command that is not an option.
type verb struct {
	text  string
	value bool // it may be the value of the option before it
}

// verbsOf returns the words of a command without its options.
func verbsOf(args []field) (words []verb) {
	for i := 0; i < len(args) && args[i].text != "--"; i++ {
		if !args[i].option() {
			words = append(words, verb{args[i].text, i > 0 && args[i-1].option() && !strings.Contains(args[i-1].text, "=")})
		}
	}
	return words
}

// begins tells whether words begin with those of a pattern. What may be the value of
// an option counts as a word and as none.
func begins(words []verb, pattern []string) bool {
	switch {
	case len(pattern) == 0:
		return true
	case len(words) == 0:
		return false
	case words[0].value && begins(words[1:], pattern):
		return true
	}
	before, after, star := strings.Cut(pattern[0], "*")
	text := words[0].text
	if !star && text != before || star && (len(text) < len(pattern[0])-1 || !strings.HasPrefix(text, before) || !strings.HasSuffix(text, after)) {
		return false
	}
	return begins(words[1:], pattern[1:])
}

// hostAPI judges "gh api": what it sends, changes something, but for a query.
func (j *judge) hostAPI(c *call, words []verb) {
	if !begins(words, []string{"api"}) {
		return
	}
	o := parse(c.args, "XfFHqpt", "method field raw-field input header jq preview template hostname")
	method, given := o.get("X", "method")
	sends := o.has("f", "F", "field", "raw-field", "input")
	switch name := strings.ToUpper(method.value.text); {
	case begins(words, []string{"api", "graphql"}):
		for _, opt := range o.list {
			if strings.Contains(opt.value.text, "mutation") || strings.Contains(opt.value.text, unknown) || opt.name == "input" {
				j.ask(c, remotely)
				return
			}
		}
	case given && name != "GET" && name != "HEAD", !given && sends:
		j.ask(c, remotely)
	}
}

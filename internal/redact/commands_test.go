package redact

import (
	"encoding/json"
	"strings"
	"testing"
)

// secretCommands are commands as people write them. The part between « and » is a secret, whatever its form.
var secretCommands = []string{
	"mysql -u root -p«Sesam1234» -e 1", "mysqldump -p«Sesam1234» db", "sshpass -p «Sesam1234» ssh h", "sshpass -p«Sesam1234» ssh h",
	"curl -u bob:«Sesam1234» http://h/", "curl --user 'bob:«Sesam1234»' http://h/", "curl -sS --proxy-user bob:«Sesam1234» http://h/", "http -a u:«Sesam1234» :9",
	"curl -H 'X-Api-Key: «Sesam1234»' http://h/", `curl -H "Authorization: token «Sesam1234»" http://h/`, `curl --header "Cookie: s=«Sesam1234»" http://h/`, "curl -H 'Private-Token: «Sesam1234»'",
	"curl -b 'session=«Sesam1234»' http://h/", "curl --oauth2-bearer «Sesam1234» http://h/", `curl -d '{"client_secret":"«Sesam1234»"}' http://h/`, "curl 'http://h/?a=1&sig=«Sesam1234»'", "curl http://h/?key=«Sesam1234»",
	"docker login -u me -p «Sesam1234» h", "helm registry login h -p «Sesam1234»", "az login --service-principal -u x -p «Sesam1234»", "gh auth login --with-token <<< «Sesam1234»",
	"echo «Sesam1234» | docker login --password-stdin h", "printf %s «Sesam1234» | gh auth login --with-token", "openssl x -passin pass:«Sesam1234» -in k", "redis-cli -a «Sesam1234» ping",
	"aws configure set aws_secret_access_key «Sesam1234»", "npm config set //h/:_authToken «Sesam1234»", "git config --global x.token «Sesam1234»", "kubectl create secret generic x --from-literal=p=«Sesam1234»",
	"fly secrets set A=«Sesam1234»", "heroku config:set A=«Sesam1234»", "gh secret set A --body «Sesam1234»", "export MY_TOKEN=«Sesam1234»", "DB_PASS=«Sesam1234» ./x", `export A_KEY="«Sesam1234»"`,
	"twine upload -u me -p «Sesam1234» dist/*", "mongosh -u me -p «Sesam1234»", "ldapsearch -x -w «Sesam1234»", "smbclient //h/s -U me%«Sesam1234»", "keytool -storepass «Sesam1234» -list", "x --client-secret=«Sesam1234»",
	"x --api-key «Sesam1234» --port 80", "x --password='«Sesam1234 5678»' y", "vault login «Sesam1234.56789»", "wget --password=«Sesam1234» http://h/", "ls; cd x && mysql -h h -p«Sesam1234»",
}

func TestSecretsOfCommands(t *testing.T) {
	t.Parallel()
	for _, marked := range secretCommands {
		before, rest, _ := strings.Cut(marked, "«")
		secret, after, _ := strings.Cut(rest, "»")
		line := before + secret + after
		in := map[string]string{}
		in["Text"] = new(Set).Text(line)
		in["log"] = new(Set).Text("time=1 msg=run command=" + string(asJSON(line)))
		in["Line"] = new(Set).Line(line)
		call, _ := new(Set).JSON(asJSON(map[string]any{"title": "$ " + line, "args": map[string]string{"command": line}}))
		in["call"] = string(call)
		request, _ := new(Set).JSON(asJSON(map[string]any{"arguments": string(asJSON(map[string]string{"command": line}))}))
		in["request"] = string(request)
		for name, got := range in {
			if strings.Contains(got, secret) || !strings.Contains(got, "withheld") || strings.Contains(got, "5678»") {
				t.Errorf("%s of %q: %s", name, line, got)
			}
		}
		if again := new(Set).Text(in["Text"]); again != in["Text"] {
			t.Errorf("%q became %q", in["Text"], again)
		}
	}
	for _, plain := range []string{
		"docker run -p 8080:80 -u 1000:1000 x", "ssh -p 2222 h", "mkdir -p a/b", "git log -p main", "cp -p a b", "x --password-stdin", "x --token-file f --max-tokens 100", "sort -u a", "curl -u $USER:$PASS http://h/",
		"A_KEY=$B ./x", "x --password $P", "python3 -u a.py", "the flag --token takes a name", "use --password or --api-key", "chown -R me:me .", "tar -p -xf a.tar", "a.go:12:3: x", "curl -H 'Accept: text/html' http://h/", "?page=2&size=10",
		"git config user.name me", `{"key":"value","token":"hermes-1"}`, "mkpasswd", "for k in a b; do echo $k | wc; done",
	} {
		if got := new(Set).Text(plain); got != plain {
			t.Errorf("%q became %q", plain, got)
		}
	}
}

// The words of a server's command line are separate; a program gives single-letter options their
// meaning.
func TestSecretsOfWords(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"command":"x","args":["-H","Authorization: Bearer q7q7","-u","bob:q7q7","-pq7q7","-p","80"]}`: `{"args":["-H","Authorization: [withheld]","-u","[withheld]","-p[withheld]","-p","80"],"command":"x"}`,
		`{"command":"/usr/bin/mysql","args":["-pq7q7","-h","localhost"]}`:                               `{"args":["-p[withheld]","-h","localhost"],"command":"mysql"}`,
		`{"command":["redis-cli","-a","q7q7","ping"]}`:                                                  `{"command":["redis-cli","-a","[withheld]","ping"]}`,
		`{"command":"sh","args":["-c","curl -u me:q7q7 http://h/ | jq ."]}`:                             ``,
	} {
		var tree any
		if err := json.Unmarshal([]byte(in), &tree); err != nil {
			t.Fatal(err)
		}
		got := string(asJSON(new(Set).Meaning(tree)))
		if strings.Contains(got, "q7q7") || want != "" && got != strings.Replace(want, `"command":"mysql"`, `"command":"/usr/bin/mysql"`, 1) {
			t.Errorf("%s became\n%s, want\n%s", in, got, want)
		}
	}
}

func asJSON(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

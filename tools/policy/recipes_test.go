package policy

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

const testMakefile = `SHELL := /bin/sh
BUILD ?= build
PUSH = git push --force
VERSION := $(shell git describe --tags)

all: $(BUILD)/x test
	@echo done

$(BUILD)/%: %.c
	mkdir -p $(BUILD) && $(CC) -o $@ $<

test:
	go test ./... | tee $(BUILD)/log
	@rm -rf $(BUILD)/tmp

clean:
	-rm -rf $(BUILD) *.o
	find . -name '*.pyc' -delete

install: all
	install -m 755 x $(DESTDIR)$(PREFIX)/bin

release: test
	$(PUSH) origin main

publish: ; npm publish
deep: release
wipe:
	rm -rf / 
home:
	rm -rf $$HOME
editor:
	echo '{}' > .vscode/settings.json
loop: loop2
loop2: loop
broken:
	if [ x
fsmonitor:
	git config core.fsmonitor ./x
`

const testPackage = `{"scripts": {
	"build": "tsc -p .", "clean": "rimraf dist && rm -rf node_modules/.cache", "test": "vitest run", "pretest": "npm run build",
	"release": "npm version patch && npm publish", "prepush": "x", "deploy": "vercel --prod", "postbuild": "cp a dist",
	"evil": "echo x > .vscode/tasks.json", "a": "npm run b", "b": "npm run a", "nested": "npm run release", "hook": "git config core.hooksPath .h", "prepare": "husky"
}}`

// Recipes are judged as far as they can be read. Ordinary recipes do not ask.
func TestRecipes(t *testing.T) {
	t.Parallel()
	place := here
	place.Read = func(path string) (string, bool) {
		text, ok := map[string]string{
			"/ws/Makefile": testMakefile, "/ws/sub/GNUmakefile": "x:\n\tgit push -f\n", "/ws/x.mk": "x:\n\treboot\n", "/ws/package.json": testPackage,
			"/ws/web/package.json": `{"scripts":{"start":"npm publish"}}`, "/ws/bad/package.json": "{",
			"/ws/evil/Makefile": "X := $(shell git push -f)\nall:\n\techo\n", "/ws/evil2/Makefile": "X != git push -f\nall:\n\techo\n",
		}[path]
		return text, ok
	}
	for src, want := range map[string]Level{
		"make": Runs, "make all": Runs, "make -j8 test": Runs, "make clean": Runs, "make clean all": Runs, "make install": Runs, "make loop": Runs, "make broken": Runs, "make none": Runs,
		"make release": Asks, "make -s release": Asks, "make deep": Asks, "make clean deep": Asks, "make publish": Asks, "make editor": Asks, "make fsmonitor": Asks,
		"make wipe": Blocked, "make home": Blocked, "make PUSH=true release": Runs, "make -C sub": Asks, "cd sub && make": Asks, "make -f x.mk": Blocked, "sudo make release": Asks,
		"make -C none": Runs, "make -f": Runs, "make --file": Runs, "make -f ''": Runs, "make -C evil": Asks, "make -C evil2": Asks, "gmake release": Asks,
		"npm test": Runs, "npm run build": Runs, "npm run clean": Runs, "npm t": Runs, "npm run a": Runs, "npm install": Runs, "npm ci": Runs, "npm run none": Runs,
		"npm run release": Asks, "npm run-script release": Asks, "npm run deploy": Asks, "npm run evil": Asks, "npm run nested": Asks, "npm run hook": Asks,
		"yarn release": Asks, "yarn run release": Asks, "pnpm release": Asks, "bun run release": Asks, "yarn build": Runs, "npm --silent run release": Asks,
		"cd web && npm start": Asks, "npm --prefix web start": Asks, "npm --prefix=web start": Asks, "cd src && npm run release": Asks, "cd bad && npm test": Runs,
	} {
		v := Command(src, place)
		if v.Level != want {
			t.Errorf("%s: %s (%s), want %s", src, v.Level, v.Reason, want)
		}
		checkShape(t, src, v)
	}
}

// A Makefile or package.json costs a bounded amount, whatever it holds.
func TestHostileRecipes(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"variables that grow": "A=xxxxxxxxxxxxxxxx\n" + strings.Repeat("A=$(A)$(A)$(A)\n", 100) + "all:\n\techo $(A)\n",
		"many rules":          strings.Repeat("all: a b c\n\techo $(A)\n", 20000),
		"a chain":             "all: t0\n" + strings.Repeat("t0: t1\nt1: t0\n\tx\n", 5000),
		"brackets":            "all:\n\t" + strings.Repeat("$(", 30000) + "\n",
		"shells":              strings.Repeat("X:=$(shell $(shell $(shell a)))\n", 5000) + "all:\n",
		"no end":              "all:\n\techo $(",
		"a dollar":            "all:\n\techo $",
		"one line":            strings.Repeat("a", 1<<20),
		"deep JSON":           strings.Repeat("[", 1<<19),
		"deep scripts":        `{"scripts":` + strings.Repeat(`{"a":`, 1<<17),
	} {
		place := here
		place.Read = func(string) (string, bool) { return text, true }
		for _, src := range []string{"make", "npm test"} {
			if v := Command(src, place); v.Level == Blocked {
				t.Errorf("%s, %s: %s", name, src, v.Reason)
			}
		}
	}
}

// A hostile command, Makefile or package.json with endless evaluation is judged at once, and so is
// the rest of the line.
func TestInvolvedCommandsAreJudged(t *testing.T) {
	t.Parallel()
	var scripts, targets strings.Builder
	scripts.WriteString(`{"scripts":{"a":"true"`)
	for i := range 300 {
		scripts.WriteString(`,"s` + strconv.Itoa(i) + `":"`)
		for k := range 300 {
			scripts.WriteString("npm run s" + strconv.Itoa(k) + " && ")
		}
		scripts.WriteString(`true"`)
	}
	scripts.WriteString("}}")
	for i := range 400 {
		targets.WriteString("t" + strconv.Itoa(i) + ":")
		for k := i + 1; k < 400; k++ {
			targets.WriteString(" t" + strconv.Itoa(k))
		}
		next := strconv.Itoa(i + 1)
		targets.WriteString("\n\tmake -n t" + next + "\n\tmake -n t" + next + "; make A=" + next + " t" + next + "\n")
	}
	place := here
	place.Read = func(file string) (string, bool) {
		text, ok := map[string]string{"/ws/package.json": scripts.String(), "/ws/Makefile": targets.String()}[file]
		return text, ok
	}
	for _, command := range []string{
		strings.Repeat("if [ $RANDOM = 1 ]; then cd d0; fi; ", 60), strings.Repeat("cd a || cd b; ", 60), strings.Repeat("case $x in a) cd a;; b) cd b;; esac; ", 60),
		strings.Repeat("while x; do cd a; done; ", 60), "npm run s0;", "make t0;", strings.Repeat("make t0; npm run s1; ", 50),
	} {
		began := time.Now()
		if v := Command(command+" git push -f", place); v.Level != Asks || !slices.Contains(v.Keys, "git push -f") && !strings.Contains(v.Reason, "force-pushes") {
			t.Errorf("%.40s: %s (%s), keys %q", command, v.Level, v.Reason, v.Keys)
		}
		t.Logf("%.40s: %v", command, time.Since(began))
	}
}

// Files of thousands of scripts that run each other cost a bounded number of steps, each file is
// read a few times, and the line requires approval.
func TestRecipesAreCounted(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for _, dir := range []string{"", "/a", "/b", "/c"} {
		var scripts strings.Builder
		for i := range 2000 {
			at := func(n int) string { return strconv.Itoa(n % 2000) }
			scripts.WriteString(`"s` + at(i) + `":"npm run s` + at(i+1) + ` && npm --prefix /ws/a run s` + at(3*i) + ` && npm --prefix /ws/b run s` + at(i+7) + `; npm --prefix /ws/c run s` + at(i+1000) + `",`)
		}
		files["/ws"+dir+"/package.json"] = `{"scripts":{` + scripts.String() + `"x":"true"}}`
	}
	reads := map[string]int{}
	place := here
	place.Read = func(file string) (string, bool) {
		reads[file]++
		return files[file], files[file] != ""
	}
	j := newAnalyzer("npm run s0; npm --prefix a run s1; git push -f", place)
	j.line(j.start())
	if v := j.verdict(); v.Level != Asks || !strings.Contains(v.Reason, "too involved") || !strings.Contains(v.Reason, "force-pushes") {
		t.Errorf("%s: %s", v.Level, v.Reason)
	}
	if j.steps > 20 || j.recipes.budget.steps > 2*maxSteps {
		t.Errorf("%d steps for the line, %d for recipes", j.steps, j.recipes.budget.steps)
	}
	for file, n := range reads {
		if n > 1 {
			t.Errorf("%s is read %d times", file, n)
		}
	}
}

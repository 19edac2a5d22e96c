package gitguard

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// denied is the name suffix of a file moved aside after the user has denied its change.
const denied = ".denied"

// removing removes files or moves them aside. The arguments are triples of a folder, a verb and a
// name. Nothing outside of the folders can be written. If a link has replaced a folder, the folder
// is skipped, since the link could lead to another of the folders. removing prints the numbers,
// from 0, of the failed triples.
const removing = `take() {
	cd -P -- "$1" && [ "$PWD" = "$1" ] || return
	chmod u+rwx . 2>/dev/null
	name=./$3
	if [ "$2" = remove ]; then
		[ -L "$name" ] || chmod -R u+rwX -- "$name" 2>/dev/null
		rm -rf -- "$name"
	else
		chmod u+w -- "$name" 2>/dev/null
		rm -rf -- "$name` + denied + `" && mv -- "$name" "$name` + denied + `"
	fi
	[ ! -e "$name" ] && [ ! -L "$name" ]
}
number=0
while [ $# -gt 2 ]; do
	take "$@" || echo $number
	number=$((number + 1)); shift 3
done`

// unsetting removes settings from files, and sets their earlier values. The arguments are
// git, and for each setting the folder, the file's name, the setting's name, the number of
// its values before, and these. It writes numbers as removing does.
const unsetting = `git=$1; shift
unset_all() {
	cd -P -- "$1" && [ "$PWD" = "$1" ] || return
	chmod u+rwx . 2>/dev/null; chmod u+rw -- "$file" 2>/dev/null
	rm -rf -- "$file.lock"
	if [ -L "$file" ]; then # git would write beside its target
		rm -rf -- "$file` + denied + `" && mv -- "$file" "$file` + denied + `" || return
		aside=yes
		return
	fi
	"$git" config --file "$file" --unset-all "$name"
	code=$?
	[ $code = 0 ] || [ $code = 5 ]
}
number=0
while [ $# -gt 3 ]; do
	file=./$2 name=$3 values=$4 failed= aside=
	unset_all "$1" || failed=yes
	shift 4
	while [ $values -gt 0 ]; do
		[ "$failed$aside" ] || "$git" config --file "$file" --add "$name" "$1" || failed=yes
		values=$((values - 1)); shift
	done
	[ ! "$failed" ] || echo $number
	number=$((number + 1))
done`

// mostRemoved bounds the steps of one program, since the program can write the folders of all its
// steps.
const mostRemoved = 200

// step is an operation to remove a change.
type step struct {
	change int    // index of the change
	dir    string // can be written
	args   []string
}

// Remove undoes changes with sandboxed programs, which can write only the folders around them. It
// restores files from before the command and moves the changed files aside. New files of standing
// programs are moved aside, too, since they may be the user's. If the earlier content is unknown,
// for example after a kill of the server, files are only moved aside. For each change still there
// or not removable, it returns an error.
func (w *Watch) Remove(ctx context.Context, changes []Change) (errs []error) {
	errs = make([]error, len(changes))
	if len(changes) == 0 {
		return errs
	}
	g := w.guard
	var names, settings, own []step
	for i, c := range changes {
		switch kind, _, name := parts(c.first()); {
		case kind == cutItem:
			errs[i] = fmt.Errorf("only the user can remove the %s", uncounted(c.Path))
		case kind == settingItem && name != "":
			settings = append(settings, c.unset(i))
		default:
			names = append(names, c.steps(i, w.stands || w.beside != nil)...)
			if kind == ownItem {
				dir := filepath.Dir(c.Path)
				own = append(own, step{i, filepath.Dir(dir), []string{filepath.Dir(dir), filepath.Base(dir)}})
			}
		}
	}
	g.inBatches(ctx, removing, names, errs)
	if len(settings) > 0 {
		git, err := g.git()
		for _, s := range settings {
			errs[s.change] = err
		}
		if err == nil {
			g.inBatches(ctx, unsetting, settings, errs, git)
		}
	}
	for _, s := range own { // the folder around our settings may be the command's, too
		if _, err := g.cfg.Inside(ctx, `rmdir -- "$1/$2" 2>/dev/null; true`, nil, []string{s.dir}, s.args...); err != nil && errs[s.change] == nil {
			errs[s.change] = err
		}
	}
	for i, c := range changes {
		if errs[i] == nil {
			errs[i] = g.restore(ctx, c)
		}
	}
	g.stillThere(changes, errs)
	for i, err := range errs {
		if kind, _, _ := parts(changes[i].first()); err != nil && kind != cutItem {
			errs[i] = fmt.Errorf("removing %s: %w", changes[i].Path, err)
		}
	}
	return errs
}

// inBatches runs a script with the arguments of steps, and records the errors of their changes. If
// a program fails as a whole, each of its steps is run separately.
func (g *Guard) inBatches(ctx context.Context, script string, steps []step, errs []error, first ...string) {
	for batch := range slices.Chunk(steps, mostRemoved) {
		failed, err := g.batch(ctx, script, batch, first)
		if err != nil && len(batch) > 1 {
			for _, s := range batch {
				g.inBatches(ctx, script, []step{s}, errs, first...)
			}
			continue
		}
		if err != nil {
			errs[batch[0].change] = err
		}
		for _, number := range failed {
			errs[batch[number].change] = errors.New("it could not be moved or changed")
		}
	}
}

// batch runs a script with the arguments of steps. It returns the numbers of the failed steps.
func (g *Guard) batch(ctx context.Context, script string, steps []step, first []string) (failed []int, err error) {
	args := slices.Clone(first)
	var writable []string
	for _, s := range steps {
		args, writable = append(args, s.args...), append(writable, s.dir)
	}
	slices.Sort(writable)
	out, err := g.cfg.Inside(ctx, script, nil, slices.Compact(writable), args...)
	if err != nil {
		return nil, err
	}
	for _, line := range strings.Fields(out) {
		number, err := strconv.Atoi(line)
		if err != nil || number < 0 || number >= len(steps) {
			return nil, fmt.Errorf("the program that removes answers %q", line)
		}
		failed = append(failed, number)
	}
	return failed, nil
}

// stillThere records an error for each change found again by a scan.
func (g *Guard) stillThere(changes []Change, errs []error) {
	s := g.Look()
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, c := range changes {
		for key, value := range c.after {
			now, there := s.items[key]
			if !there || now != value {
				continue
			}
			g.review.stuck[key] = value
			if errs[i] == nil {
				errs[i] = errors.New("it is still there")
			}
		}
	}
}

// first is the name of the first item of a change.
func (c Change) first() string { return slices.Min(slices.Collect(maps.Keys(c.after))) }

// unset returns the step to remove a setting.
func (c Change) unset(number int) step {
	key := c.first()
	_, path, name := parts(key)
	var values []string
	if before, had := c.before[key]; had {
		for _, one := range strings.Split(before, "\n") {
			values = append(values, manyLines(one))
		}
	}
	dir := filepath.Dir(path)
	return step{number, dir, append([]string{dir, filepath.Base(path), name, strconv.Itoa(len(values))}, values...)}
}

// steps returns the steps to remove a change of files. If keep is set, the user may have made it:
// new files are moved aside, too.
func (c Change) steps(number int, keep bool) (all []step) {
	for _, key := range slices.Sorted(maps.Keys(c.after)) {
		kind, path, _ := parts(key)
		verb := "remove"
		if _, had := c.before[key]; had || keep || c.aside || kind == settingItem || kind == todoItem { // the rest of the list is the user's
			verb = "aside"
		}
		dir := filepath.Dir(path)
		all = append(all, step{number, dir, []string{dir, verb, filepath.Base(path)}})
	}
	return all
}

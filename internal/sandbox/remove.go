package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Denied is the end of the name that something gets which was there before a command
// changed it, and which the user has denied.
const denied = ".denied"

// removing takes away names in one folder, and moves others aside. The first argument is the
// folder; each name follows its verb. Nothing outside of the folder can be written.
const removing = `cd -- "$1" || exit 1
shift
chmod u+rwx . 2>/dev/null
failed=0
while [ $# -gt 1 ]; do
	name=./$2
	if [ "$1" = remove ]; then
		[ -L "$name" ] || chmod -R u+rwX -- "$name" 2>/dev/null
		rm -rf -- "$name"
	else
		chmod u+w -- "$name" 2>/dev/null
		rm -rf -- "$name` + denied + `" && mv -- "$name" "$name` + denied + `"
	fi
	if [ -e "$name" ] || [ -L "$name" ]; then failed=1; fi
	shift 2
done
exit $failed`

// unsetting removes a setting from a file, and sets what it was before. The arguments are
// git, the folder, the file's name, the setting's name, and its values before.
const unsetting = `git=$1; cd -- "$2" || exit 1
file=./$3; name=$4; shift 4
chmod u+rwx . 2>/dev/null; chmod u+rw -- "$file" 2>/dev/null
rm -rf -- "$file.lock"
if [ -L "$file" ]; then rm -rf -- "$file` + denied + `" && mv -- "$file" "$file` + denied + `"; exit; fi # git would write beside its target
"$git" config --file "$file" --unset-all "$name"
code=$?
[ $code = 0 ] || [ $code = 5 ] || exit $code
for value do
	"$git" config --file "$file" --add "$name" "$value" || exit
done`

// Remove takes the change away, by a program in the sandbox that can write nothing but the
// folder around it. What was there before the command is moved aside. If it is still there,
// Remove returns an error.
func (c Change) Remove(ctx context.Context) error {
	err := c.remove(ctx)
	s := c.box.look()
	c.box.mu.Lock()
	defer c.box.mu.Unlock()
	for key, value := range c.after {
		if now, there := s.items[key]; there && now == value {
			c.box.review.stuck[key] = value
			err = cmp.Or(err, errors.New("it is still there"))
		}
	}
	if err != nil {
		return fmt.Errorf("removing %s: %w", c.Path, err)
	}
	return nil
}

func (c Change) remove(ctx context.Context) error {
	keys := slices.Sorted(maps.Keys(c.after))
	kind, path, name := parts(keys[0])
	dir := filepath.Dir(path)
	switch {
	case kind == cutItem:
		return errors.New("only the user can make them fewer")
	case kind == settingItem && name != "":
		git, err := c.box.git()
		if err != nil {
			return err
		}
		args := []string{git, dir, filepath.Base(path), name}
		if before, had := c.before[keys[0]]; had {
			args = append(args, strings.Split(before, "\n")...)
		}
		_, err = c.box.inside(ctx, unsetting, []string{dir}, args...)
		return err
	}
	args := []string{dir}
	for _, key := range keys {
		_, path, _ := parts(key)
		verb := "remove"
		if _, had := c.before[key]; had || kind == settingItem || kind == todoItem { // the rest of the list is the user's
			verb = "aside"
		}
		args = append(args, verb, filepath.Base(path))
	}
	if kind == ownItem { // the folder around it may be the command's, too
		if _, err := c.box.inside(ctx, removing, []string{dir}, args...); err != nil {
			return err
		}
		_, err := c.box.inside(ctx, `rmdir -- "$1/$2" 2>/dev/null; true`, []string{filepath.Dir(dir)}, filepath.Dir(dir), filepath.Base(dir))
		return err
	}
	_, err := c.box.inside(ctx, removing, []string{dir}, args...)
	return err
}

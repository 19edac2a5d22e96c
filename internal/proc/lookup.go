package proc

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/proc/confine"
)

// lookup finds the program as a shell would: in PATH of env when its name has no
// slash, else relative to dir.
func lookup(name, dir string, env []string) (string, error) {
	if name == "" {
		return "", &StartError{Program: `""`, Reason: "no program was named", Err: fs.ErrInvalid}
	}
	if strings.ContainsRune(name, '/') || strings.ContainsRune(name, filepath.Separator) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return name, nil
	}
	refused := false
	for _, folder := range filepath.SplitList(value(env, "PATH")) {
		if !filepath.IsAbs(folder) {
			folder = filepath.Join(dir, folder)
		}
		for _, ending := range endings(name, env) {
			path := filepath.Join(folder, name+ending)
			info, err := os.Stat(path)
			switch {
			case err != nil || info.IsDir():
			case runtime.GOOS == "windows" || info.Mode()&0o111 != 0:
				return path, nil
			default:
				refused = true
			}
		}
	}
	if refused {
		return "", &StartError{Program: name, Reason: "found in PATH, but it is not executable", Err: fs.ErrPermission}
	}
	return "", &StartError{Program: name, Reason: "not found in PATH", Err: fs.ErrNotExist}
}

// endings returns the suffixes added by the system to a program's name.
func endings(name string, env []string) []string {
	if runtime.GOOS != "windows" || filepath.Ext(name) != "" {
		return []string{""}
	}
	if list := value(env, "PATHEXT"); list != "" {
		return strings.Split(strings.ToLower(list), ";")
	}
	return []string{".com", ".exe", ".bat", ".cmd"}
}

// value of a variable; the last of several counts.
func value(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		n, v, _ := strings.Cut(env[i], "=")
		if n == name || runtime.GOOS == "windows" && strings.EqualFold(n, name) {
			return v
		}
	}
	return ""
}

// explain describes why the system refused to start a program. plan is the plan of the program's
// sandbox; nil: it had none.
func explain(program, dir string, plan *confine.Plan, err error) error {
	e := &StartError{Program: program, Reason: err.Error(), Err: err}
	info, statErr := os.Stat(program)
	refused := os.IsNotExist(err) || os.IsPermission(err)
	if dirInfo, dirErr := os.Stat(dir); dir != "" && dirErr != nil {
		e.Reason = "its working directory " + dir + " cannot be entered: " + cause(dirErr)
	} else if dir != "" && !dirInfo.IsDir() {
		e.Reason = "its working directory " + dir + " is not a folder"
	} else if os.IsNotExist(statErr) && os.IsNotExist(err) {
		e.Reason = missing(program)
	} else if statErr == nil && info.IsDir() {
		e.Reason = err.Error() + ": it is a folder"
	} else if statErr == nil && info.Mode()&0o111 == 0 && os.IsPermission(err) {
		e.Reason = err.Error() + ": it is not executable"
	} else if statErr == nil && refused {
		e.Reason = present(program, dir, plan, err)
	}
	return e
}

// missing returns the reason for a missing program.
func missing(program string) string {
	if target, err := os.Readlink(program); err == nil {
		return "its link leads to " + target + ", which does not exist"
	}
	return "no such file"
}

// present returns the reason for an existing program that was not found or not permitted.
func present(program, dir string, plan *confine.Plan, err error) string {
	target, linkErr := filepath.EvalSymlinks(program)
	if linkErr != nil {
		target = program
	}
	interpreter := interpreterOf(target)
	if interpreter != "" && !filepath.IsAbs(interpreter) {
		interpreter = filepath.Join(dir, interpreter)
	}
	const advice = ". Install it where the sandbox shows it, such as in /usr/local/bin or /opt"
	if plan != nil {
		switch _, exists := os.Stat(interpreter); {
		case plan.Hides(target) && target != program:
			return "it is a link to " + target + ", which the sandbox hides" + advice
		case plan.Hides(program):
			return "the sandbox hides it" + advice
		case interpreter != "" && exists == nil && plan.Hides(interpreter):
			return "the sandbox hides the interpreter that its first line names, " + interpreter + advice
		case dir != "" && plan.Hides(dir):
			return "the sandbox hides its working directory " + dir
		case interpreter == "" && plan.Apart():
			return "the sandbox hides it or a library that it needs" + advice
		}
	}
	switch {
	case os.IsPermission(err):
		return err.Error()
	case interpreter != "":
		return "the interpreter that its first line names does not exist: " + interpreter
	}
	return "the loader that it names does not exist: it was built for another system"
}

// interpreterOf returns the program named in a script's first line. If the file is no script, it
// returns "".
func interpreterOf(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	start := make([]byte, 256)
	n, _ := file.Read(start)
	line, _, _ := strings.Cut(string(start[:n]), "\n")
	rest, ok := strings.CutPrefix(line, "#!")
	words := strings.Fields(rest)
	if !ok || len(words) == 0 {
		return ""
	}
	return words[0]
}

// cause returns an error's text without the path, which is already in the message.
func cause(err error) string {
	if pathErr, ok := err.(*fs.PathError); ok {
		return pathErr.Err.Error()
	}
	return err.Error()
}

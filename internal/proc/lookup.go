package proc

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
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

// endings are the suffixes that the system adds to a program's name.
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

// explain words a start that the system refused.
func explain(program, dir string, err error) error {
	e := &StartError{Program: program, Reason: err.Error(), Err: err}
	if info, statErr := os.Stat(dir); dir != "" && statErr != nil {
		e.Reason = "its working directory " + dir + " cannot be entered: " + cause(statErr)
	} else if dir != "" && !info.IsDir() {
		e.Reason = "its working directory " + dir + " is not a folder"
	} else if _, statErr := os.Stat(program); statErr == nil && os.IsNotExist(err) {
		e.Reason = "the interpreter that its first line names does not exist"
	} else if os.IsNotExist(err) {
		e.Reason = "no such file"
	}
	return e
}

// cause is an error's text without the path, which is said already.
func cause(err error) string {
	if pathErr, ok := err.(*fs.PathError); ok {
		return pathErr.Err.Error()
	}
	return err.Error()
}

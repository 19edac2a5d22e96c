package codeexec

import (
	"errors"
	"io/fs"
	"net"
	"os"
)

var errWindows = errors.New("there is no execute_code on Windows")

func lockFile(string) (*os.File, error) { return nil, errWindows }

func tryLock(string) (*os.File, error) { return nil, errWindows }

func mine(fs.FileInfo) bool { return false }

func checkPeer(*net.UnixConn) error { return errWindows }

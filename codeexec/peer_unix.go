//go:build unix

package codeexec

import (
	"fmt"
	"net"
	"os"
)

// checkPeer refuses a connection of another user.
func checkPeer(conn *net.UnixConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	uid, asked := 0, error(nil)
	if err := raw.Control(func(fd uintptr) { uid, asked = peerUID(int(fd)) }); err != nil {
		return err
	}
	if asked != nil {
		return asked
	}
	if uid != os.Getuid() {
		return fmt.Errorf("the caller is user %d", uid)
	}
	return nil
}

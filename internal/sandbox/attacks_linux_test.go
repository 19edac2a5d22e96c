package sandbox

import (
	"fmt"
	"net"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// attacks prints "broken" for each successful attack.
func attacks(what string, args []string) int {
	err := fmt.Errorf("no such attack: %s", what)
	switch what {
	case "connect": // to a Unix socket
		var c net.Conn
		if c, err = net.DialTimeout("unix", args[0], time.Second); err == nil {
			c.Close() // it was reached
		}
	case "tcp":
		var c net.Conn
		if c, err = net.DialTimeout("tcp", args[0], time.Second); err == nil {
			c.Close() // it was reached
		}
	case "udp":
		var c net.Conn
		if c, err = net.Dial("udp", args[0]); err == nil {
			_, err = c.Write([]byte("broken"))
			c.Close() // it was sent
		}
	case "loopback": // talk to oneself
		err = selfTalk()
	case "socket": // of a family and a type
		var family, kind, fd int
		fmt.Sscan(args[0], &family) // a wrong number is no family
		fmt.Sscan(args[1], &kind)   // as above
		if fd, err = syscall.Socket(family, kind, 0); err == nil {
			syscall.Close(fd) // it was made
		}
	case "ptrace":
		pid, _ := strconv.Atoi(args[0])
		runtime.LockOSThread()
		if err = syscall.PtraceAttach(pid); err == nil {
			syscall.Wait4(pid, nil, 0, nil) // it stops
			syscall.PtraceDetach(pid)       // it was reached
		}
	case "exec": // start a program in the named file
		err = exec.Command(args[0], args[1:]...).Run()
	}
	if err == nil {
		fmt.Println("broken")
		return 0
	}
	fmt.Println(err)
	return 1
}

func selfTalk() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close() // only a test
	c, err := net.DialTimeout("tcp", l.Addr().String(), time.Second)
	if err != nil {
		return err
	}
	return c.Close()
}

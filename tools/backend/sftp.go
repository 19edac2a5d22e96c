package backend

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/pkg/sftp"

	"github.com/hermes-ls/hermes-ls/internal/proc"
)

// sftpConn is the part of a connection for files. OpenSSH's client carries it, as it carries
// commands.
type sftpConn struct {
	mu      sync.Mutex // held while it is being opened
	client  *sftp.Client
	process *proc.Process
}

// withFiles runs do with a client for the remote files. If ctx ends, it closes the connection for
// files to make do return. The next call opens another.
func (s *overSSH) withFiles(ctx context.Context, do func(*sftp.Client) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	client, err := s.fileClient(ctx)
	if err != nil {
		return err
	}
	unlink := context.AfterFunc(ctx, func() { client.Close() }) // it is given up
	defer unlink()
	if err = do(client); ctx.Err() != nil && err != nil {
		return ctx.Err()
	}
	return err
}

func (s *overSSH) fileClient(ctx context.Context) (*sftp.Client, error) {
	if _, err := s.Open(ctx); err != nil {
		return nil, err
	}
	c := &s.files
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process != nil && !ended(c.process) {
		return c.client, nil
	}
	fromThere, toHere := io.Pipe()
	fromHere, toThere := io.Pipe()
	errs := &outputTail{}
	args := append(s.options(), "-o", "ControlMaster=no", "-o", "LogLevel=ERROR", "-T", "-s", "--", s.SSH.Host, "sftp")
	process, err := proc.Start(s.ctx, proc.Cmd{Args: args, Env: environ(s.Folders), Dir: "/", Stdin: fromHere, Stdout: toHere, Stderr: errs})
	if err != nil {
		return nil, err
	}
	s.ending.Go(func() {
		<-process.Done()
		toHere.Close()   // never fails
		fromHere.Close() // never fails
		process.Wait()   // its output reports the error
	})
	unlink := context.AfterFunc(ctx, func() { process.Stop(0) })
	defer unlink()
	client, err := sftp.NewClientPipe(fromThere, toThere)
	if err != nil {
		process.Stop(0)
		return nil, fmt.Errorf("opening the files of %s over ssh (it needs sftp there, which OpenSSH's server has unless it was switched off): %w %s", s.SSH.Host, err, errs.text())
	}
	c.client, c.process = client, process
	return client, nil
}

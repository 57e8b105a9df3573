package kafkalocal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// killer is the client software that Kill pretends to be.
const killer = "kafkalocal-kill"

// Kill ends the server as kill -9 does: every connection ends in the same moment, requests under way stay unanswered, and
// nothing is saved beyond what was on disk then. Start brings it back. It needs Dir, and cannot be used with TLS.
func (s *Server) Kill(ctx context.Context) error {
	if s.opts.Dir == "" {
		return errors.New("kafkalocal: a server in memory would lose everything by a kill: give it a Dir, or Close it")
	}
	c := s.Cluster()
	if c == nil {
		return errors.New("kafkalocal: the server is not running")
	}
	// kfake knows no kill; its Close answers and saves. So the folder is put aside while the broker stands still (it
	// does for as long as a control function runs), and put back when it has closed.
	aside := s.opts.Dir + ".killed"
	stood := make(chan error, 1)
	c.ControlKey(int16(kmsg.ApiVersions), func(req kmsg.Request) (kmsg.Response, error, bool) {
		if req.(*kmsg.ApiVersionsRequest).ClientSoftwareName != killer {
			return nil, nil, false
		}
		s.net.cut()
		stood <- copyDir(aside, s.opts.Dir)
		return nil, errors.New("killed"), true
	})
	if err := s.knock(ctx); err != nil {
		return fmt.Errorf("kafkalocal: kill: %w", err)
	}
	select {
	case err := <-stood:
		s.replace(nil)
		c.Close()
		return errors.Join(err, os.RemoveAll(s.opts.Dir), os.Rename(aside, s.opts.Dir))
	case <-ctx.Done():
		return fmt.Errorf("kafkalocal: kill: the broker does not stand still: %w", context.Cause(ctx))
	}
}

// knock sends the request that the control function of Kill waits for.
func (s *Server) knock(ctx context.Context) error {
	conn, err := s.net.dial(ctx, "tcp", s.Addr())
	if err != nil {
		return err
	}
	req := kmsg.NewPtrApiVersionsRequest()
	req.Version = 3
	req.ClientSoftwareName, req.ClientSoftwareVersion = killer, "1"
	_, err = conn.Write(kmsg.NewRequestFormatter().AppendRequest(nil, req, 1))
	return err // the connection is one of those that Kill cuts
}

// copyDir makes to a copy of the folder from.
func copyDir(to, from string) error {
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return fmt.Errorf("put %s aside: %w", filepath.Clean(from), err)
	}
	return nil
}

package kafkalocal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// killer is the client software name by which Kill recognizes its own request.
const killer = "kafkalocal-kill"

// Kill ends the server as kill -9 does: all connections end at the same moment, running requests get no answer, and
// only what is on disk remains. Start starts it again. Kill needs Dir, and does not support TLS.
func (s *Server) Kill(ctx context.Context) error {
	if s.opts.Dir == "" {
		return errors.New("kafkalocal: a server in memory would lose everything in a Kill: set ServerOptions.Dir, or call Close")
	}
	c := s.Cluster()
	if c == nil {
		return errors.New("kafkalocal: the server is not running")
	}
	// kfake has no kill, and its Close answers requests and saves. So the folder is copied while the broker stands
	// still (as it does while a control function runs), and the copy is put in its place after Close.
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

// knock sends the request that Kill's control function waits for.
func (s *Server) knock(ctx context.Context) error {
	conn, err := s.net.dial(ctx, "tcp", s.Addr())
	if err != nil {
		return err
	}
	req := kmsg.NewPtrApiVersionsRequest()
	req.Version = 3
	req.ClientSoftwareName, req.ClientSoftwareVersion = killer, "1"
	_, err = conn.Write(kmsg.NewRequestFormatter().AppendRequest(nil, req, 1))
	return err // Kill closes this connection, too
}

// copyDir copies the folder from into to.
func copyDir(to, from string) error {
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return fmt.Errorf("copy %s: %w", filepath.Clean(from), err)
	}
	return nil
}

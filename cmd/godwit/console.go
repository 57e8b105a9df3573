package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/godwitmq/godwit/cmd/godwit/internal/jq"
	"github.com/godwitmq/godwit/cmd/godwit/internal/localconsole"
	"github.com/godwitmq/godwit/cmd/godwit/internal/manual"
	"github.com/godwitmq/godwit/console"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/ops"
	"github.com/godwitmq/godwit/ops/processes"
)

const (
	// consoleAddr chooses a free port on loopback.
	consoleAddr = "127.0.0.1:0"
	// consoleOff is the address of no console.
	consoleOff = "off"
	// consoleReads bounds how long a client may send its request, and consoleEnds how long the last answers may take.
	consoleReads = 30 * time.Second
	consoleEnds  = 5 * time.Second
)

// consoleOptions are the flags of `godwit console`.
type consoleOptions struct {
	backend   backendFlags
	listen    string
	level     string
	auth      string // a file of users
	proxy     string // a header
	proxyFrom []string
	console   console.Options
}

// aboutWorkers is the help of --workers.
const aboutWorkers = "an `address` that serves ops.Workers; a name of DNS stands for all of its addresses, and @FILE for " +
	"those in a file; may be repeated"

func newConsole() *cobra.Command {
	var o consoleOptions
	cmd := &cobra.Command{
		Use:   "console",
		Short: "Serve a web page that shows channels and mends dead letters",
		Long: "Serve a web page that shows channels and mends dead letters.\n\n" +
			"It prints its address, and runs until it is interrupted. It serves this machine alone, unless people sign in: " +
			"by a password or a token of the file --auth, or at a proxy. A level says what they may do: figures, bodies " +
			"(messages as well), or act.",
		Example: "  godwit console --level act\n" +
			"  godwit console --listen :8080 --auth users.txt --host console.example.com",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.read(); err != nil {
				return usage(cmd, err)
			}
			return o.backend.use(cmd, func(ctx context.Context, b driver.Backend) error {
				return opened(cmd, o.run(ctx, b, cmd.OutOrStdout(), cmd.ErrOrStderr()))
			})
		},
	}
	o.backend.add(cmd)
	o.backend.addStore(cmd)
	c := &o.console
	manual.Where(cmd, func(f *pflag.FlagSet) {
		f.StringVar(&o.listen, "listen", consoleAddr, "`host:port` to serve on; port 0 chooses a free one")
		f.StringArrayVar(&c.Hosts, "host", nil, "a `name` by which browsers reach the console; may be repeated")
		f.StringVar(&c.Folder, "data", "",
			"the `folder` of the audit log, of journals and exports; a temporary one by default")
		f.StringVar(&c.History, "history", "", "the `file` that keeps the charts over a restart; of the last six hours")
		f.StringArrayVar(&c.Workers, "workers", nil, aboutWorkers)
	})
	f := cmd.Flags()
	f.StringVar(&o.level, "level", "figures", "the `level` of everybody who has none: figures, bodies or act")
	f.StringVar(&o.auth, "auth", "", "the `file` of those who may sign in")
	f.StringVar(&o.proxy, "auth-proxy", "", "the `header` in which a proxy says who has signed in")
	f.StringArrayVar(&o.proxyFrom, "auth-proxy-from", nil,
		"an `address` of the proxy; or a range such as 10.0.0.0/8; may be repeated")
	f.StringVar(&c.Name, "name", "", "the `name` of these channels in the page; such as \"aws prod\"")
	f.DurationVar(&c.Interval, "interval", 0, "how often every channel is looked at (default 10s)")
	f.IntVar(&c.Requests, "requests", 0, "how many requests a minute the looks may cost (default 1200)")
	f.StringArrayVar(&c.Mask.Headers, "mask-header", nil,
		"the `name` of a header whose value is hidden; may be repeated")
	f.StringArrayVar(&c.Mask.Paths, "mask", nil,
		"the `path` of a hidden value in JSON bodies; such as card.number; may be repeated")
	f.StringVar(&c.Traces, "traces", "",
		"the `URL` of a trace, with {trace} for its id, to link messages with their traces")
	manual.Rare(cmd, "interval", "requests", "name", "mask-header", "traces")
	manual.More(cmd, "The level figures is for numbers and settings, bodies also for messages, and act for requeue, delete, "+
		"pause and everything else that changes something. A proxy says in a header who has signed in. Each line of the "+
		"file --auth is a name, a level, the word password or token, and the secret:\n\n"+
		"  ada act password correct-horse-battery\n  board figures token 3f9d0a5b77e1c2d4", "docs/console.md")
	return cmd
}

// read turns the flags into options.
func (o *consoleOptions) read() (err error) {
	if o.console.Level, err = parseLevel("--level", o.level); err != nil {
		return err
	}
	if o.console.Users, err = readUsers(o.auth); err != nil {
		return err
	}
	if i := o.console.Interval; i != 0 && i < ops.LeastInterval {
		return fmt.Errorf("--interval is %v: it must be at least %v", i, ops.LeastInterval)
	}
	if n := o.console.Requests; n != 0 && n < ops.LeastRequests {
		return fmt.Errorf("--requests is %d: it must be at least %d", n, ops.LeastRequests)
	}
	if o.proxy == "" && len(o.proxyFrom) > 0 {
		return errors.New("--auth-proxy-from is set without --auth-proxy: name the header as well")
	}
	if o.proxy != "" && len(o.proxyFrom) == 0 {
		return errors.New("--auth-proxy is set without --auth-proxy-from: without the addresses of the proxy, anybody " +
			"could say who they are")
	}
	if o.proxy != "" {
		o.console.Proxy = &console.Proxy{Header: o.proxy}
	}
	for _, text := range o.proxyFrom {
		from, err := netip.ParsePrefix(text)
		if err != nil {
			one, wrong := netip.ParseAddr(text)
			if wrong != nil {
				return fmt.Errorf("--auth-proxy-from is %q: use an address, or a range such as 10.0.0.0/8", text)
			}
			from = netip.PrefixFrom(one, one.BitLen())
		}
		o.console.Proxy.From = append(o.console.Proxy.From, from)
	}
	host, _, err := net.SplitHostPort(o.listen)
	if err != nil {
		return fmt.Errorf("--listen %q is not of the form host:port, like 127.0.0.1:8080", o.listen)
	}
	if len(o.console.Users) == 0 && o.console.Proxy == nil && !loopbackHost(host) {
		return fmt.Errorf("--listen %s serves other machines, and nobody signs in: add --auth FILE, or --auth-proxy HEADER "+
			"with --auth-proxy-from; or listen on 127.0.0.1", o.listen)
	}
	if len(o.console.Users) == 0 && o.console.Proxy == nil && len(o.console.Hosts) > 0 {
		return fmt.Errorf("--host is %q, and nobody signs in: only this machine is served then; add --auth FILE, or "+
			"--auth-proxy HEADER with --auth-proxy-from", o.console.Hosts)
	}
	if _, err := processes.New(&processes.Options{Addresses: o.console.Workers}); err != nil {
		return fmt.Errorf("--workers: %w", err)
	}
	o.console.Expression = expression
	return checkFile("--history", o.console.History)
}

// loopbackHost reports whether a host is this machine alone.
func loopbackHost(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

func parseLevel(from, text string) (console.Level, error) {
	for _, l := range []console.Level{console.LevelFigures, console.LevelBodies, console.LevelAct} {
		if l.String() == text {
			return l, nil
		}
	}
	return 0, fmt.Errorf("%s is %q: use figures, bodies or act", from, text)
}

// readUsers reads the file of those who may sign in.
func readUsers(file string) (users []console.User, err error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--auth: %w", err)
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		where := fmt.Sprintf("--auth %s, line %d", file, n)
		if len(fields) != 4 {
			return nil, fmt.Errorf("%s: write a name, a level, the word password or token, and the secret", where)
		}
		u := console.User{Name: fields[0]}
		if u.Level, err = parseLevel(where, fields[1]); err != nil {
			return nil, err
		}
		switch fields[2] {
		case "password":
			u.Password = fields[3]
		case "token":
			u.Token = fields[3]
		default:
			return nil, fmt.Errorf("%s: %q is neither password nor token", where, fields[2])
		}
		users = append(users, u)
	}
	if len(users) == 0 {
		return nil, fmt.Errorf("--auth %s: it has no lines", file)
	}
	return users, lines.Err()
}

// expression compiles an expression of jq.
func expression(text string) (console.Expression, error) {
	e, err := jq.Parse(context.Background(), "the expression", text)
	if err != nil {
		return nil, err
	}
	return e, nil
}

func (o *consoleOptions) run(ctx context.Context, b driver.Backend, out, errOut io.Writer) error {
	o.console.Logger = slog.New(slog.NewTextHandler(errOut, nil))
	c, err := console.New(b, &o.console)
	if err != nil {
		return err
	}
	url, stop, err := serveConsole(o.listen, c)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s\n", url)
	if err == nil {
		fmt.Fprintln(errOut, "interrupt (Ctrl-C) stops it")
		<-ctx.Done()
	}
	return errors.Join(err, stop())
}

// webConsole is a console, or several.
type webConsole interface {
	http.Handler
	Close(ctx context.Context) error
}

// serveConsole serves a console until stop is called, which closes it.
func serveConsole(listen string, c webConsole) (url string, stop func() error, err error) {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("serve the console: %w", err), c.Close(context.Background()))
	}
	server := &http.Server{Handler: c, ReadHeaderTimeout: consoleReads, ReadTimeout: consoleReads}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(l) }) // it ends with ErrServerClosed
	return endpoint(l.Addr()) + "/", func() error {
		// The console ends its streams, for which the server would wait.
		err := c.Close(context.Background())
		ending, cancel := context.WithTimeout(context.Background(), consoleEnds)
		defer cancel()
		if server.Shutdown(ending) != nil {
			_ = server.Close() // a client that does not read its answer
		}
		serving.Wait()
		return err
	}, nil
}

// mountConsole serves a console of a server in this process, and prints its address. own are the consumers of this
// process; nil: there are none.
func mountConsole(
	listen string, server *localaws.Server, b driver.Backend, region string, own *ops.Workers, to io.Writer,
) (stop func() error, err error) {
	if listen == consoleOff {
		return func() error { return nil }, nil
	}
	c, err := localconsole.New(server, b, region, &console.Options{
		Name: "local", Level: console.LevelAct, Expression: expression, Interval: 2 * time.Second,
		Own: own, Logger: slog.New(slog.NewTextHandler(to, nil)),
	})
	if err != nil {
		return nil, err
	}
	url, stop, err := serveConsole(listen, c)
	if err != nil {
		return nil, fmt.Errorf("%w (--console off serves none)", err)
	}
	fmt.Fprintf(to, "console: %s\n", url)
	return stop, nil
}

// checkConsole checks the address of a console without authentication.
func checkConsole(listen string) error {
	if listen == consoleOff {
		return nil
	}
	host, _, err := net.SplitHostPort(listen)
	if err != nil || !loopbackHost(host) {
		return fmt.Errorf("--console is %q: use an address of this machine such as %s, or off", listen, consoleAddr)
	}
	return nil
}

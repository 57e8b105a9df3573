package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/godwitmq/godwit/cmd/godwit/internal/manual"
	"github.com/godwitmq/godwit/localaws"
)

// stopWithin is how long a server may take to end: it lets running calls finish for five seconds.
const stopWithin = 15 * time.Second

func newLocalStop() *cobra.Command {
	endpoint := ""
	cmd := &cobra.Command{
		Use:   "stop",
		Short: "End a `godwit local` that runs on this machine",
		Long: "End a `godwit local` that runs on this machine, and wait until it has ended.\n\n" +
			"Without --endpoint it is the one of AWS_ENDPOINT_URL, or of " + defaultAddr + ".",
		Example: "  godwit local stop --endpoint http://127.0.0.1:4566",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkEndpoint(endpoint); err != nil {
				return usage(cmd, err)
			}
			return stopLocal(cmd.Context(), localEndpoint(endpoint))
		},
	}
	manual.Where(cmd, func(f *pflag.FlagSet) {
		f.StringVar(&endpoint, "endpoint", "", "the `URL` of the server")
	})
	return cmd
}

// pingWithin is how long a server may take to answer.
const pingWithin = 5 * time.Second

func newLocalPing() *cobra.Command {
	endpoint := ""
	cmd := &cobra.Command{
		Use:   "ping",
		Short: "Ask whether a `godwit local` is ready, for health checks",
		Long: "Ask whether a `godwit local` is ready, for health checks of containers. It prints nothing.\n\n" +
			"Without --endpoint it is the one of AWS_ENDPOINT_URL, or of " + defaultAddr + ".",
		Example: "  godwit local ping --endpoint http://127.0.0.1:4566",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkEndpoint(endpoint); err != nil {
				return usage(cmd, err)
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), pingWithin)
			defer cancel()
			at := localEndpoint(endpoint)
			status, err := ask(ctx, http.MethodGet, at+healthPage)
			return isLocal(at, status, err)
		},
	}
	manual.Where(cmd, func(f *pflag.FlagSet) {
		f.StringVar(&endpoint, "endpoint", "", "the `URL` of the server")
	})
	return cmd
}

// healthPage is the page of the server's health.
const healthPage = "/_localaws/health"

// checkEndpoint returns an error for a flag that is no URL of a server; "": it is not given.
func checkEndpoint(flag string) error {
	if u, err := url.Parse(flag); flag != "" && (err != nil || u.Scheme != "http" || u.Host == "") {
		return fmt.Errorf("--endpoint is %q: use a URL such as http://%s", flag, defaultAddr)
	}
	return nil
}

// localEndpoint is the URL of a server: from the flag, the environment, or the default address.
func localEndpoint(flag string) string {
	at := cmp.Or(flag, os.Getenv("AWS_ENDPOINT_URL"), "http://"+defaultAddr)
	return strings.TrimSuffix(at, "/")
}

// isLocal returns an error if the answer of ask is not that of a `godwit local`.
func isLocal(endpoint string, status int, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("no `godwit local` answers (--endpoint names another): %w", err)
	case status != http.StatusOK:
		return fmt.Errorf("the server at %s is not `godwit local`: it answered %d", endpoint, status)
	}
	return nil
}

// stopLocal asks a server to end, and waits until nothing listens there any more.
func stopLocal(ctx context.Context, endpoint string) error {
	ctx, cancel := context.WithTimeout(ctx, stopWithin)
	defer cancel()
	status, err := ask(ctx, http.MethodPost, endpoint+localaws.StopPath)
	if err := isLocal(endpoint, status, err); err != nil {
		return err
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("the server at %s has not ended within %v", endpoint, stopWithin)
		case <-tick.C:
		}
		if _, err := ask(ctx, http.MethodGet, endpoint+healthPage); err != nil && ctx.Err() == nil {
			return nil
		}
	}
}

// ask returns the status of a page.
func ask(ctx context.Context, method, url string) (int, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return 0, err
	}
	r.Close = true // a connection that is kept would delay the end
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, errors.Join(answer.Body.Close())
}

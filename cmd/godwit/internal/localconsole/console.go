package localconsole

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/godwitmq/godwit/console"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/local"
	"github.com/godwitmq/godwit/localaws"
)

const (
	// below is the path of the consoles of namespaces.
	below = "/in/"
	// separator ends the namespace in the name of a queue or topic.
	separator = "---"
)

// Console serves a console for each namespace of a server.
type Console struct {
	server *localaws.Server
	region string // "": the server's own
	base   console.Options
	fault  injection
	root   *console.Console

	mu     sync.Mutex
	others map[string]*other // by namespace
	closed bool
}

// other is the console of a namespace.
type other struct {
	console *console.Console
	b       *local.Backend
}

// New returns the consoles of a server. The backend has the channels without a namespace, in the region; the options
// are those of each console, without what belongs to one.
func New(server *localaws.Server, b driver.Backend, region string, o *console.Options) (*Console, error) {
	c := &Console{server: server, region: region, base: *o, others: map[string]*other{}}
	var err error
	c.root, err = console.New(b, c.options("", b))
	return c, err
}

// options are the options of the console of a namespace.
func (c *Console) options(namespace string, b driver.Backend) *console.Options {
	o := c.base
	o.Local = &bar{server: c.server, b: b, injection: &c.fault}
	o.Spaces = func() []console.Space { return c.spaces(namespace) }
	if namespace != "" {
		o.Path = below + url.PathEscape(namespace)
	}
	return &o
}

// spaces lists the namespaces, as one of them links to the others.
func (c *Console) spaces(here string) []console.Space {
	all := []console.Space{{Href: "/", Here: here == ""}}
	for _, namespace := range c.namespaces(here) {
		all = append(all, console.Space{
			Name: namespace, Href: below + url.PathEscape(namespace) + "/", Here: here == namespace,
		})
	}
	return all
}

// namespaces are those that queues and topics of the server have, and the one that is shown.
func (c *Console) namespaces(here string) (all []string) {
	place := c.server.In("", c.region)
	add := func(name string) {
		if namespace, _, ok := strings.Cut(name, separator); ok && namespace != "" {
			all = append(all, namespace)
		}
	}
	for _, q := range place.SQS().Queues() {
		add(q.Name())
	}
	for _, t := range place.SNS().Topics() {
		add(t.Name)
	}
	if here != "" {
		all = append(all, here)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// ServeHTTP serves the pages of all namespaces.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rest, ok := strings.CutPrefix(r.URL.Path, below)
	if !ok {
		c.root.ServeHTTP(w, r)
		return
	}
	namespace, _, _ := strings.Cut(rest, "/")
	one, err := c.in(r.Context(), namespace)
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	case one == nil:
		c.root.ServeHTTP(w, r) // it says that there is no such page
	default:
		one.ServeHTTP(w, r)
	}
}

// in returns the console of a namespace, which it makes; nil: the server has no such namespace.
func (c *Console) in(ctx context.Context, namespace string) (*console.Console, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if one := c.others[namespace]; one != nil {
		return one.console, nil
	}
	if c.closed || !slices.Contains(c.namespaces(""), namespace) {
		return nil, nil //nolint:nilnil // there is none
	}
	b, err := local.On(context.WithoutCancel(ctx), c.server, &local.Options{
		Server: &localaws.Options{Region: c.region}, Namespace: namespace, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	one, err := console.New(b, c.options(namespace, b))
	if err != nil {
		return nil, errors.Join(err, b.Close(ctx))
	}
	c.others[namespace] = &other{one, b}
	return one, nil
}

// Close ends all consoles.
func (c *Console) Close(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	err := c.root.Close(ctx)
	for _, one := range c.others {
		err = errors.Join(err, one.console.Close(ctx), one.b.Close(ctx))
	}
	return err
}

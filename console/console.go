package console

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/godwitmq/godwit/console/internal/runs"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
	"github.com/godwitmq/godwit/ops/processes"
)

//go:embed static pages
var assets embed.FS

// Console is the web page. It is safe for concurrent use.
type Console struct {
	o         Options
	b         driver.Backend
	log       *slog.Logger
	guard     *guard
	handler   http.Handler
	pages     *template.Template
	watch     *watch
	runs      *runs.Registry
	audit     *runs.Log
	scans     *scans
	pauses    pauses
	estate    estate
	processes *processes.Processes
	streams   chan struct{} // a place for each open stream
	folder    string
	ours      bool // the folder is temporary

	ctx  context.Context //nolint:containedctx // of the streams; Close ends it
	stop context.CancelFunc
}

// streamsMost bounds the open streams of events: each renders its page at every look.
const streamsMost = 64

// New returns a console over a backend. It makes no request before somebody looks. Close it to end what it has started.
func New(b driver.Backend, o *Options) (*Console, error) {
	c := &Console{b: b, streams: make(chan struct{}, streamsMost)}
	if o != nil {
		c.o = *o
	}
	c.o.Level = cmp.Or(c.o.Level, LevelFigures)
	if c.log = c.o.Logger; c.log == nil {
		c.log = slog.Default()
	}
	if c.o.Path = strings.TrimSuffix(c.o.Path, "/"); c.o.Path != "" && !strings.HasPrefix(c.o.Path, "/") {
		return nil, fmt.Errorf("console: Options.Path is %q: it must begin with a slash", c.o.Path)
	}
	if err := checkTraces(c.o.Traces); err != nil {
		return nil, err
	}
	var err error
	if c.guard, err = newGuard(&c.o); err != nil {
		return nil, err
	}
	if c.processes, err = processes.New(&processes.Options{Addresses: c.o.Workers, Own: c.o.Own}); err != nil {
		return nil, fmt.Errorf("console: Options.Workers: %w", err)
	}
	sampler, err := ops.NewSampler(b, &ops.SamplerOptions{
		Interval: c.o.Interval, Requests: c.o.Requests, History: c.o.History, Fresh: c.o.Local != nil,
		Past: true,
	})
	if err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	if err := c.openFolder(); err != nil {
		return nil, err
	}
	if c.pages, err = newPages(c); err != nil {
		return nil, errors.Join(err, c.closeFolder())
	}
	c.ctx, c.stop = context.WithCancel(context.Background())
	c.runs = runs.New(c.audit)
	c.scans = newScans(b)
	c.estate.busy = make(chan struct{}, 1)
	c.watch = newWatch(sampler, c.o.History != "", c.lookBeside)
	c.handler = c.guard.protect(c.mux())
	return c, nil
}

// lookBeside reads settings and the reports of workers, for the problems that figures of channels do not show.
func (c *Console) lookBeside(ctx context.Context, v *ops.View) {
	c.processes.Ask(ctx)
	if _, err := c.estate.survey(ctx, c.b, v); err != nil && ctx.Err() == nil {
		c.log.Debug("console: read the settings of channels", "err", err)
	}
}

// ServeHTTP serves the pages.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.handler.ServeHTTP(w, r) }

// Close cancels what is under way, and waits for it. The server's own shutdown comes before it.
func (c *Console) Close(ctx context.Context) error {
	c.stop()
	c.watch.close()
	return errors.Join(c.runs.Close(ctx), c.audit.Close(), c.closeFolder())
}

// openFolder makes the folder, and opens the audit log in it.
func (c *Console) openFolder() (err error) {
	if c.folder = c.o.Folder; c.folder == "" {
		c.ours = true
		if c.folder, err = os.MkdirTemp("", "godwit-console-"); err != nil {
			return fmt.Errorf("console: make a temporary folder: %w", err)
		}
	} else if err = os.MkdirAll(c.folder, 0o700); err != nil {
		return fmt.Errorf("console: make Options.Folder: %w", err)
	}
	c.audit, err = runs.OpenLog(filepath.Join(c.folder, "audit.jsonl"))
	if err != nil {
		return errors.Join(err, c.closeFolder())
	}
	return nil
}

func (c *Console) closeFolder() error {
	if !c.ours {
		return nil
	}
	return os.RemoveAll(c.folder)
}

// change makes a small change at once. The audit log has it before and after.
func (c *Console) change(r *request, action, channel, what string, do func() error) error {
	e := runs.Entry{At: time.Now(), By: r.name, Action: action, Channel: channel, What: what, Result: "started"}
	if err := c.audit.Add(e); err != nil {
		return err
	}
	err := do()
	e.At, e.Result = time.Now(), string(runs.Done)
	if err != nil {
		e.Result = "failed: " + err.Error()
	}
	return errors.Join(err, c.audit.Add(e))
}

// mux is the routes, with the style sheet and the script.
func (c *Console) mux() *http.ServeMux {
	mux := http.NewServeMux()
	for _, route := range routes() {
		method, path, _ := strings.Cut(route.pattern, " ")
		mux.Handle(method+" "+c.o.Path+path, c.serve(route))
	}
	mux.Handle(c.o.Path+"/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.refuse(w, c.requestOf(r), http.StatusNotFound, fmt.Errorf("there is no page %s", r.URL.Path))
	}))
	if c.o.Path != "" {
		mux.Handle("GET "+c.o.Path, http.RedirectHandler(c.o.Path+"/", http.StatusMovedPermanently))
	}
	return mux
}

// A route is a pattern with the level that it needs, and one of a page, an action or a file.
type route struct {
	pattern string // of http.ServeMux, without Options.Path
	needs   Level
	page    func(r *request) (*view, error)
	action  func(r *request) (to string, err error) // returns where the browser goes then
	file    func(w http.ResponseWriter, r *request) error
}

// routes lists all routes.
func routes() []route {
	return []route{
		{pattern: "GET /{$}", needs: LevelFigures, page: nowPage},
		{pattern: "GET /channel/{name}", needs: LevelFigures, page: channelPage},
		{pattern: "POST /channel/{name}/pause", needs: LevelAct, action: pauseAction(true)},
		{pattern: "POST /channel/{name}/resume", needs: LevelAct, action: pauseAction(false)},
		{pattern: "POST /channel/{name}/filter", needs: LevelAct, action: filterAction},
		{pattern: "GET /channel/{name}/dead", needs: LevelFigures, page: deadPage},
		{pattern: "GET /channel/{name}/messages", needs: LevelBodies, page: messagesPage},
		{pattern: "GET /channel/{name}/messages/{id}", needs: LevelBodies, page: messagePage},
		{pattern: "GET /channel/{name}/messages/{id}/body", needs: LevelBodies, file: bodyFile},
		{pattern: "POST /channel/{name}/messages/{id}/edit", needs: LevelAct, action: editAction},
		{pattern: "POST /channel/{name}/look", needs: LevelAct, action: lookAction},
		{pattern: "POST /channel/{name}/plan", needs: LevelAct, action: planAction},
		{pattern: "GET /runs", needs: LevelFigures, page: runsPage},
		{pattern: "POST /runs/sweep", needs: LevelAct, action: sweepAction},
		{pattern: "GET /runs/{id}", needs: LevelFigures, page: runPage},
		{pattern: "GET /runs/{id}/file", needs: LevelBodies, file: runFile},
		{pattern: "POST /runs/{id}/start", needs: LevelAct, action: startAction},
		{pattern: "POST /runs/{id}/cancel", needs: LevelAct, action: cancelAction},
		{pattern: "POST /local/{what}", needs: LevelAct, action: localAction},
		{pattern: "GET /map", needs: LevelFigures, page: mapPage},
		{pattern: "GET /costs", needs: LevelFigures, page: costsPage},
		{pattern: "GET /workers", needs: LevelFigures, page: workersPage},
		{pattern: "GET /tenants", needs: LevelBodies, page: tenantsPage},
		{pattern: "GET /style.css", needs: LevelFigures, file: asset("text/css; charset=utf-8")},
		{pattern: "GET /script.js", needs: LevelFigures, file: asset("text/javascript; charset=utf-8")},
	}
}

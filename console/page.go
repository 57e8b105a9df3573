package console

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/godwitmq/godwit/console/internal/filter"
	"github.com/godwitmq/godwit/console/internal/runs"
	"github.com/godwitmq/godwit/driver"
)

// request is a request with who makes it.
type request struct {
	*http.Request
	c    *Console
	name string // of the person
	may  Level
	// streams: only what is live is shown again.
	streams bool
}

func (c *Console) requestOf(r *http.Request) *request {
	p, _ := r.Context().Value(personKey{}).(person)
	return &request{Request: r, c: c, name: p.name, may: p.level}
}

// with is the address of the page with another value of a parameter; "": without it. Pages begin again at the first.
func (r *request) with(pairs ...string) string {
	q := r.URL.Query()
	q.Del("page")
	for i := 0; i+1 < len(pairs); i += 2 {
		if q.Del(pairs[i]); pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	if len(q) == 0 {
		return r.URL.EscapedPath()
	}
	return r.URL.EscapedPath() + "?" + q.Encode()
}

// view is what a page shows.
type view struct {
	title string
	name  string   // of the template
	nav   string   // the entry of the navigation that the page belongs to
	live  []string // templates that a stream replaces: each fills the element whose id is its name
	data  any
	// changed wakes a stream; nil: the stream looks at intervals.
	changed <-chan struct{}
	// again is after how many seconds a page without script loads itself again; 0: never.
	again int
}

const (
	// bodyMost bounds the form of an action: an edited body is in it.
	bodyMost = 4 << 20
	// pageTakes bounds how long a page waits for the service.
	pageTakes = 20 * time.Second
	// zipFrom is the size from which an answer is compressed.
	zipFrom = 1 << 10
)

// serve makes a handler of a route.
func (c *Console) serve(one route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		r := c.requestOf(hr)
		if r.may < one.needs {
			c.refuse(w, r, http.StatusForbidden, errors.New("your level is "+r.may.String()+", and this needs "+
				one.needs.String()))
			return
		}
		if one.page != nil && strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
			c.stream(w, r, one.page)
			return
		}
		ctx, cancel := context.WithTimeout(hr.Context(), pageTakes)
		defer cancel()
		switch {
		case one.page != nil:
			r.Request = hr.WithContext(ctx)
			v, err := one.page(r)
			if err != nil {
				c.fail(w, r, err)
				return
			}
			c.show(w, r, http.StatusOK, v)
		case one.action != nil:
			hr.Body = http.MaxBytesReader(w, hr.Body, bodyMost)
			r.Request = hr.WithContext(ctx)
			to, err := one.action(r)
			if err != nil {
				c.fail(w, r, err)
				return
			}
			http.Redirect(w, hr, to, http.StatusSeeOther)
		default:
			if err := one.file(w, r); err != nil {
				c.fail(w, r, err)
			}
		}
	})
}

// layout is what every page has.
type layout struct {
	Title, Name, Nav, User string
	Level                  Level
	May                    bool
	Local                  *localBar
	Spaces                 []Space // empty: there is only one
	Body                   template.HTML
	Again                  int
	Live                   string
	Here                   string
}

// show writes a page.
func (c *Console) show(w http.ResponseWriter, r *request, status int, v *view) {
	var page bytes.Buffer
	err := c.render(&page, r, v)
	if err != nil {
		c.log.Error("console: render a page", "page", v.name, "error", err)
		http.Error(w, "the page could not be rendered", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	c.write(w, r, status, page.Bytes())
}

func (c *Console) render(to io.Writer, r *request, v *view) error {
	var body bytes.Buffer
	if err := c.pages.ExecuteTemplate(&body, v.name, v.data); err != nil {
		return err
	}
	var spaces []Space
	if c.o.Spaces != nil {
		if spaces = c.o.Spaces(); len(spaces) < 2 {
			spaces = nil
		}
	}
	return c.pages.ExecuteTemplate(to, "layout", &layout{
		Title: v.title, Name: c.o.Name, Nav: v.nav, User: r.name, Level: r.may, May: r.may >= LevelAct,
		Local: localBarOf(r), Spaces: spaces,
		Body: template.HTML(body.String()), Again: v.again, Live: strings.Join(v.live, " "),
		Here: r.URL.RequestURI(),
	})
}

// write writes an answer, compressed if the client takes that.
func (c *Console) write(w http.ResponseWriter, r *request, status int, text []byte) {
	w.Header().Add("Vary", "Accept, Accept-Encoding")
	if len(text) < zipFrom || !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.WriteHeader(status)
		_, _ = w.Write(text) // the client has gone
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	w.WriteHeader(status)
	z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed) // the level exists
	_, _ = z.Write(text)                           // as above
	_ = z.Close()                                  // as above
}

// problem is an error with the status and the title that a page of it has.
type problem struct {
	status int
	title  string
	detail string // preformatted
	href   string // where it goes on
	link   string
	err    error
}

func (p *problem) Error() string { return p.err.Error() }
func (p *problem) Unwrap() error { return p.err }

// bad is the error for a wish that cannot be.
func bad(text string) error {
	return &problem{status: http.StatusBadRequest, title: "That does not work", err: errors.New(text)}
}

// fail writes the page of an error.
func (c *Console) fail(w http.ResponseWriter, r *request, err error) {
	c.show(w, r, statusOf(err), c.failure(err))
}

// refuse writes the page of an error that has a status.
func (c *Console) refuse(w http.ResponseWriter, r *request, status int, err error) {
	c.fail(w, r, &problem{status: status, title: http.StatusText(status), err: err})
}

func statusOf(err error) int {
	var p *problem
	switch {
	case errors.As(err, &p):
		return p.status
	case errors.As(err, new(*filter.Error)):
		return http.StatusBadRequest
	case errors.As(err, new(*runs.BusyError)), errors.As(err, new(*runs.StateError)):
		return http.StatusConflict
	case errors.Is(err, runs.ErrNone), driver.ClassOf(err) == driver.NotFound:
		return http.StatusNotFound
	case errors.Is(err, runs.ErrFull), errors.Is(err, runs.ErrClosed):
		return http.StatusServiceUnavailable
	}
	return http.StatusBadGateway
}

// failureData is the page of an error.
type failureData struct{ Title, Text, Detail, Href, Link string }

// failure is the page of an error: what failed, and where it goes on.
func (c *Console) failure(err error) *view {
	d := failureData{Title: "The service did not do it", Text: err.Error()}
	var (
		p     *problem
		f     *filter.Error
		busy  *runs.BusyError
		state *runs.StateError
	)
	switch {
	case errors.As(err, &p):
		d.Title, d.Detail, d.Href, d.Link = p.title, p.detail, p.href, p.link
	case errors.As(err, &f):
		d.Title, d.Detail = "The filter does not parse", f.Pointer()
	case errors.As(err, &busy):
		d.Title, d.Href, d.Link = "Somebody else is at it", c.url("runs", busy.Other.ID), "See that run"
	case errors.As(err, &state):
		d.Title, d.Href, d.Link = "It is too late", c.url("runs", state.Run.ID), "See the run"
	case errors.Is(err, runs.ErrNone):
		d.Title, d.Href, d.Link = "No such run", c.url("runs"), "All runs"
	case driver.ClassOf(err) == driver.NotFound:
		d.Title, d.Href, d.Link = "The channel is gone", c.url(), "All channels"
	case errors.Is(err, context.DeadlineExceeded):
		d.Title = "The service did not answer in time"
	}
	return &view{title: d.Title, name: "failure", data: &d}
}

// url is the address of a page, by the parts of its path.
func (c *Console) url(parts ...string) string {
	escaped := make([]string, len(parts))
	for i, part := range parts {
		escaped[i] = url.PathEscape(part)
	}
	return c.o.Path + "/" + strings.Join(escaped, "/")
}

// asset serves a file of the folder static.
func asset(contentType string) func(w http.ResponseWriter, r *request) error {
	return func(w http.ResponseWriter, r *request) error {
		text, err := assets.ReadFile("static/" + path.Base(r.URL.Path))
		if err != nil {
			return err
		}
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Cache-Control", "private, max-age=300")
		r.c.write(w, r, http.StatusOK, text)
		return nil
	}
}

// Widths of pictures, in pixels: as wide as a page, as wide as a phone, and the least of a map.
const (
	wholeWidth = 1180
	slimWidth  = 324
	slimMap    = 600
)

// forScreens is a picture in two widths, of which the screen shows one.
func forScreens(slim int, draw func(width int) template.HTML) template.HTML {
	return `<div class="whole">` + draw(wholeWidth) + `</div><div class="slim">` + draw(slim) + `</div>`
}

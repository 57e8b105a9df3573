package rest

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/godwitmq/godwit/localaws/random"
	"github.com/godwitmq/godwit/localaws/wire"
)

// Options configure a Mux. All fields but SingleRegion, Around and Domains are required.
type Options struct {
	// Account and Region are for requests that name none; see wire.Options.
	Account      string
	Region       string
	SingleRegion bool
	Random       *random.Source
	Now          func() time.Time
	// Around, if not nil, is called for every decoded call, as by wire.Mux.
	Around func(ctx context.Context, c *wire.Call, in any, run wire.Run) (any, error)
	// Exists reports whether there is a bucket with a name, to find it in hosts that could be anything.
	Exists func(bucket string) bool
	// Domains are hosts below which a bucket's name may stand.
	Domains []string
}

// Mux is the handler of a REST service. It is safe for concurrent use.
type Mux struct {
	opts    Options
	home    wire.Home
	service *Service
	routes  map[string][]*Action // by method, those with the most requirements first
	buffers sync.Pool
}

// NewMux returns the handler of a service.
func NewMux(o Options, s *Service) *Mux {
	m := &Mux{
		opts: o, home: wire.Home{Place: wire.Place{Account: o.Account, Region: o.Region}, SingleRegion: o.SingleRegion},
		service: s, routes: map[string][]*Action{},
	}
	m.buffers.New = func() any { return new([bufferSize]byte) }
	for i := range s.Actions {
		a := &s.Actions[i]
		m.routes[a.Route.Method] = append(m.routes[a.Route.Method], a)
	}
	for _, all := range m.routes {
		slices.SortStableFunc(all, func(a, b *Action) int { return b.Route.weight() - a.Route.weight() })
	}
	return m
}

// Refuse answers a request with an error.
func (m *Mux) Refuse(w http.ResponseWriter, r *http.Request, e *Error) { m.newAnswer(w, r).fail(e) }

func (m *Mux) newAnswer(w http.ResponseWriter, r *http.Request) *answer {
	var id [24]byte
	for i := range 3 {
		binary.BigEndian.PutUint64(id[8*i:], m.opts.Random.Uint64())
	}
	return &answer{
		w: w, head: r.Method == http.MethodHead, service: m.service, buffers: &m.buffers,
		requestID: fmt.Sprintf("%016X", id[:8]), hostID: base64.StdEncoding.EncodeToString(id[8:]),
	}
}

// ServeHTTP answers one call in the caller's goroutine.
func (m *Mux) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a := m.newAnswer(w, r)
	changed := *r // headers may be added to the copy
	c, action, in, err := m.read(a, &changed)
	if err != nil {
		a.failWith(err)
		return
	}
	m.run(changed.Context(), a, c, action, in)
}

// failWith writes an error, or drops the connection.
func (a *answer) failWith(err error) {
	if errors.Is(err, wire.ErrDrop) {
		panic(http.ErrAbortHandler)
	}
	a.fail(asError(err))
}

// read decodes the action and its input, apart from a body that the action receives itself.
func (m *Mux) read(a *answer, r *http.Request) (*Call, *Action, any, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, nil, nil, Refuse(400, "InvalidURI", "Couldn't parse the specified URI.", "URI", r.URL.RawQuery)
	}
	if bad := checkSigned(r, query, m.opts.Now()); bad != nil {
		return nil, nil, nil, bad
	}
	bucket, key, level, bad := m.address(r)
	if bad != nil {
		return nil, nil, nil, bad
	}
	action, bad := m.route(&request{Request: r, bucket: bucket, key: key, level: level, query: query})
	if bad != nil {
		return nil, nil, nil, bad
	}
	if owner, sent := r.Header["X-Amz-Expected-Bucket-Owner"]; sent {
		if bad := CheckOwner(owner[0]); bad != nil {
			return nil, nil, nil, bad
		}
	}
	c := m.newCall(a, r, action, ScopeOf(r, query))
	c.Bucket, c.Key = bucket, key
	if name := action.unknownHeader(r.Header); name != "" {
		return nil, nil, nil, notImplemented(name)
	}
	in := action.fresh()
	v := reflect.ValueOf(in).Elem()
	if bad := action.input.decode(&request{r, bucket, key, level, query}, v); bad != nil {
		return nil, nil, nil, bad
	}
	_, own := action.input.headers[checksumHeader+"crc32"] // then they are about something else
	c.Body = newBody(a.w, r, &m.buffers, !own)
	c.Body.call = c.Call
	if !action.streams {
		if err := action.input.decodeBody(c.Body, v); err != nil {
			return nil, nil, nil, err
		}
	}
	return c, action, in, nil
}

func (m *Mux) newCall(a *answer, r *http.Request, action *Action, scope Scope) *Call {
	scheme := "http"
	if r.TLS != nil || r.URL.Scheme == "https" {
		scheme = "https"
	}
	source, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		source = "" // in process
	}
	at := m.home.Caller(scope.Key, scope.Region)
	c := &Call{
		Call: &wire.Call{
			Service: m.service.Name, Action: action.Name, Protocol: "rest", RequestID: a.requestID,
			BaseURL: scheme + "://" + r.Host, Account: at.Account, Region: at.Region, Owner: at.Account,
			Caller: scope.Key, Agent: r.UserAgent(), Trace: r.Header.Get("X-Amzn-Trace-Id"),
		},
		Region: scope.Region, Owner: r.Header.Get("X-Amz-Expected-Bucket-Owner"), HostID: a.hostID,
		Source: source,
	}
	a.call = c.Call
	return c
}

// route returns the action of a request.
func (m *Mux) route(r *request) (*Action, *Error) {
	var found *Action
	for _, action := range m.routes[r.Method] {
		if r.fits(action.Route) {
			found = action
			break
		}
	}
	for name := range r.query {
		part, known := m.service.Unbuilt[name]
		if known && (found == nil || !slices.Contains(found.Route.Query, name)) {
			return nil, unbuilt(r.Method + " " + part)
		}
	}
	if found == nil {
		if m.service.Rest != "" {
			return nil, unbuilt(m.service.Rest)
		}
		if form, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); form == "multipart/form-data" {
			return nil, unbuilt("POST of forms (multipart/form-data)")
		}
		kind := []string{"SERVICE", "BUCKET", "OBJECT"}[r.level]
		return nil, Refuse(405, "MethodNotAllowed", "The specified method is not allowed against this resource.",
			"Method", r.Method, "ResourceType", kind)
	}
	return found, nil
}

func unbuilt(part string) *Error {
	return Refuse(501, "NotImplemented", part+" is not implemented by this server.")
}

func (m *Mux) run(ctx context.Context, a *answer, c *Call, action *Action, in any) {
	run := func(ctx context.Context) (any, error) {
		if c.BreakRequest > 0 && !action.streams && c.Body.Size > c.BreakRequest {
			return nil, wire.ErrDrop // the body was read already
		}
		return action.call(ctx, c, in)
	}
	var out any
	var err error
	if m.opts.Around != nil {
		out, err = m.opts.Around(ctx, c.Call, in, run)
	} else {
		out, err = run(ctx)
	}
	if err != nil {
		a.failWith(err)
		return
	}
	a.succeed(action, out)
}

package wire

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/godwitmq/godwit/localaws/random"
)

// Mux is the handler of several services. It is safe for concurrent use.
type Mux struct {
	opts     Options
	home     Home
	services []*Service
	actions  map[string]map[string]Action // by service and action name
	buffers  bufferPool
	gate     *gate
	nobody   *Service // defines the errors of requests that match no service
}

// Options configure a Mux. Account, Region and Random are required.
type Options struct {
	// Account and Region are for requests that name none.
	Account string
	Region  string
	// SingleRegion makes every request work in Region, whatever it is signed for.
	SingleRegion bool
	Random       *random.Source
	// Around, if not nil, is called for every decoded call. It calls run at most once, and its result is the answer. If
	// it returns ErrDrop, the connection is closed.
	Around func(ctx context.Context, c *Call, in any, run Run) (any, error)
}

// Run executes a call. When ctx ends, a waiting poll ends.
type Run func(ctx context.Context) (any, error)

// NewMux returns the handler of services.
func NewMux(o Options, services ...*Service) *Mux {
	m := &Mux{
		opts: o, home: Home{Place{o.Account, o.Region}, o.SingleRegion}, services: services,
		actions: map[string]map[string]Action{}, gate: &gate{make(chan struct{}, largeAtOnce)}, nobody: &Service{},
	}
	for _, s := range services {
		byName := make(map[string]Action, len(s.Actions))
		for _, a := range s.Actions {
			a.named = a.input.named(s.Names)
			byName[a.Name] = a
		}
		m.actions[s.Name] = byName
	}
	return m
}

// ServeHTTP answers one call in the caller's goroutine.
func (m *Mux) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.ServeAs(w, r, Identity(r)) }

// ServeAs is the same as ServeHTTP for a caller that the request itself does not name.
func (m *Mux) ServeAs(w http.ResponseWriter, r *http.Request, who Signer) {
	a := m.answer(w, r)
	l := &load{ctx: r.Context(), gate: m.gate}
	defer l.done()
	if action, in, ok := m.read(&a, r, l); ok {
		m.run(&a, r, who, action, in)
	}
}

// Refuse answers a request with an error, in the request's protocol.
func (m *Mux) Refuse(w http.ResponseWriter, r *http.Request, e *Error) {
	a := m.answer(w, r)
	a.fail(e)
}

func (m *Mux) answer(w http.ResponseWriter, r *http.Request) answer {
	return answer{
		w: w, buffers: &m.buffers, requestID: m.opts.Random.UUID(), protocol: requestProtocol(r), service: m.nobody,
		json: wantsJSON(r), queryMode: strings.EqualFold(r.Header.Get("X-Amzn-Query-Mode"), "true"),
	}
}

// read decodes the action and its input. It answers invalid requests itself; then ok is false. It does not retain the
// body, because a call may wait for a long time.
func (m *Mux) read(a *answer, r *http.Request, l *load) (action Action, in any, ok bool) {
	body := m.buffers.take()
	defer m.buffers.give(body)
	if err := body.readAll(a.w, r, l); err != nil {
		a.w.Header()["Connection"] = []string{"close"} // the rest of the body is not worth reading
		a.fail(err)
		return action, nil, false
	}
	switch a.protocol {
	case CBOR:
		return m.readCBOR(a, r, body.bytes, l)
	case JSON:
		return m.readJSON(a, r, body.bytes, l)
	default:
		return m.readQuery(a, r, body.bytes, l)
	}
}

// requestProtocol recognizes rpcv2Cbor and awsJson by their headers; every other request is query. A form is always
// query: Perl's Amazon::SQS::Simple sends another target with it.
func requestProtocol(r *http.Request) Protocol {
	if IsCBOR(r) {
		return CBOR
	}
	if len(r.Header["X-Amz-Target"]) > 0 &&
		!strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		return JSON
	}
	return Query
}

func (m *Mux) readJSON(a *answer, r *http.Request, body []byte, l *load) (action Action, in any,
	ok bool,
) {
	target := r.Header["X-Amz-Target"][0]
	dot := strings.LastIndexByte(target, '.')
	unknown := &Error{
		Code: coral + "UnknownOperationException", Query: "InvalidAction",
		Message: fmt.Sprintf("The target %s is not one of this server's.", target),
	}
	for _, s := range m.services {
		if s.Target == "" || dot < 0 || s.Target != target[:dot] {
			continue
		}
		a.service = s
		if action, ok = m.actions[s.Name][target[dot+1:]]; !ok {
			unknown = s.unknown(target[dot+1:], unknown)
			break
		}
		in = action.fresh()
		scratch := m.buffers.take()
		bad := decodeJSON(body, scratch, action, in, l)
		m.buffers.give(scratch)
		if bad != nil {
			a.fail(bad)
		}
		return action, in, bad == nil
	}
	a.fail(unknown)
	return action, nil, false
}

// IsCBOR reports whether a request is in rpcv2Cbor: by its header, or by its path alone, which no other protocol has.
func IsCBOR(r *http.Request) bool {
	if len(r.Header["Smithy-Protocol"]) > 0 {
		return true
	}
	_, _, ok := cborTarget(r.URL.Path)
	return ok && r.Method == http.MethodPost && len(r.Header["X-Amz-Target"]) == 0
}

// cborTarget returns the service and the operation of a path: …/service/SERVICE/operation/OPERATION.
func cborTarget(path string) (service, operation string, ok bool) {
	rest, operation, found := cutLast(path, "/operation/")
	_, service, named := cutLast(rest, "/service/")
	ok = found && named && service != "" && operation != "" && !strings.Contains(service+operation, "/")
	return service, operation, ok
}

// cutLast cuts a text at the last separator.
func cutLast(text, separator string) (before, after string, found bool) {
	i := strings.LastIndex(text, separator)
	if i < 0 {
		return "", "", false
	}
	return text[:i], text[i+len(separator):], true
}

func (m *Mux) readCBOR(a *answer, r *http.Request, body []byte, l *load) (action Action, in any,
	ok bool,
) {
	if given := r.Header.Get("Smithy-Protocol"); given != "" && given != cborName {
		a.fail(&Error{
			Code: coral + "UnknownOperationException", Query: "InvalidAction",
			Message: fmt.Sprintf("The protocol %s is not supported; known is %s.", given, cborName),
		})
		return action, nil, false
	}
	unknown := &Error{
		Code: coral + "UnknownOperationException", Query: "InvalidAction",
		Message: fmt.Sprintf("The path %s names no operation of this server.", r.URL.Path),
	}
	service, operation, _ := cborTarget(r.URL.Path)
	for _, s := range m.services {
		if !s.CBOR || s.Target != service {
			continue
		}
		a.service = s
		if action, ok = m.actions[s.Name][operation]; !ok {
			unknown = s.unknown(operation, unknown)
			break
		}
		in = action.fresh()
		bad := decodeCBOR(body, action, in, l)
		if bad != nil {
			a.fail(bad)
		}
		return action, in, bad == nil
	}
	a.fail(unknown)
	return action, nil, false
}

func (m *Mux) readQuery(a *answer, r *http.Request, body []byte, l *load) (action Action, in any,
	ok bool,
) {
	values, err := queryValues(r, body)
	if err != nil {
		a.fail(err)
		return action, nil, false
	}
	a.json = a.json || values.Get(contentTypeParameter) == "JSON"
	name := values.Get("Action")
	s := m.queryService(r, values, name)
	if s != nil {
		a.service = s
	}
	switch {
	case name == "" && r.Method == http.MethodGet:
		a.refuseBareGet()
		return action, nil, false
	case name == "":
		a.fail(&Error{Code: "MissingAction", Message: "The request must contain the parameter Action."})
		return action, nil, false
	case s == nil:
		a.fail(invalidAction(name))
		return action, nil, false
	}
	action, ok = m.actions[s.Name][name]
	if !ok || !s.answersAt(r.URL.Path, action) {
		a.fail(s.unknown(name, invalidAction(name)))
		return action, nil, false
	}
	if _, takes := action.input.query[s.PathMember]; takes && r.URL.Path != "/" && !values.Has(s.PathMember) {
		values.Set(s.PathMember, baseURL(r)+r.URL.Path)
	}
	in = action.fresh()
	if err := decodeQuery(values, action, in, l); err != nil {
		a.fail(err)
		return action, nil, false
	}
	return action, in, true
}

// queryValues merges the URL's parameters and the form's.
func queryValues(r *http.Request, body []byte) (url.Values, *Error) {
	values := url.Values{}
	if err := addParameters(values, []byte(r.URL.RawQuery)); err != nil {
		return nil, err
	}
	return values, addParameters(values, body)
}

// queryService returns the service of a query request: by its version, otherwise by the scope of its signature,
// otherwise by the action's name, because some clients send neither.
func (m *Mux) queryService(r *http.Request, values url.Values, action string) *Service {
	version, scope := values.Get("Version"), signedFor(r, values)
	byName := func(s *Service) bool { return s.Version != "" && s.scope() == scope }
	byVersion := func(s *Service) bool { return s.Version != "" && s.Version == version }
	byAction := func(s *Service) bool {
		_, known := m.actions[s.Name][action]
		return s.Version != "" && (known || slices.Contains(s.Absent, action))
	}
	for _, is := range []func(*Service) bool{byVersion, byName, byAction} {
		if i := slices.IndexFunc(m.services, is); i >= 0 {
			return m.services[i]
		}
	}
	return nil
}

func invalidAction(name string) *Error {
	return &Error{
		Code:    "InvalidAction",
		Message: fmt.Sprintf("The action %s is not valid for this endpoint.", name),
	}
}

func (m *Mux) run(a *answer, r *http.Request, who Signer, action Action, in any) {
	named := resource(in, action.named)
	at, owner := m.home.locate(who.Key, who.Region, named)
	c := &Call{
		Service: a.service.Name, Action: action.Name, Protocol: a.protocol, RequestID: a.requestID,
		BaseURL: baseURL(r), Account: at.Account, Region: at.Region, Named: named, Owner: owner,
		Caller: who.Key, Token: r.Header.Get("X-Amz-Security-Token"), Agent: r.UserAgent(),
		Trace: r.Header.Get("X-Amzn-Trace-Id"),
	}
	ctx := r.Context()
	run := func(ctx context.Context) (any, error) {
		if c.BreakRequest > 0 && r.ContentLength > c.BreakRequest {
			return nil, ErrDrop // the body was read already
		}
		return action.call(ctx, c, in)
	}
	var out any
	var err error
	if m.opts.Around != nil {
		out, err = m.opts.Around(ctx, c, in, run)
	} else {
		out, err = run(ctx)
	}
	a.limit = c.BreakResponse
	switch {
	case errors.Is(err, ErrDrop):
		panic(http.ErrAbortHandler)
	case err != nil:
		a.fail(asError(err))
	default:
		a.succeed(action, out)
	}
}

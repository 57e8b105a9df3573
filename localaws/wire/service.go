package wire

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"
)

// Service describes an AWS service to the wire.
type Service struct {
	Name      string // as controls name it: "sqs"
	Scope     string // the name in the scope of a signature, if it is another one: "monitoring"
	Target    string // the prefix of the action in X-Amz-Target: "AmazonSQS"; "": no awsJson
	Namespace string // the namespace of error types in awsJson: "com.amazonaws.sqs"
	JSON      string // the version of awsJson; "": 1.0
	Version   string // the version in the query protocol: "2012-11-05"; "": no query protocol
	XMLNS     string // the XML namespace of its answers
	CBOR      bool   // it also speaks rpcv2Cbor, where Target is its name in the path
	// PathMember is the member that the path of a query request stands for if it is not "/"; old clients address a
	// queue in this way. "": the path is ignored.
	PathMember string
	// Names are the members, by their names in awsJson, that name the resource of a call: the ARN or the URL of a
	// queue. They say whose it is, and the region of a call that is not signed.
	Names []string
	// AnyPath names actions without PathMember that may be called at such a path.
	AnyPath []string
	// Detail says that errors in the query protocol contain an empty Detail.
	Detail  bool
	Actions []Action
	// Absent names AWS's actions that the service does not have. A call of one is answered as NotImplemented, which a
	// client does not retry, instead of as a misspelled action.
	Absent []string
}

// unknown returns the error for an action that the service does not have.
func (s *Service) unknown(action string, otherwise *Error) *Error {
	if !slices.Contains(s.Absent, action) {
		return otherwise
	}
	return &Error{
		Code: "NotImplemented", Status: http.StatusNotImplemented,
		Message: fmt.Sprintf("The action %s of %s is not implemented by this server. The documentation of package "+
			"localaws lists the implemented actions.", action, s.Name),
	}
}

// scope returns the service's name in the scope of a signature.
func (s *Service) scope() string {
	if s.Scope != "" {
		return s.Scope
	}
	return s.Name
}

// answersAt reports whether an action may be called at a path. At the path of a queue, only actions with a queue may.
func (s *Service) answersAt(path string, a Action) bool {
	if s.PathMember == "" || QueuePlace(path).Account == "" {
		return true
	}
	_, takes := a.input.query[s.PathMember]
	return takes || slices.Contains(s.AnyPath, a.Name)
}

// Action is one operation of a service. Create it with Op.
type Action struct {
	Name string

	named  []*field // the members that may name the resource of a call; set by the Mux
	input  *shape
	output *shape
	result bool // an empty output has a result element in the query protocol
	fresh  func() any
	call   func(context.Context, *Call, any) (any, error)
}

// WithResult returns the action with a result element in the query protocol although its output has no member. If the
// service's model has the element, clients expect it.
func (a Action) WithResult() Action {
	a.result = true
	return a
}

// Op returns the action that calls f. In and Out must be structs as described in the package's documentation; otherwise
// Op panics, because this is a programming error.
func Op[In, Out any](name string, f func(context.Context, *Call, *In) (*Out, error)) Action {
	b := shapes{}
	return Action{
		Name:   name,
		input:  b.of(reflect.TypeFor[In]()),
		output: b.of(reflect.TypeFor[Out]()),
		fresh:  func() any { return new(In) },
		call: func(ctx context.Context, c *Call, in any) (any, error) {
			out, err := f(ctx, c, in.(*In))
			if err != nil {
				return nil, err
			}
			return out, nil
		},
	}
}

// Protocol is the protocol of a request.
type Protocol string

// The supported protocols.
const (
	JSON  Protocol = "json"
	Query Protocol = "query"
	CBOR  Protocol = "cbor"
)

// Call is what an action knows about its request besides its input.
type Call struct {
	Service   string // "sqs"
	Action    string // "SendMessage"
	Protocol  Protocol
	RequestID string
	BaseURL   string // "http://host:port" as the client used it
	Account   string // the caller's
	Region    string // in which the call works
	Named     string // the ARN or URL in the input that names the call's resource (see Service.Names); "": none does
	Owner     string // the account of the resource that the call names; the caller's, if it names none
	Caller    string // the access key of the signature; "": the request is not signed
	Token     string // the token of temporary credentials; "": none
	Agent     string // the client's User-Agent
	Trace     string // the header X-Amzn-Trace-Id; "": none
	// FailEntry, if not nil, is called by batch actions before each entry takes effect. If it returns an error, the
	// entry fails with it.
	FailEntry func(id string) *Error
	// BreakRequest and BreakResponse, if positive, close the connection after this many bytes of the body.
	BreakRequest, BreakResponse int64
}

// Place returns the place of the caller.
func (c *Call) Place() Place { return Place{c.Account, c.Region} }

// Resource returns the place of the resource that the call names.
func (c *Call) Resource() Place { return Place{c.Owner, c.Region} }

// EntryFault calls FailEntry if it is set.
func (c *Call) EntryFault(id string) *Error {
	if c.FailEntry == nil {
		return nil
	}
	return c.FailEntry(id)
}

// Members returns the names of the action's input in awsJson; a nested name follows its parent's name and a dot.
func (a Action) Members() []string { return a.input.members("") }

func (s *shape) members(path string) []string {
	switch s.kind {
	case listKind, mapKind:
		return s.elem.members(path)
	case structKind:
	default:
		return nil
	}
	var names []string
	for i := range s.fields {
		f := &s.fields[i]
		name := joined(path, f.jsonName)
		names = append(append(names, name), f.shape.members(name)...)
	}
	return names
}

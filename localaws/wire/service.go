package wire

import (
	"context"
	"reflect"
	"slices"
	"strings"
)

// Service is one AWS service as the wire sees it.
type Service struct {
	Name      string // as in a signature's scope: "sqs"
	Target    string // what precedes the action in X-Amz-Target: "AmazonSQS"; "" where awsJson is not spoken
	Namespace string // of error types in awsJson: "com.amazonaws.sqs"
	JSON      string // awsJson's version: "1.0"; "" means 1.0
	Version   string // of the query protocol: "2012-11-05"; "" where it is not spoken
	XMLNS     string // of its answers
	// PathMember is the member that a query request's path stands for where it
	// is not "/", the way old clients address a queue. "" means the path is not
	// looked at.
	PathMember string
	// AnyPath names the actions that do not take PathMember and are answered at
	// such a path all the same.
	AnyPath []string
	// Detail says that its errors in the query protocol carry an empty Detail.
	Detail  bool
	Actions []Action
}

// answersAt says whether an action may be called at a path: at that of a queue
// only those that take one may.
func (s *Service) answersAt(path, account string, a Action) bool {
	if s.PathMember == "" || !strings.HasPrefix(path, "/"+account+"/") {
		return true
	}
	_, takes := a.input.query[s.PathMember]
	return takes || slices.Contains(s.AnyPath, a.Name)
}

// Action is one operation of a service. Make it with Op.
type Action struct {
	Name string

	input  *shape
	output *shape
	result bool // an empty output has a result in the query protocol
	fresh  func() any
	call   func(context.Context, *Call, any) (any, error)
}

// WithResult returns the action with a result element in the query protocol
// though its output has no member: where a service's model has one, clients
// look for it.
func (a Action) WithResult() Action {
	a.result = true
	return a
}

// Op makes the action called name out of a function. In and Out must be structs
// of the form the package's page describes; anything else is a mistake of the
// program and panics.
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

// Protocol is the form a request came in.
type Protocol string

// The protocols spoken here.
const (
	JSON  Protocol = "json"
	Query Protocol = "query"
)

// Call is what an action knows of its request besides its input.
type Call struct {
	Service   string // "sqs"
	Action    string // "SendMessage"
	Protocol  Protocol
	RequestID string
	BaseURL   string // "http://host:port" as the client called us
	Account   string
	Region    string
	Caller    string // the access key the request was signed with; "" where it was not
	Agent     string // the client's User-Agent
	Trace     string // the header X-Amzn-Trace-Id as it came; "" without one
	// FailEntry, where it is not nil, is asked by batch actions before each
	// entry takes effect; an error it returns becomes that entry's failure.
	FailEntry func(id string) *Error
}

// EntryFault asks FailEntry, if there is one.
func (c *Call) EntryFault(id string) *Error {
	if c.FailEntry == nil {
		return nil
	}
	return c.FailEntry(id)
}

// Members are the names of the action's input in awsJson, nested ones after
// their parent's name and a dot.
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

package rest

import (
	"context"
	"reflect"
	"slices"
	"strings"

	"github.com/godwitmq/godwit/localaws/wire"
)

// Service describes a REST service.
type Service struct {
	Name    string // as in the scope of a signature: "s3"
	XMLNS   string // the XML namespace of its answers
	Actions []Action
	// Unbuilt are parameters of the URL that name a part of the service that is not built. A request with one of them
	// that no action's route has is refused by the name of that part.
	Unbuilt map[string]string
	// Rest names the part of the service to which all requests without an action belong, if that part is not built.
	// Without it they are answered as a method that their resource does not have.
	Rest string
	// Wrapped says that errors are in an element ErrorResponse.
	Wrapped bool
	// PathOnly says that the host of a request never names a bucket.
	PathOnly bool
}

// Level is what a request's path names.
type Level int

// The levels of a path.
const (
	Root   Level = iota // nothing
	Bucket              // a bucket
	Object              // a bucket and a key
)

// Route says which requests are an action's. Of several that fit, the one with the most requirements is taken.
type Route struct {
	Method string
	Level  Level
	Query  []string // parameters of the URL that must be there: "uploads", "list-type=2"
	Header string   // a header that must be there; "": none
}

func (r Route) weight() int {
	n := len(r.Query)
	if r.Header != "" {
		n++
	}
	return n
}

// Action is one operation of a service. Create it with Op.
type Action struct {
	Name  string
	Route Route

	root    string // the XML document of the answer; "": there is none
	streams bool   // it receives the request's body itself
	input   *shape
	output  *shape
	fresh   func() any
	call    func(context.Context, *Call, any) (any, error)
}

// Call is what an action knows about its request besides its input.
type Call struct {
	*wire.Call
	Bucket string // in the path or the host; "": none
	Key    string // in the path; "": none
	Body   *Body  // the request's body, for actions that receive it themselves
	Region string // the region that the request is signed for; "": it is not signed
	Owner  string // the account that the bucket must belong to; "": any
	HostID string // x-amz-id-2
	Source string // the client's address
}

// Op returns the action that calls f. In and Out must be structs as described in the package's documentation; otherwise
// Op panics, because this is a programming error.
func Op[In, Out any](name string, route Route, f func(context.Context, *Call, *In) (*Out, error)) Action {
	return Action{
		Name: name, Route: route, input: newShape(reflect.TypeFor[In]()), output: newShape(reflect.TypeFor[Out]()),
		fresh: func() any { return new(In) },
		call: func(ctx context.Context, c *Call, in any) (any, error) {
			out, err := f(ctx, c, in.(*In))
			if err != nil {
				return nil, err
			}
			return out, nil
		},
	}
}

// Document returns the action with the name of the XML document that it answers.
func (a Action) Document(root string) Action {
	a.root = root
	return a
}

// Streaming returns the action as one that receives the request's body itself.
func (a Action) Streaming() Action {
	a.streams = true
	return a
}

// Members returns the names of the action's input, sorted, without those of nested structs.
func (a Action) Members() []string {
	var names []string
	for _, f := range a.input.fields {
		names = append(names, f.member())
	}
	slices.Sort(names)
	return names
}

// member returns the name in AWS's model, which writes Id and Arn.
func (f *field) member() string {
	if head, ok := strings.CutSuffix(f.name, "ID"); ok && head != "" {
		return head + "Id"
	}
	if head, ok := strings.CutSuffix(f.name, "ARN"); ok && head != "" {
		return head + "Arn"
	}
	return f.name
}

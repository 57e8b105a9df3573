package filter

import (
	"context"

	"github.com/godwitmq/godwit/localaws/sns/jsontext"
)

// leaf is one value of the body that a policy may refer to.
type leaf struct {
	field int
	value value
}

// element is the root of a body, or an element of one of its arrays that is an object or an array, with what a policy
// may refer to: values, and the outermost arrays below it. Everything that is in no array below the element belongs to
// it, however deep.
type element struct {
	leaves []leaf
	arrays []array
}

// array holds the elements that have something.
type array []*element

func (e *element) empty() bool { return len(e.leaves) == 0 && len(e.arrays) == 0 }

// MatchBody reports whether a message with this body passes. A body that is not a JSON object never passes. The time
// is proportional to the length of the body. If ctx ends, the result has no meaning.
func (p *Policy) MatchBody(ctx context.Context, body string) bool {
	w := &walker{policy: p, reader: jsontext.NewReader(body), in: &element{}}
	if t, err := w.reader.Next(); err != nil || t.Kind != jsontext.ObjectStart {
		return false
	}
	if !w.object() {
		return false
	}
	if t, err := w.reader.Next(); err != nil || t.Kind != jsontext.End {
		return false
	}
	for _, b := range p.branches {
		if ctx.Err() != nil {
			return false
		}
		if p.matchTree(b, w.in) {
			return true
		}
	}
	return false
}

// walker collects the leaves of a body.
type walker struct {
	policy *Policy
	reader *jsontext.Reader
	path   []byte
	in     *element
}

// object visits one object whose opening brace was consumed; false: the body is not JSON.
func (w *walker) object() bool {
	for {
		t, err := w.reader.Next()
		if err != nil {
			return false
		}
		if t.Kind == jsontext.ObjectEnd {
			return true
		}
		outer := len(w.path)
		if outer > 0 {
			w.path = append(w.path, '.')
		}
		w.path = append(w.path, t.Text...)
		ok := w.value(w.policy.mayHold(w.path))
		w.path = w.path[:outer]
		if !ok {
			return false
		}
	}
}

// value visits the next value; wanted is false below paths that no field of the policy begins with.
func (w *walker) value(wanted bool) bool {
	t, err := w.reader.Next()
	return err == nil && w.token(t, wanted)
}

func (w *walker) token(t jsontext.Token, wanted bool) bool {
	switch {
	case !wanted && (t.Kind == jsontext.ObjectStart || t.Kind == jsontext.ArrayStart):
		return w.skip()
	case t.Kind == jsontext.ObjectStart:
		return w.object()
	case t.Kind == jsontext.ArrayStart:
		return w.array()
	case wanted:
		w.keep(t)
	}
	return true
}

// array visits one array. Plain elements are several values of one field of what the array is in.
func (w *walker) array() bool {
	outer, elements := w.in, array(nil)
	for {
		t, err := w.reader.Next()
		if err != nil {
			return false
		}
		if t.Kind == jsontext.ArrayEnd {
			break
		}
		if t.Kind == jsontext.ObjectStart || t.Kind == jsontext.ArrayStart {
			w.in = &element{}
		}
		if !w.token(t, true) {
			return false
		}
		if w.in != outer && !w.in.empty() {
			elements = append(elements, w.in)
		}
		w.in = outer
	}
	if len(elements) > 0 {
		outer.arrays = append(outer.arrays, elements)
	}
	return true
}

func (w *walker) skip() bool {
	for depth := 1; depth > 0; {
		t, err := w.reader.Next()
		if err != nil {
			return false
		}
		switch t.Kind {
		case jsontext.ObjectStart, jsontext.ArrayStart:
			depth++
		case jsontext.ObjectEnd, jsontext.ArrayEnd:
			depth--
		}
	}
	return true
}

func (w *walker) keep(t jsontext.Token) {
	if at, found := w.policy.find(w.path); found {
		w.in.leaves = append(w.in.leaves, leaf{field: at, value: value{kind: t.Kind, text: t.Text}})
	}
}

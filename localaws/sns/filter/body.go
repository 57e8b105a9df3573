package filter

import (
	"slices"

	"github.com/godwitmq/godwit/localaws/sns/jsontext"
)

// leaf is one value of the body that a policy may refer to, with its position in the body's arrays.
type leaf struct {
	field int
	value value
	place []position
}

// position is an element of one array; arrays are numbered in the order in which they begin.
type position struct{ array, index int }

// MatchBody reports whether a message with this body passes. A body that is not a JSON object never passes.
func (p *Policy) MatchBody(body string) bool {
	w := &walker{policy: p, reader: jsontext.NewReader(body)}
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
		if matchLeaves(b, w.leaves, nil) {
			return true
		}
	}
	return false
}

// matchLeaves looks for leaves that match all clauses and are not in different elements of one array. so contains the
// positions of the leaves chosen so far. Of several matching leaves in one position it tries only the first, because
// the others would give the same result.
func matchLeaves(clauses []clause, leaves []leaf, so []position) bool {
	if len(clauses) == 0 {
		return true
	}
	c := &clauses[0]
	there := false
	var tried *leaf
	for i := range leaves {
		l := &leaves[i]
		if l.field != c.field || !consistent(so, l.place) {
			continue
		}
		there = true
		if tried != nil && slices.Equal(tried.place, l.place) || !c.matches(&l.value) {
			continue
		}
		tried = l
		if matchLeaves(clauses[1:], leaves, joined(so, l.place)) {
			return true
		}
	}
	return !there && c.matchesAbsence() && matchLeaves(clauses[1:], leaves, so)
}

func consistent(a, b []position) bool {
	for _, p := range a {
		for _, q := range b {
			if p.array == q.array && p.index != q.index {
				return false
			}
		}
	}
	return true
}

func joined(a, b []position) []position {
	if len(b) == 0 {
		return a
	}
	if len(a) == 0 {
		return b
	}
	return append(a[:len(a):len(a)], b...)
}

// walker collects the leaves of a body.
type walker struct {
	policy *Policy
	reader *jsontext.Reader
	path   []byte
	place  []position
	arrays int
	leaves []leaf
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

// array visits one array. Only values in an object or array inside it have a position in it; plain elements are several
// values of one field.
func (w *walker) array() bool {
	id := w.arrays
	w.arrays++
	for index := 0; ; index++ {
		t, err := w.reader.Next()
		if err != nil {
			return false
		}
		if t.Kind == jsontext.ArrayEnd {
			return true
		}
		outer := w.place
		if t.Kind == jsontext.ObjectStart || t.Kind == jsontext.ArrayStart {
			w.place = append(outer[:len(outer):len(outer)], position{id, index})
		}
		ok := w.token(t, true)
		w.place = outer
		if !ok {
			return false
		}
	}
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
		w.leaves = append(w.leaves, leaf{field: at, value: value{kind: t.Kind, text: t.Text}, place: w.place})
	}
}

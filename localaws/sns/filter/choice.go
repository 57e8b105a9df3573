package filter

import "math/bits"

// A branch matches a body if there is a choice of one value for each clause, so that values below one array are in the
// same element of it. A clause that matches absence needs no value if its field has none that the choices for earlier
// clauses leave possible.
//
// Trying choices takes a time that grows with the power of the number of clauses. But a choice in one array does not
// depend on those in an array beside it. Therefore each element and each array is visited once, and is reduced to its
// outcomes: which clauses may get their values in it, and which fields then still have values there. A branch has at
// most five clauses, so there are few outcomes, whatever the body is.

// clauses is a set of clauses of a branch.
type clauses uint8

// before returns the clauses that come before every clause of a set that is not empty.
func (c clauses) before() clauses { return 1<<bits.TrailingZeros8(uint8(c)) - 1 }

// outcome is the result of a choice in a part of a body.
type outcome struct {
	chosen clauses // they have their values in this part
	seen   clauses // of the others: those whose field has values in this part that the choice leaves possible
}

// chooser reduces a body for one branch.
type chooser struct {
	branch []clause
	of     []int   // the clause of a field; -1: none
	absent clauses // they match absence
}

// matchTree reports whether a branch matches a body.
func (p *Policy) matchTree(branch []clause, body *element) bool {
	c := chooser{branch: branch, of: make([]int, len(p.fields))}
	for i := range c.of {
		c.of[i] = -1
	}
	for i := range branch {
		c.of[branch[i].field] = i
		if branch[i].matchesAbsence() {
			c.absent |= 1 << i
		}
	}
	all := clauses(1<<len(branch) - 1)
	outcomes, _ := c.inElement(body)
	for _, o := range outcomes {
		if all&^o.chosen&^c.absent == 0 && o.seen&^o.chosen&c.absent == 0 {
			return true
		}
	}
	return false
}

// inElement returns the outcomes of an element that is chosen in its array, and the clauses whose fields have values in
// it, of those that match absence.
func (c *chooser) inElement(e *element) (outcomes []outcome, has clauses) {
	var may clauses // their values may be this element's own
	for i := range e.leaves {
		l := &e.leaves[i]
		at := c.of[l.field]
		if at < 0 {
			continue
		}
		has |= 1 << at & c.absent
		if may&(1<<at) == 0 && c.branch[at].matches(&l.value) {
			may |= 1 << at
		}
	}
	outcomes = []outcome{{seen: has}}
	for _, a := range e.arrays {
		inside, below := c.inArray(a)
		has |= below
		outcomes = c.joined(outcomes, inside)
	}
	return c.withOwn(outcomes, may), has
}

// withOwn adds the choices of an element's own values.
func (c *chooser) withOwn(outcomes []outcome, may clauses) []outcome {
	if may == 0 {
		return outcomes
	}
	var all set
	for _, o := range outcomes {
		if c.absent == 0 {
			all.add(outcome{chosen: o.chosen | may})
			continue
		}
		for own := may; ; own = (own - 1) & may { // every part of it, the empty one last
			if own&o.chosen == 0 {
				all.add(outcome{chosen: o.chosen | own, seen: o.seen &^ own})
			}
			if own == 0 {
				break
			}
		}
	}
	return c.best(all.outcomes)
}

// inArray returns the outcomes of an array, in which at most one element is chosen.
func (c *chooser) inArray(a array) (outcomes []outcome, has clauses) {
	var all set
	inside := make([][]outcome, len(a))
	for i, e := range a {
		var below clauses
		inside[i], below = c.inElement(e)
		has |= below
	}
	all.add(outcome{seen: has})
	for _, some := range inside {
		for _, o := range some {
			if o.chosen != 0 {
				// Before the first choice in this array, all its elements were possible.
				early := o.chosen.before()
				all.add(outcome{chosen: o.chosen, seen: o.seen&^early | has&early})
			}
		}
	}
	return c.best(all.outcomes), has
}

// joined returns the outcomes of two parts together. A clause has its value in one of them.
func (c *chooser) joined(a, b []outcome) []outcome {
	if len(b) == 1 && b[0] == (outcome{}) {
		return a
	}
	var all set
	for _, x := range a {
		for _, y := range b {
			chosen := x.chosen | y.chosen
			if c.absent == 0 {
				all.add(outcome{chosen: chosen})
			} else if x.chosen&y.chosen == 0 {
				all.add(outcome{chosen: chosen, seen: (x.seen | y.seen) &^ chosen})
			}
		}
	}
	return c.best(all.outcomes)
}

// best removes outcomes that are worse than another one. It needs a branch without absence, where more choices are
// always better.
func (c *chooser) best(outcomes []outcome) []outcome {
	if c.absent != 0 || len(outcomes) == 1 {
		return outcomes
	}
	kept := outcomes[:0]
	for i, o := range outcomes {
		worse := false
		for _, other := range outcomes[i+1:] {
			worse = worse || o.chosen&^other.chosen == 0
		}
		for _, other := range kept {
			worse = worse || o.chosen&^other.chosen == 0
		}
		if !worse {
			kept = append(kept, o)
		}
	}
	return kept
}

// set is a set of outcomes.
type set struct {
	outcomes []outcome
	known    [16]uint64 // by chosen and seen, five bits each
}

func (s *set) add(o outcome) {
	n := uint(o.chosen)<<maxFields | uint(o.seen)
	if bit := uint64(1) << (n % 64); s.known[n/64]&bit == 0 {
		s.known[n/64] |= bit
		s.outcomes = append(s.outcomes, o)
	}
}

package filter

import (
	"slices"
	"sort"

	"github.com/godwitmq/godwit/localaws/sns/jsontext"
)

// Scope says which part of a message a policy checks.
type Scope string

// The scopes, as in the subscription attribute FilterPolicyScope.
const (
	MessageAttributes Scope = "MessageAttributes" // SNS's default
	MessageBody       Scope = "MessageBody"
)

const (
	maxSize         = 256 << 10 // SNS: 256 KB of policy
	maxFields       = 5         // SNS: five keys
	maxCombinations = 150       // SNS: counted over the whole policy
)

// Policy is a compiled filter policy. It is immutable and safe for concurrent use.
type Policy struct {
	scope    Scope
	fields   []string   // every field of the policy, sorted as Amazon's matcher sorts them
	branches [][]clause // alternatives; within one, all clauses must match
}

// clause is one field of one branch.
type clause struct {
	field    int // index in Policy.fields
	patterns []pattern
}

// Compile compiles a policy in JSON. The error's text is the text of SNS after "Invalid parameter: ".
func Compile(text string, scope Scope) (*Policy, error) {
	if len(text) > maxSize {
		return nil, refusal("Filter policy is too large, the maximum is 256 KB")
	}
	compact, err := jsontext.Compact(text)
	if err != nil {
		return nil, refusal("failed to parse JSON. " + err.Error())
	}
	c := &compiler{tokens: tokens{source: compact}}
	if err := c.tokenize(); err != nil {
		return nil, refusal("failed to parse JSON. " + err.Error())
	}
	branches, err := c.policy()
	if err != nil {
		return nil, err
	}
	if scope == MessageAttributes && c.nested {
		return nil, &Refusal{text: "Filter policy scope MessageAttributes does not support nested filter policy"}
	}
	if err := withinLimits(branches); err != nil {
		return nil, err
	}
	return assemble(branches, scope), nil
}

// Refusal is the reason why SNS refuses a policy.
type Refusal struct{ text string }

// Error returns the reason in SNS's words.
func (r *Refusal) Error() string { return r.text }

func refusal(why string) error {
	return &Refusal{text: "FilterPolicy: " + why}
}

func withinLimits(branches []branch) error {
	combinations := 0
	for _, b := range branches {
		if len(b) > maxFields {
			return refusal("Filter policy can not have more than 5 keys")
		}
		product := 1
		for _, f := range b {
			product = min(product*f.values*f.depth, maxCombinations+1)
		}
		combinations += product
		if combinations > maxCombinations {
			return refusal("Filter policy is too complex")
		}
	}
	return nil
}

// assemble numbers the fields and sorts the clauses by field name.
func assemble(branches []branch, scope Scope) *Policy {
	p := &Policy{scope: scope}
	for _, b := range branches {
		for name := range b {
			p.fields = append(p.fields, name)
		}
	}
	slices.Sort(p.fields)
	p.fields = slices.Compact(p.fields)
	for _, b := range branches {
		clauses := make([]clause, 0, len(b))
		for name, f := range b {
			at, _ := slices.BinarySearch(p.fields, name)
			clauses = append(clauses, clause{field: at, patterns: f.patterns})
		}
		slices.SortFunc(clauses, func(a, b clause) int { return a.field - b.field })
		p.branches = append(p.branches, clauses)
	}
	return p
}

// find returns the index at which name is, or would be, among the fields, and whether it is one. It converts name only
// in comparisons, which does not allocate.
func (p *Policy) find(name []byte) (at int, found bool) {
	at = sort.Search(len(p.fields), func(i int) bool { return p.fields[i] >= string(name) })
	return at, at < len(p.fields) && p.fields[at] == string(name)
}

// mayHold reports whether a field of the policy is name or is below it.
func (p *Policy) mayHold(name []byte) bool {
	at, found := p.find(name)
	if found {
		return true
	}
	for ; at < len(p.fields); at++ {
		f := p.fields[at]
		if len(f) < len(name) || f[:len(name)] != string(name) {
			return false
		}
		if f[len(name)] == '.' {
			return true
		}
	}
	return false
}
